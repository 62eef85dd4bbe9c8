"""Measuring: retrieval quality on question sets, and what prompts cost."""

# Names only, so that the command line can list them without importing the engine; `presets.ALL` holds them.
PRESETS = ("default", "qmd", "openclaw", "nanobot", "nanocrab")
