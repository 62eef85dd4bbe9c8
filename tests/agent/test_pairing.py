"""Conversations cut anywhere still have an answer for every call, and a call for every answer."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from commonplace.agent.calling import INTERRUPTED, NOT_KEPT, paired
from commonplace.types.events import Call, Turn

ONE, TWO = Call("one", "memory_search", "{}"), Call("two", "memory_get", "{}")
ASKED = Turn("assistant", "", calls=(ONE, TWO))
WHOLE = [
    Turn("user", "Which tea?"),
    ASKED,
    Turn("tool", "white", answers="one", tool="memory_search"),
    Turn("tool", "tea", answers="two", tool="memory_get"),
    Turn("assistant", "White tea."),
]


def test_what_is_whole_stays_as_it_is() -> None:
    assert paired(WHOLE) == WHOLE


def test_a_cut_at_either_end() -> None:
    assert paired(WHOLE[2:]) == WHOLE[4:]
    assert paired(WHOLE[:3]) == [*WHOLE[:3], Turn("tool", INTERRUPTED, answers="two", tool="memory_get")]


def test_a_result_that_was_left_out_says_so() -> None:
    assert paired([WHOLE[1], replace(WHOLE[2], text="")])[1].text == NOT_KEPT


@given(st.lists(st.sampled_from([*WHOLE, Turn("tool", "again", answers="one")]), max_size=12))
def test_every_call_is_followed_by_its_answers(turns: list[Turn]) -> None:
    kept = paired(turns)
    assert [turn for turn in kept if turn.role != "tool"] == [turn for turn in turns if turn.role != "tool"]
    waiting: list[str] = []
    for turn in kept:
        if turn.role == "tool":
            waiting.remove(turn.answers)
        else:
            assert waiting == []
            waiting = [call.id for call in turn.calls]
    assert waiting == []
