"""Code in Markdown: spans that nobody can mistake, and fences that end where an item does."""

from __future__ import annotations

import pytest

from commonplace.language.code import Code, spans


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("a `b` c", ["b"]),
        ("``a`b`` `c`", ["a`b", "c"]),
        ("`a`` b` c", ["a`` b"]),
        ("it`s and that`s", []),
        ("a ` b ` c", []),
        ("a `b` \\` c", []),
        ("a `b", []),
        ("", []),
    ],
)
def test_spans_between_backquotes(line: str, found: list[str]) -> None:
    assert [line[start:end] for start, end in spans(line)] == found


@pytest.mark.parametrize(
    ("text", "nested", "is_code"),
    [
        ("```\nX\n```", False, True),
        ("```\na\n```\nX", False, False),
        ("~~~\n```\nX", False, True),
        ("`a\nX`", False, False),
        ("`a\nb` `X`", False, False),
        ("`a`\n`X`", False, True),
        ("`a\n\n`X`", False, True),
        ("- a\n  ```\n- X", False, False),
        ("- a\n  ```\n- b\n  ```\nX", False, False),
        ("- a\n  ```\n- b\n  ```\n  X", True, True),
        ("- a\n  ```\n```\nX\n", True, True),
    ],
)
def test_whether_a_place_is_in_code(text: str, nested: bool, is_code: bool) -> None:
    assert (Code(text, nested=nested).end(text.index("X")) >= 0) is is_code


def test_code_ends_before_its_closing_mark() -> None:
    text = "a\n```\nX\n\n```\nb `X y` c"
    assert text[: Code(text).end(text.index("X"))] == "a\n```\nX\n"
    assert text[: Code(text).end(text.rindex("X"))].endswith("b `X y")


def test_lines_above_a_place_may_be_left_out() -> None:
    text = "---\n```\n---\nX\n"
    assert Code(text).end(text.index("X")) >= 0
    assert Code(text, 3).end(text.index("X")) == -1
