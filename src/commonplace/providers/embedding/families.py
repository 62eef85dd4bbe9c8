"""What is known of models by their names: prefixes, scripts, token limits, sizes. A table, found by name.

A model that was trained with prefixes and gets none loses recall, and one that gets another's loses more; the
makers' model cards are the source of every row. A provider that has a parameter for the purpose of a text
(Gemini's `taskType`, Voyage's and Cohere's `input_type`) needs no prefix.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from commonplace.providers.embedding.base import Kind

LATIN = frozenset({"latin"})
CJK = frozenset({"cjk"})
BOTH = LATIN | CJK

_INSTRUCT = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
_REPRESENT = "Represent this sentence for searching relevant passages: "
_REPRESENT_ZH = "为这个句子生成表示以用于检索相关文章："


@dataclass(frozen=True, slots=True)
class Family:
    """Models of one make and size, which take their texts in the same way.

    `pattern` is searched in the plain name of a model (see `plain`). `query` and `passage` stand before a
    text, `max_tokens` is what one input may have, prefix included, `dimensions` the length of a vector unless
    a shorter one is asked for (0: not known).
    """

    name: str
    pattern: str
    query: str = ""
    passage: str = ""
    scripts: frozenset[str] = LATIN
    max_tokens: int = 512
    dimensions: int = 0

    def prefix(self, kind: Kind) -> str:
        """Return the prefix of a text of some kind."""
        return self.query if kind == "query" else self.passage


_E5 = ("query: ", "passage: ")
_NOMIC = ("search_query: ", "search_document: ")
_GEMMA = ("task: search result | query: ", "title: none | text: ")

# The first row that fits counts: the particular before the general. A model without a row takes no prefix;
# its own server knows how long its vectors are.
FAMILIES: tuple[Family, ...] = (
    Family("openai-3-small", r"^text-embedding-(?:3-small|ada)", "", "", BOTH, 8191, 1536),
    Family("openai-3-large", r"^text-embedding-3-large", "", "", BOTH, 8191, 3072),
    Family("gemini-1", r"gemini-embedding-001", "", "", BOTH, 2048, 3072),
    # Takes its purpose as a prefix instead of a parameter (ai.google.dev/gemini-api/docs/embeddings).
    Family("gemini-2", r"gemini-embedding-2", *_GEMMA, BOTH, 8192, 3072),
    Family("voyage-lite", r"^voyage-3-lite", "", "", BOTH, 32_000, 512),
    Family("voyage", r"^voyage-(?:[345]|code-[34])", "", "", BOTH, 32_000, 1024),
    Family("voyage-older", r"^voyage-", "", "", BOTH, 4000),
    Family("mistral", r"^mistral-embed", "", "", BOTH, 8192, 1024),
    Family("codestral", r"^codestral-embed", "", "", BOTH, 8192, 1536),
    Family("dashscope", r"^text-embedding-v\d", "", "", BOTH, 2048),
    Family("cohere-4", r"embed-v4", "", "", BOTH, 128_000, 1536),
    Family("cohere-3", r"embed-multilingual(?!.*light)", "", "", BOTH, 512, 1024),
    Family("cohere-3-light", r"embed-multilingual.*light", "", "", BOTH, 512, 384),
    Family("cohere-3-en", r"embed-english(?!.*light)", "", "", LATIN, 512, 1024),
    Family("cohere-3-en-light", r"embed-english.*light", "", "", LATIN, 512, 384),
    Family("instructed", r"e5-mistral-7b|e5-large-instruct", f"{_INSTRUCT} ", "", BOTH, 512),
    Family("multilingual-e5-small", r"multilingual-e5-small", *_E5, BOTH, 512, 384),
    Family("multilingual-e5-base", r"multilingual-e5-base", *_E5, BOTH, 512, 768),
    Family("multilingual-e5-large", r"multilingual-e5", *_E5, BOTH, 512, 1024),
    Family("e5", r"\be5-(?:small|base|large)", *_E5, LATIN, 512),
    Family("bge-m3", r"\bbge-m3", "", "", BOTH, 8192, 1024),
    Family("bge-small-zh", r"\bbge-small-zh", _REPRESENT_ZH, "", CJK, 512, 512),
    Family("bge-base-zh", r"\bbge-base-zh", _REPRESENT_ZH, "", CJK, 512, 768),
    Family("bge-large-zh", r"\bbge-large-zh", _REPRESENT_ZH, "", CJK, 512, 1024),
    Family("bge-small-en", r"\bbge-small", _REPRESENT, "", LATIN, 512, 384),
    Family("bge-base-en", r"\bbge-base", _REPRESENT, "", LATIN, 512, 768),
    Family("bge-large-en", r"\bbge-large", _REPRESENT, "", LATIN, 512, 1024),
    Family("nomic-2", r"nomic-embed-text-v2", *_NOMIC, BOTH, 512, 768),
    Family("nomic", r"nomic-embed-text", *_NOMIC, LATIN, 8192, 768),
    Family("qwen3-0.6b", r"qwen3-embedding.*0[.-]6b", _INSTRUCT, "", BOTH, 32_768, 1024),
    Family("qwen3", r"qwen3-embedding", _INSTRUCT, "", BOTH, 32_768),
    Family("embeddinggemma", r"embedding-?gemma", *_GEMMA, BOTH, 2048, 768),
    Family("arctic-2", r"arctic-embed.*(?:v2|2)", "query: ", "", BOTH, 8192),
    Family("arctic", r"arctic-embed|mxbai-embed-large", _REPRESENT, "", LATIN, 512),
    Family("minilm-multilingual", r"paraphrase-multilingual-minilm-l12", "", "", BOTH, 128, 384),
    Family("mpnet-multilingual", r"paraphrase-multilingual|distiluse.*multilingual", "", "", BOTH, 128),
    Family("minilm", r"all-minilm", "", "", LATIN, 256, 384),
    Family("mpnet", r"all-mpnet-base", "", "", LATIN, 384, 768),
    Family("jina-2", r"jina-embeddings-v2.*-en", "", "", LATIN, 8192),
    Family("jina-4", r"jina-embeddings-v4", "Query: ", "Passage: ", BOTH, 32_768, 2048),
    Family("jina-5", r"jina-embeddings-v5", "Query: ", "Document: ", BOTH, 8192),
    Family(
        "english",
        r"\bgte-(?:small|base|large)(?!-zh)|multi-qa-m|granite-embedding.*english",
        "",
        "",
        LATIN,
        512,
    ),
    Family("chinese", r"\bgte-(?:small|base|large)-zh", "", "", CJK, 512),
)
# Most models that are served today know both scripts, and full text answers beside a model that does not.
UNKNOWN = Family("unknown", "", scripts=BOTH, max_tokens=8192)
_PATTERNS = tuple((re.compile(row.pattern), row) for row in FAMILIES)


def plain(model: str) -> str:
    """Return a model's name in lower case without its owner: `BAAI/bge-M3` is `bge-m3`.

    LM Studio puts `text-embedding-` before the names of all models and `@q8_0` behind.
    """
    name = model.lower().rpartition("/")[2].partition("@")[0].replace("_", "-")
    rest = name.removeprefix("text-embedding-")
    # OpenAI's `-3-small` and `-ada-002`, Gemini's `-004` and DashScope's `-v4` have it in their names.
    belongs = rest.startswith(("3-", "ada", "0")) or (rest[:1] == "v" and rest[1:2].isdecimal())
    return name if belongs else rest


def find(model: str) -> Family:
    """Return what is known of a model by its name; an unknown name takes no prefix."""
    name = plain(model)
    return next((row for pattern, row in _PATTERNS if pattern.search(name)), UNKNOWN)
