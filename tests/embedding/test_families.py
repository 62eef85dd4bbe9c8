"""Families: the right row for the names that providers and servers use."""

from __future__ import annotations

import re

import pytest

from commonplace.embedding import families


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("intfloat/multilingual-e5-large", "multilingual-e5-large"),
        ("intfloat/multilingual-e5-large-instruct", "multilingual-e5-instruct"),
        ("multilingual-e5-small", "multilingual-e5-small"),
        ("intfloat/e5-base-v2", "e5-base"),
        ("intfloat/e5-mistral-7b-instruct", "e5-mistral"),
        ("BAAI/bge-small-en-v1.5", "bge-small-en"),
        ("BAAI/bge-large-zh-v1.5", "bge-large-zh"),
        ("BAAI/bge-M3", "bge-m3"),
        ("bge-m3:latest", "bge-m3"),
        ("nomic-embed-text", "nomic"),
        ("text-embedding-nomic-embed-text-v1.5@q8_0", "nomic"),
        ("hf.co/nomic-ai/nomic-embed-text-v1.5-GGUF:Q4_K_M", "nomic"),
        ("nomic-ai/nomic-embed-text-v2-moe", "nomic-2"),
        ("Qwen/Qwen3-Embedding-0.6B", "qwen3-0.6b"),
        ("qwen3-embedding:4b", "qwen3-4b"),
        ("Qwen3-Embedding-8B-GGUF", "qwen3-8b"),
        ("qwen3-embedding", "qwen3"),
        ("embeddinggemma:300m", "embeddinggemma"),
        ("google/embeddinggemma-300m", "embeddinggemma"),
        ("Alibaba-NLP/gte-large-en-v1.5", "gte-en-large"),
        ("thenlper/gte-base", "gte-base"),
        ("thenlper/gte-small-zh", "gte-zh-small"),
        ("Alibaba-NLP/gte-Qwen2-1.5B-instruct", "gte-qwen2-1.5b"),
        ("Snowflake/snowflake-arctic-embed-xs", "arctic-small"),
        ("snowflake-arctic-embed:110m", "arctic-m"),
        ("snowflake-arctic-embed", "arctic-l"),
        ("Snowflake/snowflake-arctic-embed-m-long", "arctic-m-long"),
        ("snowflake-arctic-embed2", "arctic-2-l"),
        ("Snowflake/snowflake-arctic-embed-m-v2.0", "arctic-2-m"),
        ("mxbai-embed-large", "mxbai-large"),
        ("all-minilm", "minilm"),
        ("sentence-transformers/all-MiniLM-L6-v2", "minilm"),
        ("text-embedding-3-small", "openai-3-small"),
        ("openai/text-embedding-3-large", "openai-3-large"),
        ("models/gemini-embedding-001", "gemini-1"),
        ("gemini-embedding-2-preview", "gemini-2"),
        ("voyage-4-large", "voyage"),
        ("voyage-code-3", "voyage"),
        ("voyage-3-lite", "voyage-lite-512"),
        ("embed-v4.0", "cohere-4"),
        ("embed-english-light-v3.0", "cohere-3-en-light"),
        ("mistral-embed", "mistral"),
        ("my-own-model", "unknown"),
        ("", "unknown"),
    ],
)
def test_names_lead_to_families(model: str, name: str) -> None:
    assert families.find(model).name == name


def test_prefixes_are_those_of_the_model_cards() -> None:
    e5, qwen, gemma = map(families.find, ("e5-small", "qwen3-embedding", "embeddinggemma"))
    assert (e5.prefix("query"), e5.prefix("passage")) == ("query: ", "passage: ")
    assert qwen.prefix("query").startswith("Instruct: Given")
    assert qwen.prefix("query").endswith("\nQuery:")
    assert qwen.prefix("passage") == ""
    assert gemma.prefix("query") == "task: search result | query: "
    assert gemma.prefix("passage") == "title: none | text: "
    assert families.find("bge-large-zh").prefix("query") == "为这个句子生成表示以用于检索相关文章："
    assert families.find("bge-m3").prefix("query") == ""


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
