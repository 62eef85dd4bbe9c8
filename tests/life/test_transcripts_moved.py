"""Transcripts that their program renames, compresses or moves: what was found in them is still found, once."""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import random
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.life.conftest import LONG_AGO, Owner

CODEX = [
    {"timestamp": "2026-01-02T10:00:00Z", "type": "session_meta", "payload": {"id": "r1"}},
    {"timestamp": "2026-01-02T10:00:01Z", "type": "response_item", "payload": {
        "type": "message", "role": "user", "content": [{"type": "input_text", "text": "Where is the kite?"}]}},
    {"timestamp": "2026-01-02T10:00:02Z", "type": "response_item", "payload": {
        "type": "message", "role": "assistant",
        "content": [{"type": "output_text", "text": "The kite hangs behind the oak door."}]}},
]  # fmt: skip
OPENCLAW = [
    {"type": "session", "version": 3, "id": "s1", "timestamp": "2026-01-02T10:00:00Z", "cwd": "/x"},
    {"type": "message", "id": "a", "parentId": None, "timestamp": "2026-01-02T10:00:01Z",
     "message": {"role": "user", "content": [{"type": "text", "text": "Where is the kite?"}]}},
    {"type": "message", "id": "b", "parentId": "a", "timestamp": "2026-01-02T10:00:02Z", "message": {
        "role": "assistant", "content": [{"type": "text", "text": "The kite hangs behind the oak door."}]}},
]  # fmt: skip
CLAUDE = [
    {"type": "user", "uuid": "u1", "sessionId": "c1", "timestamp": "2026-01-02T10:00:00Z",
     "message": {"role": "user", "content": "Where is the kite?"}},
    {"type": "assistant", "uuid": "u2", "sessionId": "c1", "timestamp": "2026-01-02T10:00:02Z", "message": {
        "role": "assistant", "content": [{"type": "text", "text": "The kite hangs behind the oak door."}]}},
]  # fmt: skip
ZSTD = any(
    importlib.util.find_spec(parent) and importlib.util.find_spec(name)
    for parent, name in (
        ("compression", "compression.zstd"), ("backports", "backports.zstd"), ("zstandard", "zstandard"),
    )
)  # fmt: skip


def lines(events: list[dict[str, object]]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def zstd(data: bytes) -> bytes:
    """A zstd frame of blocks that are not compressed (RFC 8878, 3.1.1)."""
    blocks = [data[at : at + 100_000] for at in range(0, len(data), 100_000)] or [b""]
    heads = [struct.pack("<I", len(one) << 3 | (one is blocks[-1]))[:3] for one in blocks]
    return b"\x28\xb5\x2f\xfd\x00\x58" + b"".join(head + one for head, one in zip(heads, blocks, strict=True))


def write(place: Path, data: bytes) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)
    os.utime(place, (LONG_AGO, LONG_AGO))
    return place


# What programs do: where the transcript was, where it is then, what it holds then.
MOVES: dict[str, tuple[list[dict[str, object]], str, str, Callable[[bytes], bytes]]] = {
    "openclaw reset": (OPENCLAW, "agents/main/sessions/s1.jsonl",
        "agents/main/sessions/s1.jsonl.reset.2026-02-03T10-00-00.000Z", bytes),
    "openclaw deleted": (OPENCLAW, "sessions/s1.jsonl", "sessions/s1.jsonl.deleted.2026-02-03T10-00-00.000Z", bytes),
    "openclaw reset in milliseconds": (OPENCLAW, "s1.jsonl", "s1.jsonl.reset.1770000000000", bytes),
    "openclaw backup": (OPENCLAW, "s1.jsonl", "s1.jsonl.bak-4711-1770000000000", bytes),
    "openclaw full backup": (OPENCLAW, "s1.jsonl", "s1.jsonl.full.bak", bytes),
    "openclaw archive folder": (OPENCLAW, "sessions/s1.jsonl",
        "sessions/archive/s1.jsonl.reset.2026-02-03T10-00-00.000Z", bytes),
    "openclaw reset and compressed": (OPENCLAW, "s1.jsonl", "s1.jsonl.reset.2026-02-03T10-00-00Z.gz", gzip.compress),
    "openclaw day alone": (OPENCLAW, "s1-topic-7.jsonl", "s1-topic-7.jsonl.archived.2026-06-15", bytes),
    "codex gzip": (CODEX, "2026/01/02/rollout-r1.jsonl", "2026/01/02/rollout-r1.jsonl.gz", gzip.compress),
    "codex other folder": (CODEX, "sessions/2026/01/02/rollout-r1.jsonl", "archived_sessions/rollout-r1.jsonl", bytes),
    "claude code gzip": (CLAUDE, "-home-lin/c1.jsonl", "-home-lin/c1.jsonl.gz", gzip.compress),
    "claude code two parts": (CLAUDE, "c1.jsonl", "c1.jsonl.gz",
        lambda data: gzip.compress(data[:100]) + gzip.compress(data[100:])),
    "codex zstd": (CODEX, "2026/01/02/rollout-r1.jsonl", "2026/01/02/rollout-r1.jsonl.zst", zstd),
    "codex archived zstd": (CODEX, "sessions/2026/01/02/rollout-r1.jsonl", "archived_sessions/rollout-r1.jsonl.zst", zstd),
    "claude code zstd": (CLAUDE, "c1.jsonl", "c1.jsonl.zstd", zstd),
}  # fmt: skip


