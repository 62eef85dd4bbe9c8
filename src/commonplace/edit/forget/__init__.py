"""Forgetting: removal from notes, stores and the index, verified byte by byte."""
