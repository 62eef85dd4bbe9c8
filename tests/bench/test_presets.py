"""Presets: named, complete, and in the sizes their sources state."""

from __future__ import annotations

from itertools import pairwise

import pytest

from commonplace.base.errors import ConfigError
from commonplace.bench import PRESETS, presets
from commonplace.chunking.passages import split
from commonplace.markdown.document import parse

LATIN = "# Title\n\n" + "\n".join(f"- line {n} " + "words of a note " * 6 for n in range(200)) + "\n"
CHINESE = "# 标题\n\n" + "\n".join(f"- 第{n}行，" + "今天的笔记内容" * 6 for n in range(200)) + "\n"


def test_the_names_the_command_line_lists_are_those_there_are() -> None:
    assert tuple(presets.ALL) == PRESETS


def test_an_unknown_name_lists_the_known() -> None:
    with pytest.raises(ConfigError, match="default, qmd, openclaw, nanobot, nanocrab"):
        presets.named("bing")


def test_chunks_have_the_stated_size_in_both_scripts() -> None:
    for name, latin, chinese in [
        ("qmd", 3600, 900),
        ("openclaw", 1600, 400),
        ("nanobot", 800, 800),
        ("nanocrab", 2048, 512),
    ]:
        for text, size in ((LATIN, latin), (CHINESE, chinese)):
            _, passages = split(parse(text, "note.md"), presets.named(name).chunks)
            longest = max(len(passage.text) for passage in passages)
            assert 0.7 * size < longest < 1.3 * size, (name, latin, chinese)


def test_chunks_repeat_the_stated_overlap() -> None:
    for name, overlaps in [("qmd", True), ("openclaw", True), ("nanobot", False)]:
        # nanobot's 100 characters are less than one of these lines: whole lines only are repeated.
        _, passages = split(parse(LATIN, "note.md"), presets.named(name).chunks)
        assert all((after.start_line <= before.end_line) is overlaps for before, after in pairwise(passages))
