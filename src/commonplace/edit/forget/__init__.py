"""What is forgotten for real: out of notes, stores and the index, verified byte by byte."""
