"""A document loses nothing: what is read is written, what is edited is edited alone, and lines are followed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.base.errors import NoteUnreadable
from commonplace.markdown import references
from commonplace.markdown.document import Document, Strike, decode, parse

FOLDER = Path(__file__).parents[1] / "golden"
NOTES = sorted([*FOLDER.glob("*.md"), *(FOLDER / "struck").glob("*.md")])
MARKS = st.sampled_from([b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"])
LINES = st.lists(
    st.sampled_from([
        "", "  ", "text", "# One", "## Two", "Title", "===", "---", "```", "~~~~", "- a", "  - b", "  more", "1. c",
        "- [ ] task", "- ~~gone~~", "| a |", "|---|", "| b |", "<private>", "</private>", "<!-- pinned -->", "<!--",
        "-->", "title: x", "- 茶 \udcff", "- <private>p</private> q", "Ann: hello", "> - quoted", "> ```",
    ]),
    max_size=14,
)  # fmt: skip
ENDS = st.sampled_from(["\n", "\r\n", "\r"])
TEXTS = st.builds(
    lambda lines, end, ended: end.join(lines) + end * (ended and bool(lines)), LINES, ENDS, st.booleans()
)


@given(MARKS, st.binary(max_size=60))
def test_any_bytes_come_back(mark: bytes, body: bytes) -> None:
    document = Document.read(mark + body)
    assert document.data == mark + body
    assert document.change({}).data == mark + body
    assert document.delete(()).document.data == mark + body
    assert len(document.lines) == len(document.bare)


@given(TEXTS)
def test_lines_are_those_that_readers_count(text: str) -> None:
    document = Document.of(text)
    assert document.text == text
    plain = decode(document.data).split("\n")
    assert [decode(line.encode("utf-8", "surrogateescape")) for line in document.bare] == (
        plain if plain[-1] else plain[:-1]
    )
    assert document.note == parse(decode(document.data), "note.md")
    assert document.blocks.headings == parse(decode(document.data), "note.md", redacted=False).headings


@pytest.mark.parametrize("path", NOTES, ids=lambda path: path.stem)
def test_golden_notes(path: Path) -> None:
    document = Document.read(path.read_bytes(), path.name)
    assert document.data == path.read_bytes()
    assert document.note == parse(decode(path.read_bytes()), path.name)


def test_damaged_utf_16_is_read_and_kept_but_not_written() -> None:
    data = "\ufeff- a\n".encode("utf-16-le") + b"\x00"
    document = Document.read(data, "a.md")
    assert document.bare == ["- a"]
    assert document.delete({1}).document.data == b"\xff\xfe\x00"
    with pytest.raises(NoteUnreadable, match="neither UTF-8 nor utf-16-le"):
        document.checked()
    assert Document.read(data[:-1]).checked().bare == ["- a"]


# --- edits ------------------------------------------------------------------------------------------------


@given(TEXTS, st.sets(st.integers(1, 14)))
def test_what_is_deleted_is_gone_and_nothing_else(text: str, lines: set[int]) -> None:
    document = Document.of(text)
    edit = document.delete(lines)
    for number, line in enumerate(document.lines, 1):
        place = edit.moved(number)
        assert (place is None) == (number in lines)
        assert place is None or edit.document.lines[place - 1] == line
    assert len(edit.document.lines) == len(document.lines) - len(
        lines & set(range(1, len(document.lines) + 1))
    )


@given(TEXTS, st.sampled_from([None, "One", "Two", "New"]))
def test_an_insertion_moves_lines_and_changes_none(text: str, heading: str | None) -> None:
    document = Document.of(text)
    edit = document.insert("- e1\n  e2", heading=heading)
    first, last = edit.lines
    assert edit.document.bare[first - 1 : last] == ["- e1", "  e2"]
    for number, line in enumerate(document.bare, 1):
        place = edit.moved(number)
        assert place
        assert edit.document.bare[place - 1] == line


@given(TEXTS, st.data())
def test_striking_many_is_striking_one_after_the_other(text: str, data: st.DataObject) -> None:
    """Also those that are within each other, whatever the order."""
    document = again = Document.of(text, "memory/2026-02-13.md")
    chosen = data.draw(st.permutations(document.statements))
    document = document.strike_all([Strike(statement, "2026-03-02") for statement in chosen]).document
    for statement in chosen:
        again = Document.of(again.text, again.path).strike_all([Strike(statement, "2026-03-02")]).document
    assert document.data == again.data
    assert len(document.lines) == len(Document.of(text).lines)


@given(st.lists(st.sampled_from(["a\r", "b\n", "c\r\n", "\n", "\r", "\r\n"])), st.sets(st.integers(1, 9)))
def test_a_deletion_among_mixed_line_ends(lines: list[str], gone: set[int]) -> None:
    """A lone carriage return that meets a newline ends one line with it, for the map as for every reader."""
    document = Document.of("".join(lines))
    edit = document.delete(gone)
    again = Document.read(edit.document.data)
    assert again.lines == edit.document.lines
    for number, line in enumerate(document.lines, 1):
        place = edit.moved(number)
        assert (place is None) == (number in gone)
        assert place is None or line in again.lines[place - 1]


@given(TEXTS, st.data())
def test_an_entry_behind_a_statement(text: str, data: st.DataObject) -> None:
    document = Document.of(text, "memory/2026-02-13.md")
    if not document.statements:
        return
    statement = data.draw(st.sampled_from(document.statements))
    edit = document.insert("- new", after=statement)
    assert edit.lines[0] > statement.end
    assert edit.document.bare[edit.lines[0] - 1] == "- new"
    kept = [edit.document.bare[place - 1] for place in edit.places if place]
    assert kept == document.bare


def test_a_paragraph_stays_apart_from_its_entry() -> None:
    document = Document.of("One\ntwo.\nAnn: hello\n\n- a\n  - b\n- c\n")
    paragraph, turn, item, *_ = document.statements
    assert (
        document.insert("Three.", after=turn).document.text
        == "One\ntwo.\nAnn: hello\n\nThree.\n\n- a\n  - b\n- c\n"
    )
    assert (
        document.insert("- x", after=item).document.text == "One\ntwo.\nAnn: hello\n\n- a\n  - b\n- x\n- c\n"
    )
    assert paragraph.end == 2


def test_other_text_in_a_line_keeps_its_end() -> None:
    document = Document.of("a\r\nb\rc")
    assert document.change({1: "x", 3: "z"}).text == "x\r\nb\rz"


# --- what belongs together --------------------------------------------------------------------------------

WHOLE = """---
title: x
tags:
  - a
