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


class Family(NamedTuple):
    """Embedding models that take their texts in the same way."""

    query: str = ""  # a prefix
    passage: str = ""  # a prefix
    scripts: frozenset[str] = frozenset({"latin", "cjk"})
    max_tokens: int = 8192  # of one input with its prefix
    dimensions: int = 0  # of a vector unless a shorter one is requested; 0: unknown

    def prefix(self, kind: Kind) -> str:
        """Return the prefix of a text of a kind."""
        return self.query if kind == "query" else self.passage


@dataclass(frozen=True, slots=True)
class Service:
    """The embedding or rerank API of a service, in the form of OpenAI or Jina unless a field differs.

    Limits are well below those of the service, because tokens are estimated.
    """

    name: str
    inputs: int = 0  # of a request, as are `tokens`
    tokens: int = 0
    input_tokens: int = 0
    concurrency: int = 4
    header: str = "Authorization"  # which carries `scheme` and key
    scheme: str = "Bearer "
    path: str = "embeddings"
    texts: str = "input"  # names of parameters, as the next three
    dimensions: str = "dimensions"
    purpose: Mapping[str, str] = field(default_factory=dict)
    limit: str = "top_n"
    extra: Mapping[str, object] = field(default_factory=dict)  # in every request
    vectors_at: Sequence[str] = ()  # a path into an answer
    usage_at: Sequence[Sequence[str]] = (("usage", "total_tokens"), ("usage", "prompt_tokens"))
    placed: bool = False  # whether the address is part of a model's identity

    def address(self, model: str) -> str:
        """Return where a request for vectors goes, below the address of the service."""
        return self.path

    def body(
        self, model: str, inputs: Sequence[str], kind: Kind, dimensions: int | None
    ) -> dict[str, object]:
        """Return the JSON of a request for vectors; `dimensions` is None unless shorter ones are wanted."""
        purpose = {self.purpose["name"]: self.purpose[kind]} if self.purpose else {}
        shorter = {self.dimensions: dimensions} if dimensions else {}
        return {"model": model, self.texts: list(inputs), **self.extra, **purpose, **shorter}

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
        """Return how many tokens an answer took, None where it does not tell.

        A zero counts as missing: no text has no tokens, and some servers put it where they have not counted.
        """
        for path in self.usage_at:
            value = answer
            for name in path:
                value = value.get(name) if isinstance(value, dict) else None
            if type(value) is int and value > 0:
                return value
        return None


class Gemini(Service):
    """Gemini's batchEmbedContents."""

    def address(self, model: str) -> str:
        """Return where a request goes, below the address."""
        return f"{gemini_resource(model)}:batchEmbedContents"

    def body(
        self, model: str, inputs: Sequence[str], kind: Kind, dimensions: int | None
    ) -> dict[str, object]:
        """Return the JSON of a request for vectors."""
        return {"requests": [gemini_request(model, text, kind, dimensions) for text in inputs]}

    def vectors(self, answer: Any) -> Sequence[object]:  # noqa: ANN401 - JSON
        """Take the vectors out of an answer, unnormalised where they are shorter than the model's own."""
        return [item["values"] for item in answer["embeddings"]]


class Dialect(NamedTuple):
    """How a chat server takes a schema and the limit on tokens, and the parameters it does not take."""

    schema: Literal["json_schema", "json_object", "words"] = "json_schema"
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    without: frozenset[str] = frozenset()
    logprobs: bool = True


def gemini_resource(model: str) -> str:
    """Return a model's name as Gemini's API writes it: `models/gemini-embedding-001`."""
    return "models/" + quote(model.removeprefix("models/"), safe="")


def gemini_request(model: str, text: str, kind: Kind, dimensions: int | None) -> dict[str, object]:
    """Return Gemini's request for one text; later models take their purpose as a prefix instead."""
    request: dict[str, object] = {
        "model": gemini_resource(model),
        "content": {"parts": [{"text": text}]},
    }
    if not family(model).query:
        request["taskType"] = "RETRIEVAL_QUERY" if kind == "query" else "RETRIEVAL_DOCUMENT"
    return request | ({"outputDimensionality": dimensions} if dimensions else {})


@cache
def _table() -> dict[str, Any]:
    import tomllib

    return tomllib.loads(paths.read_contained(TABLE, [TABLE.parent]).decode())


def embedding(name: str) -> Service:
    """Return the embedding API of a service, empty for a name without one."""
    return (Gemini if name == "gemini" else Service)(name, **_table()["embedding"].get(name, {}))


def reranking(name: str) -> Service:
    """Return the rerank API of a service. Raises KeyError for a name without one."""
    return Service(name, **_table()["reranking"][name])


def refusal(kind: str, text: str) -> re.Match[str] | None:
    """Find the words of a kind of refusal in an answer of a service."""
    return re.search(_table()["refusals"][kind], text)


def chat(name: str) -> Dialect:
    """Return how a service's chat completions differ from OpenAI's protocol."""
    return Dialect(**_table()["chat"].get(name, {}))


@cache
def family(model: str) -> Family:
    """Return what is known of an embedding model by its name; an unknown one takes no prefix."""
    name = model.lower().rpartition("/")[2].replace("_", "-")
    for row in _table()["model"]:
        if re.search(row["pattern"], name):
            fields = {key: value for key, value in row.items() if key != "pattern"}
            return Family(**{**fields, "scripts": frozenset(fields.get("scripts", Family().scripts))})
    return Family()
