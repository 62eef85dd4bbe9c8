"""The models that settings name: over real HTTP, behind cache, breaker and caps, with others standing in."""

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
from commonplace.providers.costs import Ledger
from commonplace.providers.embedding import batch
from commonplace.search import confidence
from tests.copies import files_of
from tests.providers.embedding import apis
from tests.providers.embedding.batch_apis import Batches, api
from tests.providers.server import Reply, Request, Server

KEY, NOTES = apis.KEY, 40
NULLS = len(confidence.questions("en"))
Settings = dict[str, object]


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
        note(tmp_path, f"n{number}", f"walnut desk {number}")
    return tmp_path


@pytest.fixture
def settings(server: Server, tmp_path: Path) -> Settings:
    (tmp_path / "key").write_text(f"{KEY}\n")
    return {
        "embedding.provider": "openai",
        "embedding.model": "words",
        "embedding.base_url": f"{server.url}/v1",
        "embedding.key": str(tmp_path / "key"),
        "limits.deadline_s": 5,
    }


def note(root: Path, name: str, text: str) -> None:
    (root / "memory" / f"{name}.md").write_text(f"# Note {name}\n\n{text}\n", "utf-8")


def passages(server: Server) -> list[str]:
    sent = [text for r in server.requests if r.path == "/v1/embeddings" for text in r.json["input"]]
    return [text for text in sent if text.startswith("Note ")]


def test_a_configured_endpoint_embeds_and_nothing_is_paid_for_twice(
    root: Path, server: Server, settings: Settings
) -> None:
    with Memory.open(root, overrides=settings) as memory:
        expected = estimate(memory)
        assert (expected.texts, expected.known, expected.local) == (NOTES + NULLS, 0, False)
        assert expected.dollars is None  # "words" has no price
        assert server.requests == []
        report = memory.sync()
        assert (report.embedded, report.warnings) == (NOTES, ())
        assert estimate(memory).texts == 0
        found = memory.search("walnut desk 7")
        assert (found.level, found.warnings) == (0, ())
    assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {KEY}"}
    kept = [file for file in files_of(root) if file.name != "key"]
    assert not any(KEY.encode() in file.read_bytes() for file in kept)
    for file in Workspace(root).index.parent.glob("index.sqlite*"):
        file.unlink()
    note(root, "new", "a brass lamp")
    with Memory.open(root, overrides=settings) as memory:
        assert (estimate(memory).texts, estimate(memory).known) == (NOTES + 1 + NULLS, NOTES + NULLS)
        memory.sync()
    assert len(passages(server)) == len(set(passages(server))) == NOTES + 1


def test_a_wrong_key_is_asked_once_and_full_text_answers(
    root: Path, server: Server, settings: Settings
) -> None:
    server.answer = lambda request: Reply({"error": {"message": f"invalid key {KEY}"}}, 401)
    with Memory.open(root, overrides=settings) as memory:
        with pytest.raises(ProviderError, match="invalid key"):
            memory.sync()
        for _ in range(3):
            found = memory.search("walnut desk 7")
            assert (bool(found.hits), found.level) == (True, 2)
        report = memory.sync()
        assert "openai/words is left alone until" in report.warnings[0]
        assert "full text answers alone" in report.warnings[0]
        assert any("is left alone until" in warning for warning in memory.status().warnings)
        assert KEY not in " ".join([*report.warnings, *memory.status().warnings])
    assert len(server.requests) == 1
    server.answer = apis.openai
    with Memory.open(root, overrides=settings | {"embedding.model": "other"}) as memory:
        assert memory.sync().embedded == NOTES  # another model has not failed


def test_another_provider_stands_in_and_the_first_comes_back(
    root: Path, server: Server, settings: Settings
) -> None:
    with Memory.open(root, overrides=settings) as memory:
        memory.sync()
        note(root, "new", "a brass lamp")
        server.answer = lambda request: Reply({"error": "no"}, 401)
        with pytest.raises(ProviderError):
            memory.sync()
    standing_in = settings | {"embedding.fallback": ["fake"]}
    with Memory.open(root, overrides=standing_in) as memory:
        assert "fake stands in" in memory.sync().warnings[0]
        assert memory.search("brass lamp").level == 0
    opening.SHARED._states.clear()
    server.answer = apis.openai
    with Memory.open(root, overrides=standing_in) as memory:
        assert memory.sync().warnings == ()
        assert memory.search("brass lamp").warnings == ()


def test_an_index_does_not_decide_where_questions_go(root: Path, server: Server, settings: Settings) -> None:
    with Memory.open(root, overrides=settings) as memory:
        memory.sync()
    asked = len(server.requests)
    with Memory.open(root, overrides={"embedding.provider": "fake"}) as memory:
        found = memory.search("walnut desk 7")
        assert found.level == 2
        assert "another model's vectors" in found.warnings[0]
    assert len(server.requests) == asked


