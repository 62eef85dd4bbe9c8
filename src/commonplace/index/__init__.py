"""The derived index of text, full text and vectors; deleting it loses no note."""
