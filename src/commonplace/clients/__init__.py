"""Programs with an agent in them: where their settings lie, and this memory entered there."""