@pytest.mark.parametrize("kind", MOVES)
def test_what_was_indexed_is_found_once(owner: Owner, tmp_path: Path, kind: str) -> None:
    events, before, after, change = MOVES[kind]
    program = tmp_path / "program"
    old = write(program / before, lines(events))
    write(program / "sessions.json", b"{}")
    owner.ok("sessions", "follow", program, "--name", "chats")
    memory = owner.memory()
    assert memory.sync().added == 2
    (hit,) = memory.search("kite oak").hits
    data = old.read_bytes()
    old.unlink()
    write(program / after, change(data))
    is_read = change is not zstd or ZSTD

    for _ in range(2):
        found = memory.search("kite oak")
        assert [one.text for one in found.hits] == [hit.text]
        assert (found.hits[0].start_line, found.hits[0].end_line) == (hit.start_line, hit.end_line)
        report = memory.sync()
        assert not report.failed
        assert memory.status().notes == 2
        for said in (report.warnings, memory.status().warnings):
            told = [line for line in said if "zstd" in line]
            assert len(told) == (not is_read), said
            assert all("pip install" in line and after in line for line in told)
    if is_read:
        assert found.hits[0].path == f"chats/{after}"
        assert "oak door" in "\n".join(memory.get(hit.citation).lines), "a citation of before leads to it"
        assert "oak door" in "\n".join(memory.get(found.hits[0].citation).lines)
        listed = (
            owner.run("sessions", "list", "--format", "json").json if kind.endswith(("reset", "gzip")) else []
        )
        assert [one["id"] for one in listed] == ([f"chats/{after}"] if listed else [])


def test_codex_moves_sessions_beside_the_folder_that_is_followed(owner: Owner, tmp_path: Path) -> None:
    codex = tmp_path / "codex"
    for name in ("r1", "r2", "r3"):
        write(
            codex / f"sessions/2026/01/02/rollout-{name}.jsonl", lines(CODEX).replace(b"oak", name.encode())
        )
    write(codex / "auth.md", b"# Key\n\nkite\n")
    owner.ok("sessions", "follow", codex / "sessions", "--name", "codex")
    memory = owner.memory()
    memory.sync()
    before = {hit.text: hit.citation for hit in memory.search("kite hangs").hits}
    assert len(before) == 3
    for name in ("r1", "r2", "r3"):
        write(
            codex / f"archived_sessions/rollout-{name}.jsonl",
            (codex / f"sessions/2026/01/02/rollout-{name}.jsonl").read_bytes(),
        )
        (codex / f"sessions/2026/01/02/rollout-{name}.jsonl").unlink()
        memory.sync()
        found = memory.search("kite hangs", collections=["codex"])
        assert sorted(hit.text for hit in found.hits) == sorted(before), name
        assert not [line for line in memory.sync().warnings if "codex" in line]
    for text, citation in before.items():
        assert text.split()[-2] in "\n".join(memory.get(citation).lines)
    assert len(owner.run("sessions", "list", "--format", "json").json) == 3
    assert owner.run("get", "codex/auth.md").code != 0, "what lies beside them is none of ours"


