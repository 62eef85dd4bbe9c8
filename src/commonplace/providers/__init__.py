"""Models and services: embeddings, language models, rerankers; their costs and caches; one HTTP client."""
