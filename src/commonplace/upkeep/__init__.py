"""Keep memory in shape over time: capture, summarize, shorten."""
