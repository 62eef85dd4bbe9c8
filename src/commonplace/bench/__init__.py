"""Measuring: retrieval quality on question sets, and what prompts cost."""
