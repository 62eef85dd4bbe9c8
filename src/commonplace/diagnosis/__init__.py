"""Examine an installation that does not work: checks are functions that yield findings."""
