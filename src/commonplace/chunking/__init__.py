"""Notes cut into sections and passages."""
