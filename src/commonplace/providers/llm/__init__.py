"""Language models: optional everywhere, cached, budgeted, and every call recorded."""
