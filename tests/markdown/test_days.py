"""The day of a note and of its sections: file names, front matter, headings that are a day."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.markdown import metadata
from commonplace.markdown.document import parse


@pytest.mark.parametrize(
    ("text", "year", "day"),
    [
        ("2026-04-20", None, "2026-04-20"), ("2026-04-20 Standup", None, "2026-04-20"), ("21 April", 2026, "2026-04-21"),
        ("21 April", None, None), ("April 21st, 2026", None, "2026-04-21"), ("Saturday, 26 April 2025", None, "2025-04-26"),
        ("Sat 26 Apr", 2025, "2025-04-26"), ("4月22日 周三", 2026, "2026-04-22"), ("2026年4月22日（星期三）", None, "2026-04-22"),
        ("April", 2026, None), ("Plan for 21 April", 2026, None), ("3 days ago", 2026, None), ("1.2.0", 2026, None),
        ("Tuesday", 2026, None), ("31 February", 2026, None),
    ],
)  # fmt: skip
def test_a_text_that_is_a_day(text: str, year: int | None, day: str | None) -> None:
    assert metadata.day_said(text, year) == day


def test_headings_give_their_sections_a_day() -> None:
    text = "# April 2026\n\n## 20 April\n\n- a\n\n### Later\n\n- b\n\n## 4月21日\n\n- c\n\n## Other\n\n- d\n"
    note = parse(text, "journal.md")
    assert {line: said["since"] for line, said in note.annotations.items()} == {
        3: "2026-04-20",
        11: "2026-04-21",
    }
    assert parse(text, "memory/2026-04-30.md").annotations == {}
    assert parse("# 20 April\n\n- a\n", "notes/2025/april.md").annotations == {1: {"since": "2025-04-20"}}
    assert parse("# 20 April\n\n- a\n", "april.md").annotations == {}


def test_front_matter_says_a_day_in_words() -> None:
    for said in ("25 April 2026", "April 25, 2026", "2026年4月25日", "2026-04-25T10:00"):
        assert parse(f"---\ndate: {said}\n---\n\nx\n", "a.md").date == "2026-04-25"
    assert parse("---\ndate: 25 April\n---\n\nx\n", "a.md").date is None


def test_long_term_memory_is_named_by_its_path() -> None:
    assert [metadata.is_curated(path) for path in ("MEMORY.md", "memory/MEMORY.md", "a/MEMORY.md")] == [
        True,
        True,
        False,
    ]
    assert [metadata.name_of(path) for path in ("x/a___b%3Ac.md", "a_b.md", "x%00.md")] == [
        "a/b:c",
        "a_b",
        "x%00",
    ]


@given(st.text(max_size=60), st.none() | st.integers(1900, 2199))
def test_any_text_is_a_day_or_none(text: str, year: int | None) -> None:
    day = metadata.day_said(text, year)
    assert day is None or metadata.date_of(day) == day
