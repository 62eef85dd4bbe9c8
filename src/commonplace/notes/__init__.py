"""Markdown files: parsing, writing, layout, watching and what must not be stored."""
