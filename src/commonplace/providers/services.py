"""Facts about services, and about embedding models by name: the table `services.toml`, and its reader."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from commonplace.base import paths
from commonplace.base.tuples import NamedTuple
from commonplace.providers.embedding.base import Kind

TABLE = Path(__file__).with_name("services.toml")
_USAGE = (("usage", "total_tokens"), ("usage", "prompt_tokens"))


class Limits(NamedTuple):
    """How many texts and tokens one request may hold, how many tokens one text, how many requests at once.

    Tokens stay well below what the service allows, because they are estimated.
    """

    inputs: int
    tokens: int
    input_tokens: int
    concurrency: int = 4


class Family(NamedTuple):
    """Embedding models that take their texts in the same way.

    `query` and `passage` are prefixes, `max_tokens` is the limit of one input with its prefix, `dimensions`
    the length of a vector unless a shorter one is requested (0: unknown).
    """

    query: str = ""
    passage: str = ""
    scripts: frozenset[str] = frozenset({"latin", "cjk"})
    max_tokens: int = 8192
    dimensions: int = 0

    def prefix(self, kind: Kind) -> str:
        """Return the prefix of a text of a kind."""
        return self.query if kind == "query" else self.passage


# Most models that are served today know both scripts, and full text answers where a model does not.
UNKNOWN = Family()


@dataclass(frozen=True, slots=True)
class Call:
    """The content of one embedding request; `dimensions` is None unless shorter vectors are wanted."""

    model: str
    inputs: Sequence[str]
    kind: Kind
    dimensions: int | None


@dataclass(frozen=True, slots=True)
class EmbeddingApi:
    """The embedding API of a service, in OpenAI's form unless a field differs.

    `header` and `scheme` carry the key. `texts`, `dimensions` and `purpose` name parameters, `extra` is in
    every request. `vectors_at` and `usage_at` are paths into an answer. `placed` adds the address to the
    identity of a model, where its name alone does not tell which it is. In the table, `names` begin the names
    of the service's own models, `models` and `suggested` list some.
    """

    name: str
    limits: Limits
    header: str = "Authorization"
    scheme: str = "Bearer "
    path_: str = "embeddings"
    texts: str = "input"
    dimensions: str = "dimensions"
    purpose: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, object] = field(default_factory=dict)
    vectors_at: Sequence[str] = ()
    usage_at: Sequence[Sequence[str]] = _USAGE
    placed: bool = False

    def path(self, call: Call) -> str:
        """Return where a request goes, below the address."""
        return self.path_

    def body(self, call: Call) -> dict[str, object]:
        """Return the JSON of a request."""
        purpose = {self.purpose["name"]: self.purpose[call.kind]} if self.purpose else {}
        shorter = {self.dimensions: call.dimensions} if call.dimensions else {}
        return {"model": call.model, self.texts: list(call.inputs), **self.extra, **purpose, **shorter}

    def vectors(self, answer: Any) -> Sequence[object]:  # noqa: ANN401 - JSON
        """Take the vectors out of an answer: lists of numbers, or base64 of little-endian float32.

        Raises KeyError, TypeError, IndexError, ValueError, AttributeError for another form.
        """
        if self.vectors_at:
            for name in self.vectors_at:
                answer = answer[name]
            return list(answer)
        data = answer["data"]  # [{"index": 0, "embedding": [...]}]
        if all("index" in item for item in data):
            data = sorted(data, key=lambda item: item["index"])
            if [item["index"] for item in data] != list(range(len(data))):
                raise ValueError("indices are not those of the inputs")
        return [item["embedding"] for item in data]

    def usage(self, answer: object) -> int | None:
        """Return how many tokens an answer took, None where it does not tell."""
        return count_at(answer, self.usage_at)


class GeminiApi(EmbeddingApi):
    """Gemini's batchEmbedContents."""

    def path(self, call: Call) -> str:
        """Return where a request goes, below the address."""
        return f"{gemini_resource(call.model)}:batchEmbedContents"

    def body(self, call: Call) -> dict[str, object]:
        """Return the JSON of a request."""
        return {"requests": [gemini_request(call, text) for text in call.inputs]}

    def vectors(self, answer: Any) -> Sequence[object]:  # noqa: ANN401 - JSON
        """Take the vectors out of an answer, unnormalised where they are shorter than the model's own."""
        return [item["values"] for item in answer["embeddings"]]


