"""Models and services behind one door: addresses, costs, embeddings, language models, rerankers."""
