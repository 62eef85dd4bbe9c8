"""What must hold of a workspace after each night, whatever was proposed."""

from __future__ import annotations

from pathlib import Path

from commonplace.markdown import comments, references, statements
from commonplace.markdown.document import decode, parse
from commonplace.types import Statement

MEMORY, ARCHIVE = "MEMORY.md", "memory/archive.md"


def read(root: Path, path: str) -> list[Statement]:
    """The statements of a note; none where there is no note."""
    file = root / path
    return statements.read(parse(decode(file.read_bytes()), path)) if file.exists() else []


def words(statement: Statement) -> str:
    """What a statement says, on one line and without the marks of what is struck in it."""
    return " ".join(statement.text.replace("~~", "").split())


def kept(root: Path) -> set[str]:
    """All that long-term memory and its archive say, struck or not."""
    return {words(statement) for path in (MEMORY, ARCHIVE) for statement in read(root, path)}


def standing(root: Path, path: str = MEMORY) -> list[str]:
    """What a note says that is not struck, in its order."""
    return [words(statement) for statement in read(root, path) if not statement.struck]


def pinned(root: Path) -> list[bytes]:
    """The lines that nothing generated may touch."""
    return [line for line in (root / MEMORY).read_bytes().splitlines() if b"<!-- pinned -->" in line]


def generated(root: Path) -> list[Statement]:
    """The statements of long-term memory and its archive that code wrote."""
    return [one for path in (MEMORY, ARCHIVE) for one in read(root, path) if "from" in one.said]


def check_sources(root: Path) -> int:
    """Check that every line a generated statement rests on is there and says something; return how many."""
    found = generated(root)
    for statement in found:
        sources = comments.sources(statement.said)
        assert sources, statement
        for source in sources:
            wanted = references.parse_reference(source)
            lines = (root / wanted.path).read_text("utf-8").splitlines()
            assert wanted.first <= len(lines), (statement, source)
            assert lines[wanted.first - 1].strip(), (statement, source)
    return len(found)


def check_well_formed(root: Path) -> None:
    """Check that long-term memory is what its writers meant: one entry a line, no half comments, no repeats."""
    text = (root / MEMORY).read_text("utf-8")
    assert text.endswith("\n")
    for line in text.splitlines():
        assert line.count("<!--") == line.count("-->"), line
        assert line.count("~~") % 2 == 0, line
    told = standing(root)
    assert len(told) == len(set(told)), sorted(one for one in told if told.count(one) > 1)
