"""A note taken apart into what it states."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from commonplace.markdown import statements
from commonplace.markdown.document import parse
from commonplace.types import Statement


def read(text: str) -> list[Statement]:
    return statements.read(parse(text, "memory/2026-02-13.md"))


def told(text: str) -> list[tuple[int, int, int, str]]:
    return [(s.first, s.last, s.end, s.text) for s in read(text)]


def test_items_turns_and_paragraphs() -> None:
    text = "# Day\n\nOne\ntwo.\nAnn: hello\nmore\nBob: hi\n\n1. first\n   - deep\n2. second\n"
    assert told(text) == [
        (3, 4, 4, "One\ntwo."), (5, 6, 6, "Ann: hello\nmore"), (7, 7, 7, "Bob: hi"),
        (9, 9, 10, "first"), (10, 10, 10, "deep"), (11, 11, 11, "second"),
    ]  # fmt: skip


def test_an_item_has_its_further_lines_and_what_is_nested() -> None:
    text = "- 14:05 One\n  two\n  - nested\n    on\n\n  later\n  ```\n  code\n\n  x\n  ```\n  tail\n- next\nlazy\n"
    assert told(text) == [
        (1, 2, 12, "One\ntwo"), (3, 4, 4, "nested\non"), (6, 6, 6, "later"), (12, 12, 12, "tail"),
        (13, 14, 14, "next\nlazy"),
    ]  # fmt: skip
    first, nested, later, *_ = read(text)
    assert (first.hour, first.item, nested.item, later.item) == ("14:05", "- ", "  - ", "  ")


def test_fences_tables_headings_and_rules_state_nothing() -> None:
    text = "---\ntitle: x\n---\n## Head\n```\n- code\n```\n| a | b |\n|---|---|\n\n---\n\nHead\n====\n"
    assert told(text) == []


def test_what_the_note_says_of_it() -> None:
    text = (
        "## Ours <!-- pinned -->\n\n"
        "- ~~Old.~~ <!-- cp: until=2026-03-02 by=agent agent=nano%20bot -->\n"
        "- New. <!-- cp: from=memory/a.md#L1 since=2026-03-02 -->\n"
        "- 14:05 ~~Half~~ of it\n"
    )
    old, new, half = read(text)
    assert (old.text, old.struck) == ("Old.", True)
    assert old.said == {
        "pinned": "true", "until": "2026-03-02", "struck-by": "agent", "struck-agent": "nano bot",
    }  # fmt: skip
    assert (new.text, new.struck, new.said["from"]) == ("New.", False, "memory/a.md#L1")
    assert (half.text, half.struck) == ("~~Half~~ of it", False)
    assert statements.is_pinned(new.said)
    assert new.citation == "memory/2026-02-13.md#L4"


LINES = st.lists(
    st.sampled_from(["- a", "  - b", "    text", "word", "", "```", "# H", "| t |", "~~x~~", "1. n", "Ann: hi", "\tq", "---"]),
    max_size=14,
)  # fmt: skip


@given(LINES)
def test_statements_are_in_order_and_inside_the_note(lines: list[str]) -> None:
    found = read("\n".join(lines))
    assert [s.first for s in found] == sorted({s.first for s in found})
    owned: set[int] = set()
    for statement in found:
        assert 1 <= statement.first <= statement.last <= statement.end <= len(lines)
        own = set(range(statement.first, statement.last + 1))
        assert not own & owned
        owned |= own
        assert statement.text
