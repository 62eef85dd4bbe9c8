"""What a note says in the manner of Obsidian, outside code, in time that grows with the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.markdown import comments, wiki
from commonplace.markdown.document import parse


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#tea and #work/boats, #tea again", ["tea", "work/boats"]), ("#茶 #y2k #1984 #a-b_c", ["茶", "y2k", "a-b_c"]),
        ("x#no (#no) ##no #no#no # no #- #/", []), ("`#no` and ``#no #no`` but #yes", ["yes"]),
        ("```\n#no\n```\n#yes", ["yes"]), ("---\nx: '#no'\n---\n#yes", ["yes"]), ("## Heading #yes", ["yes"]),
        ("#yes. #also! <private>#no</private>", ["yes", "also"]),
    ],
)  # fmt: skip
def test_tags_in_the_text(text: str, tags: list[str]) -> None:
    assert wiki.said(parse(text, "x.md")).get(comments.TAGS_IN_TEXT, []) == tags


@pytest.mark.parametrize(
    ("text", "tasks"),
    [
        ("- [ ] a", ["open"]), ("1. [x] a\n* [X] b", ["done"]), ("- [ ] a\n  - [x] b", ["open", "done"]),
        ("- 04:08 [ ] a\n- [x] 04:09 b\n- 4 [ ] c", ["open", "done"]),
        ("- [ ]\n[ ] a\n- [y] a\n- [x]a\n```\n- [ ] a\n```", None),
    ],
)  # fmt: skip
def test_tasks(text: str, tasks: list[str] | None) -> None:
    assert wiki.said(parse(text, "x.md")).get(comments.TASKS_IN_TEXT) == tasks


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("[[Note]]", ("Note", "")), (" ![[a/Note#H 1#H 2|shown]] ", ("a/Note", "H 1#H 2")), ("[[Note#^id]]", ("Note", "^id")),
        ("[[#Heading]]", ("", "Heading")), ("[Note]", None), ("[[a]] [[b]]", None), ("[[]]", None),
    ],
)  # fmt: skip
def test_links(text: str, link: tuple[str, str] | None) -> None:
    assert wiki.link(text) == link


@given(st.text(alphabet="#^[]|-x \n`a/", max_size=200), st.text(alphabet="#^ax ", max_size=10))
def test_any_text_has_its_places_or_none(text: str, place: str) -> None:
    note = parse(text, "x.md")
    wiki.said(note)
    found = wiki.lines(note, place)
    assert found is None or 1 <= found[0] <= found[1] <= len(note.lines)


@pytest.mark.parametrize("text", ["#" * 200_000, "#a" * 100_000, "- [ " * 100_000, "`" * 100_000 + "#x"])
def test_long_lines_take_little(text: str) -> None:
    wiki.said(parse(text, "x.md"))
