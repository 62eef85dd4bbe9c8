"""Secrets and private parts, out of every text before it reaches the disk or a reader."""
