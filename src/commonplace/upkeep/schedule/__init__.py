"""Consolidation every night: who starts it, whether it is due, never two at once."""
