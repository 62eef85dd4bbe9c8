"""Markdown to a Note: structure, metadata, line numbers that are the file's own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.markdown.document import decode, parse


def headings(text: str) -> list[tuple[int, str, int]]:
    return [(h.level, h.text, h.line) for h in parse(text, "a.md").headings]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# One\n## Two ##\n####### seven\n#none\n#\n", [(1, "One", 1), (2, "Two", 2), (1, "", 5)]),
        ("Title\n=====\ntext\nSub\n---\n", [(1, "Title", 1), (2, "Sub", 4)]),
        ("- item\n---\n\n---\n> q\n---\n", []),
        ("    # code\n   # three\n", [(1, "three", 2)]),
        ("```\n# no\n```\n# yes\n", [(1, "yes", 4)]),
        ("~~~~\n```\n# no\n~~~\n# no\n~~~~\n# yes\n", [(1, "yes", 7)]),
        ("````md\n```\n# no\n```\n````\n# yes\n", [(1, "yes", 6)]),
        ("```\nnever closed\n# no\n", []),
        ("a `x` ```inline``` b\n# yes\n", [(1, "yes", 2)]),
        ("---\ntitle: T\n---\n# yes\n", [(1, "yes", 4)]),
    ],
)
def test_headings(text: str, found: list[tuple[int, str, int]]) -> None:
    assert headings(text) == found


def test_fences_are_known_by_their_lines() -> None:
    assert parse("a\n```py\nx\n```\n~~~\nopen", "a.md").fences == ((2, 4), (5, 6))


def test_front_matter() -> None:
    note = parse("---\ntitle: A day\ntags: [one, two]\ndate: 2026-02-13\n---\n\ntext\n", "notes/x.md")
    assert (note.title, note.date, note.front_matter) == ("A day", "2026-02-13", (1, 5))
    assert note.metadata["tags"] == ["one", "two"]


@pytest.mark.parametrize(
    "head", ["---\n: : [\n---\n", "---\n- a list\n---\n", "---\nno end\n", "---\n\n---\n"]
)
def test_damaged_front_matter_is_text(head: str) -> None:
    note = parse(head + "# Title\n", "x.md")
    assert note.title == "Title"
    assert not note.metadata


@pytest.mark.parametrize(
    ("path", "date", "kind"),
    [
        ("memory/2026-02-13.md", "2026-02-13", "daily"),
        ("memory/2026-02-13-standup.md", "2026-02-13", "daily"),
        ("memory/2026-02-31.md", None, "note"),
        ("MEMORY.md", None, "long-term"),
        ("notes/plan.md", None, "note"),
    ],
)
def test_dates_and_kinds_come_from_the_path(path: str, date: str | None, kind: str) -> None:
    note = parse("text", path)
    assert (note.date, note.kind) == (date, kind)


def test_title_falls_back_to_the_name() -> None:
    assert parse("text", "notes/plan b.md").title == "plan b"


def test_inline_metadata_is_taken_out() -> None:
    note = parse("- deploy <!-- importance: 8 --> <!-- trigger: ship, release -->\n<!-- other -->\n", "a.md")
    assert note.annotations == {1: {"importance": "8", "trigger": "ship, release"}}
    assert note.lines == ("- deploy", "<!-- other -->")


@pytest.mark.parametrize(
    ("line", "found", "left"),
    [
        ("a <!--importance:8-->", {"importance": "8"}, "a"),
        ("a <!-- IMPORTANCE : 8 -->", {"importance": "8"}, "a"),
        ("a <!-- project: x --> b", {"project": "x"}, "a  b"),
        ("a <!-- project:  -->", {"project": ""}, "a"),
        ("<!-- importance: 1 --> <!-- importance: 2 -->", {"importance": "2"}, ""),
        ("a <!-- trigger: b <!-- importance: 3 -->", {"importance": "3"}, "a <!-- trigger: b"),
        ("a <!-- importance: 8", None, "a <!-- importance: 8"),
        ("a <!-- important: 8 -->", None, "a <!-- important: 8 -->"),
    ],
)
def test_inline_metadata_of_one_line(line: str, found: dict[str, str] | None, left: str) -> None:
    note = parse(f"{line}\nlast\n", "a.md")
    assert note.annotations == ({1: found} if found else {})
    assert note.lines == (left, "last")


@pytest.mark.parametrize(
    "unit", ["<!--", "<!-- importance:", "<!-- importance: 3 <!--", "<!-- importance: " + " " * 9999]
)
def test_comments_without_end_end(unit: str) -> None:
    assert len(parse(unit * (400_000 // len(unit)), "a.md").lines) == 1


def test_private_parts_and_secrets_leave_the_lines_where_they_were() -> None:
    note = parse("a\n<private>\nsecret\n</private>\nkey AKIAIOSFODNN7SAMPLE2\nlast\n", "a.md")
    assert len(note.lines) == 6
    assert note.lines[5] == "last"
    assert "secret" not in "".join(note.lines)
    assert "[REDACTED:" in note.lines[4]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        (b"\xef\xbb\xbfa\r\nb\rc\n", "a\nb\nc\n"),
        ("北京\n".encode("utf-16"), "北京\n"),
        (b"bad \xff byte", "bad \ufffd byte"),
        (b"nul \x00 byte", "nul \ufffd byte"),
    ],
)
def test_decoding(data: bytes, text: str) -> None:
    assert decode(data) == text


@given(st.one_of(st.text(max_size=300), st.binary(max_size=300).map(decode)))
def test_any_text_parses(text: str) -> None:
    note = parse(text, "a.md", redacted=False)
    lines = text.split("\n")
    assert len(note.lines) == len(lines) - (not lines[-1])
    assert all(1 <= h.line <= len(note.lines) for h in note.headings)
    assert all(1 <= a <= b <= len(note.lines) for a, b in note.fences)


def test_a_line_of_a_megabyte() -> None:
    assert len(parse("word " * 200_000, "a.md").lines) == 1
