"""Sessions: conversations written down message by message, and those of other programs followed."""