def test_a_former_model_at_the_same_place_answers_until_the_switch(
    root: Path, server: Server, settings: Settings
) -> None:
    with Memory.open(root, overrides=settings) as memory:
        memory.sync()
    with Memory.open(root, overrides=settings | {"embedding.model": "others:latest"}) as memory:
        found = memory.search("walnut desk 7")
        assert (found.level, server.requests[-1].json["model"]) == (0, "words")
        assert found.warnings == ("the index holds another model's vectors: sync the index",)
        assert memory.sync().embedded == NOTES
        assert memory.search("walnut desk 7").level == 0
        assert server.requests[-1].json["model"] == "others:latest"


@pytest.mark.parametrize("content", ["", "two words", "a\nb", "\xff" * 3, "k" * 20_000])
def test_a_key_file_must_hold_one_key(root: Path, settings: Settings, content: str) -> None:
    Path(str(settings["embedding.key"])).write_bytes(content.encode("latin-1"))
    with Memory.open(root, overrides=settings) as memory:
        assert memory.search("walnut desk 7", mode="hybrid").hits
        memory.sync(embed=True)
        assert any("embedding.key" in warning for warning in memory.search("walnut").warnings)


def test_a_fallback_of_the_same_provider_has_its_address_and_key_and_its_own_dimensions(
    root: Path, server: Server, settings: Settings
) -> None:
    given = settings | {"embedding.dimensions": 8, "embedding.fallback": ["openai/other", "fake"]}
    with Memory.open(root, overrides=given) as memory:
        first, near, other = opening.specs(memory.settings.embedding)
    assert (first.dimensions, near.dimensions, other.dimensions) == (8, None, None)
    assert (near.model, near.base_url, near.key.reveal()) == ("other", f"{server.url}/v1", KEY)
    assert (other.base_url, other.key.reveal()) == ("", "")
    assert (first.deadline_s, other.deadline_s) == (5, 120)


def test_a_server_that_is_gone_costs_a_question_no_more_than_its_deadline(
    root: Path, server: Server, settings: Settings
) -> None:
    with Memory.open(root, overrides=settings) as memory:
        memory.sync()
    note(root, "new", "a brass lamp")
    gone = settings | {"embedding.base_url": "http://127.0.0.1:9/v1", "limits.wait_s": 1}
    with Memory.open(root, overrides=gone | {"limits.deadline_s": 1}) as memory:
        for _ in range(4):
            found = memory.search("walnut desk 7")
            assert (bool(found.hits), found.level) == (True, 2)
        assert "cannot be reached" in " ".join(found.warnings)
        with pytest.raises(ProviderError, match=r"left alone|cannot be reached"):
            memory.sync()


def test_a_cap_stops_a_sync_which_goes_on_when_it_is_raised(
    root: Path, server: Server, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def counted(request: Request) -> Reply:
        reply = apis.openai(request)
        assert isinstance(reply.body, dict)
        reply.body["usage"] = {"prompt_tokens": 100, "total_tokens": 100}
        return reply

    monkeypatch.setattr(sync, "EMBED_BATCH", 8)
    server.answer = counted
    with Memory.open(root, overrides=settings | {"limits.max_tokens_a_day": 600}) as memory:
        with pytest.raises(BudgetExceeded, match=r"limits\.max_tokens_a_day"):
            memory.sync()
        pending = memory.status().pending
        assert 0 < pending < NOTES
        assert memory.search("walnut desk 7").hits
    taken = {row.name: row.tokens_in for row in Ledger.of(Workspace(root)).costs()}
    assert 0 < taken["embed"] <= 600
    with Memory.open(root, overrides=settings) as memory:
        assert memory.sync().embedded == pending
    assert len(passages(server)) == len(set(passages(server))) == NOTES


@pytest.mark.parametrize("former", [False, True])
def test_a_batch_costs_half_and_is_taken_by_a_later_sync(
    root: Path, batches: Batches, settings: Settings, monkeypatch: pytest.MonkeyPatch, former: bool
) -> None:
    monkeypatch.setattr(batch, "PATIENCE_S", 0.5)
    monkeypatch.setattr(sync, "BATCH_FROM", 5)
    settings |= {"embedding.model": "text-embedding-3-small", "embedding.dimensions": apis.DIMENSIONS}
    if former:
        with Memory.open(root, overrides={"embedding.provider": "fake"}) as memory:
            memory.sync()
    with Memory.open(root, overrides=settings) as memory:
        whole = estimate(memory).dollars
    batches.looks = 10_000
    given = settings | {"embedding.fallback": ["fake"], "embedding.batch": True}
    with Memory.open(root, overrides=given) as memory:
        expected = estimate(memory)
        assert expected.batched
        assert whole is not None
        assert expected.dollars is not None
        assert whole / 2 <= expected.dollars < whole  # null questions go by no batch
        report = memory.sync()
        assert (report.embedded, report.pending) == (0, NOTES)
        assert "still being worked on" in report.warnings[0]
        assert memory.search("walnut desk 7").level == (0 if former else 2)
    batches.looks = 0
    with Memory.open(root, overrides=given) as memory:
        assert memory.sync().embedded == NOTES
        assert memory.search("walnut desk 7").level == 0
        assert memory.status().pending == 0
    # The question, and null questions where there were no vectors before.
    assert (len(batches.batches), batches.direct) == (1, 1 + (not former))
    (row,) = [row for row in Ledger.of(Workspace(root)).costs() if row.name == "embed"]
    assert row.calls == 1