class RerankApi(NamedTuple):
    """The rerank API of a service: its parameter for the number of results, and what is in every request."""

    name: str
    limits: Limits
    limit: str = "top_n"
    extra: Mapping[str, object] = {}
    usage_at: Sequence[Sequence[str]] = _USAGE[:1]


class Dialect(NamedTuple):
    """How a chat server takes a schema and the limit on tokens, and the parameters it does not take."""

    schema: Literal["json_schema", "json_object", "words"] = "json_schema"
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    without: frozenset[str] = frozenset()
    logprobs: bool = True


def gemini_resource(model: str) -> str:
    """Return a model's name as Gemini's API writes it: `models/gemini-embedding-001`."""
    return "models/" + quote(model.removeprefix("models/"), safe="")


def gemini_request(call: Call, text: str) -> dict[str, object]:
    """Return Gemini's request for one text; later models take their purpose as a prefix instead."""
    request: dict[str, object] = {
        "model": gemini_resource(call.model),
        "content": {"parts": [{"text": text}]},
    }
    if not family(call.model).query:
        request["taskType"] = "RETRIEVAL_QUERY" if call.kind == "query" else "RETRIEVAL_DOCUMENT"
    return request | ({"outputDimensionality": call.dimensions} if call.dimensions else {})


def count_at(answer: object, paths: Sequence[Sequence[str]]) -> int | None:
    """Return the first positive number at one of several paths of an answer.

    A zero counts as missing: no text has no tokens, and some servers put it where they have not counted.
    """
    for path in paths:
        value = answer
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None


@cache
def _table() -> dict[str, Any]:
    import tomllib

    return tomllib.loads(paths.read_contained(TABLE, [TABLE.parent]).decode())


def _row(kind: str, name: str) -> tuple[dict[str, Any], Limits]:
    """The fields of a service, and its limits apart from them."""
    row = dict(_table()[kind][name])
    limits = {key: row.pop(key) for key in Limits._fields if key in row}
    return row, Limits(**limits)


def embedding(name: str) -> EmbeddingApi:
    """Return the embedding API of a service. Raises KeyError for a name without one."""
    row, limits = _row("embedding", name)
    renamed = {"path": "path_", "vectors": "vectors_at", "usage": "usage_at"}
    fields = {renamed.get(key, key): value for key, value in row.items()}
    made = GeminiApi if name == "gemini" else EmbeddingApi
    return made(
        name, limits, **{k: v for k, v in fields.items() if k not in ("names", "models", "suggested")}
    )


def reranking(name: str) -> RerankApi:
    """Return the rerank API of a service. Raises KeyError for a name without one."""
    row, limits = _row("reranking", name)
    if "usage" in row:
        row["usage_at"] = row.pop("usage")
    return RerankApi(name, limits, **row)


def chat(name: str) -> Dialect:
    """Return how a service's chat completions differ from OpenAI's protocol."""
    return Dialect(**_table()["chat"].get(name, {}))


def models(name: str, field: Literal["models", "suggested"] = "models") -> tuple[str, ...]:
    """Return embedding models of a service that are known by name, or those suggested to users."""
    return tuple(_table()["embedding"].get(name, {}).get(field, ()))


def owner(model: str) -> str:
    """Return the service whose embedding model has this name, or an empty string."""
    rows = _table()["embedding"].items()
    return next((name for name, row in rows if model.startswith(tuple(row.get("names", ())))), "")


def plain(model: str) -> str:
    """Return a model's name in lower case without its owner: `BAAI/bge-M3` is `bge-m3`.

    LM Studio puts `text-embedding-` before the names of all models and `@q8_0` behind.
    """
    name = model.lower().rpartition("/")[2].partition("@")[0].replace("_", "-")
    rest = name.removeprefix("text-embedding-")
    return name if rest.startswith(("3-", "ada", "0")) else rest


@cache
def family(model: str) -> Family:
    """Return what is known of an embedding model by its name; an unknown one takes no prefix."""
    name = plain(model)
    for row in _table()["model"]:
        if re.search(row["pattern"], name):
            fields = {key: value for key, value in row.items() if key != "pattern"}
            scripts = frozenset(fields.get("scripts", UNKNOWN.scripts))
            return Family(**{**fields, "scripts": scripts})
    return UNKNOWN
