"""Terminal text: widths in cells, wrapping, matches, links."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from commonplace.render import screen
from commonplace.render.screen import Look

LINES = st.text(st.sampled_from("ab c-,.中文，。é\u0301語👍")) | st.text().map(screen.one_line)


def wrapped(line: str, width: int, hang: int = 0) -> list[str]:
    return [line[start:end] for start, end in screen.rows(line, width, hang)]


@pytest.mark.parametrize(("text", "width"), [("abc", 3), ("中文", 4), ("e\u0301", 1), ("👍", 2), ("", 0)])
def test_cells(text: str, width: int) -> None:
    assert screen.cells(text) == width


@given(LINES, st.integers(4, 30), st.integers(0, 3))
@example("aa。，\u0301 ", 4, 1)
def test_rows_fit_and_lose_only_white_space(line: str, width: int, hang: int) -> None:
    rows = wrapped(line, width, hang)
    assert "".join("".join(rows).split()) == "".join(line.split())
    # Combining marks and a full-width comma that clings may overhang by one wide character.
    assert all(screen.cells(row) <= width + 2 for row in rows)


def test_rows_break_between_words_and_wide_characters() -> None:
    assert wrapped("the quick brown fox", 9) == ["the quick", "brown fox"]
    assert wrapped("周五以后不，deploy", 8) == ["周五以后", "不，", "deploy"]
    assert wrapped("abcdefghij", 4) == ["abcd", "efgh", "ij"]


def test_clean_takes_away_what_a_terminal_would_obey() -> None:
    assert "\x1b" not in screen.clean("\x1b]0;owned\x07\x9b31m")
    assert screen.clean("a\r\nb\tc\r") == "a\nb\tc"
    assert screen.one_line(" a\n b ") == "a b"


def test_words_of_a_question_are_found_in_their_forms() -> None:
    for term, line, expected in (
        ("deploy", "Deploying and deployed, not redeploy", ["Deploying", "deployed"]), ("car", "car cars card", ["car"]),
        ("gpt 4 1", "use gpt-4.1 now", ["gpt-4.1"]), ("过敏", "芒果过敏了", ["过敏"]), ("running", "run runs running", ["run", "runs", "running"]),
        ("plan", "plans plan planned planet", ["plans", "plan", "planned"]), ("get*", "getUser to gets", ["getUser", "gets"]),
    ):  # fmt: skip
        spans = screen.matches(line, screen.matcher([term]))
        assert [line[start:end] for start, end in spans] == expected


def test_no_words_are_no_matcher_and_further_rows_of_an_item_hang() -> None:
    for words in ([], [""], [" ", "\t"], ["---"], ["x" * 9000]):
        assert screen.matcher(words) is None
    assert screen.matches("any text", None) == []
    assert [screen.hang(line) for line in ("- text", "12. text", "text", " " * 40 + "x")] == [2, 4, 0, 12]
    assert list(screen.laid_out(["\tab", "- one two"], 6)) == [(0, "    ab"), (1, "- one"), (None, "  two")]


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
    assert "file:///caf%E9/%E8%8C%B6.md" in Look(links=True).link("x", "/caf\udce9/茶.md", 1)
    assert Look().link("x", "/a.md", 7) == Look(links=True).link("x", "", 1) == "x"


def test_styles_are_closed_and_nothing_is_styled_without_colour() -> None:
    assert Look(color=True).style("x", "red") == "\x1b[38;5;160mx\x1b[0m"
    assert Look(color=True).style("", "red") == ""
    assert Look().style("x", "red") == "x"


def test_shortening() -> None:
    for text, width, expected in (
        ("abcdef", 6, "abcdef"), ("abcdef", 5, "abcd…"), ("ab cdef", 4, "ab…"), ("中文字", 6, "中文字"), ("中文字", 5, "中文…"),
        ("中文字", 4, "中…"), ("abc", 1, "…"), ("abc", 0, ""),
    ):  # fmt: skip
        assert screen.shorten(text, width) == expected


@pytest.mark.parametrize(
    "character", ["\x00", "\x07", "\x08", "\x1b", "\x7f", "\x9b", "\u2028", "\u202e", "\u2066"]
)
def test_what_a_terminal_or_a_reader_would_obey_is_shown_as_replaced(character: str) -> None:
    assert screen.clean(f"a{character}b") == "a\ufffdb"


def test_marks_of_one_row_do_not_run_into_the_next() -> None:
    line, look = "one deploy two", Look(color=True)
    spans = screen.matches(line, screen.matcher(["deploy"]))
    rows = [screen.mark(line, row, spans, look) for row in ((0, 7), (7, 14))]
    assert rows == ["one \x1b[1;38;5;163mdep\x1b[0m", "\x1b[1;38;5;163mloy\x1b[0m two"]


def test_wrapping() -> None:
    for line, width, expected in (
        ("", 10, [""]), ("   ", 10, [""]), ("a  b", 10, ["a  b"]), ("one two", 3, ["one", "two"]), ("one    two", 5, ["one", "two"]),
        ("（中文）", 4, ["（中", "文）"]), ("é" * 6, 4, ["é" * 4, "é" * 2]),
    ):  # fmt: skip
        assert wrapped(line, width) == expected


def test_columns_stand_below_each_other_whatever_the_script() -> None:
    rows = [("model", "n", "about"), ("茶茶", "1,234", ""), ("b", "5", "中文 x")]
    assert screen.table(rows, right=(1,)) == ["model      n  about", "茶茶   1,234", "b          5  中文 x"]
    assert screen.table([]) == []


def test_sizes() -> None:
    told = {
        0: "0 bytes",
        999: "999 bytes",
        1000: "1 kB",
        1536: "1.54 kB",
        23_099_483: "23.1 MB",
        2_240_000_000: "2.24 GB",
    }
    assert {count: screen.size(count) for count in told} == told


@pytest.mark.parametrize("width", range(8, 16))
def test_no_row_of_chinese_ends_with_what_opens_or_begins_with_what_closes(width: int) -> None:
    line = "巴特认真调整了复习计划（活动类，焦虑）。他说：「好的」，并取得了《优异》的成绩。"
    shown = [line[start:end] for start, end in screen.rows(line, width)]
    assert "".join(shown) == line
    assert all(screen.cells(row) <= width for row in shown)
    assert not any(row[-1] in "（「《" or row[0] in "，。）」》：" for row in shown)


def test_a_path_keeps_its_folder_and_the_end_of_its_name() -> None:
    assert screen.middle("memory/a-long-folder/note-of-may.md", 21) == "memory/a-l…-of-may.md"
    assert screen.middle("memory/资料夹/会议纪要.md", 16) == "memory/…纪要.md"
