"""Notes cut into passages: nothing is lost, nothing crosses a heading, every setting ends."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.chunking import breakpoints, passages
from commonplace.chunking.settings import DEFAULT, ChunkSettings
from commonplace.markdown import structure
from commonplace.markdown.document import parse

LINES = st.sampled_from(
    ["", "   ", "# One", "## Two", "### 三", "Title", "===", "---", "```", "~~~~", "- item", "1. first", "> quote",
     "| a | b |", "word " * 30, "很长的一句话。" * 40, "x" * 5000, "- Ann: yes", "**User:** hello", "plain text"]
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=400), st.lists(LINES, max_size=40).map("\n".join))
SETTINGS = [
    DEFAULT,
    ChunkSettings(target=40, window=30, fence=200, line=100, piece=60),
    ChunkSettings(target=200, window=80, overlap=60, wide=4, fence=300, by_heading=False),
]


@pytest.mark.parametrize("settings", SETTINGS, ids=["default", "small", "overlapping"])
@given(text=TEXTS)
def test_every_line_is_covered(settings: ChunkSettings, text: str) -> None:
    note = parse(text, "a.md")
    found, cut = passages.split(note, settings)
    covered = {n for p in cut for n in range(p.start_line, p.end_line + 1)}
    headings = (
        {n for section in found for n in _heading_lines(note, section)} if settings.by_heading else set()
    )
    missing = [
        n for n, line in enumerate(note.lines, 1) if line.strip() and n not in covered and n not in headings
    ]
    assert missing == []
    for passage in cut:
        section = found[passage.section]
        assert section.start_line <= passage.start_line <= passage.end_line <= section.end_line
        assert passage.text.strip()
    places = [(p.start_line, p.end_line) for p in cut]
    assert places == sorted(places)
    if not settings.overlap:
        assert all(a[1] < b[0] or a == b for a, b in pairwise(places))


def _heading_lines(note, section):
    from commonplace.markdown import structure

    return structure.heading_lines(note, section)


def lines_of(text: str, settings: ChunkSettings = DEFAULT) -> list[tuple[int, int]]:
    return [(p.start_line, p.end_line) for p in passages.split(parse(text, "a.md"), settings)[1]]


def test_passages_do_not_cross_headings() -> None:
    assert lines_of("# A\n\none\ntwo\n\n## B\n\nthree\n") == [(3, 4), (8, 8)]


def test_a_heading_alone_is_a_passage() -> None:
    assert lines_of("# A\n\n## B\n\n## C\n\ntext\n") == [(1, 1), (3, 3), (7, 7)]


def test_lines_are_packed_up_to_the_target() -> None:
    line = "x" * 100
    assert lines_of("\n".join([line] * 5)) == [(1, 2), (3, 4), (5, 5)]


def test_a_long_line_stands_alone() -> None:
    assert lines_of("short\n" + "long " * 200 + "\nshort") == [(1, 1), (2, 2), (3, 3)]


def test_a_very_long_line_is_cut_at_sentences() -> None:
    cut = passages.split(parse("This is a sentence. " * 400, "a.md"))[1]
    assert len(cut) > 5
    assert {(p.start_line, p.end_line) for p in cut} == {(1, 1)}
    assert all(p.text.endswith(".") for p in cut)


def test_a_wide_character_counts_three() -> None:
    assert len(lines_of("字" * 50 + "\n" + "字" * 50)) == 2
    assert len(lines_of("a" * 50 + "\n" + "a" * 50)) == 1


def test_a_fence_stays_whole_where_it_is_asked_for() -> None:
    text = "before\n```\n" + "\n".join(["code"] * 10) + "\n```\nafter"
    assert (2, 13) in lines_of(text, ChunkSettings(target=20, fence=400))


def test_importance_is_taken_from_comments() -> None:
    cut = passages.split(parse("- a <!-- importance: 8 -->\n- b <!-- importance: 99 -->\n", "a.md"))[1]
    assert cut[0].annotations == {"importance": "10"}
    assert "importance" not in cut[0].text


@given(st.text("abc .,。！ 字\n".replace("\n", ""), min_size=1, max_size=400), st.integers(10, 90))
def test_pieces_are_the_line(line: str, limit: int) -> None:
    found = breakpoints.pieces(line, limit)
    assert "".join("".join(found).split()) == "".join(line.split())
    assert all(len(piece) <= limit for piece in found)


def test_what_is_a_conversation() -> None:
    talk = ["- Ann: hello there", "- Bob: hi", "- Ann: how are you?", "- Bob: fine"]
    assert structure.share(talk) == 1.0
    assert structure.share([*talk, *["a fact"] * 4]) == 0.0
    assert structure.share(["name: x", "size: y", "colour: z", "place: w"]) == 0.0
    assert structure.speaker("**User:** hello") == "user"
    assert structure.speaker("- 14:05 小王：好") == "小王"
    assert structure.speaker("see http://example.com: fine") is None


@pytest.mark.parametrize("lines", [20_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_a_note_of_very_many_lines_is_cut(lines: int) -> None:
    for unit in ["# A\n\ntext\n\n", "text\n", "```\nx\n```\n", "- Ann: yes\n", "A\n===\n", "---\n", "\n"]:
        note = parse(unit * (lines // unit.count("\n")), "a.md")
        found, cut = passages.split(note)
        assert all(passage.section < len(found) for passage in cut), unit
        assert bool(cut) is any(line.strip() for line in note.lines), unit
