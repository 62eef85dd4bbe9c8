"""Markdown as it stands: its lines, blocks, statements and comments."""
