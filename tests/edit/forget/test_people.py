"""Fifty people, planted wherever something is kept: forgotten, not a byte of them is left; others stay."""

from __future__ import annotations

import json
import os
import random
import zlib
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import pytest

from commonplace import Memory
from commonplace.base import paths
from commonplace.providers.cache import AnswerCache, VectorCache, answer_key, vector_key
from commonplace.providers.llm.base import Completion, Message, Request
from commonplace.storage import state
from commonplace.storage.queue import Queue
from commonplace.transcripts.session import Transcript
from commonplace.types import Entry, Provenance, Selection
from commonplace.types.changes import About, Change
from commonplace.types.events import Call, Turn
from tests import applying

NOW = datetime(2026, 2, 20, 9, 0)
SYLLABLES = ("zor", "vex", "qui", "jat", "wyb", "xol", "kiv", "zup", "yag", "vod", "qer", "juz")
FAMILY = "欧阳司徒上官慕容诸葛皇甫尉迟澹台"
GIVEN = "霏霁翊骞彧晗璟煊祺昱珩瑄玥楷韬翀"


class People(NamedTuple):
    """Those who are forgotten, and those who stay."""

    gone: list[str]
    stay: list[str]


def people() -> People:
    """Fifty and fifty names, half of each English, half Chinese; none is a part of another."""
    random_ = random.Random(20260213)
    english: list[str] = []
    while len(english) < 50:
        name = "".join(random_.sample(SYLLABLES, 3)).capitalize()
        if name not in english:
            english.append(name)
    chinese: list[str] = []
    while len(chinese) < 50:
        family = random_.choice([FAMILY[at : at + 2] for at in range(0, len(FAMILY), 2)])
        name = family + "".join(random_.sample(GIVEN, 2))
        if name not in chinese:
            chinese.append(name)
    return People(english[:25] + chinese[:25], english[25:] + chinese[25:])


def sentence(name: str, at: int) -> str:
    """What is said of somebody; the number makes it findable."""
    return f"{name}负责第{at}号项目" if ord(name[0]) > 0x3000 else f"{name}'s project is number {at}"


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    """A workspace with all of them in it, in every kind of place."""
    root = tmp_path / "ws"
    (root / "memory").mkdir(parents=True)
    (root / "archive").mkdir()
    everybody = [name for pair in zip(*people(), strict=True) for name in pair]
    random.Random(7).shuffle(everybody)
    daily: dict[str, list[str]] = {}
    for at, name in enumerate(everybody):
        day = f"2026-02-{at % 10 + 1:02}"
        daily.setdefault(day, []).append(f"- 10:{at % 60:02} {sentence(name, at)}")
    for day, lines in daily.items():
        (root / "memory" / f"{day}.md").write_text("\n".join([f"# {day}", "", *lines, ""]), "utf-8")
    write(
        root / "MEMORY.md",
        "# Memory",
        *(f"- ~~{n} is on leave.~~ <!-- cp: until=2026-02-03 -->" for n in everybody),
    )
    write(root / "memory" / "headings.md", "# Headings", *(f"\n## {n}\n\n- likes tea\n" for n in everybody))
    write(
        root / "memory" / "table.md",
        "# Table",
        "",
        "| who | what |",
        "|---|---|",
        *(f"| {n} | tea |" for n in everybody),
    )
    write(root / "archive" / "2025.md", "# 2025", *(f"- {name} was here." for name in everybody))
    opened = Memory.open(root, overrides={"embedding.provider": "fake"})
    fill(opened, everybody)
    return opened


def write(path: Path, *lines: str) -> None:
    path.write_text("\n".join([*lines, ""]), "utf-8")


