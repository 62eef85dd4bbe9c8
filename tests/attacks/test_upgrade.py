"""An upgrade with better redaction: no secret that the rules of before let through is left in what is ours."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.base import paths
from commonplace.edit import resolve
from commonplace.edit.forget import stores
from commonplace.index import rules
from commonplace.providers.cache import AnswerCache, answer_key
from commonplace.providers.fake import FakeEmbedder
from commonplace.providers.llm.base import Completion, Message, Request
from commonplace.redaction import redact
from commonplace.storage import queue, state

TOKEN = "ghp_" + "x7Yk2m9Tq4Lw8Zr3Vb6Nc1Hd5Js0Fg8Pa2Qe"
KIND = "github-token"  # the detector that a program of before lacks
KEPT = "the walnut desk costs 400 euro"
Rules = Callable[[str], None]
Span = tuple[int, int, str]


class Counting(FakeEmbedder):
    """A model that counts the texts it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed(self, texts, kind):
        self.texts += texts if kind == "passage" else []
        return super().embed(texts, kind)


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Rules:
    """Play a program of before, that lacks a detector, or the one of today that has it."""

    known = redact._merged

    def lacking(spans: Iterable[Span]) -> list[Span]:
        return [span for span in known(spans) if span[2] != KIND]

    def use(version: str) -> None:
        monkeypatch.setattr(redact, "_merged", known if version == "today" else lacking)
        monkeypatch.setattr(resolve, "_recent", resolve._read)
        digest = hashlib.sha256(version.encode()).hexdigest()
        monkeypatch.setitem(rules.VERSIONS, rules.REDACTION, digest)

    return use


def holding(*roots: Path) -> list[str]:
    """The files below some folders that hold the token."""
    found = [path for root in roots if root.exists() for path in sorted(root.rglob("*")) if path.is_file()]
    return [str(path) for path in found if TOKEN.encode() in path.read_bytes()]


def ours(root: Path) -> list[str]:
    return holding(root / "sessions", paths.user_state_dir(), paths.user_cache_dir(), paths.user_config_dir())


@pytest.fixture
def workspace(tmp_path: Path, use: Rules) -> Path:
    """A workspace of which a program of before has made an index and kept records."""
    use("before")
    root = tmp_path / "work"
    (root / "memory").mkdir(parents=True)
    (root / "memory" / "desk.md").write_text(f"# Desk\n\n{KEPT}\n", "utf-8")
    (root / "memory" / "vault.md").write_text(f"# Vault\n\nwe reach it with {TOKEN} alone\n", "utf-8")
    with Memory.open(root, embedder=FakeEmbedder()) as memory:
        memory.sync()
        assert TOKEN in repr(memory.search(f"what is {TOKEN}").hits)
    lines = [
        {"role": "user", "content": f"keep\n{TOKEN}"},
        {"role": "assistant", "content": "a plain answer"},
    ]
    call = {"id": "1", "type": "function",
            "function": {"name": "send", "arguments": json.dumps({"to": "Ada", "key": f"x\n{TOKEN}"})}}  # fmt: skip
    lines.append({"role": "assistant", "content": "", "tool_calls": [call]})
    (root / "sessions").mkdir()
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (root / "sessions" / "a.jsonl").write_text(text, "utf-8")
    with state.writing(paths.Workspace(root)) as connection:
        for text in (f"reach it with {TOKEN}", "plain"):
            entry = json.dumps({"text": text, "at": "2026-01-02T03:04:05"})
            connection.execute("INSERT INTO queue(data) VALUES (?)", (entry,))
    (paths.Workspace(root).state / "server.log").write_text(f"GET /?q={TOKEN}\nGET /plain\n", "utf-8")
    cache = AnswerCache()
    cache.keep(
        "model",
        {answer_key("model", Request((Message("user", "?"),))): Completion(f"use {TOKEN}", model="m")},
    )
    cache.keep(
        "model",
        {answer_key("model", Request((Message("user", "!"),))): Completion("a plain answer", model="m")},
    )
    cache.close()
    assert len(ours(root)) >= 5
    return root


