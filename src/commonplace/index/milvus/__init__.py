"""The index with Milvus: postings and vectors on a server, rows and texts in a local catalogue."""
