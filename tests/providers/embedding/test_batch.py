"""Batches over real HTTP: everything arrives once, partial results are kept, restarts pay nothing twice."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from commonplace.base.errors import ProviderError
from commonplace.config.credentials import Secret
from commonplace.providers import attempts, http
from commonplace.providers.catalog import EMBEDDERS, Spec
from commonplace.providers.costs import Ledger
from commonplace.providers.embedding import batch
from commonplace.providers.embedding.batch import StillWorking, Store, embed_each
from commonplace.providers.embedding.remote import RemoteEmbedder
from tests.providers.embedding import apis
from tests.providers.embedding.batch_apis import Batches, api
from tests.providers.server import Reply, Server

TEXTS = [f"note {number} 茶" for number in range(25)]
Found = dict[int, np.ndarray]
Ask = Callable[..., Found]


@pytest.fixture(params=["openai", "gemini"])
def provider(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def batches(provider: str) -> Batches:
    return api(provider)


@pytest.fixture
def server(batches: Batches, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(attempts, "FIRST_PAUSE_S", 0.01)
    found = Server(batches)
    yield found
    found.close()


@pytest.fixture
def model(provider: str, server: Server) -> Iterator[RemoteEmbedder]:
    spec = Spec(provider, base_url=server.url + "/v1", key=Secret(apis.KEY))
    found = RemoteEmbedder(spec)
    yield found
    found.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    yield Store(ledger)
    ledger.close()


@pytest.fixture
def ask(model: RemoteEmbedder, store: Store, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Embed texts by batches; `patience_s` and `requests` are the limits of `batch`."""
    monkeypatch.setattr(batch, "FIRST_LOOK_S", 0.01)

    def collected(texts: list[str], *, patience_s: float = 30.0, requests: int = 5000) -> Found:
        monkeypatch.setattr(batch, "PATIENCE_S", patience_s)
        monkeypatch.setattr(batch, "MAX_REQUESTS", requests)
        found: Found = {}
        for places, rows in embed_each(model, store, texts):
            assert len(places) == len(rows)
            assert not found.keys() & set(places)
            found.update(zip(places, rows, strict=True))
        return found

    return collected


def keys_of(model: RemoteEmbedder, texts: list[str]) -> tuple[str, ...]:
    sent = (model.prepare(text, "passage") for text in texts)
    return tuple(hashlib.sha256(f"{model.fingerprint}\0{text}".encode()).hexdigest()[:32] for text in sent)


def check(found: dict[int, np.ndarray], texts: list[str], model: RemoteEmbedder) -> None:
    purpose = apis.PURPOSES.get(model.service.name, {}).get("passage", "")
    for place, row in found.items():
        expected = np.array(apis.vector(texts[place] + purpose))
        np.testing.assert_allclose(row, expected / np.linalg.norm(expected), atol=1e-6)
        assert row.dtype == np.float32


def test_every_text_gets_its_vector(ask: Ask, model: RemoteEmbedder, batches: Batches) -> None:
    texts = [*TEXTS, TEXTS[3], ""]
    found = ask(texts)
    assert sorted(found) == list(range(len(texts)))
    check({place: row for place, row in found.items() if texts[place]}, texts, model)
    assert (len(batches.batches), batches.direct) == (1, 0)


def test_refused_and_lost_requests_are_left_out(
    ask: Ask, model: RemoteEmbedder, store: Store, batches: Batches
) -> None:
    batches.refused, batches.lost = {TEXTS[1], TEXTS[2]}, {TEXTS[5]}
    found = ask(TEXTS)
    check(found, TEXTS, model)
    assert sorted({*range(len(TEXTS))} - found.keys()) == [1, 2, 5]
    assert (batches.direct, store.read()) == (0, {})


