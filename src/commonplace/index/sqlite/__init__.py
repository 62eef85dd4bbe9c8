"""The index in one SQLite file: full text by FTS5, vectors by sqlite-vec or a matrix in memory."""
