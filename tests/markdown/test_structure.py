"""Headings as CommonMark has them: compared with another parser, and the same to whoever reads or writes."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from commonplace.markdown import structure
from commonplace.markdown.document import parse
from commonplace.markdown.structure import atx, heading_lines, plain
from commonplace.types import Section

# No lists, quotations and indented code: what stands in them is judged line by line, on purpose.
LINES = st.sampled_from(
    ["", "text", "# One", "## Two ##", "#", "### #", "#no", "####### seven", "# a # b", "# c#",
     "---", "===", "___", "_ _ _", "_em_", "```", "````", "~~~", "```py", "``` a`b", "# 标题 #", "#\ttab"]
)  # fmt: skip


def by_commonmark(text: str) -> list[tuple[int, int]]:
    """Level and last line of every heading, as markdown-it finds them."""
    tokens = MarkdownIt("commonmark").parse(text)
    found = [(int(t.tag[1:]), t.map[1]) for t in tokens if t.type == "heading_open" and t.map]
    return [(level, last) for level, last in found if last]


def by_us(text: str) -> list[tuple[int, int]]:
    note = parse(text, "a.md", redacted=False)
    return [(h.level, h.line + (atx(note.lines[h.line - 1]) is None)) for h in note.headings]


@given(st.lists(LINES, max_size=12).map("\n".join))
@example("```\ncode\n```\n---\n")
@example("___\n---\n")
@example("text\n===\n===\n")
@example("```\nnever closed\n---\n")
def test_headings_are_those_of_commonmark(text: str) -> None:
    text = f"first\n\n{text}"  # a rule in the first line would open front matter
    assert by_us(text) == by_commonmark(text)


@given(st.lists(LINES, max_size=12).map("\n".join))
def test_fences_are_those_of_commonmark(text: str) -> None:
    text = f"first\n\n{text}\n"
    tokens = MarkdownIt("commonmark").parse(text)
    theirs = [(t.map[0] + 1, t.map[1]) for t in tokens if t.type == "fence" and t.map]
    assert [first for first, _ in parse(text, "a.md").fences] == [first for first, _ in theirs]
    assert [last for _, last in parse(text, "a.md").fences] == [last for _, last in theirs]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ('YAML <a href="https://example.org/x"><img align="right" src="x.svg" title="npm" /></a>', "YAML"),
        ("See [the plan](plan.md) and ![a chart](c.png)", "See the plan and a chart"),
        ('[![build](b.svg)](https://example.org "CI") Kestrel', "build Kestrel"),
        ("<kbd>Ctrl</kbd> and<br/>more", "Ctrl andmore"),
        ("List<String> where a < b and c > d", "List<String> where a < b and c > d"), ("f(x)[0](y", "f(x)[0](y"),
        ("[" * 20_000, "[" * 20_000), ("<a " * 20_000, ("<a " * 20_000).strip()),
    ],
)  # fmt: skip
def test_a_heading_is_told_as_it_is_read(written: str, read: str) -> None:
    assert plain(written) == read
    assert parse(f"# {written}\n\ntext\n", "a.md").headings[0].text == read


# --- sections ----------------------------------------------------------------------------------------------
#
# The heading tree of a note, flattened: every line under exactly one heading path.


def told(text: str) -> list[tuple[tuple[str, ...], int, int]]:
    return [(s.headings, s.start_line, s.end_line) for s in structure.sections(parse(text, "a.md"))]


def test_sections() -> None:
    for text, expected in [
        ("", []), ("text\n", [((), 1, 1)]), ("# A\n", [(("A",), 1, 1)]), ("before\n# A\nin\n", [((), 1, 1), (("A",), 2, 3)]),
        ("# A\n## B\n# C\n", [(("A",), 1, 1), (("A", "B"), 2, 2), (("C",), 3, 3)]),
        ("# A\n### C\n## B\n", [(("A",), 1, 1), (("A", "C"), 2, 2), (("A", "B"), 3, 3)]),
        ("### C\n# A\n", [(("C",), 1, 1), (("A",), 2, 2)]), ("# A\n#\ntext\n", [(("A",), 1, 1), ((), 2, 3)]),
        ("# A\n##\n### C\n", [(("A",), 1, 1), (("A",), 2, 2), (("A", "C"), 3, 3)]),
        ("A\n===\nin\nB\n---\nin\n", [(("A",), 1, 3), (("A", "B"), 4, 6)]), ("---\na: 1\n---\n", [((), 1, 3)]),
        ("---\na: 1\n---\nbefore\n# A\n", [((), 1, 3), ((), 4, 4), (("A",), 5, 5)]),
        ("---\na: 1\n---\n# A\n", [((), 1, 3), (("A",), 4, 4)]),
    ]:  # fmt: skip
        assert told(text) == expected


def test_lines_that_are_headings() -> None:
    for text, lines in [
        ("# A\ntext\n", {1}), ("A\n===\ntext\n", {1, 2}), ("#no\n---\ntext\n", {1, 2}), ("text\n", set()),
    ]:  # fmt: skip
        note = parse(text, "a.md")
        assert heading_lines(note, Section((), 1, len(note.lines))) == lines


def test_a_fence_behind_an_hour_counts_where_it_is_closed() -> None:
    assert parse("- 14:05 ```sh\n  x\n\n# A\n", "a.md").fences == ()
    assert parse("- 14:05 ```sh\n  x\n  ```\n\n# A\n", "a.md").fences == ((1, 3),)


def test_a_mark_at_the_margin_below_an_item_opens_a_fence_where_another_follows() -> None:
    assert parse("- ```sh\n  x\n\n```\n# c\n```\n", "a.md").fences == ((1, 3), (4, 6))
    assert parse("- ```sh\n  x\n```\n# A\n", "a.md").fences == ((1, 3),)


def test_comments_and_preformatted_text_hold_no_fences() -> None:
    for text in ("<!--\n```sh\n# a\n-->\n\n# B\n", "<pre>\n```\n# a\n</pre>\n\n# B\n"):
        note = parse(text, "a.md")
        assert ([heading.text for heading in note.headings], note.fences) == (["B"], ())
    assert parse("<!-- a\n```\nb\n```\n", "a.md").fences == ((2, 4),)
