"""Families: the right row for the names that providers and servers use."""

from __future__ import annotations

import re

from commonplace.providers import services

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
        family = services.family(model)
        assert (family.query, family.passage) == prefixes, model
    assert services.family("text-embedding-nomic-embed-text-v1.5@q8_0").dimensions == 768
    assert services.family("bge-m3:latest").max_tokens == 8192


def test_every_row_can_be_used() -> None:
    for row in services._table()["model"]:
        assert re.compile(row["pattern"])
        assert set(row.get("scripts", ["latin"])) <= {"latin", "cjk"}
        assert row["max_tokens"] >= 128
        assert row.keys() <= {"pattern", *services.Family._fields}
