"""The index in PostgreSQL with pgvector: one database for many workspaces and many writers."""