def test_a_copy_beside_the_transcript_is_not_read_twice(owner: Owner, tmp_path: Path) -> None:
    data = lines(OPENCLAW)
    for name in ("s1.jsonl", "s1.jsonl.bak", "s1.jsonl.bak.2026-01-01", "s1.jsonl.reset.2026-01-01"):
        write(tmp_path / "p" / name, data)
    write(tmp_path / "p/s1.jsonl.gz", gzip.compress(data))
    write(tmp_path / "p/s1.jsonl.lock", b"4711")
    write(tmp_path / "p/s1.jsonl.tmp", data)
    write(tmp_path / "p/s1.jsonl.deleted.2025-01-01", data.replace(b"oak", b"green") + b"\n")
    owner.ok("sessions", "follow", tmp_path / "p", "--name", "chats")
    found = owner.memory().search("kite hangs door")
    assert sorted(hit.path for hit in found.hits) == ["chats/s1.jsonl", "chats/s1.jsonl.deleted.2025-01-01"]


def test_a_single_transcript_is_followed_under_its_later_name(owner: Owner, tmp_path: Path) -> None:
    file = write(tmp_path / "p/s1.jsonl", lines(OPENCLAW))
    write(tmp_path / "p/s2.jsonl", lines(OPENCLAW))
    owner.ok("sessions", "follow", file, "--name", "one")
    memory = owner.memory()
    (hit,) = memory.search("kite oak").hits
    write(tmp_path / "p/s1.jsonl.gz", gzip.compress(file.read_bytes()))
    file.unlink()
    (found,) = memory.search("kite oak").hits
    assert (found.path, found.text) == ("one/s1.jsonl.gz", hit.text)
    for reference in (found.citation, hit.citation):
        assert "oak door" in "\n".join(memory.get(reference).lines)


def test_a_small_file_that_unpacks_to_much_fills_no_memory(owner: Owner, tmp_path: Path) -> None:
    file = write(tmp_path / "p/s1.jsonl", lines(CLAUDE))
    owner.ok("sessions", "follow", tmp_path / "p", "--name", "chats")
    memory = owner.memory()
    assert memory.search("kite oak").hits
    turn = json.dumps({**CLAUDE[0], "message": {"role": "user", "content": "x" * 4000}}).encode() + b"\n"
    for packed in (gzip.compress(turn * 20_000), gzip.compress(b"[" * (80 << 20)), b"\x1f\x8bno gzip"):
        file.unlink(missing_ok=True)
        write(tmp_path / "p/s1.jsonl.gz", packed)
        report = memory.sync()
        assert [one.path for one in report.failed] == ["chats/s1.jsonl.gz"]
        assert memory.search("kite oak").hits, "what was read before stays"


def test_a_compressed_transcript_can_be_followed_at_once(owner: Owner, tmp_path: Path) -> None:
    rng = random.Random(1)
    words = [" ".join(rng.choices("oak door kite lake mill".split(), k=30)) for _ in range(300)]
    turns = [
        {**CLAUDE[0], "message": {"role": "user", "content": f"{n} {text}"}} for n, text in enumerate(words)
    ]
    place = write(tmp_path / "p/c9.jsonl.gz", gzip.compress(lines(turns)))
    owner.ok("sessions", "follow", place, "--name", "one")
    assert owner.run("search", "kite mill").code == 0
    assert "oak" in owner.ok("sessions", "show", "c9")


def test_import_leaves_the_folder_as_it_is(owner: Owner, tmp_path: Path) -> None:
    write(tmp_path / "p/s1.jsonl.gz", gzip.compress(lines(OPENCLAW)))
    before = sorted(path.name for path in (tmp_path / "p").iterdir())
    owner.ok("sessions", "follow", tmp_path / "p", "--name", "chats")
    owner.ok("sync")
    assert sorted(path.name for path in (tmp_path / "p").iterdir()) == before
    shutil.rmtree(tmp_path / "p")
    assert "is missing" in owner.run("status").err
