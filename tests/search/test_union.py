"""Several workspaces asked as one: whose a reference is, what fails in one of them, what is recorded where."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from commonplace import Memory
from commonplace.base.errors import (
    AccessDenied,
    CommonplaceError,
    NoteNotFound,
    OutsideRoots,
    UnknownCollection,
    WorkspaceNotFound,
)
from commonplace.base.paths import Workspace
from commonplace.search import union

PLAIN = {"embedding.provider": "none"}


def make(root: Path, word: str) -> Path:
    (root / "memory").mkdir(parents=True)
    (root / "MEMORY.md").write_text(f"# Memory\n\n## {word}\n\n- The harbour is {word}.\n")
    for day in ("2026-02-12", "2026-02-14"):
        (root / "memory" / f"{day}.md").write_text(f"# {day}\n\n- The harbour was {word}.\n")
    for note in root.rglob("*.md"):
        os.utime(note, (1_770_000_000, 1_770_000_000))
    return root


@pytest.fixture
def roots(tmp_path: Path) -> list[Path]:
    return [
        make(tmp_path / name, word) for name, word in (("one", "red"), ("two", "green"), ("three", "blue"))
    ]


@pytest.fixture
def memory(roots: list[Path]) -> Iterator[Memory]:
    with Memory.open(roots[0], beside=roots[1:], overrides=PLAIN) as opened:
        yield opened


# --- references -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("two:MEMORY.md", ("two", "MEMORY.md")),
        (" two:memory/x.md:12 ", ("two", "memory/x.md:12")),
        ("two:#abcdef", ("two", "#abcdef")),
        ("two:[[Note]]", ("two", "[[Note]]")),
        ("two:one:MEMORY.md", ("two", "one:MEMORY.md")),
        ("two:12", ("", "two:12")),
        ("two:12-14", ("", "two:12-14")),
        ("two:12-", ("", "two:12-")),
        ("two:12:3", ("", "two:12:3")),
        ("two:", ("", "two:")),
        ("two", ("", "two")),
        ("TWO:MEMORY.md", ("", "TWO:MEMORY.md")),
        ("memory/two:x.md", ("", "memory/two:x.md")),
        (":MEMORY.md", ("", ":MEMORY.md")),
        ("2026-02-13", ("", "2026-02-13")),
    ],
)
def test_whose_a_reference_is(reference: str, expected: tuple[str, str]) -> None:
    assert union.split(reference, ["one", "two"]) == expected


def test_what_is_found_is_read_by_its_citation(memory: Memory, roots: list[Path]) -> None:
    hits = memory.search("harbour", limit=20).hits
    assert {hit.workspace for hit in hits} == {"one", "two", "three"}
    for hit in hits:
        assert hit.path.startswith(f"{hit.workspace}:") == (hit.workspace != "one")
        assert "\n".join(memory.get(hit.citation).lines).strip() in hit.text
        assert memory.get(f"{hit.workspace}:#{hit.docid}").docid == hit.docid
    assert {note.path for note in memory.notes()} >= {
        "MEMORY.md",
        "two:MEMORY.md",
        "three:memory/2026-02-12.md",
    }
    many = memory.get_many(["*:MEMORY.md", "MEMORY.md", "two:memory/*"])
    assert [one.path for one in many.excerpts] == [
        "two:MEMORY.md", "three:MEMORY.md", "MEMORY.md", "two:memory/2026-02-12.md", "two:memory/2026-02-14.md",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "reference",
    ["two:../one/MEMORY.md", "two:three:MEMORY.md", "four:MEMORY.md", "two:/etc/hostname", "two:commonplace.toml",
     "two:.commonplace/config.toml", "../two/MEMORY.md", "two:two:MEMORY.md"],
)  # fmt: skip
def test_a_workspace_is_read_inside_alone(memory: Memory, reference: str) -> None:
    with pytest.raises((NoteNotFound, OutsideRoots)):
        memory.get(reference)


def test_what_is_read_beside_the_home_is_not_changed(memory: Memory) -> None:
    with pytest.raises(AccessDenied, match="does not write to it"):
        memory.correct("two:MEMORY.md:5", "The harbour is grey.")


# --- questions ------------------------------------------------------------------------------------------


def test_a_collection_of_one_workspace_is_asked_alone(memory: Memory) -> None:
    hits = memory.search("harbour", collections=["two:memory"]).hits
    assert {hit.workspace for hit in hits} == {"two"}
    for unknown in ("four:memory", "two:none", "none"):
        with pytest.raises(UnknownCollection):
            memory.search("harbour", collections=[unknown])


def test_days_and_moments_are_in_order(memory: Memory) -> None:
    days = [hit.date for hit in memory.search("on:2026-02").hits]
    assert len(days) == 6
    assert days in (sorted(days), sorted(days, reverse=True))
    around = memory.timeline("2026-02-12", after=2)
    assert [(one.date, one.is_anchor) for one in around.moments] == [
        *[("2026-02-12", True)] * 3, *[("2026-02-14", False)] * 2,
    ]  # fmt: skip
    assert {one.path for one in memory.timeline("two:memory/2026-02-12.md").moments} == {
        "two:memory/2026-02-12.md", "two:memory/2026-02-14.md",
    }  # fmt: skip


def test_one_that_is_gone_is_a_warning(memory: Memory, roots: list[Path]) -> None:
    roots[1].rename(roots[1].with_name("moved"))
    found = memory.search("harbour", limit=20)
    assert {hit.workspace for hit in found.hits} == {"one", "three"}
    assert [one for one in found.warnings if one.startswith("two: there is no folder")]
    assert {note.collection for note in memory.notes()} == {"memory", "three:memory"}
    with pytest.raises(WorkspaceNotFound):
        memory.get("two:MEMORY.md")


def test_one_that_is_damaged_or_locked_holds_up_nobody(memory: Memory, roots: list[Path]) -> None:
    memory.search("harbour")
    index = Workspace(roots[1]).index
    connection = apsw.Connection(os.fspath(index))
    connection.execute("BEGIN EXCLUSIVE")
    assert {"one", "three"} <= {hit.workspace for hit in memory.search("harbour", limit=20).hits}
    connection.execute("ROLLBACK")
    connection.close()
    memory.close()
    index.write_bytes(b"no database" * 500)
    assert {hit.workspace for hit in memory.search("harbour", limit=20).hits} == {"one", "two", "three"}


def test_a_home_that_fails_lets_the_others_answer() -> None:
    def fail() -> int:
        raise CommonplaceError("no")

    assert union.each({"a": fail, "b": lambda: 5}) == ({"b": 5}, ["a: no"])
    with pytest.raises(CommonplaceError, match="no"):
        union.each({"a": fail, "b": fail})


def test_only_the_home_records_and_only_what_is_its_own(memory: Memory, roots: list[Path]) -> None:
    memory.search("harbour heron", limit=20)
    memory.recall("harbour heron")
    memory.get("two:MEMORY.md")
    memory.get("MEMORY.md")
    assert {hit.workspace for hit in memory.search("green").hits} == {"two"}
    memory.search("zeppelin")
    used = memory.usage()
    [day] = used.days
    assert (day.searches, day.recalls, day.gets, used.answered) == (3, 1, 1, 1)
    assert {one.question for one in used.unanswered} == {"harbour heron", "zeppelin"}
    memory.close()
    data = b"".join(path.read_bytes() for path in Workspace(roots[0]).state.glob("usage.sqlite*"))
    assert b"heron" in data
    assert b"two:" not in data
    assert not list(Workspace(roots[1]).state.glob("usage.sqlite*"))
