"""The derived index: one SQLite file with text, full text and vectors; delete it and nothing is lost."""
