"""References that follow the lines they point at."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.base.errors import NoteNotFound
from commonplace.markdown.document import parse
from commonplace.markdown.references import Reference, cut, parse_reference, shifted
from commonplace.types import Excerpt

PATH = "memory/b.md"


def down(line: int) -> str:
    return f"{PATH}#L{line + 2}"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("- a <!-- cp: from=memory/b.md#L3 since=2026-03-02 -->\r\n", "- a <!-- cp: from=memory/b.md#L5 since=2026-03-02 -->\r\n"),
        ("- a <!-- cp: from=memory/a.md#L1,memory/b.md#L3-L5 -->", "- a <!-- cp: from=memory/a.md#L1,memory/b.md#L5-L7 -->"),
        ("- a <!-- cp: until=2026-03-02 by=owner to=memory/b.md:9 -->", "- a <!-- cp: until=2026-03-02 by=owner to=memory/b.md#L11 -->"),
        ("- a <!-- superseded-by: memory/b.md#L4 -->", "- a <!-- superseded-by: memory/b.md#L6 -->"),
    ],
)  # fmt: skip
def test_they_follow(text: str, wanted: str) -> None:
    assert shifted(text, {PATH: down}) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "- a <!-- cp: from=memory/c.md#L3 since=2026-03-02 -->", "- a <!-- superseded-by: memory/b.md -->",
        "- a <!-- superseded-by: #1a2b3c -->", "- a memory/b.md#L3", "- <private>a <!-- cp: from=memory/b.md#L3 --></private>",
        "- a <!--  cp:   from=memory/c.md#L3   -->",
    ],
)  # fmt: skip
def test_what_points_elsewhere_stays_to_the_byte(text: str) -> None:
    assert shifted(text, {PATH: down}) == text


# --- citations ---------------------------------------------------------------------------------------------
#
# What a reference names is what stands in the file: whatever the note, whichever way it is written.


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
        f"{path}:{first}-{last}", f"{path}:{first}:{count}", f"{path}#L{first}-L{last}", f"{path}#L{first}-{last}",
    ):  # fmt: skip
        assert parse_reference(text) == Reference(path, "", first, last)
        assert parse_reference(f"  ./{text}\n") == Reference(path, "", first, last)
    assert parse_reference(f"{path}:{first}") == Reference(path, "", first, None)
    assert parse_reference(f"{path}#L{first}") == Reference(path, "", first, first)


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
        ("a.md:0", "a.md: has 2 lines, none of number 0"), ("a.md:3", "a.md: has 2 lines, none of number 3"),
        ("a.md:2-1", "a.md: lines 2 to 1 are the wrong way round"),
        ("a.md#L2-L1", "a.md: lines 2 to 1 are the wrong way round"),
        ("a.md:1:0", "a.md: lines 1 to 0 are the wrong way round"),
    ],
)  # fmt: skip
def test_why_there_are_no_lines(reference: str, message: str) -> None:
    with pytest.raises(NoteNotFound) as caught:
        taken(["one", "two"], reference)
    assert str(caught.value) == message


# --- excerpts ----------------------------------------------------------------------------------------------
#
# References to lines of notes.


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("a.md", Reference("a.md")), ("./memory/a.md", Reference("memory/a.md")), ("a.md:2", Reference("a.md", first=2)),
        ("a.md:2-3", Reference("a.md", first=2, last=3)), ("a.md:2-", Reference("a.md", first=2)),
        ("a.md:2:2", Reference("a.md", first=2, last=3)), ("a.md#L2", Reference("a.md", first=2, last=2)),
        ("a.md#L2-L3", Reference("a.md", first=2, last=3)), ("#abc123", Reference("", "abc123")),
        ("#ABC123:2", Reference("", "abc123", 2)), ("odd:name.md", Reference("odd:name.md")),
    ],
)  # fmt: skip
def test_references(text: str, reference: Reference) -> None:
    assert parse_reference(text) == reference
