"""Where a long line is cut, worked out by hand."""

from __future__ import annotations

from commonplace.chunking.breakpoints import pieces


def test_a_long_line_is_cut_where_it_pauses() -> None:
    for line, limit, expected in [
        ("short", 10, ["short"]),
        ("", 10, []),
        ("    ", 10, []),
        ("One two. Three four.", 12, ["One two.", "Three four."]),
        ('He said "no." Then left.', 16, ['He said "no."', "Then left."]),
        ("one two three four", 9, ["one two", "three", "four"]),
        ("abcdefghijkl", 5, ["abcde", "fghij", "kl"]),
        ("他走了。我留下来。", 5, ["他走了。", "我留下来。"]),
        ("他说：“走吧。”我就走", 8, ["他说：“走吧。”", "我就走"]),
        ("一二三，四五六七八", 6, ["一二三，", "四五六七八"]),
    ]:
        assert pieces(line, limit) == expected
