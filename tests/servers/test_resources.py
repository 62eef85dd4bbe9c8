"""Notes as resources: addresses, pages, whatever their names hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace import Memory, config
from commonplace.base.errors import NoteNotFound, OutsideRoots
from commonplace.servers import methods
from commonplace.servers.protocol import Refusal
from tests.cli.conftest import workspace as workspace

ODD = ["a b.md", "茶.md", "100%.md", "a#L3.md", "what?.md", "x:12.md", 'q"q.md']


def test_every_note_is_listed_and_read_by_its_address(workspace: Path, tmp_path: Path) -> None:
    for name in ODD:
        (workspace / "memory" / name).write_text(f"# {name}\n")
    other = tmp_path / "work"
    other.mkdir()
    (other / "plan.md").write_text("# The plan\n")
    config.add_collection(workspace, "work", str(other))
    with Memory.open(workspace) as memory:
        listed = methods.page(memory)["resources"]
        read = {one["uri"]: methods.read_resource(memory, one["uri"]) for one in listed}
    assert len(read) == 3 + len(ODD) + 1
    assert all(uri.isascii() and " " not in uri for uri in read)
    assert read["commonplace://work/plan.md"]["text"] == "# The plan"
    assert {f"# {name}" for name in ODD} <= {one["text"] for one in read.values()}
    assert {one["mimeType"] for one in read.values()} == {"text/markdown"}


def test_pages_hold_every_note_once(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "PAGE", 2)
    for number in range(4):
        (workspace / "memory" / f"n{number} 茶.md").write_text("# x\n")
    names: list[str] = []
    with Memory.open(workspace) as memory:
        cursor: str | None = None
        while True:
            page = methods.page(memory, cursor)
            names += [one["name"] for one in page["resources"]]
            cursor = page.get("nextCursor")
            if cursor is None:
                break
        assert names == sorted(note.path for note in memory.notes())
        for wrong in ("", " ", "a b"):
            with pytest.raises(Refusal, match="cursor"):
                methods.page(memory, wrong)


def test_what_is_no_note_is_not_read(workspace: Path) -> None:
    for uri in ["", "memory/MEMORY.md", "commonplace://", "commonplace://memory", "commonplace://no/MEMORY.md",
     "commonplace://memory/none.md", "file:///etc/passwd", "commonplace://memory/%2e%2e/outside.md",
     "commonplace://memory//etc/passwd"]:  # fmt: skip
        (workspace.parent / "outside.md").write_text("secret")
        with Memory.open(workspace) as memory, pytest.raises((NoteNotFound, OutsideRoots)):
            methods.read_resource(memory, uri)
