"""Question sets asked through the search: for `tools/` alone."""
