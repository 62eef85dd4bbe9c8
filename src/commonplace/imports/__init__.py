"""Readers of other memories: each hands over what it holds, and `upkeep.intake` writes it."""
