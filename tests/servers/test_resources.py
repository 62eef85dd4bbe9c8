"""Notes as resources: addresses, what is listed, what completes them, whatever their names hold."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from commonplace import Memory, config
from commonplace.base.errors import NoteNotFound, OutsideRoots
from commonplace.base.paths import Workspace
from commonplace.servers import completion, resources
from commonplace.servers.protocol import Refusal
from tests.cli.conftest import workspace as workspace

ODD = ["a b.md", "茶.md", "100%.md", "a#L3.md", "what?.md", "x:12.md", 'q"q.md']
TEMPLATE = {"type": "ref/resource", "uri": "commonplace://{collection}/{+path}"}


@pytest.fixture
def full(workspace: Path, tmp_path: Path) -> Path:
    """A workspace with notes of odd names and another collection."""
    for name in ODD:
        (workspace / "memory" / name).write_text(f"# {name}\n")
    other = tmp_path / "work"
    other.mkdir()
    (other / "plan.md").write_text("# The plan\n")
    config.add_collection(workspace, "work", str(other))
    return workspace


def completed(memory: Memory, name: str, value: str, ref: object = None, **context: str) -> Any:
    params = {"ref": ref or TEMPLATE, "argument": {"name": name, "value": value}}
    return completion.complete(memory, {**params, "context": {"arguments": context}})


def test_the_long_term_memory_alone_is_listed(full: Path) -> None:
    workspace = Workspace(full)
    (listed,) = resources.listed(workspace)
    assert (listed["uri"], listed["name"]) == ("commonplace://memory/MEMORY.md", "MEMORY.md")
    assert listed["size"] == (full / "MEMORY.md").stat().st_size
    (full / "MEMORY.md").rename(full / "memory" / "MEMORY.md")
    (listed,) = resources.listed(workspace)
    with Memory.open(full) as memory:
        assert resources.read(memory, listed["uri"])["text"].startswith("# ")
    (full / "memory" / "MEMORY.md").unlink()
    assert resources.listed(workspace) == []
    (full.parent / "outside.md").write_text("secret")
    os.symlink(full.parent / "outside.md", full / "MEMORY.md")
    assert resources.listed(workspace) == []


def test_every_note_is_completed_and_read_by_its_address(full: Path) -> None:
    with Memory.open(full) as memory:
        uris = [
            f"commonplace://{collection}/{path}"
            for collection in completed(memory, "collection", "")["values"]
            for path in completed(memory, "path", "", collection=collection)["values"]
        ]
        read = {uri: resources.read(memory, uri) for uri in uris}
    assert len(read) == 3 + len(ODD) + 1
    assert all(uri.isascii() and " " not in uri for uri in read)
    assert read["commonplace://work/plan.md"]["text"] == "# The plan"
    assert {f"# {name}" for name in ODD} <= {one["text"] for one in read.values()}
    assert {one["mimeType"] for one in read.values()} == {"text/markdown"}


def test_what_is_typed_comes_first(full: Path) -> None:
    with Memory.open(full) as memory:
        assert completed(memory, "collection", "W")["values"] == ["work"]
        assert completed(memory, "path", "memory/2026-02-1")["values"] == [
            "memory/2026-02-13.md",
            "memory/2026-02-14.md",
        ]
        assert completed(memory, "path", "mem")["values"][0].lower().startswith("mem")
        assert completed(memory, "path", "14.MD")["values"] == ["memory/2026-02-14.md"]
        assert completed(memory, "path", "", collection="no")["values"] == []
        titles = completed(memory, "query", "plan", {"type": "ref/prompt", "name": "recall"})["values"]
        assert titles == ["The plan"]
        assert completed(memory, "focus", "", {"type": "ref/prompt", "name": "reflect"})["total"] > 1


def test_no_more_than_a_hundred_are_given(workspace: Path) -> None:
    for number in range(150):
        (workspace / "memory" / f"n{number:03}.md").write_text(f"# Note {number}\n")
    with Memory.open(workspace) as memory:
        found = completed(memory, "path", "memory/n")
    assert (len(found["values"]), found["total"], found["hasMore"]) == (100, 150, True)
    assert found["values"][0] == "memory/n000.md"


def test_what_there_is_not_is_not_completed(workspace: Path) -> None:
    prompt = {"type": "ref/prompt", "name": "recall"}
    wrong: list[dict[str, Any]] = [
        {},
        {"ref": TEMPLATE},
        {"ref": TEMPLATE, "argument": {"name": "path", "value": 5}},
        {"ref": TEMPLATE, "argument": {"name": "query", "value": ""}},
        {"ref": {**TEMPLATE, "uri": "commonplace://x"}, "argument": {"name": "path", "value": ""}},
        {"ref": prompt, "argument": {"name": "focus", "value": ""}},
        {"ref": {"type": "ref/tool", "name": "recall"}, "argument": {"name": "query", "value": ""}},
    ]
    with Memory.open(workspace) as memory:
        for params in wrong:
            with pytest.raises(Refusal):
                completion.complete(memory, params)


def test_what_is_no_note_is_not_read(workspace: Path) -> None:
    for uri in ["", "memory/MEMORY.md", "commonplace://", "commonplace://memory", "commonplace://no/MEMORY.md",
     "commonplace://memory/none.md", "file:///etc/passwd", "commonplace://memory/%2e%2e/outside.md",
     "commonplace://memory//etc/passwd"]:  # fmt: skip
        (workspace.parent / "outside.md").write_text("secret")
        with Memory.open(workspace) as memory, pytest.raises((NoteNotFound, OutsideRoots)):
            resources.read(memory, uri)
