"""What families of embedding models want: prefixes, scripts and length, by a part of the model's name."""

from __future__ import annotations

import re
from dataclasses import dataclass

_LATIN = frozenset({"latin"})
_BOTH = frozenset({"latin", "cjk"})


@dataclass(frozen=True, slots=True)
class Family:
    """What a family puts before questions and passages, the scripts it serves, the tokens it reads."""

    query_prefix: str = ""
    passage_prefix: str = ""
    scripts: frozenset[str] = _LATIN
    max_tokens: int = 512


_BGE_EN = "Represent this sentence for searching relevant passages: "
_BGE_ZH = "为这个句子生成表示以用于检索相关文章："
_QWEN3 = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
# From the models' own cards.
_FAMILIES = (
    (r"multilingual-e5", Family("query: ", "passage: ", _BOTH)),
    (r"\be5-(small|base|large)", Family("query: ", "passage: ")),
    (r"bge-m3", Family(scripts=_BOTH, max_tokens=8192)),
    (r"bge-(small|base|large)-zh", Family(_BGE_ZH, scripts=_BOTH)),
    (r"bge-(small|base|large)-en", Family(_BGE_EN)),
    (r"nomic-embed-text", Family("search_query: ", "search_document: ", max_tokens=2048)),
    (r"qwen3-embedding", Family(_QWEN3, scripts=_BOTH, max_tokens=8192)),
    (r"embeddinggemma", Family("task: search result | query: ", "title: none | text: ", _BOTH, 2048)),
    (r"multilingual|paraphrase-multi|labse|jina-embeddings-v[23]-base-zh", Family(scripts=_BOTH)),
)


def find(model: str) -> Family:
    """Return the family of a model by its name, or one that asks for nothing and serves Latin scripts."""
    name = model.lower()
    return next((family for pattern, family in _FAMILIES if re.search(pattern, name)), Family())
