"""A note with code in its lists, as Logseq writes all code: what stands below the code is read as what it is."""

from __future__ import annotations

import random
from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.life.conftest import Owner

# What a piece of code looks like in a note; `#` and `##` in it are no headings, `#shell` is no tag.
CODE = {
    "dash": "- ```sh\n  # not a heading #shell\n  ```",
    "star": "* ```sh\n  # not a heading #shell\n  ```",
    "plus": "+ ```sh\n  # not a heading #shell\n  ```",
    "number": "1. ```sh\n   # not a heading #shell\n   ```",
    "number and bracket": "1) ```sh\n   # not a heading #shell\n   ```",
    "ten": "10. ```sh\n    # not a heading #shell\n    ```",
    "box": "- [ ] ```sh\n  # not a heading #shell\n  ```",
    "done box": "- [x] ```sh\n  # not a heading #shell\n  ```",
    "hour": "- 14:05 ```sh\n  # not a heading #shell\n  ```",
    "tildes": "- ~~~sh\n  # not a heading #shell\n  ~~~",
    "long tildes": "* ~~~~\n  ~~~\n  # not a heading #shell\n  ~~~~",
    "no language": "- ```\n  # not a heading #shell\n  ```",
    "at the margin": "- ```sh\n  # not a heading #shell\n```",
    "number, at the margin": "1. ```sh\n   # not a heading #shell\n```",
    "text at the margin": "- ```sh\n  # not a heading #shell\n  ```\nand more of it",
    "never closed": "- ```sh\n  # not a heading #shell",
    "nested": "- Tools\n  - ```sh\n    # not a heading #shell\n    ```",
    "deeply nested": "- Tools\n  - Shell\n    1. ```sh\n       # not a heading #shell\n       ```",
    "two marks": "- - ```sh\n    # not a heading #shell\n    ```",
    "below a sentence": "- Run this:\n  ```sh\n  # not a heading #shell\n  ```",
    "tabs": "-\t```sh\n\t# not a heading #shell\n\t```",
    "quotation": "> ```sh\n> # not a heading #shell\n> ```",
    "quoted item": "> - ```sh\n>   # not a heading #shell\n>   ```",
    "quotation that ends": "> ```sh\n> # not a heading #shell",
    "windows": "- ```sh\r\n  # not a heading #shell\r\n  ```",
    "two of them": "- ```sh\n  # not a heading #shell\n```\n- ```sh\n  # nor this #shell\n```",
    "in a comment": "<!--\n```sh\n# not a heading #shell\n-->",
    "in preformatted text": "<pre>\n```sh\n# not a heading\n</pre>",
}
BELOW = "\n\n## {name} below\n\nThe {word} hangs in the shed. #below/{tag}\n\n- ~~The old {word} is blue.~~\n"


def test_what_stands_below_code_is_read(owner: Owner) -> None:
    words = {name: "lamp" + "".join(filter(str.isalpha, name)) for name in CODE}
    for name, code in CODE.items():
        below = BELOW.format(name=name.title(), word=words[name], tag=words[name])
        owner.note(f"memory/{name}.md", f"# Tools\n\n{code}{below}")
    memory = owner.memory()
    for name, word in words.items():
        assert memory.search(f"{word} shed").hits[0].headings[-1] == f"{name.title()} below", name
        assert [hit.path for hit in memory.search(f"tag:below/{word} {word}").hits][:1] == [
            f"memory/{name}.md"
        ], name
        assert not [
            hit for hit in memory.search(f"old {word} blue").hits if "is blue" in hit.text and not hit.until
        ], name
    assert {hit.path for hit in memory.search("tag:shell", limit=60).hits} <= {"memory/in a comment.md"}
    headings = {
        heading for hit in memory.search("not a heading shell", limit=60).hits for heading in hit.headings
    }
    assert not any("not a heading" in heading for heading in headings)


def test_an_entry_goes_below_the_heading_that_is_there(owner: Owner) -> None:
    owner.note("MEMORY.md", "# Memory\n\n1. ```sh\n   ls\n   ```\n\n## People\n\n- Ann drinks tea.\n")
    owner.ok("remember", "Bo drinks coffee.", "--long-term", "--section", "People")
    assert owner.read("MEMORY.md").count("## People") == 1
    assert "## People\n\n- Ann drinks tea.\n- Bo drinks coffee." in owner.read("MEMORY.md").replace(
        " <!-- by: owner -->", ""
    )


MARKS = [
    "",
    "",
    "- ",
    "* ",
    "1. ",
    "1) ",
    "> ",
    "  ",
    "   ",
    "    ",
    "  - ",
    "> - ",
    "- - ",
    "\t",
    "-\t",
    "10. ",
]
REST = ["```", "```sh", "~~~", "~~~~", "````", "words", "", "", "- item", "---", "``` `x`", "***"]
_COMMONMARK = MarkdownIt("commonmark")


def _is_left_without_a_mark(tokens: Sequence[Token], lines: Sequence[str]) -> bool:
    """Whether a fence ends with the item or the quotation it stands in: a mark behind that is its end to us."""
    fences = [
        (token.map, token.markup) for token in tokens if token.type == "fence" and token.level and token.map
    ]
    ends = [(lines[last - 1].strip(" \t>"), mark, last - first) for (first, last), mark in fences]
    return any(size < 2 or end.strip(mark[0]) or len(end) < len(mark) for end, mark, size in ends)


def test_markdown_it_reads_the_same(owner: Owner) -> None:
    chance = random.Random(7)
    swallowed: dict[int, bool] = {}
    while len(swallowed) < 150:
        lines = [chance.choice(MARKS) + chance.choice(REST) for _ in range(chance.randint(2, 7))]
        if "\n".join(lines).count("```") + "\n".join(lines).count("~~~") < 2:
            continue
        number = len(swallowed)
        lines += ["", f"# Below number {number}", "", f"The zebra{number} grazes."]
        tokens = _COMMONMARK.parse("\n".join(lines))
        if lines[0] == "---" or _is_left_without_a_mark(tokens, lines):
            continue
        swallowed[number] = not any(
            f"Below number {number}" in token.content and token.type == "inline" for token in tokens
        )
        owner.note(f"memory/n{number}.md", "\n".join(lines) + "\n")
    memory = owner.memory()
    for number, is_code in swallowed.items():
        hit = next(hit for hit in memory.search(f"zebra{number}").hits if hit.path == f"memory/n{number}.md")
        is_below = hit.headings[-1:] == (f"Below number {number}",)
        assert is_below != is_code, owner.read(f"memory/n{number}.md")
    assert 15 < sum(swallowed.values()) < 135
