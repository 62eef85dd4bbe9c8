"""Batches over real HTTP: everything arrives once, partial results are kept, restarts pay nothing twice."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from commonplace.base.deadline import Deadline
from commonplace.base.errors import ProviderError
from commonplace.config.credentials import Secret
from commonplace.providers import attempts, http
from commonplace.providers.catalog import EMBEDDERS, Spec
from commonplace.providers.embedding.batch import (
    BatchEmbedder,
    GeminiJobs,
    Job,
    State,
    Status,
    StillWorking,
    Store,
    supports,
)
from commonplace.providers.embedding.remote import RemoteEmbedder
from commonplace.providers.embedding.services import Call
from commonplace.providers.fake import FakeEmbedder
from commonplace.providers.http import Endpoint
from tests.providers.embedding import apis
from tests.providers.embedding.batch_apis import Batches, api
from tests.providers.server import Reply, Server, serving

TEXTS = [f"note {number} 茶" for number in range(25)]
Make = Callable[..., BatchEmbedder]


class MemoryStore:
    """A state that lives as long as the process."""

    def __init__(self, state: State | None = None) -> None:
        self.state = state or State()

    def read(self) -> State:
        return self.state

    def write(self, state: State) -> None:
        self.state = state


@pytest.fixture(params=["openai", "voyage", "gemini"])
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
    found = EMBEDDERS.factory(provider)(spec)
    yield found
    found.close()


@pytest.fixture
def make(model: RemoteEmbedder) -> Make:
    def build(store: object = None, **settings: object) -> BatchEmbedder:
        settings = {"first_look_s": 0.01, "patience_s": 30.0, **settings}
        return BatchEmbedder(model, store or MemoryStore(), **settings)

    return build


def collected(embedder: BatchEmbedder, texts: list[str]) -> dict[int, np.ndarray]:
    found: dict[int, np.ndarray] = {}
    for places, rows in embedder.embed_each(texts):
        assert len(places) == len(rows)
        assert not found.keys() & set(places)
        found.update(zip(places, rows, strict=True))
    return found


def check(found: dict[int, np.ndarray], texts: list[str], model: RemoteEmbedder) -> None:
    purpose = apis.PURPOSES.get(model.service.name, {}).get("passage", "")
    for place, row in found.items():
        expected = np.array(apis.vector(texts[place] + purpose))
        np.testing.assert_allclose(row, expected / np.linalg.norm(expected), atol=1e-6)
        assert row.dtype == np.float32


def test_every_text_gets_its_vector(make: Make, model: RemoteEmbedder, batches: Batches) -> None:
    texts = [*TEXTS, TEXTS[3], ""]
    found = collected(make(), texts)
    assert sorted(found) == list(range(len(texts)))
    check({place: row for place, row in found.items() if texts[place]}, texts, model)
    assert (len(batches.batches), batches.direct) == (1, 0)


def test_batches_keep_their_limits_and_two_run_at_once(
    make: Make, model: RemoteEmbedder, batches: Batches
) -> None:
    found = collected(make(max_requests=4), TEXTS)
    check(found, TEXTS, model)
    assert len(found) == len(TEXTS)
    assert len(batches.batches) == 7
    assert batches.most_running == 2
    assert all(len(batches.lines(batch["file"])) <= 4 for batch in batches.batches.values())


def test_batches_keep_the_limit_on_bytes(make: Make, batches: Batches) -> None:
    embedder = make()
    embedder._jobs.max_bytes = 700
    assert len(collected(embedder, TEXTS)) == len(TEXTS)
    sizes = [len(batches.files[batch["file"]]) for batch in batches.batches.values()]
    assert len(sizes) > 2
    assert max(sizes) <= 700


def test_refused_and_lost_requests_are_asked_for_directly(
    make: Make, model: RemoteEmbedder, batches: Batches
) -> None:
    batches.refused, batches.lost = {TEXTS[1], TEXTS[2]}, {TEXTS[5]}
    store = MemoryStore()
    found = collected(make(store), TEXTS)
    check(found, TEXTS, model)
    assert len(found) == len(TEXTS)
    assert batches.direct == 1
    assert store.state == State()


@pytest.mark.parametrize("end", ["expired", "cancelled"])
def test_what_an_unfinished_batch_has_done_is_kept(
    make: Make, model: RemoteEmbedder, batches: Batches, end: str
) -> None:
    batches.ends = [end]
    batches.lost = {TEXTS[7]}
    found = collected(make(), TEXTS)
    check(found, TEXTS, model)
    assert len(found) == len(TEXTS)
    second = batches.lines(list(batches.batches.values())[1]["file"])
    assert len(second) == 1


def test_two_failures_switch_batches_off(make: Make, model: RemoteEmbedder, batches: Batches) -> None:
    batches.ends = ["failed"] * 9
    store = MemoryStore()
    embedder = make(store)
    found = collected(embedder, TEXTS)
    check(found, TEXTS, model)
    assert (len(found), len(batches.batches), batches.direct) == (len(TEXTS), 2, 1)
    assert embedder.is_off
    assert "failed" in embedder.state.trouble.lower()
    assert len(collected(make(store), ["another"])) == 1
    assert (len(batches.batches), batches.direct) == (2, 2)


UNTOLD = [
    b"{}",
    b"[]",
    b"null",
    b'{"status": "queued", "metadata": {"state": "BATCH_STATE_PAUSED"}}',
    b"<html>",
]


@pytest.mark.parametrize("body", UNTOLD, ids=repr)
def test_a_state_that_nobody_knows_ends_no_batch(
    make: Make, model: RemoteEmbedder, server: Server, batches: Batches, body: bytes
) -> None:
    looks = [0]

    def answer(request):
        if request.method == "GET" and "/batches/" in request.path and not looks[0]:
            looks[0] += 1
            return Reply(body)
        return batches(request)

    server.answer = answer
    found = collected(make(), TEXTS)
    check(found, TEXTS, model)
    assert (len(found), looks[0], len(batches.batches), batches.direct) == (len(TEXTS), 1, 1, 0)


def test_why_a_batch_failed_is_told(make: Make, server: Server, batches: Batches) -> None:
    batches.ends = ["failed"] * 2
    told = "Enqueued token limit reached for text-embedding-3-small\n\x1b[31m in organization org-1."

    def answer(request):
        reply = batches(request)
        if request.method == "GET" and "/batches/" in request.path and isinstance(reply.body, dict):
            openai = {"object": "list", "data": [{"code": "token_limit_exceeded", "message": told}]}
            reply.body |= {"errors": openai} | (
                {"error": {"code": 8, "message": told}} if reply.body.get("done") else {}
            )
        return reply

    server.answer = answer
    embedder = make()
    assert len(collected(embedder, TEXTS)) == len(TEXTS)
    assert "failed: Enqueued token limit reached for text-embedding-3-small" in embedder.state.trouble
    assert embedder.state.trouble.isprintable()


def test_an_error_ends_a_batch_of_gemini_whatever_its_state() -> None:
    with serving(
        lambda request: Reply({"done": True, "error": {"code": 13, "message": "internal"}})
    ) as server:
        endpoint = Endpoint("gemini", server.url)
        found = GeminiJobs(endpoint, Call("m", (), "passage", None)).status("batches/1", Deadline(5))
        endpoint.close()
    assert found == Status("failed", (), "the batch is failed: internal")


def test_for_a_day(make: Make, batches: Batches) -> None:
    store = MemoryStore(State(failures=2, failed=time.time() - 90_000, trouble="x"))
    embedder = make(store)
    assert not embedder.is_off
    collected(embedder, TEXTS)
    assert (len(batches.batches), batches.direct) == (1, 0)


def test_one_success_between_makes_failures_forgotten(make: Make, batches: Batches) -> None:
    batches.ends = ["failed", "completed", "failed", "completed"]
    store = MemoryStore()
    for _ in range(2):
        assert len(collected(make(store), TEXTS)) == len(TEXTS)
    assert (store.state.failures, batches.direct) == (0, 0)


@pytest.mark.parametrize("status", [400, 403, 500])
def test_a_provider_without_batches_is_asked_directly(
    make: Make, model: RemoteEmbedder, server: Server, batches: Batches, status: int
) -> None:
    def answer(request):
        direct = "mbed" in request.path.rpartition("/")[2] and "async" not in request.path
        return batches(request) if direct else Reply({"error": "no batches for you"}, status)

    server.answer = answer
    embedder = make()
    found = collected(embedder, TEXTS)
    check(found, TEXTS, model)
    assert len(found) == len(TEXTS)
    assert "no batches for you" in embedder.state.trouble


def test_a_batch_whose_start_has_no_answer_is_not_started_over_and_over(
    make: Make, model: RemoteEmbedder, server: Server, batches: Batches
) -> None:
    def answer(request):
        reply = batches(request)
        creates = request.method == "POST" and ("/batches" in request.path or "async" in request.path)
        return Reply(b'{"id', cut=4, headers={"Content-Length": "400"}) if creates else reply

    server.answer = answer
    found = collected(make(), TEXTS)
    check(found, TEXTS, model)
    assert (len(found), len(batches.batches), batches.direct) == (len(TEXTS), 2, 1)


def test_a_restart_takes_the_results_and_pays_nothing_twice(
    make: Make, model: RemoteEmbedder, batches: Batches, tmp_path: Path
) -> None:
    batches.looks = 10_000
    store = Store(tmp_path / "batches.json", tmp_path / "batches.lock")
    with pytest.raises(StillWorking, match="25 texts wait for a later sync"):
        collected(make(store, patience_s=1.0, max_requests=10), TEXTS)
    assert len(batches.batches) == 2
    assert TEXTS[0] not in (tmp_path / "batches.json").read_text("utf-8")
    assert apis.KEY not in (tmp_path / "batches.json").read_text("utf-8")
    batches.looks = 0
    found = collected(make(store, max_requests=10), TEXTS)
    check(found, TEXTS, model)
    assert len(found) == len(TEXTS)
    assert sum(len(batches.lines(batch["file"])) for batch in batches.batches.values()) == len(TEXTS)
    assert batches.direct == 0
    assert store.read() == State()


def test_a_consumer_that_stops_loses_nothing(make: Make, model: RemoteEmbedder, batches: Batches) -> None:
    store = MemoryStore()
    stream = make(store).embed_each(TEXTS)
    next(stream)
    stream.close()
    assert len(store.state.jobs) == 1
    assert len(collected(make(store), TEXTS)) == len(TEXTS)
    assert len(batches.batches) == 1


def test_only_texts_that_are_still_wanted_are_handed_over(
    make: Make, model: RemoteEmbedder, batches: Batches
) -> None:
    store = MemoryStore()
    batches.looks = 10_000
    with pytest.raises(StillWorking):
        collected(make(store, patience_s=1.0), TEXTS[:10])
    batches.looks = 0
    found = collected(make(store), TEXTS[5:])
    check(found, TEXTS[5:], model)
    assert len(found) == len(TEXTS) - 5


def test_a_batch_that_nobody_knows_is_made_again(make: Make, batches: Batches, model: RemoteEmbedder) -> None:
    embedder = make()
    keys = tuple(embedder._planned(TEXTS).places)
    name = "batches/gone" if model.service.name == "gemini" else "gone"
    store = MemoryStore(State((Job(name, model.fingerprint, keys, time.time()),)))
    assert len(collected(make(store), TEXTS)) == len(TEXTS)
    assert (len(batches.batches), store.state.jobs) == (1, ())


def test_an_old_batch_is_not_waited_for(make: Make, batches: Batches, model: RemoteEmbedder) -> None:
    keys = tuple(make()._planned(TEXTS).places)
    store = MemoryStore(State((Job("old", model.fingerprint, keys, time.time() - 1e6),)))
    assert len(collected(make(store), TEXTS)) == len(TEXTS)
    assert store.state.jobs == ()


def test_a_refused_key_forgets_no_batch(make: Make, server: Server, model: RemoteEmbedder) -> None:
    keys = tuple(make()._planned(TEXTS).places)
    state = State((Job("batch-9", model.fingerprint, keys, time.time()),))
    store = MemoryStore(state)
    server.answer = lambda request: Reply({"error": "invalid key"}, 401)
    with pytest.raises(ProviderError, match="invalid key"):
        collected(make(store), TEXTS)
    assert store.state == state


def test_results_that_cannot_be_had_just_now_are_asked_for_again(
    make: Make, server: Server, batches: Batches
) -> None:
    faults = [Reply({}, 503)] * (http.ATTEMPTS + 1)

    def answer(request):
        return (
            faults.pop()
            if faults and ("/content" in request.path or "alt=media" in request.path)
            else batches(request)
        )

    server.answer = answer
    assert len(collected(make(), TEXTS)) == len(TEXTS)
    assert (len(batches.batches), batches.direct) == (1, 0)


def test_vectors_that_are_none_are_asked_for_directly(
    make: Make, model: RemoteEmbedder, server: Server, batches: Batches
) -> None:
    def answer(request):
        reply = batches(request)
        if "/content" not in request.path and "alt=media" not in request.path:
            return reply
        lines = [json.loads(line) for line in reply.body.splitlines()]
        spoilt = [b"not json", b"[]", b"{}", b'{"custom_id": 3, "key": null}']
        lines[0].pop("response")
        lines[1]["response"] = {"body": {"data": [{"embedding": [1.0, 2.0]}]}, "embedding": {"values": [1.0]}}
        return Reply(b"\n".join([*spoilt, *(json.dumps(line).encode() for line in lines)]))

    model.embed(["learn the length"], "passage")
    direct = batches.direct
    server.answer = answer
    found = collected(make(), TEXTS)
    check(found, TEXTS, model)
    assert len(found) == len(TEXTS)
    assert batches.direct == direct + 1


def test_which_models_have_batches(model: RemoteEmbedder) -> None:
    assert supports(model)
    assert not supports(FakeEmbedder())
    assert not supports(EMBEDDERS.create("ollama"))


def test_an_upload_address_of_another_host_is_refused() -> None:
    batches = api("gemini")
    other = Server()

    def answer(request):
        if request.path == "/upload/v1/files":
            return Reply(b"", headers={"X-Goog-Upload-URL": other.url + "/steal"})
        return batches(request)

    server = Server(answer)
    model = EMBEDDERS.create(Spec("gemini", base_url=server.url + "/v1", key=Secret(apis.KEY)))
    try:
        embedder = BatchEmbedder(model, MemoryStore(), first_look_s=0.01)
        assert len(collected(embedder, TEXTS)) == len(TEXTS)
        assert "another host" in embedder.state.trouble
        assert other.requests == []
    finally:
        model.close()
        server.close()
        other.close()


class TestStore:
    STATE = State((Job("b", "f", ("k1", "k2"), 12.5),), 1, 3.5, "why")

    def store(self, folder: Path) -> Store:
        return Store(folder / "batches.json", folder / "batches.lock")

    def test_what_is_written_is_read(self, tmp_path: Path) -> None:
        store = self.store(tmp_path)
        assert store.read() == State()
        store.write(self.STATE)
        assert self.store(tmp_path).read() == self.STATE
        store.write(replace(self.STATE, jobs=()))
        assert store.read().jobs == ()

    @pytest.mark.parametrize(
        "content", [b"", b"{", b"[]", b"null", b'{"jobs": [{}]}', b'{"jobs": 3}', b"\xff"]
    )
    def test_what_cannot_be_understood_is_nothing(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "batches.json").write_bytes(content)
        assert self.store(tmp_path).read() == State()
