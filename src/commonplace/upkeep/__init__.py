"""What becomes of memory over time: what is captured, summed up, shortened."""
