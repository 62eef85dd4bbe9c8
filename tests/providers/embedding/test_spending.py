"""What embedding takes: recorded, capped, estimated, by batches; and a provider that is killed in between."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.base.errors import BudgetExceeded, ProviderError
from commonplace.base.paths import Workspace
from commonplace.index import sync
from commonplace.memory import estimate
from commonplace.providers import attempts, opening
from commonplace.providers.catalog import EMBEDDERS
from commonplace.providers.costs import Costs, Ledger
from commonplace.providers.embedding import batch
from commonplace.providers.embedding.remote import RemoteEmbedder
from commonplace.search import confidence, query
from tests.providers.embedding import apis
from tests.providers.embedding.batch_apis import Batches, api
from tests.providers.server import Reply, Request, Server

NOTES = 40
NULLS = len(confidence.questions("en"))


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(batch, "FIRST_LOOK_S", 0.01)


@pytest.fixture
def batches() -> Batches:
    return api("openai")


@pytest.fixture
def server(batches: Batches) -> Iterator[Server]:
    made = Server(batches)
    yield made
    made.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "memory").mkdir()
    for number in range(NOTES):
        (tmp_path / "memory" / f"n{number}.md").write_text(
            f"# Note {number}\n\nwalnut desk {number}\n", "utf-8"
        )
    return tmp_path


@pytest.fixture
def settings(server: Server, tmp_path: Path) -> Iterator[dict[str, object]]:
    (tmp_path / "key").write_text(apis.KEY)
    yield {
        "embedding.provider": "openai",
        "embedding.model": "text-embedding-3-small",
        "embedding.dimensions": apis.DIMENSIONS,
        "embedding.base_url": f"{server.url}/v1",
        "embedding.key": str(tmp_path / "key"),
        "limits.deadline_s": 5,
    }
    for model in EMBEDDERS.made.values():
        if isinstance(model, RemoteEmbedder):
            model.close()


def texts(server: Server) -> list[str]:
    """Every text that was sent to be embedded directly, in order, but for the null questions."""
    nulls = {
        query.with_mark(query.parse(text).words)
        for name in ("en", "zh")
        for text in confidence.questions(name)
    }
    sent = [text for r in server.requests if r.path == "/v1/embeddings" for text in r.json["input"]]
    return [text for text in sent if text not in nulls]


def costs(root: Path) -> dict[str, Costs]:
    ledger = Ledger.of(Workspace(root))
    try:
        return {row.name: row for row in ledger.costs("purpose")}
    finally:
        ledger.close()


def test_what_embedding_takes_is_recorded(root: Path, server: Server, settings: dict[str, object]) -> None:
    with Memory.open(root, overrides=settings) as memory:
        assert memory.sync().embedded == NOTES
        for _ in range(2):
            assert memory.search("walnut desk").level == 0
    found = costs(root)
    assert (found["embed"].calls, found["embed"].failed, found["embed"].unpriced) == (1, 0, 0)
    assert (found["question"].calls, found["question"].cached) == (3, 1)  # the first are null questions
    assert found["embed"].tokens_in > 0
    assert found["embed"].cost > 0
    assert len(texts(server)) == NOTES + 1
    kept = Workspace(root).ledger.read_bytes()
    assert apis.KEY.encode() not in kept
    assert b"walnut" not in kept


def test_what_was_sent_and_not_answered_counts(
    root: Path, server: Server, settings: dict[str, object]
) -> None:
    server.answer = lambda request: Reply(b"{}", delay_s=30)
    given = settings | {"limits.deadline_s": 1}
    with Memory.open(root, overrides=given) as memory, pytest.raises(ProviderError, match="within 1 s"):
        memory.sync()
    found = costs(root)["embed"]
    assert (found.failed, found.tokens_in > 0) == (1, True)


def counted(request: Request, tokens: int) -> Reply:
    reply = apis.openai(request)
    assert isinstance(reply.body, dict)
    reply.body["usage"] = {"prompt_tokens": tokens, "total_tokens": tokens}
    return reply


def test_a_cap_stops_a_sync_which_goes_on_when_it_is_raised(
    root: Path, server: Server, settings: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync, "EMBED_BATCH", 8)
    server.answer = lambda request: counted(request, tokens=100)
    with Memory.open(root, overrides=settings | {"limits.max_tokens_a_day": 600}) as memory:
        with pytest.raises(BudgetExceeded, match=r"limits\.max_tokens_a_day"):
            memory.sync()
        pending = memory.status().pending
        assert 0 < pending < NOTES
        assert memory.search("walnut desk 7").hits
    taken = costs(root)["embed"].tokens_in
    assert 0 < taken <= 600
    with Memory.open(root, overrides=settings) as memory:
        assert memory.sync().embedded == pending
    passages = [text for text in texts(server) if text.startswith("Note ")]
    assert len(passages) == len(set(passages)) == NOTES


class TestEstimate:
    def test_nobody_is_asked(self, root: Path, server: Server, settings: dict[str, object]) -> None:
        with Memory.open(root, overrides=settings) as memory:
            found = estimate(memory)
            assert (found.texts, found.known, found.local) == (NOTES + NULLS, 0, False)
            assert server.requests == []
            assert found.dollars is not None
            memory.sync()
            taken = costs(root)["embed"]
            assert found.tokens / max(1, taken.tokens_in) > 0.2 or taken.tokens_in == 1
            assert estimate(memory).texts == 0

    def test_what_the_cache_knows_costs_nothing(
        self, root: Path, server: Server, settings: dict[str, object]
    ) -> None:
        with Memory.open(root, overrides=settings) as memory:
            memory.sync()
        Workspace(root).index.unlink()
        (root / "memory" / "new.md").write_text("# New\n\na brass lamp\n", "utf-8")
        with Memory.open(root, overrides=settings) as memory:
            found = estimate(memory)
        assert (found.texts, found.known) == (NOTES + 1 + NULLS, NOTES + NULLS)

    def test_batches_cost_half(self, root: Path, settings: dict[str, object]) -> None:
        prices = []
        for by_batches in (False, True):
            with Memory.open(root, overrides=settings | {"embedding.batch": by_batches}) as memory:
                found = estimate(memory)
                assert found.batched is by_batches
                prices.append(found.dollars)
        assert prices[0] / 2 < prices[1] < prices[0]  # null questions go by no batch


class TestBatches:
    @pytest.fixture
    def patient(self, settings: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
        monkeypatch.setattr(sync, "BATCH_FROM", 5)
        return settings | {"embedding.batch": True}

    def test_many_passages_go_by_a_batch(
        self, root: Path, batches: Batches, patient: dict[str, object]
    ) -> None:
        with Memory.open(root, overrides=patient) as memory:
            report = memory.sync()
            assert (report.embedded, report.reused, report.pending, report.warnings) == (NOTES, 0, 0, ())
            assert (len(batches.batches), batches.direct) == (1, 1)  # null questions
            assert memory.search("walnut desk").level == 0
            assert memory.sync().embedded == 0
        found = costs(root)["embed"]
        assert (found.calls, found.failed) == (1, 0)

    @pytest.mark.parametrize("former", [False, True])
    def test_a_batch_that_takes_longer_is_taken_by_a_later_sync(
        self,
        root: Path,
        batches: Batches,
        patient: dict[str, object],
        monkeypatch: pytest.MonkeyPatch,
        former: bool,
    ) -> None:
        monkeypatch.setattr(batch, "PATIENCE_S", 0.5)
        if former:
            with Memory.open(root, overrides={"embedding.provider": "fake"}) as memory:
                memory.sync()
        batches.looks = 10_000
        given = patient | {"embedding.fallback": ["fake"]}
        with Memory.open(root, overrides=given) as memory:
            report = memory.sync()
            assert (report.embedded, report.pending) == (0, NOTES)
            assert "still being worked on" in report.warnings[0]
            assert memory.search("walnut desk 7").level == (0 if former else 2)
        batches.looks = 0
        with Memory.open(root, overrides=given) as memory:
            assert memory.sync().embedded == NOTES
            assert memory.search("walnut desk 7").level == 0
            assert memory.status().pending == 0
        asked = 1 + (not former)  # the question, and null questions where there were no vectors before
        assert (len(batches.batches), batches.direct) == (1, asked)
        assert costs(root)["embed"].calls == 1

    def test_a_cap_holds_for_batches(self, root: Path, batches: Batches, patient: dict[str, object]) -> None:
        with Memory.open(root, overrides=patient | {"limits.max_tokens_a_day": 10}) as memory:
            with pytest.raises(BudgetExceeded):
                memory.sync()
            assert batches.batches == {}
            assert memory.search("walnut desk 7").hits
        assert opening.left_alone() == []
