"""The kinds: each is recognised by what it is, and nothing else is."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from commonplace.base.errors import ConfigError
from commonplace.imports import kinds
from commonplace.types.reports import FileFailure


def made(root: Path) -> dict[str, Path]:
    """A place of each kind that holds as little as it is recognised by."""
    places = {name: root / name for name in ("openclaw", "nanobot", "obsidian", "basic-memory", "claude-mem")}
    for place in places.values():
        place.mkdir(parents=True)
    (places["openclaw"] / "SOUL.md").write_text("# Soul\n")
    (places["openclaw"] / "memory").mkdir()
    (places["nanobot"] / "memory").mkdir()
    (places["nanobot"] / "SOUL.md").write_text("# Soul\n")
    (places["nanobot"] / "memory" / "history.jsonl").write_text("")
    (places["obsidian"] / ".obsidian").mkdir()
    (places["basic-memory"] / "note.md").write_text("---\ntitle: Note\npermalink: note\n---\n\n- [fact] x\n")
    (places["claude-mem"] / "claude-mem.db").write_bytes(b"SQLite format 3\0")
    places["qmd"] = root / "index.yml"
    places["qmd"].write_text("collections:\n  notes:\n    path: /tmp/k\n")
    places["mem0"] = root / "export.json"
    places["mem0"].write_text(json.dumps({"results": [{"id": "1", "memory": "Likes tea"}]}))
    places["chats"] = root / "conversations.json"
    places["chats"].write_text(json.dumps([{"mapping": {}, "title": "x"}]))
    return places


def test_what_is_no_file_is_of_no_kind_and_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "loop.json").symlink_to("loop.json")
    for name in ("pipe.json", "loop.json"):
        with pytest.raises(ConfigError, match="not recognised"):
            kinds.of(tmp_path / name)
        for kind in kinds.KINDS:
            assert all(isinstance(part, FileFailure) for part in kind.read(tmp_path / name)), kind.name


def test_each_kind_is_recognised(tmp_path: Path) -> None:
    assert {name: kinds.of(path).name for name, path in made(tmp_path).items()} == {
        name: name for name in made(tmp_path / "again")
    }


def test_each_kind_is_in_the_table_once_and_says_what_it_is() -> None:
    assert len({kind.name for kind in kinds.KINDS}) == len(kinds.KINDS)
    assert all(kind.title and kind.what for kind in kinds.KINDS)
    assert kinds.find("ChatGPT") == kinds.find("claude") == kinds.find("chats")


def test_what_is_of_no_kind_names_them_all(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "note.md", tmp_path / "broken.zip"):
        if path != tmp_path:
            path.write_bytes(b"PK\x03\x04 no archive")
        with pytest.raises(ConfigError, match="claude-mem, qmd, nanobot"):
            kinds.of(path)
    with pytest.raises(ConfigError, match="neither a file nor a folder"):
        kinds.of(tmp_path / "nowhere")


def test_nothing_that_a_reader_passes_over_is_passed_over_in_silence(tmp_path: Path) -> None:
    qmd, nanobot, vault, basic, chats = (tmp_path / name for name in ("q", "n", "v", "b", "c"))
    for folder in (qmd, nanobot / "memory", vault / ".obsidian", basic / "/".join("d" * 32), chats):
        folder.mkdir(parents=True)
    (qmd / "index.yml").write_text("collections: {k: {path: /tmp/k, pattern: [a], context: {/x: 5}}}")
    (nanobot / "memory" / "history.jsonl").write_text("{}")
    (nanobot / "sessions").symlink_to(tmp_path)
    (vault / ".obsidian" / "app.json").write_text("{")
    (basic / "a.md").write_text("---\npermalink: a\n---\n")
    (chats / "conversations.json").write_text('[{"chat_messages": []}]')
    (chats / "memories.json").write_text('[{"said": "tea"}]')
    told = {
        qmd: ["its context of '/x' is no text", "its pattern is of no known form"],
        nanobot: ["is a symlink", "1 lines are damaged or hold no entry"],
        vault: [".obsidian/app.json cannot be read: what it leaves out is searched here"],
        basic: ["lies more than 30 folders deep"],
        chats: ["holds no memories of a known form"],
    }
    for path, expected in told.items():
        parts = list(kinds.of(path).read(path))
        said = [one.reason if isinstance(one, FileFailure) else one for one in parts]
        assert sorted(expected) == sorted(one for one in said if isinstance(one, str))