def test_a_batch_whose_start_has_no_answer_is_not_started_over_and_over(
    ask: Ask, model: RemoteEmbedder, server: Server, batches: Batches
) -> None:
    def answer(request):
        reply = batches(request)
        creates = request.method == "POST" and ("/batches" in request.path or "async" in request.path)
        return Reply(b'{"id', cut=4, headers={"Content-Length": "400"}) if creates else reply

    server.answer = answer
    assert ask(TEXTS) == {}
    assert (len(batches.batches), batches.direct) == (1, 0)


def test_a_restart_takes_the_results_and_pays_nothing_twice(
    ask: Ask, model: RemoteEmbedder, store: Store, batches: Batches, tmp_path: Path
) -> None:
    batches.looks = 10_000
    with pytest.raises(StillWorking, match="25 texts wait for a later sync"):
        ask(TEXTS, patience_s=1.0, requests=10)
    assert len(batches.batches) == 3
    kept = (tmp_path / "ledger.sqlite").read_bytes()
    assert TEXTS[0].encode() not in kept
    assert apis.KEY.encode() not in kept
    batches.looks = 0
    found = ask(TEXTS, requests=10)
    check(found, TEXTS, model)
    assert len(found) == len(TEXTS)
    assert sum(len(batches.lines(made["file"])) for made in batches.batches.values()) == len(TEXTS)
    assert batches.direct == 0
    assert store.read() == {}


def test_a_batch_that_the_provider_does_not_know_is_forgotten(
    ask: Ask, batches: Batches, model: RemoteEmbedder, store: Store
) -> None:
    keys = keys_of(model, TEXTS)
    name = "batches/gone" if model.service.name == "gemini" else "gone"
    store.put(name, keys)
    assert ask(TEXTS) == {}
    assert (batches.direct, store.read()) == (0, {})


def test_a_refused_key_forgets_no_batch(
    ask: Ask, server: Server, model: RemoteEmbedder, store: Store
) -> None:
    store.put("batch-9", keys_of(model, TEXTS))
    server.answer = lambda request: Reply({"error": "invalid key"}, 401)
    with pytest.raises(ProviderError, match="invalid key"):
        ask(TEXTS)
    assert len(store.read()) == 1


def test_results_that_cannot_be_had_just_now_are_asked_for_again(
    ask: Ask, server: Server, batches: Batches
) -> None:
    faults = [Reply({}, 503)] * (http.ATTEMPTS + 1)

    def answer(request):
        return (
            faults.pop()
            if faults and ("/content" in request.path or "alt=media" in request.path)
            else batches(request)
        )

    server.answer = answer
    assert len(ask(TEXTS)) == len(TEXTS)
    assert (len(batches.batches), batches.direct) == (1, 0)


def test_an_upload_address_of_another_host_is_refused(store: Store) -> None:
    batches = api("gemini")
    other = Server()

    def answer(request):
        if request.path == "/upload/v1/files":
            return Reply(b"", headers={"X-Goog-Upload-URL": other.url + "/steal"})
        return batches(request)

    server = Server(answer)
    model = EMBEDDERS.create(Spec("gemini", base_url=server.url + "/v1", key=Secret(apis.KEY)))
    try:
        assert list(embed_each(model, store, TEXTS)) == []
        assert other.requests == []
    finally:
        model.close()
        server.close()
        other.close()


def test_batches_under_way_are_rows_of_the_ledger(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert store.read() == {}
    now = time.time()
    for name, keys, at in [("old", ["k"], now - 1e6), ("b", ["k1", "k2"], now), ("c", ["k3"], now + 1)]:
        monkeypatch.setattr(time, "time", lambda at=at: at)
        store.put(name, keys)
    jobs = {"b": {"k1", "k2"}, "c": {"k3"}}
    assert store.read() == Store(Ledger(tmp_path / "ledger.sqlite")).read() == jobs
    store.remove("b")
    assert store.read() == {"c": {"k3"}}
    assert Ledger(tmp_path / "ledger.sqlite").rows("SELECT count(*) FROM jobs", ()) == [(1,)]