def test_a_sync_leaves_the_secret_nowhere(workspace: Path, use: Rules) -> None:
    use("today")
    model = Counting()
    with Memory.open(workspace, embedder=model) as memory:
        report = memory.sync()
        assert TOKEN not in repr(memory.search(f"what is {TOKEN}").hits)
        assert "[REDACTED:github-token]" in repr(memory.search("reach the vault").hits)
    assert ours(workspace) == []
    assert any("redacted by rules" in told for told in report.warnings)
    # What was not changed is not embedded again.
    assert [text for text in model.texts if KEPT in text] == []
    assert len(model.texts) == 1
    # Notes are their owner's.
    assert TOKEN in (workspace / "memory" / "vault.md").read_text("utf-8")


def test_a_search_does_not_answer_with_the_secret(workspace: Path, use: Rules) -> None:
    use("today")
    with Memory.open(workspace, embedder=FakeEmbedder()) as memory:
        found = memory.search("we reach the vault alone")
        assert found.hits
        assert TOKEN not in repr(found)
        assert "the index is built anew: redaction changed" in found.warnings
    assert ours(workspace) == []


def test_what_holds_no_secret_stays(workspace: Path, use: Rules) -> None:
    use("today")
    with Memory.open(workspace, embedder=FakeEmbedder()) as memory:
        memory.sync()
    turns = [json.loads(line) for line in (workspace / "sessions" / "a.jsonl").read_text().splitlines()]
    assert turns[0]["content"] == "keep\n[REDACTED:github-token]"
    assert turns[1]["content"] == "a plain answer"
    arguments = json.loads(turns[2]["tool_calls"][0]["function"]["arguments"])
    assert arguments == {"to": "Ada", "key": "x\n[REDACTED:github-token]"}
    rows = state.rows(paths.Workspace(workspace), "SELECT data FROM queue ORDER BY id")
    first, second = (json.loads(data)["text"] for (data,) in rows)
    assert first.startswith("reach it with")
    assert second == "plain"
    assert (paths.Workspace(workspace).state / "server.log").read_text() == ""  # one line of it held a secret
    cache = AnswerCache()
    assert cache.stats().entries == 1
    cache.close()


def test_it_is_done_once(workspace: Path, use: Rules, monkeypatch: pytest.MonkeyPatch) -> None:
    use("today")
    with Memory.open(workspace, embedder=FakeEmbedder()) as memory:
        memory.sync()
        assert not stores.is_due(memory.workspace)
        monkeypatch.setattr(stores, "forget", lambda *_: pytest.fail("again"))
        assert memory.sync().warnings == ()


def test_one_that_was_killed_is_done_again(
    workspace: Path, use: Rules, monkeypatch: pytest.MonkeyPatch
) -> None:
    use("today")

    forget = stores.forget
    with Memory.open(workspace, embedder=FakeEmbedder()) as memory:
        for place in range(1, 5):
            with monkeypatch.context() as patch:
                done: list[str] = []

                def killed(site, name, targets, place=place, done=done):
                    if len(done) > place:  # the queue, which is the first, and some of the others
                        raise KeyboardInterrupt
                    done.append(name)
                    return forget(site, name, targets)

                patch.setattr(stores, "forget", killed)
                with pytest.raises(KeyboardInterrupt):
                    memory.sync()
            assert stores.is_due(memory.workspace)
        memory.sync()
    assert ours(workspace) == []


def test_a_short_secret_in_the_queue_keeps_its_entry(workspace: Path) -> None:
    line = json.dumps({"text": "the password: Zx9!kQ2m is for the gate"})
    after = queue.without(line, stores.Redaction())
    assert after
    assert json.loads(after)["text"] == "the password: [REDACTED:password] is for the gate"
