"""Conversations as programs write them down: formats recognised, and read as turns."""
