"""What is forgotten for real: out of notes and every file of ours, verified byte by byte."""
