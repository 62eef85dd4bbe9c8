"""Actions on a memory with a preview: a row an action, the same in every interface."""