def fill(memory: Memory, everybody: list[str]) -> None:
    """Transcripts, spool, history, index, questions, answers and vectors that hold them."""
    transcript = Transcript.open(memory.workspace, "s1")
    for name in everybody:
        call = Call("c1", "memory_search", json.dumps({"query": name}))
        transcript.append(Turn("user", f"Who is {name}?"))
        transcript.append(Turn("assistant", "", calls=(call,)))
        transcript.append(Turn("tool", f"{name} does", answers="c1", tool="memory_search"))
    Queue(memory.workspace).extend(
        [Entry(f"{name} waits", NOW, provenance=Provenance("agent", "a", "s1")) for name in everybody]
    )
    Queue(memory.workspace).extend([Entry(f"{name} waits as well", NOW) for name in everybody[:10]])
    memory.sync()
    vectors = VectorCache(os.fspath(paths.user_cache_dir() / "vectors.sqlite"))
    for name in everybody:
        memory.search(f"what does {name} do", limit=3)
    vectors.keep("m", {vector_key("m", "passage", f"Archived: {name}"): b"x" * 8 for name in everybody})
    vectors.close()
    cache = AnswerCache()
    for name in everybody:
        request = Request((Message("user", name),), "ask")
        cache.keep("m", {answer_key("m", request): Completion(f"{name} is kind", calls=(), model="m")})
    cache.close()
    before = (memory.workspace.root / "memory" / "table.md").read_bytes()
    change = Change("memory/table.md", before, before + "".join(f"| {n} | b |\n" for n in everybody).encode())
    assert applying.apply(memory.workspace, [change], About("write", f"write of {people().gone[0]}"))
    memory.workspace.state.joinpath("server.log").write_text(
        "".join(f"asked: {quote(n)}\n" for n in everybody)
    )


def holding(root: Path, names: list[str]) -> dict[str, list[str]]:
    """The scan of this test: every byte of every file below a folder, unpacked; which of the names it has.

    Of a workspace also those of its state and its index.
    """
    forms = {
        form.lower(): name
        for name in names
        for form in (
            name.encode(), name.encode("utf-16-le"), name.encode("utf-16-be"), quote(name).encode(),
            json.dumps(name)[1:-1].encode(), json.dumps(json.dumps(name)[1:-1])[1:-1].encode(),
        )
    }  # fmt: skip
    found: dict[str, list[str]] = {}
    workspace = paths.Workspace(root)
    places = {"": root, "state/": workspace.state, "index/": workspace.index.parent}
    for before, place, path in [(*one, path) for one in places.items() for path in sorted(one[1].rglob("*"))]:
        if path.is_file():
            data = path.read_bytes()
            if path.name == state.NAME:
                blobs = state.rows(workspace, "SELECT bytes FROM blob")
                data += b"".join(zlib.decompress(packed) for (packed,) in blobs)
            with suppress(zlib.error):
                data = zlib.decompress(data)
            data = data.lower()
            if held := sorted({name for form, name in forms.items() if form in data}):
                found[f"{before}{path.relative_to(place)}"] = held
    return found


def test_fifty_people_are_forgotten_and_fifty_stay(memory: Memory) -> None:
    root, cache, (gone, stay) = memory.workspace.root, paths.user_cache_dir(), people()
    planted = holding(root, gone)
    places = {name.removesuffix("-wal") for name in planted}
    assert {"MEMORY.md", "archive/2025.md", "sessions/s1.jsonl", "state/usage.sqlite"} <= places
    assert {"index/index.sqlite", "state/server.log"} <= places
    assert "state/state.sqlite" in places
    assert holding(cache, gone)
    kept = {name: others(root / name, gone) for name in planted if name.endswith(".md")}

    erasure = memory.forget([Selection("person", name) for name in gone])

    assert erasure.left == ()
    assert holding(root, gone) == {}
    assert holding(cache, gone) == {}
    assert {name: (root / name).read_bytes() for name in kept} == kept
    assert len(json.loads(next(iter((root / "sessions" / "s1.jsonl").read_text("utf-8").splitlines()))))
    assert all(memory.search(name, mode="lexical").hits for name in stay)
    left = {name.removesuffix("-wal") for name in holding(root, stay)}
    assert places - left == {"state/server.log"}  # logs are emptied
    memory.close()


def others(note: Path, names: list[str]) -> bytes:
    """A note of the fixture without the lines about some; under their headings, without the section."""
    kept: list[bytes] = []
    inside = False
    for line in note.read_bytes().splitlines(keepends=True):
        held = any(name.encode() in line for name in names)
        if line.startswith(b"## "):
            inside = held
        if not (held or inside):
            kept.append(line)
    return b"".join(kept)
