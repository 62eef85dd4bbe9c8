"""Codes for previews: each confirms one thing, once, for a while."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.agent import tools
from commonplace.agent.tools import Confirmations
from commonplace.types import Erasure

SHOWN = Erasure((), dry_run=True, basis=b"{}")


def test_a_code_is_for_one_preview_and_one_use() -> None:
    waiting = Confirmations()
    code = waiting.offer("request", "Would erase tea.", SHOWN)
    assert waiting.shown(code) == "Would erase tea."
    assert waiting.redeem(code, "request") is SHOWN
    assert not waiting.redeem(code, "request")
    assert waiting.shown(code) == ""


def test_codes_differ_and_are_not_guessed() -> None:
    waiting = Confirmations()
    codes = {waiting.offer("request", str(number), SHOWN) for number in range(tools.MOST_PREVIEWS)}
    assert len(codes) == tools.MOST_PREVIEWS
    assert min(map(len, codes)) >= 12
    for forged in ("", "yes", "confirm", next(iter(codes))[:-1]):
        assert not waiting.redeem(forged, "request")


def test_the_oldest_goes_where_there_are_many() -> None:
    waiting = Confirmations()
    first = waiting.offer("request", "first", SHOWN)
    for _ in range(tools.MOST_PREVIEWS):
        last = waiting.offer("request", "last", SHOWN)
    assert (waiting.shown(first), waiting.shown(last)) == ("", "last")


def test_a_code_grows_old(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(tools.time, "monotonic", lambda: clock[0])
    waiting = Confirmations()
    code = waiting.offer("request", "text", SHOWN)
    clock[0] += tools.CONFIRM_S - 1
    assert waiting.shown(code) == "text"
    clock[0] += 1
    assert waiting.shown(code) == ""
    assert not waiting.redeem(code, "request")


def test_each_memory_has_its_own(tmp_path: Path) -> None:
    first, second = Memory.open(tmp_path), Memory.open(tmp_path)
    code = tools.confirmations_of(first).offer("request", "text", SHOWN)
    assert tools.confirmations_of(first).shown(code) == "text"
    assert tools.confirmations_of(second).shown(code) == ""
