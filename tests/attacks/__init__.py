"""Attacks: folders that somebody else has made, and what must not happen with them."""
