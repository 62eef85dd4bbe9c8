"""Conversations as programs write them down: formats told apart, and read as turns."""
