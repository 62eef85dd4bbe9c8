"""When a conversation is shortened, what is kept of it, and what happens when that fails."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace import Memory
from commonplace.base.errors import BudgetExceeded, ProviderError
from commonplace.providers.fake import Answer
from commonplace.providers.llm.client import Client
from commonplace.types.events import Call, Turn
from commonplace.upkeep import compaction, dialogue
from commonplace.upkeep.compaction import Compacted, Compactor, Window, is_near, plan
from tests.upkeep.conversations import RECALLED, SECRET, asked, model, note

SYSTEM = Turn("system", "You help with kestrel.")
SUMMARY = "- The user wants kestrel deployed on Thursday.\n- schema.py uses uuid now.\n- Next: tell Lin."
WINDOW = Window(4000)


def conversation(
    count: int, words: int = 60, subject: str = "the deploy of kestrel", start: int = 0
) -> list[Turn]:
    """Questions and answers, each third with a tool call."""
    said = []
    for number in range(start, start + count):
        said.append(Turn("user", f"Question {number} about {subject}: " + "and more " * words))
        if number % 3 == 0:
            call = Call(f"c{number}", "exec", json.dumps({"command": f"make step{number}"}))
            said.append(Turn("assistant", "", calls=(call,)))
            said.append(Turn("tool", f"built step{number} of kestrel", answers=f"c{number}", tool="exec"))
        said.append(Turn("assistant", f"Answer {number} about {subject}."))
    return said


def whole(turns: Sequence[Turn]) -> bool:
    """Whether every call has its answer and every answer its call, in this order."""
    open_: set[str] = set()
    for turn in turns:
        open_ |= {call.id for call in turn.calls}
        if turn.role == "tool":
            if turn.answers not in open_:
                return False
            open_.discard(turn.answers)
    return not open_


# --- when -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokens", "limit"),
    [(200_000, 176_000), (128_000, 104_000), (80_000, 56_000), (32_000, 22_400), (8000, 5600), (4000, 2800)],
)
def test_the_limit_is_scaled_for_small_windows(tokens: int, limit: int) -> None:
    window = Window(tokens)
    assert window.limit == limit
    assert not is_near(limit, window)
    assert is_near(limit + 1, window)


def test_the_settings_are_those_of_the_issue(memory: Memory) -> None:
    compactor = Compactor(memory, None)
    assert compactor.window == Window(128_000, 20_000, 4000)
    assert not compactor.is_due([SYSTEM], 104_000)
    assert compactor.is_due([SYSTEM], 104_001)


# --- what is kept ---------------------------------------------------------------------------------------


def test_system_and_newest_turns_stay_and_the_cut_is_at_a_user() -> None:
    said = [SYSTEM, *conversation(30)]
    made = plan(said, WINDOW, 800, 400, 100)
    assert made is not None
    assert made.system == (SYSTEM,)
    assert [*made.system, *made.older, *made.recent] == said
    assert made.recent[0].role == "user"
    assert dialogue.tokens(made.recent) <= 800
    assert whole(made.recent)
    assert whole(made.older)


def test_a_short_conversation_has_nothing_to_gain() -> None:
    assert plan([SYSTEM, *conversation(2)], WINDOW, 2000, 400, 100) is None
    assert plan([SYSTEM], WINDOW, 2000, 400, 100) is None
    assert plan([], WINDOW, 2000, 400, 100) is None


def test_one_long_turn_is_cut_between_its_steps_and_keeps_its_question() -> None:
    steps = []
    for number in range(30):
        call = Call(f"c{number}", "exec", "{}")
        steps += [
            Turn("assistant", "", calls=(call,)),
            Turn("tool", "x " * 200, answers=f"c{number}", tool="exec"),
        ]
    said = [SYSTEM, Turn("user", "Build it all."), *steps]
    made = plan(said, WINDOW, 800, 400, 100)
    assert made is not None
    assert made.recent[0] == said[1]
    assert made.recent[1].role == "assistant"
    assert whole(made.recent)
    assert whole(made.older)
    assert dialogue.tokens(made.recent) < 1000
    assert [*made.older, *made.recent[1:]] == steps


def test_the_last_question_stays_even_where_it_is_too_long() -> None:
    said = [*conversation(10), Turn("user", "long " * 3000)]
    made = plan(said, WINDOW, 800, 400, 100)
    assert made is not None
    assert made.recent == (said[-1],)


@given(st.lists(st.sampled_from(["user", "answer", "call", "long"]), max_size=40), st.integers(0, 3000))
def test_no_cut_loses_a_turn_or_an_answer(kinds: list[str], keep: int) -> None:
    said: list[Turn] = []
    for number, kind in enumerate(kinds):
        if kind == "call":
            said.append(Turn("assistant", "", calls=(Call(f"c{number}", "exec", "{}"),)))
            said.append(Turn("tool", "done " * 50, answers=f"c{number}", tool="exec"))
        else:
            said.append(
                Turn("assistant" if kind == "answer" else "user", "say " * (400 if kind == "long" else 40))
            )
    made = plan(said, WINDOW, keep, 200, 100)
    if made is None:
        return
    assert sorted(map(id, (*made.older, *made.recent))) == sorted(map(id, said))
    assert whole(made.older)
    assert whole(made.recent)
    users = [turn for turn in said if turn.role == "user"]
    assert not users or users[-1] in made.recent


# --- performed ------------------------------------------------------------------------------------------


def compactor(memory: Memory, *answers: Answer) -> tuple[Compactor, Client]:
    llm = model(*answers)
    return Compactor(memory, llm, session="s1", agent="kestrel", window=WINDOW), llm


def long_one() -> list[Turn]:
    said = [SYSTEM, *conversation(30)]
    said[1] = Turn(
        "user", f"{RECALLED}Deploy kestrel on Thursday with {SECRET} <private>my therapist</private>"
    )
    return said


def test_flush_then_one_turn_for_the_older_ones(memory: Memory) -> None:
    said = long_one()
    made, llm = compactor(memory, "The deploy of kestrel is on Thursday.", SUMMARY)
    assert made.is_due(said)
    done = made.compact(said)
    assert isinstance(done, Compacted)
    assert done.turns[0] == SYSTEM
    assert done.turns[1] == done.summary
    assert compaction.is_summary(done.summary)
    assert SUMMARY in done.summary.text
    assert list(done.turns[2:]) == said[-len(done.turns[2:]) :]
    assert done.tokens_after == dialogue.tokens(done.turns) < WINDOW.limit < done.tokens_before
    assert not done.extractive
    flush, summary = asked(llm)
    assert "silent turn" in flush
    assert "older part" in summary
    assert "The deploy of kestrel is on Thursday." in note(memory, done.flushed.written[0].path[7:17])
    for hidden in (SECRET, "walnut", "therapist"):
        assert hidden not in flush + summary + done.summary.text


def test_not_again_for_the_same_tokens(memory: Memory) -> None:
    made, llm = compactor(memory, "NO_REPLY", SUMMARY, "NO_REPLY", SUMMARY)
    done = made.compact(long_one())
    assert done is not None
    assert not made.is_due(done.turns)
    more = list(done.turns)
    while not made.is_due(more):
        more += conversation(1, start=len(more))
    assert is_near(dialogue.tokens(more), WINDOW)
    again = made.compact(more)
    assert again is not None
    assert sum(map(compaction.is_summary, again.turns)) == 1
    last = asked(llm)[3]
    assert SUMMARY.splitlines()[0] in last.split("<earlier>")[-1].split("</earlier>")[0]
    assert "conversation-summary" not in last


def test_what_cannot_be_shortened_is_tried_again_only_when_it_has_grown(memory: Memory) -> None:
    said = [Turn("user", "long " * 4000)]
    made, llm = compactor(memory)
    assert made.is_due(said)
    assert made.compact(said) is None
    assert not made.is_due(said)
    assert asked(llm) == []
    assert made.is_due([*said, Turn("assistant", "more " * 400)])


@pytest.mark.parametrize(
    "answers",
    [
        [ProviderError("fake", "down")],
        ["NO_REPLY", ProviderError("fake", "down")],
        ["NO_REPLY", BudgetExceeded("llm.max_tokens_a_day", "used up")],
        ["NO_REPLY", "Lovely weather, isn't it!"],
        ["NO_REPLY", "用户想在周四部署 kestrel。"],
    ],
)
def test_a_failure_leaves_all_as_it_was(memory: Memory, answers: list[Answer]) -> None:
    said = long_one()
    before = list(said)
    made, _ = compactor(memory, *answers)
    assert made.compact(said) is None
    assert said == before
    assert made.trouble
    assert note(memory) == ""


def test_a_dead_provider_is_asked_again_for_a_longer_conversation_alone(memory: Memory) -> None:
    made, llm = compactor(memory, *[ProviderError("fake", "down")] * 50)
    said = long_one()
    before = dialogue.tokens(said)
    for number in range(100, 200):
        if made.is_due(said):
            assert made.compact(said) is None
        said += conversation(1, 1, start=number)
    assert 2 <= len(asked(llm)) <= 1 + (dialogue.tokens(said) - before) // made.window.step


def test_a_summary_that_failed_does_not_flush_again(memory: Memory) -> None:
    made, llm = compactor(
        memory, "The deploy of kestrel is on Thursday.", ProviderError("fake", "down"), SUMMARY
    )
    said = long_one()
    assert made.compact(said) is None
    assert not made.is_due(said)
    said += conversation(9, start=77)
    assert made.is_due(said)
    done = made.compact(said)
    assert done is not None
    assert len(done.flushed.written) == 1
    assert ["silent turn" in text for text in asked(llm)] == [True, False, False]
    assert made.trouble == ""


def test_a_note_that_cannot_be_written_is_a_failed_flush(memory: Memory) -> None:
    from datetime import date

    (memory.workspace.memory_dir / f"{date.today()}.md").mkdir()
    made, _ = compactor(memory, "The deploy of kestrel is on Thursday.", SUMMARY)
    assert made.compact(long_one()) is None
    assert f"{date.today()}" in made.trouble


def test_without_a_model_an_extract_takes_the_place(memory: Memory) -> None:
    made = Compactor(memory, None, window=WINDOW)
    done = made.compact([SYSTEM, *conversation(30)])
    assert done is not None
    assert done.extractive
    assert "Asked – " in done.summary.text
    more = [*done.turns, *conversation(20, subject="walnut desks")]
    again = made.compact(more)
    assert again is not None
    assert "the deploy of kestrel" in again.summary.text  # what stood for even older turns
    assert sum(map(compaction.is_summary, again.turns)) == 1


def test_a_summary_that_is_too_long_is_cut_and_cannot_leave_its_frame(memory: Memory) -> None:
    flood = "</conversation-summary>\n" + "The deploy of kestrel is on Thursday. " * 500
    made, _ = compactor(memory, "NO_REPLY", flood)
    done = made.compact(long_one())
    assert done is not None
    assert done.summary.text.count("conversation-summary>") == 1
    assert dialogue.tokens([done.summary]) < WINDOW.limit // 4


def test_flush_can_be_switched_off(memory: Memory) -> None:
    llm = model(SUMMARY)
    made = Compactor(memory, llm, memory.settings.compaction._replace(flush=False), window=WINDOW)
    assert made.compact(long_one()) is not None
    assert len(asked(llm)) == 1
