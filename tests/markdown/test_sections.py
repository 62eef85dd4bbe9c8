"""The heading tree of a note, flattened: every line under exactly one heading path."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from commonplace.markdown import structure
from commonplace.markdown.document import parse
from commonplace.markdown.structure import heading_lines
from commonplace.types import Section

LINES = st.sampled_from(
    ["", "text", "# One", "## Two", "### Three", "#", "Title", "===", "---", "```", "#no"]
)


def told(text: str) -> list[tuple[tuple[str, ...], int, int]]:
    return [(s.headings, s.start_line, s.end_line) for s in structure.sections(parse(text, "a.md"))]


def test_sections() -> None:
    for text, expected in [
        ("", []),
        ("text\n", [((), 1, 1)]),
        ("# A\n", [(("A",), 1, 1)]),
        ("before\n# A\nin\n", [((), 1, 1), (("A",), 2, 3)]),
        ("# A\n## B\n# C\n", [(("A",), 1, 1), (("A", "B"), 2, 2), (("C",), 3, 3)]),
        ("# A\n### C\n## B\n", [(("A",), 1, 1), (("A", "C"), 2, 2), (("A", "B"), 3, 3)]),
        ("### C\n# A\n", [(("C",), 1, 1), (("A",), 2, 2)]),
        ("# A\n#\ntext\n", [(("A",), 1, 1), ((), 2, 3)]),
        ("# A\n##\n### C\n", [(("A",), 1, 1), (("A",), 2, 2), (("A", "C"), 3, 3)]),
        ("A\n===\nin\nB\n---\nin\n", [(("A",), 1, 3), (("A", "B"), 4, 6)]),
        ("---\na: 1\n---\n", [((), 1, 3)]),
        ("---\na: 1\n---\nbefore\n# A\n", [((), 1, 3), ((), 4, 4), (("A",), 5, 5)]),
        ("---\na: 1\n---\n# A\n", [((), 1, 3), (("A",), 4, 4)]),
    ]:
        assert told(text) == expected


@given(st.lists(LINES, max_size=20).map("\n".join))
def test_every_line_stands_in_one_section(text: str) -> None:
    note = parse(text, "a.md")
    lines = [number for _, first, last in told(text) for number in range(first, last + 1)]
    assert lines == list(range(1, len(note.lines) + 1))


@given(st.lists(LINES, max_size=20).map("\n".join))
def test_a_section_has_one_heading_and_starts_with_it(text: str) -> None:
    note = parse(text, "a.md")
    for section in structure.sections(note):
        inside = [h for h in note.headings if section.start_line <= h.line <= section.end_line]
        assert [h.line for h in inside] in ([], [section.start_line])
        assert [h.text for h in inside if h.text] == list(
            section.headings[-1:] if inside and inside[0].text else []
        )


def test_lines_that_are_headings() -> None:
    for text, lines in [
        ("# A\ntext\n", {1}),
        ("A\n===\ntext\n", {1, 2}),
        ("#no\n---\ntext\n", {1, 2}),
        ("text\n", set()),
    ]:
        note = parse(text, "a.md")
        assert heading_lines(note, Section((), 1, len(note.lines))) == lines


def test_only_headings_of_the_section_count() -> None:
    note = parse("# A\n\nx\n\nB\n===\n\n# C\n", "a.md")
    assert heading_lines(note, Section(("B",), 5, 7)) == {5, 6}
