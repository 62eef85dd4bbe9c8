"""Statements of notes struck, replaced, confirmed, and compared with what they contradict."""
