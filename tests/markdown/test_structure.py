"""Headings as CommonMark has them: compared with another parser, and the same to whoever reads or writes."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from commonplace.markdown import structure
from commonplace.markdown.document import Document, parse
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
    ("line", "found"),
    [
        ("# One", (1, "One")),
        ("###### Six", (6, "Six")),
        ("####### seven", None),
        ("#none", None),
        ("#", (1, "")),
        ("# ", (1, "")),
        ("## ##", (2, "")),
        ("## Two ##  ", (2, "Two")),
        ("## C#", (2, "C#")),
        ("## C #", (2, "C")),
        ("#\ttab", (1, "tab")),
        (" # indented", None),
        ("    # code", None),
        ("# 标题 #", (1, "标题")),
        ("text", None),
        ("", None),
    ],
)
def test_one_line(line: str, found: tuple[int, str] | None) -> None:
    assert atx(line) == found


@pytest.mark.parametrize(
    "line", ["# a" + " " * 500_000 + "b", "# a" + " #" * 250_000 + "b", "#" + "\t" * 500_000]
)
def test_a_heading_without_end_ends(line: str) -> None:
    assert parse(line, "a.md").headings[0].line == 1
    assert Document.of(f"{line}\n").insert("- e", heading="Work").document.text.endswith("## Work\n\n- e\n")


@given(st.lists(LINES.filter(lambda line: not line.startswith(" ")), max_size=10).map("\n".join))
@example("## Two ##\n#no\n===")
@example("## Two ##\n``` a`b\n===")
@example("## Two ##\ntext\n===\n===")
@example("## Two ##\n___\n===")
def test_an_entry_is_read_under_the_heading_it_was_written_under(text: str) -> None:
    edit = Document.of(f"first\n\n{text}\n").insert("- entry", heading="Two")
    written, start = edit.document.text, edit.lines[0]
    note = parse(written, "a.md", redacted=False)
    if any(first <= start <= last for first, last in note.fences):
        assert text.count("```") or text.count("~~~")  # a fence left open swallows what follows
        return
    above = [heading for heading in note.headings if heading.line < start]
    levels = [heading.level for heading in above]
    lowest = list(accumulate(reversed(levels), min))[::-1]
    path = [heading.text for heading, least in zip(above, lowest, strict=True) if heading.level == least]
    assert "Two" in path


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ('YAML <a href="https://example.org/x"><img align="right" src="x.svg" title="npm" /></a>', "YAML"),
        ("See [the plan](plan.md) and ![a chart](c.png)", "See the plan and a chart"),
        ('[![build](b.svg)](https://example.org "CI") Kestrel', "build Kestrel"),
        ("<kbd>Ctrl</kbd> and<br/>more", "Ctrl andmore"),
        ("List<String> where a < b and c > d", "List<String> where a < b and c > d"),
        ("f(x)[0](y", "f(x)[0](y"),
        ("[" * 20_000, "[" * 20_000),
        ("<a " * 20_000, ("<a " * 20_000).strip()),
    ],
)
def test_a_heading_is_told_as_it_is_read(written: str, read: str) -> None:
    assert plain(written) == read
    assert parse(f"# {written}\n\ntext\n", "a.md").headings[0].text == read


# --- sections ----------------------------------------------------------------------------------------------
#
# The heading tree of a note, flattened: every line under exactly one heading path.


SECTION_LINES = st.sampled_from(
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


@given(st.lists(SECTION_LINES, max_size=20).map("\n".join))
def test_every_line_stands_in_one_section(text: str) -> None:
    note = parse(text, "a.md")
    lines = [number for _, first, last in told(text) for number in range(first, last + 1)]
    assert lines == list(range(1, len(note.lines) + 1))


@given(st.lists(SECTION_LINES, max_size=20).map("\n".join))
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
