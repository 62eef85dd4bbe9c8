"""Links led elsewhere and labels renamed, outside code and private parts."""

from __future__ import annotations

import pytest

from commonplace.markdown import links
from commonplace.markdown.links import Link


@pytest.mark.parametrize(
    ("text", "link", "wanted"),
    [
        ("[x](a.md)", Link("a.md", "", "", 1, False), "[x](b.md#new)"),
        ("\n\n[x](<a%20b.md#p> 'T')", Link("a b.md", "", "#p", 3, False), "\n\n[x](<b.md#new> 'T')"),
        ("[x](a.md?plain=1#p)", Link("a.md", "?plain=1", "#p", 1, False), "[x](b.md?plain=1#new)"),
        ("[x](#p)", Link("", "", "#p", 1, False), "[x](b.md#new)"),
        ("[1]: it's.md", Link("it's.md", "", "", 1, False), "[1]: b.md#new"),
        ('<a id="i" href="/a.md#p">', Link("/a.md", "", "#p", 1, False), '<a id="i" href="/b.md#new">'),
        ("[[ a#P|x]]", Link("a", "", "#P", 1, True), "[[b.md#new|x]]"),
        ("[[#P]]", Link("", "", "#P", 1, True), "[[b.md#new]]"),
    ],
)
def test_links_of_every_form_are_found_and_led(text: str, link: Link, wanted: str) -> None:
    seen: list[Link] = []

    def change(link: Link) -> tuple[str, str]:
        seen.append(link)
        return ("/b.md" if link.path.startswith("/") else "b.md"), "#new"

    assert links.changed(text, change) == wanted
    assert seen == [link]


@pytest.mark.parametrize(
    "text",
    [
        "[x](https://a.example/a.md), [y](//a.example/a.md), <a href='mailto:a'>, [](), [[]]",
        "`[x](a.md)` and `` ` [[a]] ``",
        "```\n[x](a.md)\n```\n~~~\n[[a]]\n",
        "text\n\n    [x](a.md)\n\n    [y](a.md)\n",
        "\t<private>[x](a.md)\n\n[[a]]</private>",
    ],
)
def test_the_web_code_and_private_parts_stay(text: str) -> None:
    assert links.changed(text, lambda _: ("b.md", "")) == text


def test_what_is_indented_below_an_item_is_no_code() -> None:
    assert links.changed("- a\n\n    [x](a.md)\n", lambda _: ("b.md", "")) == "- a\n\n    [x](b.md)\n"


def test_anchors_of_headings_that_are_alike_are_numbered() -> None:
    assert list(links.anchors(["Plan", "The plan: part 2", "plan"])) == ["plan", "the-plan-part-2", "plan-1"]


def test_labels_are_renamed_where_they_are_labels() -> None:
    text = "see [it][1], [1], [1][], ![1], \\[1], [1](a.md), [^1] `[1]`\n- [x] done [x]\n\n  [1]: a.md\n[^1]: b\n"
    assert links.labels(text) == {"it", "1", "^1", "x"}
    assert links.definitions(text) == {"1": "a.md", "^1": "b"}
    assert links.relabelled(text, {"1": "1-a", "^1": "^1-a", "x": "x-a"}) == (
        "see [it][1-a], [1][1-a], [1][1-a], ![1], \\[1], [1](a.md), [^1-a] `[1]`\n"
        "- [x] done [x][x-a]\n\n  [1-a]: a.md\n[^1-a]: b\n"
    )
