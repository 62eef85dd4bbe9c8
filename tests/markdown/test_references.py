"""References that follow the lines they point at."""

from __future__ import annotations

import pytest

from commonplace.markdown.references import shifted

PATH = "memory/b.md"


def down(line: int) -> str:
    return f"{PATH}#L{line + 2}"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("- a <!-- cp: from=memory/b.md#L3 since=2026-03-02 -->\r\n", "- a <!-- cp: from=memory/b.md#L5 since=2026-03-02 -->\r\n"),
        ("- a <!-- cp: from=memory/a.md#L1,memory/b.md#L3-L5 -->", "- a <!-- cp: from=memory/a.md#L1,memory/b.md#L5-L7 -->"),
        ("- a <!-- cp: until=2026-03-02 by=owner to=memory/b.md:9 -->", "- a <!-- cp: until=2026-03-02 by=owner to=memory/b.md#L11 -->"),
        ("- a <!-- superseded-by: memory/b.md#L4 -->", "- a <!-- superseded-by: memory/b.md#L6 -->"),
    ],
)  # fmt: skip
def test_they_follow(text: str, wanted: str) -> None:
    assert shifted(text, {PATH: down}) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "- a <!-- cp: from=memory/c.md#L3 since=2026-03-02 -->",
        "- a <!-- superseded-by: memory/b.md -->",
        "- a <!-- superseded-by: #1a2b3c -->",
        "- a memory/b.md#L3",
        "- <private>a <!-- cp: from=memory/b.md#L3 --></private>",
        "- a <!--  cp:   from=memory/c.md#L3   -->",
    ],
)
def test_what_points_elsewhere_stays_to_the_byte(text: str) -> None:
    assert shifted(text, {PATH: down}) == text


def test_what_is_gone_is_left_out() -> None:
    text = "- a <!-- cp: from=memory/a.md#L1,memory/b.md#L3 -->\n- b <!-- cp: from=memory/b.md#L4 -->\n"
    assert shifted(text, {PATH: lambda _: None}) == "- a <!-- cp: from=memory/a.md#L1 -->\n- b\n"


def test_of_a_range_what_is_left() -> None:
    text = "- a <!-- cp: from=memory/b.md#L3-L6 -->"
    kept = shifted(text, {PATH: lambda line: f"archive.md#L{line}" if line in (4, 5) else None})
    assert kept == "- a <!-- cp: from=archive.md#L4-L5 -->"
