"""Families: the right row for the names that providers and servers use."""

from __future__ import annotations

import re

from commonplace.providers.embedding import families


def test_names_lead_to_families() -> None:
    for model, name in [
        ("intfloat/multilingual-e5-large", "multilingual-e5-large"),
        ("multilingual-e5-small", "multilingual-e5-small"),
        ("BAAI/bge-small-en-v1.5", "bge-small-en"),
        ("BAAI/bge-large-zh-v1.5", "bge-large-zh"),
        ("BAAI/bge-M3", "bge-m3"),
        ("bge-m3:latest", "bge-m3"),
        ("nomic-embed-text", "nomic"),
        ("text-embedding-nomic-embed-text-v1.5@q8_0", "nomic"),
        ("hf.co/nomic-ai/nomic-embed-text-v1.5-GGUF:Q4_K_M", "nomic"),
        ("nomic-ai/nomic-embed-text-v2-moe", "nomic-2"),
        ("Qwen/Qwen3-Embedding-0.6B", "qwen3-0.6b"),
        ("qwen3-embedding", "qwen3"),
        ("embeddinggemma:300m", "embeddinggemma"),
        ("google/embeddinggemma-300m", "embeddinggemma"),
        ("all-minilm", "minilm"),
        ("sentence-transformers/all-MiniLM-L6-v2", "minilm"),
        ("text-embedding-3-small", "openai-3-small"),
        ("openai/text-embedding-3-large", "openai-3-large"),
        ("models/gemini-embedding-001", "gemini-1"),
        ("gemini-embedding-2-preview", "gemini-2"),
        ("voyage-4-large", "voyage"),
        ("voyage-code-3", "voyage"),
        ("embed-v4.0", "cohere-4"),
        ("embed-english-light-v3.0", "cohere-3-en-light"),
        ("mistral-embed", "mistral"),
        ("voyage-large-2", "voyage-older"),
        ("jinaai/jina-embeddings-v4-text-retrieval-GGUF", "jina-4"),
        ("intfloat/multilingual-e5-large-instruct", "instructed"),
        ("intfloat/e5-base-v2", "e5"),
        ("qwen3-embedding:4b", "qwen3"),
        ("thenlper/gte-base", "english"),
        ("thenlper/gte-small-zh", "chinese"),
        ("snowflake-arctic-embed:110m", "arctic"),
        ("Snowflake/snowflake-arctic-embed-m-v2.0", "arctic-2"),
        ("snowflake-arctic-embed2", "arctic-2"),
        ("mxbai-embed-large", "arctic"),
        ("voyage-3-lite", "voyage-lite"),
        ("voyage-multilingual-2", "voyage-older"),
        ("text-embedding-v4", "dashscope"),
        ("distiluse-base-multilingual-cased-v2", "mpnet-multilingual"),
        ("jinaai/jina-embeddings-v5-text-small-retrieval", "jina-5"),
        ("my-own-model", "unknown"),
        ("", "unknown"),
    ]:
        assert families.find(model).name == name


REPRESENT = "Represent this sentence for searching relevant passages: "
INSTRUCT = "Instruct: Given a web search query, retrieve relevant passages that answer the query"
# As the makers' model cards have them, written down a second time on purpose.
PREFIXES = {
    "intfloat/e5-small-v2": ("query: ", "passage: "),
    "intfloat/multilingual-e5-large": ("query: ", "passage: "),
    "intfloat/multilingual-e5-large-instruct": (f"{INSTRUCT}\nQuery: ", ""),
    "intfloat/e5-mistral-7b-instruct": (f"{INSTRUCT}\nQuery: ", ""),
    "BAAI/bge-small-en-v1.5": (REPRESENT, ""),
    "BAAI/bge-base-en-v1.5": (REPRESENT, ""),
    "BAAI/bge-large-en-v1.5": (REPRESENT, ""),
    "BAAI/bge-large-zh-v1.5": ("为这个句子生成表示以用于检索相关文章：", ""),
    "BAAI/bge-m3": ("", ""),
    "nomic-ai/nomic-embed-text-v1.5": ("search_query: ", "search_document: "),
    "nomic-ai/nomic-embed-text-v2-moe": ("search_query: ", "search_document: "),
    "Qwen/Qwen3-Embedding-0.6B": (f"{INSTRUCT}\nQuery:", ""),
    "Qwen/Qwen3-Embedding-8B": (f"{INSTRUCT}\nQuery:", ""),
    "google/embeddinggemma-300m": ("task: search result | query: ", "title: none | text: "),
    "gemini-embedding-2": ("task: search result | query: ", "title: none | text: "),
    "gemini-embedding-001": ("", ""),
    "Alibaba-NLP/gte-multilingual-base": ("", ""),
    "Snowflake/snowflake-arctic-embed-m": (REPRESENT, ""),
    "Snowflake/snowflake-arctic-embed-l-v2.0": ("query: ", ""),
    "mixedbread-ai/mxbai-embed-large-v1": (REPRESENT, ""),
    "jinaai/jina-embeddings-v4-text-retrieval-GGUF": ("Query: ", "Passage: "),
    "jinaai/jina-embeddings-v5-text-small-retrieval": ("Query: ", "Document: "),
    "sentence-transformers/all-MiniLM-L6-v2": ("", ""),
    "text-embedding-3-small": ("", ""),
    "voyage-4-large": ("", ""),
    "embed-v4.0": ("", ""),
    "my-own-model": ("", ""),
}


def test_prefixes_are_those_of_the_model_cards() -> None:
    for model, prefixes in PREFIXES.items():
        family = families.find(model)
        assert (family.prefix("query"), family.prefix("passage")) == prefixes


def test_scripts() -> None:
    assert families.find("multilingual-e5-base").scripts == {"latin", "cjk"}
    assert families.find("bge-base-en").scripts == {"latin"}
    assert families.find("bge-base-zh").scripts == {"cjk"}


def test_every_row_can_be_used() -> None:
    names = [row.name for row in families.FAMILIES]
    assert len(names) == len(set(names))
    for row in families.FAMILIES:
        assert re.compile(row.pattern)
        assert row.scripts <= {"latin", "cjk"}
        assert row.scripts
        assert row.max_tokens >= 128
        assert row.dimensions >= 0
