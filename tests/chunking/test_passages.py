"""Notes cut into passages: nothing is lost, nothing crosses a heading, every setting ends."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from commonplace.chunking import breakpoints, passages
from commonplace.chunking.settings import BARE, DEFAULT, FRONT, ROLE, ChunkSettings
from commonplace.markdown import structure
from commonplace.markdown.document import parse

LINES = st.sampled_from(
    ["", "   ", "# One", "## Two", "### 三", "Title", "===", "---", "```", "~~~~", "- item", "1. first", "> quote",
     "| a | b |", "word " * 30, "很长的一句话。" * 40, "x" * 5000, "- Ann: yes", "**User:** hello", "plain text",
     "**Ann** 10:32", "Bob 10:33"]
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=400), st.lists(LINES, max_size=40).map("\n".join))
SETTINGS = [
    DEFAULT, ChunkSettings(target=40, line=100, piece=60), ChunkSettings(target=200),
]  # fmt: skip


@pytest.mark.parametrize("settings", SETTINGS, ids=["default", "small", "medium"])
@given(text=TEXTS)
@example(text="---\n---\n0")
@example(text="**Ann** 10:32\nBob 10:33\n" * 3)
def test_every_line_is_covered(settings: ChunkSettings, text: str) -> None:
    note = parse(text, "a.md")
    found, cut = passages.split(note, settings)
    covered = {n for p in cut for n in range(p.start_line, p.end_line + 1)}
    passed = structure.heading_lines(note)
    fenced = {n for first, last in note.fences for n in range(first, last + 1)}
    passed |= {n for n, line in enumerate(note.lines, 1) if n not in fenced and structure.is_silent(line)}
    filled = {n for n, line in enumerate(note.lines, 1) if line.strip()}
    assert filled - covered - passed == set()
    assert not filled or cut
    for passage in cut:
        section = found[passage.section]
        assert section.start_line <= passage.start_line <= passage.end_line <= section.end_line
        assert passage.text.strip()
    places = [(p.start_line, p.end_line) for p in cut]
    assert places == sorted(places)
    assert all(a[1] < b[0] or a == b for a, b in pairwise(places))


def lines_of(text: str, settings: ChunkSettings = DEFAULT) -> list[tuple[int, int]]:
    return [(p.start_line, p.end_line) for p in passages.split(parse(text, "a.md"), settings)[1]]


def test_a_heading_alone_is_no_passage_but_of_a_note_without_text() -> None:
    assert lines_of("# A\n\n## B\n\n## C\n\ntext\n") == [(7, 7)]
    assert lines_of("# A\n\n# B\n") == [(1, 3)]
    found, cut = passages.split(parse("---\nby: tool\n---\n# A\n\n![a](b.png)\n", "a.md"))
    assert [(p.start_line, p.end_line, p.annotations) for p in cut] == [
        (1, 3, {"by": "tool", ROLE: FRONT}), (4, 6, {"by": "tool", ROLE: BARE}),
    ]  # fmt: skip
    assert [cut[0].section, cut[1].section, len(found)] == [0, 1, 2]
    assert passages.split(parse("\n", "a.md")) == ([], [])


LONG = "It is long. " * 40


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"# A\n\n{LONG}\n\n---\n\n{LONG}\n\n***\n", [(3, 3), (7, 7)]), (f"![a](b.png)\n\n{LONG}\n", [(3, 3)]),
        (f"[![a](b.png)](c) <img src='d'>\n{LONG}", [(2, 2)]), ("one\n\n---\n\ntwo\n", [(1, 5)]),
        ("one\n```yaml\n---\n```\n", [(1, 4)]), ("Ann: yes\n\nBob: <Media omitted>\n", [(1, 1)]),
        (f"# A\n\n***\n\n## B\n\n{LONG}", [(7, 7)]), (f"---\ntags:\n  - a\nnote: {'x ' * 300}\n---\n{LONG}", [(1, 5), (6, 6)]),
    ],
)  # fmt: skip
def test_rules_images_and_what_an_export_writes_for_them_are_no_passages(
    text: str, expected: list[tuple[int, int]]
) -> None:
    assert lines_of(text) == expected


def test_lines_are_packed_up_to_the_target() -> None:
    line = "x" * 100
    assert lines_of("\n".join([line] * 5)) == [(1, 2), (3, 4), (5, 5)]


def test_a_wide_character_counts_three() -> None:
    assert len(lines_of("字" * 50 + "\n" + "字" * 50)) == 2
    assert len(lines_of("a" * 50 + "\n" + "a" * 50)) == 1


@given(st.text("abc .,。！ 字\n".replace("\n", ""), min_size=1, max_size=400), st.integers(10, 90))
def test_pieces_are_the_line(line: str, limit: int) -> None:
    found = breakpoints.pieces(line, limit)
    assert "".join("".join(found).split()) == "".join(line.split())
    assert all(len(piece) <= limit for piece in found)


@pytest.mark.parametrize("lines", [20_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_a_note_of_very_many_lines_is_cut(lines: int) -> None:
    for unit in ["# A\n\ntext\n\n", "text\n", "```\nx\n```\n", "- Ann: yes\n", "A\n===\n", "---\n", "\n"]:
        note = parse(unit * (lines // unit.count("\n")), "a.md")
        found, cut = passages.split(note)
        assert all(passage.section < len(found) for passage in cut), unit
        assert bool(cut) is any(line.strip() for line in note.lines), unit
