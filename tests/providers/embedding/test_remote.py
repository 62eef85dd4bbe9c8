"""Every provider over real HTTP, against servers that behave as its documentation says."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from commonplace.base.errors import ConfigError, ProviderError
from commonplace.config.credentials import Secret
from commonplace.providers import attempts, packing
from commonplace.providers.catalog import EMBEDDERS, Spec
from commonplace.providers.embedding.base import Kind
from commonplace.providers.embedding.remote import RemoteEmbedder
from tests.providers.embedding import apis
from tests.providers.server import Reply, Request, Server

PROVIDERS = sorted(apis.APIS)
KEYLESS = ("compatible", "ollama")
MODELS = {"compatible": "intfloat/multilingual-e5-small"}
Make = Callable[..., RemoteEmbedder]


# Faults of a connection are met in one place whoever is behind it: one provider by default, all with --slow.
EVERY = pytest.mark.parametrize("provider", PROVIDERS, indirect=True)
ONE = [name if name == "compatible" else pytest.param(name, marks=pytest.mark.slow) for name in PROVIDERS]


@pytest.fixture(params=ONE)
def provider(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def server(provider: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(attempts, "FIRST_PAUSE_S", 0.01)
    found = Server(apis.APIS[provider])
    yield found
    found.close()


@pytest.fixture
def make(provider: str, server: Server) -> Iterator[Make]:
    made: list[RemoteEmbedder] = []

    def build(**fields: object) -> RemoteEmbedder:
        key = {} if provider in KEYLESS else {"key": Secret(apis.KEY)}
        fields = {"model": MODELS.get(provider, ""), "base_url": server.url + "/v1", **key, **fields}
        made.append(RemoteEmbedder(Spec(provider, **fields)))
        return made[-1]

    yield build
    for model in made:
        model.close()


@pytest.fixture
def model(make: Make) -> RemoteEmbedder:
    return make()


def expected(model: RemoteEmbedder, text: str, kind: Kind, dimensions: int = apis.DIMENSIONS) -> np.ndarray:
    """The unit vector an API makes of a text with its prefix or purpose."""
    purpose = apis.PURPOSES.get(model.service.name, {}).get(kind, "")
    row = np.array(apis.vector(model.family.prefix(kind) + text + purpose, dimensions))
    return row / np.linalg.norm(row)


def refused(model: RemoteEmbedder, texts: list[str] | None = None, kind: Kind = "passage") -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        model.embed(texts or ["tea", "milk"], kind)
    assert caught.value.provider == model.service.name
    assert apis.KEY not in str(caught.value)
    assert str(caught.value).isprintable()
    return caught.value


@EVERY
def test_texts_become_unit_rows_in_order(model: RemoteEmbedder) -> None:
    texts = [f"note {number} 茶" for number in range(150)]
    for kind in ("query", "passage"):
        rows = model.embed(texts, kind)
        assert rows.dtype == np.float32
        np.testing.assert_allclose(
            rows, [expected(model, text, kind) for text in texts], atol=1e-6, err_msg=kind
        )
    assert model.learned == apis.DIMENSIONS


def test_shorter_vectors_are_asked_for_and_made_unit_rows(make: Make) -> None:
    model = make(dimensions=5)
    assert model.learned == 5
    (row,) = model.embed(["tea"], "passage")
    np.testing.assert_allclose(row, expected(model, "tea", "passage", 5), atol=1e-6)


SENTENCES = ["A sentence as people write them. ", "用中文写的一个句子。"]


def inputs_of(request: Request) -> list[str]:
    """The texts of a request, whoever it is for."""
    body = request.json
    texts = body.get("input") or body.get("texts")
    return texts or [one["content"]["parts"][0]["text"] for one in body["requests"]]


# What the model of each provider reads of one text, as its page says; Ollama and servers refuse what is more.
READS = {"openai": 8191, "gemini": 2048, "voyage": 32_000, "mistral": 8192, "cohere": 8192}


def test_a_text_is_cut_where_the_model_ends_prefix_and_all(model: RemoteEmbedder, provider: str) -> None:
    most = READS.get(provider, model.family.max_tokens)
    assert model.input_tokens == most
    for kind, text in itertools.product(("query", "passage"), SENTENCES):
        prepared = model.prepare(text * 20_000, kind)
        assert prepared.startswith(model.family.prefix(kind) + text), kind
        assert 0.8 * most < packing.tokens(prepared) <= most, (kind, text)
        kept = prepared.removeprefix(model.family.prefix(kind))
        assert (text * 20_000).startswith(kept)
        assert " " not in text or (text * 20_000)[len(kept)].isspace(), "a word is whole"


LONG = "the input length exceeds the context length: too many tokens"


def picky(provider: str, longest: int) -> Callable[[Request], Reply]:
    """The API, with a model that takes inputs of so many characters."""

    def answer(request: Request) -> Reply:
        if any(len(text) > longest for text in inputs_of(request)):
            return Reply({"error": {"message": LONG}}, 400)
        return apis.APIS[provider](request)

    return answer


def test_what_the_server_finds_too_long_is_halved_and_nothing_else_is(
    model: RemoteEmbedder, provider: str, server: Server
) -> None:
    server.answer = picky(provider, 400)
    long = "A sentence of some words. " * 60
    texts = ["tea", long, "milk", "bread"]
    rows = model.embed(texts, "passage")
    for place in (0, 2, 3):
        np.testing.assert_allclose(rows[place], expected(model, texts[place], "passage"), atol=1e-6)
    prefix = model.family.prefix("passage")
    shorter = model.prepare(long, "passage").removeprefix(prefix)
    while len(prefix + shorter) > 400:
        shorter = packing.halve(shorter)
    np.testing.assert_allclose(rows[1], expected(model, shorter, "passage"), atol=1e-6)


BAD = {"fewer": [[1.0, 2.0]], "none": [], "nothing": [None, [1.0, 2.0]], "ragged": [[1.0], [1.0, 2.0]]}


@EVERY
def test_an_answer_without_proper_vectors_is_an_error(
    model: RemoteEmbedder, provider: str, server: Server
) -> None:
    for name, rows in BAD.items():
        server.requests.clear()
        server.script = [Reply(apis.answering(provider, rows))]
        assert not refused(model).permanent, name
        assert len(server.requests) == 1, name


def test_indices_that_are_not_those_of_the_texts_are_an_error(
    model: RemoteEmbedder, provider: str, server: Server
) -> None:
    answer = apis.answering(provider, [[1.0, 2.0], [2.0, 1.0]])
    if "data" not in answer:
        pytest.skip("this provider sends vectors in order, without an index")
    for indices in [[0, 0], [1, 2], [0, 5], [-1, 0], [0, "1"], [0, None]]:
        for item, index in zip(answer["data"], indices, strict=True):
            item["index"] = index
        server.script = [Reply(answer)]
        assert "holds no vectors" in str(refused(model)), indices


def test_the_first_failure_ends_the_other_requests(
    model: RemoteEmbedder, provider: str, server: Server
) -> None:
    server.script = [
        Reply({"error": "no"}, 401),
        *[Reply(delay_s=300)] * 20,
    ]
    error = refused(model, [f"note {number}" for number in range(1200)])
    assert error.status == 401


def test_identity(make: Make, provider: str) -> None:
    one = make()
    assert make().fingerprint == one.fingerprint
    assert make(key=Secret("another-key")).fingerprint == one.fingerprint
    assert ":full:" in one.fingerprint
    assert ":4:" in make(dimensions=4).fingerprint
    assert make(model="another-model").fingerprint != one.fingerprint
    if one.family.dimensions:
        assert make(dimensions=one.family.dimensions).fingerprint == one.fingerprint
    elsewhere = make(base_url="http://127.0.0.1:9/v1").fingerprint
    assert (elsewhere == one.fingerprint) == (provider != "compatible")
    assert apis.KEY not in one.fingerprint + one.name + repr(one)
    one.embed(["tea"], "query")
    assert make().fingerprint == one.fingerprint


class TestKeys:
    def test_but_it_goes_to_the_provider_only(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", apis.KEY)
        server = Server()
        model = EMBEDDERS.create(Spec("openai", base_url=server.url))
        try:
            with pytest.raises(ProviderError):
                model.embed(["tea"], "query")
            assert "authorization" not in server.requests[0].headers
        finally:
            model.close()
            server.close()

    def test_a_key_is_sent_to_a_compatible_server_that_needs_one(self) -> None:
        server = Server()
        model = EMBEDDERS.create(Spec("compatible", "m", base_url=server.url, key=Secret(apis.KEY)))
        try:
            with pytest.raises(ProviderError):
                model.embed(["tea"], "query")
            assert server.requests[0].headers["authorization"] == f"Bearer {apis.KEY}"
        finally:
            model.close()
            server.close()

    def test_a_compatible_server_needs_address_and_model(self) -> None:
        for spec, missing in [
            (Spec("compatible", "m"), "base_url"),
            (Spec("compatible", base_url="http://127.0.0.1:1"), "model"),
        ]:
            with pytest.raises(ConfigError, match=rf"embedding\.{missing}: compatible needs one"):
                EMBEDDERS.create(spec)


def test_gemini_models_of_the_second_kind_take_prefixes() -> None:
    server = Server(apis.gemini)
    model = EMBEDDERS.create(
        Spec("gemini", "models/gemini-embedding-2", base_url=server.url + "/v1", key=Secret(apis.KEY))
    )
    try:
        model.embed(["tea"], "query")
        model.embed(["tea"], "passage")
        sent = [request.json["requests"][0]["content"]["parts"][0]["text"] for request in server.requests]
        assert sent == ["task: search result | query: tea", "title: none | text: tea"]
    finally:
        model.close()
        server.close()


@EVERY
def test_the_answers_of_all_apis_say_what_they_took(
    model: RemoteEmbedder, provider: str, server: Server
) -> None:
    """What the servers of these tests send is what the providers' pages show."""
    taken: list[int | None] = []

    def answer(request: Request) -> Reply:
        reply = apis.APIS[provider](request)
        taken.append(model.service.usage(reply.body))
        return reply

    server.answer = answer
    model.embed(["tea", "a longer text about tea"], "passage")
    assert taken == [2]