---
# One

- item
  more
  - nested

  later
text

| a | b |
|---|---|
| 1 | 2 |

```
code
```
## Two
last
"""


@pytest.mark.parametrize(
    ("line", "unit"),
    [
        (1, range(0)), (2, range(2, 3)), (3, range(3, 5)), (4, range(4, 5)), (6, range(6, 24)), (7, range(7, 8)),
        (8, range(8, 14)), (9, range(8, 14)), (10, range(10, 11)), (12, range(12, 14)), (13, range(12, 14)),
        (15, range(15, 18)), (17, range(17, 18)), (20, range(19, 22)), (22, range(22, 24)), (23, range(23, 24)),
    ],
)  # fmt: skip
def test_a_line_and_all_that_belongs_to_it(line: int, unit: range) -> None:
    assert Document.of(WHOLE).unit(line) == unit


@given(TEXTS)
def test_every_line_is_in_its_unit(text: str) -> None:
    document = Document.of(text)
    for line in range(1, len(document.lines) + 1):
        unit = document.unit(line)
        assert line in unit or document.front_matter
        assert document.whole(set(unit)) >= set(unit)


def test_what_hides_other_lines_goes_as_a_whole() -> None:
    document = Document.of("a\n<private>\nb\n</private>\n```\nc\n```\n<!-- d\ne -->\n")
    assert document.whole({3}) == {2, 3, 4}
    assert document.whole({5}) == {5, 7}
    assert document.whole({9}) == {8, 9}
    assert document.whole({1}) == {1}


# --- references -------------------------------------------------------------------------------------------


def test_references_follow_the_lines_of_all_notes_at_once() -> None:
    one = Document.of("- a\n- b <!-- cp: from=two.md#L2 -->\n- c\n", "one.md")
    two = Document.of(
        "- d <!-- cp: from=one.md#L3 -->\n- e <!-- cp: from=one.md#L1,two.md#L1 -->\n", "two.md"
    )
    other = Document.of("- none\n", "other.md")
    cut, put = one.delete({1}), two.insert("- new", after=two.statements[0])
    maps = {"one.md": cut.follower("one.md"), "two.md": put.follower("two.md")}
    first, second, third = references.follow([cut.document, put.document, other], maps)
    assert first.text == "- b <!-- cp: from=two.md#L3 -->\n- c\n"
    assert second.text == ("- d <!-- cp: from=one.md#L2 -->\n- new\n- e <!-- cp: from=two.md#L1 -->\n")
    assert third is other


def test_a_reference_that_moves_into_a_note_that_moves_is_moved_once() -> None:
    maps = {"a.md": lambda line: f"b.md#L{line}", "b.md": lambda line: f"b.md#L{line + 10}"}
    text = "- x <!-- cp: from=a.md#L1,b.md#L1 -->"
    assert references.shifted(text, maps) == "- x <!-- cp: from=b.md#L1,b.md#L11 -->"
