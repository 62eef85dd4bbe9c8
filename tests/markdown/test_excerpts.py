"""References to lines of notes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.base.errors import NoteNotFound
from commonplace.markdown.document import parse
from commonplace.markdown.references import Reference, cut, parse_reference

NOTE = parse("one\ntwo\nthree\nfour\n", "a.md")


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("a.md", Reference("a.md")),
        ("./memory/a.md", Reference("memory/a.md")),
        ("a.md:2", Reference("a.md", first=2)),
        ("a.md:2-3", Reference("a.md", first=2, last=3)),
        ("a.md:2-", Reference("a.md", first=2)),
        ("a.md:2:2", Reference("a.md", first=2, last=3)),
        ("a.md#L2", Reference("a.md", first=2, last=2)),
        ("a.md#L2-L3", Reference("a.md", first=2, last=3)),
        ("#abc123", Reference("", "abc123")),
        ("#ABC123:2", Reference("", "abc123", 2)),
        ("odd:name.md", Reference("odd:name.md")),
    ],
)
def test_references(text: str, reference: Reference) -> None:
    assert parse_reference(text) == reference


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a.md", ("one", "two", "three", "four")),
        ("a.md:3", ("three", "four")),
        ("a.md:2-3", ("two", "three")),
        ("a.md:3-900", ("three", "four")),
        ("a.md:1:1", ("one",)),
    ],
)
def test_lines(text: str, lines: tuple[str, ...]) -> None:
    shown = cut(NOTE, "a.md", "abc123", parse_reference(text))
    assert shown.lines == lines
    assert shown.end_line - shown.start_line + 1 == len(lines)


@pytest.mark.parametrize("text", ["a.md:0", "a.md:5", "a.md:3-2", "a.md:2:0", ""])
def test_what_is_not_there(text: str) -> None:
    with pytest.raises(NoteNotFound):
        cut(NOTE, "a.md", "abc123", parse_reference(text))


def test_an_empty_note_has_no_lines() -> None:
    assert cut(parse("", "a.md"), "a.md", "abc123", Reference("a.md")).lines == ()


@given(st.text(min_size=1, max_size=40))
def test_any_text_is_a_reference_or_not_found(text: str) -> None:
    try:
        parse_reference(text)
    except NoteNotFound:
        assert not text.strip()
