"""Terminal text: widths in cells, wrapping, matches, links."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace import screen
from commonplace.screen import Look

LINES = st.text(st.sampled_from("ab c-,.中文，。é\u0301語👍")) | st.text().map(screen.one_line)


def wrapped(line: str, width: int, hang: int = 0) -> list[str]:
    return [line[start:end] for start, end in screen.rows(line, width, hang)]


@pytest.mark.parametrize(("text", "width"), [("abc", 3), ("中文", 4), ("e\u0301", 1), ("👍", 2), ("", 0)])
def test_cells(text: str, width: int) -> None:
    assert screen.cells(text) == width


@given(LINES, st.integers(4, 30), st.integers(0, 3))
def test_rows_fit_and_lose_only_white_space(line: str, width: int, hang: int) -> None:
    rows = wrapped(line, width, hang)
    assert "".join("".join(rows).split()) == "".join(line.split())
    # Combining marks and a full-width comma that clings may overhang by one wide character.
    assert all(screen.cells(row) <= width + 2 for row in rows)


def test_rows_break_between_words_and_wide_characters() -> None:
    assert wrapped("the quick brown fox", 9) == ["the quick", "brown fox"]
    assert wrapped("周五以后不，deploy", 8) == ["周五以后", "不，", "deploy"]
    assert wrapped("abcdefghij", 4) == ["abcd", "efgh", "ij"]


def test_further_rows_of_an_item_hang() -> None:
    assert screen.hang("- text") == 2
    assert screen.hang("12. text") == 4
    assert screen.hang("text") == 0


@given(LINES, st.integers(1, 20))
def test_shortened_text_fits(text: str, width: int) -> None:
    assert screen.cells(screen.shorten(text, width)) <= width


def test_clean_takes_away_what_a_terminal_would_obey() -> None:
    assert "\x1b" not in screen.clean("\x1b]0;owned\x07\x9b31m")
    assert screen.clean("a\r\nb\tc\r") == "a\nb\tc"
    assert screen.one_line(" a\n b ") == "a b"


@pytest.mark.parametrize(
    ("term", "line", "expected"),
    [
        ("deploy", "Deploying and deployed, not redeploy", ["Deploying", "deployed"]),
        ("car", "car cars card", ["car"]),
        ("gpt 4 1", "use gpt-4.1 now", ["gpt-4.1"]),
        ("过敏", "芒果过敏了", ["过敏"]),
        ("running", "run runs running", ["run", "runs", "running"]),
    ],
)
def test_words_of_a_question_are_found_in_their_forms(term: str, line: str, expected: list[str]) -> None:
    pattern = screen.matcher([term])
    assert [line[start:end] for start, end in screen.matches(line, pattern)] == expected


def test_overlapping_bigrams_are_one_match() -> None:
    assert screen.matches("对芒果过敏", screen.matcher(["芒果", "果过", "过敏"])) == [(1, 5)]


@given(st.lists(st.text(max_size=8), max_size=5), LINES)
def test_any_words_make_a_matcher(words: list[str], line: str) -> None:
    spans = screen.matches(line, screen.matcher(words))
    assert all(0 <= start < end <= len(line) for start, end in spans)
    assert screen.mark(line, (0, len(line)), spans, Look()) == line


def test_links_quote_paths_and_fill_lines() -> None:
    look = Look(links=True, editor_uri="vscode://file{path}:{line}")
    assert look.link("x", "/a b.md", 7) == "\x1b]8;;vscode://file/a%20b.md:7\x1b\\x\x1b]8;;\x1b\\"
    assert Look().link("x", "/a.md", 7) == "x"
