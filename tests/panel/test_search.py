"""Search as you type: never behind the keys, hits with their notes, factors."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from commonplace.memory import Memory
from commonplace.search.request import Request
from tests.panel.conftest import NARROW, Person, Play


def test_typing_finds_without_enter_asks_no_model_and_records_nothing(
    play: Play, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, answer = list[Request](), memory._answer

    def noted(request: Request) -> Any:
        asked.append(request)
        return answer(request)

    monkeypatch.setattr(memory, "_answer", noted)

    async def scene(person: Person) -> None:
        await person.type("white tea")
        await person.sees("MEMORY.md:5")
        await person.until(lambda: person.rows("note-lines").row)
        assert person.rows("note-lines").row.value == 5  # type: ignore[union-attr]
        assert "▌" in person.screen
        await person.press("enter")
        await person.until(lambda: len(asked) > 1)

    play(scene)
    assert (asked[0].rerank, asked[0].expand) == ("off", False)
    assert asked[-1].rerank is None
    assert not memory.usage().questions


def test_chinese_is_found_and_wrapped_anywhere(play: Play) -> None:
    async def scene(person: Person) -> None:
        await person.type("梧桐里")
        await person.sees("Memory › 家")
        await person.press("escape", "enter")
        await person.sees("2028-03-25，月租 6800。")
        assert "地址：余杭区五常街道梧桐里 7 幢 1102，2026-03-28 搬入，租约到\n" in person.screen

    play(scene, NARROW)


def test_a_search_that_takes_long_holds_up_no_key_and_the_last_question_is_answered(
    play: Play, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, asked, answer = threading.Event(), list[str](), memory._answer

    def slow(request: Request) -> Any:
        asked.append(request.text)
        assert gate.wait(60)
        return answer(request)

    monkeypatch.setattr(memory, "_answer", slow)

    async def scene(person: Person) -> None:
        await person.type("rain")
        await person.until(lambda: asked)
        for letter in " and coffee":
            await person.type(letter)
            await person.until(lambda: True)
        await person.press("enter")
        assert person.panel.query_one("#question").value == "rain and coffee"  # type: ignore[attr-defined]
        assert len(asked) == 1
        gate.set()
        await person.until(lambda: person.rows("hits").rows)
        assert len(asked) == 2  # all between are dropped
        assert asked[-1] == "rain and coffee"

    play(scene)


def test_the_cursor_moves_factors_and_struck_text_are_shown_on_demand_and_nothing_found_says_so(
    play: Play, memory: Memory
) -> None:
    memory.correct("No coffee after 14:00.", "No coffee after 13:00.")

    async def scene(person: Person) -> None:
        await person.search("coffee")
        assert "after 14:00" not in person.screen.partition("▏")[0]
        await person.press("s")
        await person.until(lambda: len(person.rows("hits").rows) == 2)
        assert "struck" in person.screen
        await person.press("s")
        await person.search("white tea")
        first = person.rows("hits").row
        await person.press("j")
        assert person.rows("hits").row is not first
        await person.press("k")
        assert person.rows("hits").row is first
        assert "█" not in person.screen
        await person.press("f")
        assert "█" in person.screen
        assert "words" in person.screen or "text" in person.screen
        await person.press("f", "tab")
        assert person.panel.focused is person.rows("note-lines")
        await person.press("escape")
        assert person.panel.focused is person.rows("hits")
        await person.press("slash", "ctrl+u")
        await person.type("zzzqqq xylophone")
        await person.press("enter")
        await person.sees("nothing is found")
        assert not person.rows("hits").rows
        await person.press("slash", "ctrl+u")
        await person.until(lambda: "nothing is found" not in person.screen)
        await person.type('"')  # half a phrase is no error
        await person.press("enter")
        assert person.panel.is_running

    play(scene)
