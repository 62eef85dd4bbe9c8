"""Tests of what is forgotten."""
