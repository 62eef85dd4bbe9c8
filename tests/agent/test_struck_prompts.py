"""What is struck, and what is a guess, never gets into a prompt."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.agent import ContextBuilder

DAY = date(2026, 3, 2)
MEMORY = """# Memory

## Boats

- ~~The harbour closes at six.~~ <!-- cp: until=2026-03-02 by=owner -->
- The harbour closes at eight. <!-- cp: since=2026-03-02 -->
- ~~The pilot is Jonas.~~ <!-- cp: until=2026-03-02 to=memory/2026-03-02.md -->
- The pilot is Mira.
  She answers by radio.
- tentative: the buoy is adrift

## ~~Gone~~

- ~~Only struck text stands here.~~
"""
DAILY = """# 2026-03-02

- 09:00 ~~The tide turns at noon.~~
- 10:00 The tide turns at one.
- 11:00 待证：灯塔坏了
"""


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    (tmp_path / "memory").mkdir()
    (tmp_path / "MEMORY.md").write_text(MEMORY, "utf-8")
    (tmp_path / "memory" / "2026-03-02.md").write_text(DAILY, "utf-8")
    with Memory.open(tmp_path, overrides={"usage.record": False}) as opened:
        opened.sync()
        yield opened


def test_a_prompt_tells_what_stands(memory: Memory) -> None:
    for question in ["", "When does the harbour close, and is the buoy adrift? 灯塔怎么了？ tide noon"]:
        context = ContextBuilder(memory).build(question, now=DAY)
        for told in ("closes at eight", "The pilot is Mira.", "She answers by radio.", "tide turns at one"):
            assert told in context.text, told
        for silent in ("six", "Jonas", "Only struck", "noon", "~~", "buoy", "灯塔"):
            assert silent not in context.text, silent


def test_guesses_are_told_to_owners_who_want_them(memory: Memory, tmp_path: Path) -> None:
    with Memory.open(tmp_path, overrides={"usage.record": False, "recall.tentative": True}) as wanting:
        text = ContextBuilder(wanting).build("Is the buoy adrift?", now=DAY).text
        assert "tentative: the buoy is adrift" in text
        assert "灯塔" in text
        assert "~~The" not in text


def test_what_is_left_out_says_why(memory: Memory) -> None:
    left = {(one.what, one.why) for one in ContextBuilder(memory).build("", now=DAY).left_out}
    assert ("MEMORY.md#L10", "tentative") in left
    assert ("memory/2026-03-02.md#L5", "tentative") in left
    assert not any("L5" in what and "MEMORY" in what for what, _ in left)
