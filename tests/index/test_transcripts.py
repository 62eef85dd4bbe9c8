"""Transcripts in the index: step by step as all at once, embedded once, read again when they have grown."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest

from commonplace.chunking.settings import DEFAULT
from commonplace.index import changes, rules, sync
from commonplace.index.sqlite.index import SqliteIndex
from commonplace.index.store import Store
from commonplace.index.vectors import Vectors
from commonplace.notes.scan import CollectionFiles, FileState, scan
from commonplace.providers.fake import FakeEmbedder
from commonplace.transcripts import rendering
from tests.index.test_sync import WORDS, dump


def row(role: str, text: str, day: int = 1) -> bytes:
    return json.dumps({"role": role, "text": text, "at": f"2026-02-{day:02}T10:00:00"}).encode() + b"\n"


class Followed:
    """A folder of transcripts beside notes, its index, and a model that counts."""

    def __init__(self, root: Path, form: str = "auto") -> None:
        self.root = root
        self.sources = [
            CollectionFiles("memory", str(root / "notes")),
            CollectionFiles("logs", str(root / "logs"), ("**/*.jsonl",), (), form),
        ]
        self.index = SqliteIndex(":memory:", rules.identity(DEFAULT))
        self.vectors, self.model = Vectors(self.index), FakeEmbedder()

    def write(self, name: str, data: bytes, rest_s: float = 0) -> Path:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        self.rest(file, rest_s)
        return file

    def rest(self, file: Path, seconds: float) -> None:
        at = file.stat().st_mtime_ns - 10_000_000_000 - int(seconds * 1e9)
        os.utime(file, ns=(at, at))

    def sync(self):
        return sync.sync_text(self.index, scan(self.sources), DEFAULT)

    def embed(self):
        return sync.sync_vectors(self.vectors, self.model)


@pytest.fixture
def followed(tmp_path: Path) -> Followed:
    return Followed(tmp_path)


def test_what_is_said_counts_as_tokens_and_not_the_json_around_it(followed: Followed) -> None:
    data = row("user", "Which tea?") + row("tool", "a result " * 500)
    followed.write("logs/a.jsonl", data)
    followed.sync()
    assert followed.index.tokens < 10 < len(data) / 4


def test_step_by_step_is_all_at_once(followed: Followed) -> None:
    made = random.Random(11)
    written: dict[str, bytes] = {}
    for step in range(40):
        name = made.choice(["logs/a.jsonl", "logs/deep/b.jsonl", "logs/c.jsonl", "notes/n.md"])
        text = " ".join(made.choices(WORDS, k=made.randrange(1, 30)))
        if name.endswith(".md"):
            written[name] = written.get(name, b"") + f"- {text}\n".encode()
        else:
            more = [
                row(made.choice(["user", "assistant", "tool"]), text, 1 + step // 10),
                b"{cut",
                b'"',
                b"\n",
            ]
            written[name] = written.get(name, b"") + made.choice(more[:2] + more[:1] * 4 + more[3:])
        if step == 25:
            written["logs/a.jsonl"] = row("user", "rewritten as a whole")
        followed.write(name, written[name])
        if made.random() < 0.7:
            followed.sync()
            followed.embed()
    for name, data in written.items():
        followed.write(name, data)
    whole = Followed(followed.root)
    for one in (followed, whole):
        one.sync()
        one.embed()
    assert dump(followed.index) == dump(whole.index)


def test_what_is_known_is_not_embedded_again(followed: Followed) -> None:
    spoken = [
        row("user", f"Question {number} about {WORDS[number % 9]} " + "of the house " * 12)
        for number in range(40)
    ]
    followed.write("logs/a.jsonl", b"".join(spoken))
    followed.sync()
    first = followed.embed().embedded
    assert first == 40
    followed.write("logs/a.jsonl", b"".join(spoken) + row("assistant", "One more answer " * 15))
    assert followed.sync().changed == 1
    assert followed.embed().embedded == 1
    (followed.root / "logs" / "a.jsonl").rename(followed.root / "logs" / "moved.jsonl")
    assert followed.sync().moved == 1
    assert followed.embed().embedded == 0


def test_another_format_reads_all_of_them_again_and_embeds_nothing_twice(tmp_path: Path) -> None:
    followed = Followed(tmp_path, "codex")
    followed.write("logs/a.jsonl", row("user", "Where is the key?"))
    followed.write("notes/n.md", b"- A note.\n")
    followed.sync()
    assert followed.index.statistics().passages == 1
    followed.sources = Followed(tmp_path, "auto").sources
    assert followed.sync().unchanged == 1
    assert followed.index.statistics().passages == 2
    followed.embed()
    for before in ("1", "0"):
        followed.index.meta[changes.FORMATS] = json.dumps({"logs": f"{before} auto"})
        followed.sync()
        assert followed.embed().embedded == 0
    assert followed.index.meta[changes.FORMATS] == json.dumps({"logs": f"{rendering.VERSION} auto"})


def test_a_file_that_cannot_be_read_is_told(followed: Followed) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    file = followed.write("logs/a.jsonl", row("user", "Where is the key?"))
    file.chmod(0)
    assert [failure.path for failure in followed.sync().failed] == ["a.jsonl"]


# --- patience ---------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def few_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "GROWN_BYTES", 1000)


class Searched:
    """A store as a search has it."""

    def __init__(self, root: Path) -> None:
        followed = Followed(root)
        self.write, self.rest = followed.write, followed.rest
        path = str(root / "index.sqlite")
        self.store = Store(path, str(root / "lock"), followed.sources, DEFAULT)

    def lines(self) -> int:
        assert self.store.freshen() == 0
        found = self.store.index.connection.execute("SELECT lines FROM notes WHERE kind = 'session'").get
        return int(found or 0)


@pytest.fixture
def searched(tmp_path: Path):
    made = Searched(tmp_path)
    yield made
    made.store.close()


def test_a_search_waits_until_enough_bytes_came(searched: Searched) -> None:
    searched.write("logs/a.jsonl", first := row("user", "Hello"))
    assert searched.lines() == 1
    searched.write("logs/a.jsonl", first + row("user", "x" * 500))
    assert searched.lines() == 1
    searched.write("logs/a.jsonl", first + row("user", "x" * 500) + row("user", "x" * 500))
    assert searched.lines() == 3


def test_rest_is_told_by_the_clock_alone(searched: Searched) -> None:
    state = FileState(
        "logs", "a.jsonl", str(searched.write("logs/a.jsonl", b"\n" * 3)), 5_000_000_000, 3, "auto"
    )
    known = {("logs", "a.jsonl"): changes.Known(4_000_000_000, 1, "x")}
    for now, waits in [(5.0, 1), (604.9, 1), (605.1, 0)]:
        found, waiting = changes.patient([state], known, now)
        assert waiting == waits
        assert found[0] == (state._replace(mtime_ns=4_000_000_000, size=1) if waits else state)


def test_what_became_shorter_is_read_at_once(searched: Searched) -> None:
    searched.write("logs/a.jsonl", row("user", "Hello") * 4)
    assert searched.lines() == 4
    searched.write("logs/a.jsonl", row("user", "Hello") * 3)
    assert searched.lines() == 3


def test_notes_beside_it_are_fresh_while_it_waits(searched: Searched) -> None:
    searched.write("logs/a.jsonl", row("user", "Hello"))
    searched.write("notes/n.md", b"- one\n")
    assert searched.lines() == 1
    searched.write("logs/a.jsonl", row("user", "Hello") * 2)
    searched.write("notes/n.md", b"- one\n- two\n")
    assert searched.lines() == 1
    assert searched.store.index.connection.execute("SELECT lines FROM notes WHERE kind = 'note'").get == 2
    (searched.store.sources[1].root and Path(searched.store.sources[1].root, "a.jsonl")).unlink()
    assert searched.lines() == 0


def test_a_large_transcript_is_never_in_memory_as_a_whole(followed: Followed) -> None:
    import tracemalloc

    result = json.dumps({"role": "tool", "text": "x" * 100_000}).encode() + b"\n"
    followed.write("logs/a.jsonl", result * 200 + row("user", "Where is the key?"))
    tracemalloc.start()
    try:
        followed.sync()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert followed.index.statistics().passages == 1
    assert peak < 8 << 20  # of 20 MB
