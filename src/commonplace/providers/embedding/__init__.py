"""Text to vectors: one small protocol, and models that are loaded when they are first used."""
