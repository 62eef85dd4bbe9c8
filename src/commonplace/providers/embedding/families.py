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
_STELLA = "Instruct: Given a web search query, retrieve relevant passages that answer the query.\nQuery: "
_GEMMA_2 = "<instruct>Given a web search query, retrieve relevant passages that answer the query.\n<query>"
_CODE = "Represent this query for searching relevant code: "
_NOMIC = ("search_query: ", "search_document: ")
_GEMMA = ("task: search result | query: ", "title: none | text: ")

# The first row that fits counts: the particular before the general.
FAMILIES: tuple[Family, ...] = (
    Family("openai-3-small", r"^text-embedding-3-small", scripts=BOTH, max_tokens=8191, dimensions=1536),
    Family("openai-3-large", r"^text-embedding-3-large", scripts=BOTH, max_tokens=8191, dimensions=3072),
    Family("openai-ada", r"text-embedding-ada-002", scripts=BOTH, max_tokens=8191, dimensions=1536),
    Family("gemini-1", r"gemini-embedding-001", scripts=BOTH, max_tokens=2048, dimensions=3072),
    # Takes its purpose as a prefix instead of a parameter (ai.google.dev/gemini-api/docs/embeddings).
    Family("gemini-2", r"gemini-embedding-2", *_GEMMA, BOTH, 8192, 3072),
    Family("voyage-lite-512", r"^voyage-3-lite", scripts=BOTH, max_tokens=32_000, dimensions=512),
    Family("voyage-16k", r"^voyage-(?:code-2|law-2)", scripts=BOTH, max_tokens=16_000),
    Family("voyage", r"^voyage-(?:[345]|code-[34])", scripts=BOTH, max_tokens=32_000, dimensions=1024),
    Family(
        "voyage-32k", r"^voyage-(?:finance|multilingual)-2", scripts=BOTH, max_tokens=32_000, dimensions=1024
    ),
    Family("voyage-2", r"^voyage-2", scripts=BOTH, max_tokens=4000, dimensions=1024),
    Family("voyage-older", r"^voyage-", scripts=BOTH, max_tokens=16_000),
    Family("mistral", r"^mistral-embed", scripts=BOTH, max_tokens=8192, dimensions=1024),
    Family("codestral", r"^codestral-embed", scripts=BOTH, max_tokens=8192, dimensions=1536),
    Family("dashscope-older", r"^text-embedding-v[12]", scripts=BOTH, max_tokens=2048, dimensions=1536),
    Family("dashscope", r"^text-embedding-v[34]", scripts=BOTH, max_tokens=8192, dimensions=1024),
    Family("cohere-4", r"embed-v4", scripts=BOTH, max_tokens=128_000, dimensions=1536),
    Family("cohere-3-light", r"embed-multilingual-light-v3", scripts=BOTH, dimensions=384),
    Family("cohere-3", r"embed-multilingual-v3", scripts=BOTH, dimensions=1024),
    Family("cohere-3-en-light", r"embed-english-light-v3", dimensions=384),
    Family("cohere-3-en", r"embed-english-v3", dimensions=1024),
    Family("e5-mistral", r"e5-mistral-7b", f"{_INSTRUCT} ", "", LATIN, 4096, 4096),
    Family(
        "multilingual-e5-instruct", r"multilingual-e5-large-instruct", f"{_INSTRUCT} ", "", BOTH, 512, 1024
    ),
    Family("multilingual-e5-small", r"multilingual-e5-small", *_E5, BOTH, 512, 384),
    Family("multilingual-e5-base", r"multilingual-e5-base", *_E5, BOTH, 512, 768),
    Family("multilingual-e5-large", r"multilingual-e5", *_E5, BOTH, 512, 1024),
    Family("e5-small", r"\be5-small", *_E5, LATIN, 512, 384),
    Family("e5-base", r"\be5-base", *_E5, LATIN, 512, 768),
    Family("e5-large", r"\be5-large", *_E5, LATIN, 512, 1024),
    Family("bge-gemma", r"\bbge-multilingual-gemma2", _GEMMA_2, "", BOTH, 8192, 3584),
    Family("bge-m3", r"\bbge-m3", scripts=BOTH, max_tokens=8192, dimensions=1024),
    Family("bge-small-zh", r"\bbge-small-zh", _REPRESENT_ZH, "", CJK, 512, 512),
    Family("bge-base-zh", r"\bbge-base-zh", _REPRESENT_ZH, "", CJK, 512, 768),
    Family("bge-large-zh", r"\bbge-large-zh", _REPRESENT_ZH, "", CJK, 512, 1024),
    Family("bge-small-en", r"\bbge-small", _REPRESENT, "", LATIN, 512, 384),
    Family("bge-base-en", r"\bbge-base", _REPRESENT, "", LATIN, 512, 768),
    Family("bge-large-en", r"\bbge-large", _REPRESENT, "", LATIN, 512, 1024),
    Family("nomic-2", r"nomic-embed-text-v2", *_NOMIC, BOTH, 512, 768),
    Family("coderank", r"coderankembed", _CODE, "", LATIN, 8192, 768),
    Family("nomic-code", r"nomic-embed-code", _CODE, "", LATIN, 32_768, 3584),
    Family("nomic", r"nomic-embed", *_NOMIC, LATIN, 8192, 768),
    Family("qwen3-0.6b", r"qwen3-embedding.*0[.-]6b", _INSTRUCT, "", BOTH, 32_768, 1024),
    Family("qwen3-4b", r"qwen3-embedding.*4b", _INSTRUCT, "", BOTH, 32_768, 2560),
    Family("qwen3-8b", r"qwen3-embedding.*8b", _INSTRUCT, "", BOTH, 32_768, 4096),
    Family("qwen3", r"qwen3-embedding", _INSTRUCT, "", BOTH, 32_768),
    Family("embeddinggemma", r"embedding-?gemma", *_GEMMA, BOTH, 2048, 768),
    Family("gte-qwen2-1.5b", r"gte-qwen2-1[.-]5b", f"{_INSTRUCT} ", "", BOTH, 32_768, 1536),
    Family("gte-qwen2-7b", r"gte-qwen2-7b", f"{_INSTRUCT} ", "", BOTH, 32_768, 3584),
    Family("gte-multilingual", r"gte-multilingual-base", scripts=BOTH, max_tokens=8192, dimensions=768),
    Family("gte-modernbert", r"gte-modernbert-base", max_tokens=8192, dimensions=768),
    Family("gte-en-base", r"\bgte-base-en-v1", max_tokens=8192, dimensions=768),
    Family("gte-en-large", r"\bgte-large-en-v1", max_tokens=8192, dimensions=1024),
    Family("gte-zh-small", r"\bgte-small-zh", scripts=CJK, dimensions=512),
    Family("gte-zh-base", r"\bgte-base-zh", scripts=CJK, dimensions=768),
    Family("gte-zh-large", r"\bgte-large-zh", scripts=CJK, dimensions=1024),
    Family("gte-small", r"\bgte-small", dimensions=384),
    Family("gte-base", r"\bgte-base", dimensions=768),
    Family("gte-large", r"\bgte-large", dimensions=1024),
    Family("arctic-2-m", r"arctic-embed-m-v2", "query: ", "", BOTH, 8192, 768),
    Family("arctic-2-l", r"arctic-embed(?:-l-v)?2|arctic-embed-l-v2", "query: ", "", BOTH, 8192, 1024),
    Family("arctic-m-long", r"arctic-embed.*m-long", _REPRESENT, "", LATIN, 2048, 768),
    Family("arctic-small", r"arctic-embed(?:-|.*:)(?:xs|s|22m|33m)\b", _REPRESENT, "", LATIN, 512, 384),
    Family("arctic-m", r"arctic-embed(?:-|.*:)(?:m|110m|137m)\b", _REPRESENT, "", LATIN, 512, 768),
    Family("arctic-l", r"arctic-embed", _REPRESENT, "", LATIN, 512, 1024),
    Family("mxbai-large", r"mxbai-embed-large", _REPRESENT, "", LATIN, 512, 1024),
    Family(
        "minilm-multilingual",
        r"paraphrase-multilingual-minilm-l12",
        scripts=BOTH,
        max_tokens=128,
        dimensions=384,
    ),
    Family("mpnet-multilingual", r"paraphrase-multilingual", scripts=BOTH, max_tokens=128, dimensions=768),
    Family(
        "distiluse-multilingual", r"distiluse-base-multilingual", scripts=BOTH, max_tokens=128, dimensions=512
    ),
    Family("labse", r"^labse", scripts=BOTH, max_tokens=256, dimensions=768),
    Family("minilm-questions", r"multi-qa-minilm", dimensions=384),
    Family("mpnet-questions", r"multi-qa-mpnet", dimensions=768),
    Family("minilm", r"all-minilm", max_tokens=256, dimensions=384),
    Family("mpnet", r"all-mpnet-base", max_tokens=384, dimensions=768),
    Family("jina-2-zh", r"jina-embeddings-v2-base-zh", scripts=BOTH, max_tokens=8192, dimensions=768),
    Family("jina-2-small", r"jina-embeddings-v2-small-en", max_tokens=8192, dimensions=512),
    Family("jina-2", r"jina-embeddings-v2-base", max_tokens=8192, dimensions=768),
    Family("jina-4", r"jina-embeddings-v4", "Query: ", "Passage: ", BOTH, 32_768, 2048),
    Family("jina-5-small", r"jina-embeddings-v5-text-small", "Query: ", "Document: ", BOTH, 32_768, 1024),
    Family("jina-5-nano", r"jina-embeddings-v5-text-nano", "Query: ", "Document: ", BOTH, 8192, 768),
    Family("stella-1.5b", r"stella-en-1[.-]5b", _STELLA, "", LATIN, 512, 1024),
    Family("bce", r"bce-embedding-base", scripts=BOTH, dimensions=768),
    Family("m3e", r"^m3e-(?:base|large)", scripts=BOTH, dimensions=768),
    Family("granite-2-small", r"granite-embedding-small-english-r2", max_tokens=8192, dimensions=384),
    Family("granite-2", r"granite-embedding-english-r2", max_tokens=8192, dimensions=768),
    Family("granite-30m", r"granite-embedding[-:]30m", dimensions=384),
    Family("granite-125m", r"granite-embedding[-:]125m", dimensions=768),
    Family("granite-107m", r"granite-embedding[-:]107m", scripts=BOTH, dimensions=384),
    Family("granite-278m", r"granite-embedding[-:]278m", scripts=BOTH, dimensions=768),
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
