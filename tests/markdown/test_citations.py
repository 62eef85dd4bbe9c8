"""What a reference names is what stands in the file: whatever the note, whichever way it is written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.base.errors import NoteNotFound
from commonplace.markdown.document import parse
from commonplace.markdown.references import Reference, cut, parse_reference
from commonplace.types import Excerpt

LINES = st.lists(st.text("abc 字-", max_size=8), min_size=1, max_size=9).map(
    lambda rows: [*rows[:-1], f"{rows[-1]}x"]
)
PATHS = st.sampled_from(
    ["a.md", "memory/2026-02-13.md", "a b.md", "记.md", "a:b.md", "x#y.md", "12.md", "a-1", "L3"]
)


def taken(lines: list[str], reference: str) -> Excerpt:
    return cut(parse("\n".join(lines) + "\n", "a.md"), "a.md", "abc123", parse_reference(reference))


@given(PATHS, st.integers(1, 10**9 - 1), st.integers(1, 10**9 - 1))
def test_every_way_to_write_a_range_is_read_back(path: str, first: int, last: int) -> None:
    first, last = sorted((first, last))
    count = last - first + 1
    for text in (
        f"{path}:{first}-{last}",
        f"{path}:{first}:{count}",
        f"{path}#L{first}-L{last}",
        f"{path}#L{first}-{last}",
    ):
        assert parse_reference(text) == Reference(path, "", first, last)
        assert parse_reference(f"  ./{text}\n") == Reference(path, "", first, last)
    assert parse_reference(f"{path}:{first}") == Reference(path, "", first, None)
    assert parse_reference(f"{path}#L{first}") == Reference(path, "", first, first)


@given(st.text("0123456789abcdefABCDEF", min_size=6, max_size=32), st.integers(1, 99))
def test_the_start_of_a_hash_is_a_reference_with_or_without_lines(digits: str, first: int) -> None:
    assert parse_reference(f"#{digits}") == Reference("", digits.lower())
    assert parse_reference(f"#{digits}:{first}-") == Reference("", digits.lower(), first)
    assert parse_reference(f"#{digits}#L{first}") == Reference("", digits.lower(), first, first)


@pytest.mark.parametrize("text", ["#abc", "#" + "a" * 33, "#ghijkl", "abcdef", "# abcdef"])
def test_what_is_no_hash_is_a_path(text: str) -> None:
    assert parse_reference(text) == Reference(text)


@pytest.mark.parametrize(
    "text", ["a.md:", "a.md:-3", "a.md:x", "a.md:1-x", "a.md:1:", "a.md#L", "a.md#3", ":5", "a.md:1234567890"]
)
def test_what_only_looks_like_lines_belongs_to_the_path(text: str) -> None:
    assert parse_reference(text) == Reference(text)


@given(LINES, st.data())
def test_a_range_gives_these_lines_of_the_file(lines: list[str], data: st.DataObject) -> None:
    first = data.draw(st.integers(1, len(lines)))
    last = data.draw(st.integers(first, len(lines) + 5))
    found = taken(lines, f"a.md:{first}-{last}")
    assert list(found.lines) == lines[first - 1 : last]
    assert (found.start_line, found.end_line) == (first, min(last, len(lines)))
    assert (found.total_lines, found.path, found.docid) == (len(lines), "a.md", "abc123")


@given(LINES, st.integers(0, 20), st.integers(0, 20))
def test_lines_that_are_not_there_are_told_and_never_others(lines: list[str], first: int, last: int) -> None:
    try:
        found = taken(lines, f"a.md:{first}-{last}")
    except NoteNotFound:
        assert first < 1 or first > len(lines) or last < first
    else:
        assert list(found.lines) == lines[first - 1 : last]


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("a.md:0", "a.md: has 2 lines, none of number 0"),
        ("a.md:3", "a.md: has 2 lines, none of number 3"),
        ("a.md:2-1", "a.md: lines 2 to 1 are the wrong way round"),
        ("a.md#L2-L1", "a.md: lines 2 to 1 are the wrong way round"),
        ("a.md:1:0", "a.md: lines 1 to 0 are the wrong way round"),
    ],
)
def test_why_there_are_no_lines(reference: str, message: str) -> None:
    with pytest.raises(NoteNotFound) as caught:
        taken(["one", "two"], reference)
    assert str(caught.value) == message


@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_nothing_is_no_reference(text: str) -> None:
    with pytest.raises(NoteNotFound, match=r"\(empty\): not a reference"):
        parse_reference(text)
