"""The loop of an agent over real HTTP: what the model is sent, what the user sees, what is written down."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.agent import loop as loops
from commonplace.agent.tools import Tool, ToolAnswer
from commonplace.providers import opening
from commonplace.transcripts.session import Transcript
from tests.agent.model_server import Model, Say, call, last, text
from tests.agent.talking import TEA, Begin, aside, note, wait_for


class Shown:
    """What a loop showed, in order."""

    def __init__(self) -> None:
        self.all: list[tuple[str, str]] = []

    def __call__(self, kind: str, said: str) -> None:
        self.all.append((kind, said))

    def of(self, kind: str) -> list[str]:
        return [said for name, said in self.all if name == kind]


def said(root: Path, session: str = "s") -> list[tuple[str, str]]:
    from commonplace.base.paths import Workspace

    return [(turn.role, turn.text) for turn in Transcript.open(Workspace(root), session).load()]


# --- a message ------------------------------------------------------------------------------------------


def test_an_answer_comes_with_what_is_recalled(begin: Begin, model: Model, root: Path) -> None:
    shown = Shown()
    model.script = [Say("White tea, as every day.")]
    reply = begin(show=shown).respond("Which tea after lunch?")
    assert reply.text == "White tea, as every day." == "".join(shown.of("text"))
    assert shown.all[0] == ("recall", "MEMORY.md#L5")
    (asked,) = model.chats
    system, message = asked["messages"]
    assert system["role"] == "system"
    assert message["content"].startswith("<recalled-notes")
    assert TEA in message["content"]
    assert message["content"].endswith("\n\nWhich tea after lunch?")
    assert {tool["function"]["name"] for tool in asked["tools"]} == {
        "memory_search", "memory_get", "memory_timeline", "memory_write", "memory_correct", "memory_forget",
        "memory_status", "read_file",
    }  # fmt: skip
    assert said(root) == [("user", "Which tea after lunch?"), ("assistant", "White tea, as every day.")]


def test_the_same_note_goes_along_once(begin: Begin, model: Model) -> None:
    loop = begin()
    for message in ("Which tea after lunch?", "And which tea after lunch tomorrow?"):
        loop.respond(message)
    assert text(model.chats[1]).count(TEA) == 1
    assert loop.respond("Tea after lunch again?").recalled is None


def test_tools_run_and_their_answers_go_back(begin: Begin, model: Model, root: Path) -> None:
    model.script = [
        Say("Let me look.", (("memory_search", {"query": "tea"}), ("read_file", {"path": "draft.txt"}))),
        call("memory_write", text="The speech is drafted."),
        Say("Done."),
    ]
    shown = Shown()
    reply = begin(show=shown).respond("Is the speech written?")
    assert reply.text == "Let me look.\n\nDone."
    assert [execution.tool for execution in reply.executions] == [
        "memory_search",
        "read_file",
        "memory_write",
    ]
    assert shown.of("tool")[0] == 'memory_search {"query": "tea"}'
    answers = [message for message in model.chats[2]["messages"] if message["role"] == "tool"]
    assert TEA in answers[0]["content"]
    assert "The draft of the speech." in answers[1]["content"]
    assert answers[2]["content"].startswith("Written to memory/")
    assert "The speech is drafted." in note(root)


def test_mistakes_of_the_model_go_back_to_it(begin: Begin, model: Model) -> None:
    model.script = [
        Say(calls=(("memory_search", '{"query": '), ("memory_find", {}), ("read_file", {"path": "../x.md"}))),
        Say("I see."),
    ]
    begin().respond("Look it up.")
    sent = model.chats[1]["messages"]
    first, second, third = [message["content"] for message in sent if message["role"] == "tool"]
    assert "not a JSON object" in first
    assert "there are memory_search" in second
    assert "leaves the workspace" in third
    assert sent[-4]["tool_calls"][0]["function"]["arguments"] == "{}"  # which chat templates can read


def test_a_model_that_calls_tools_for_ever_is_stopped(
    begin: Begin, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.rule = lambda asked: call("memory_status")
    monkeypatch.setattr(loops, "MAX_ROUNDS", 2)
    loop = begin()
    reply = loop.respond("How are you?")
    assert len(model.chats) == 4
    assert [execution.error for execution in reply.executions] == ["", "", loops.ENOUGH, loops.ENOUGH]
    model.rule = lambda asked: Say("Fine.")
    assert loop.respond("And now?").text == "Fine."


def test_tools_of_the_host_are_offered_too(begin: Begin, model: Model) -> None:
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    clock = Tool("clock", "Tell the time.", schema, lambda memory, given, caller: ToolAnswer("ten past ten"))
    model.script = [call("clock"), Say("It is ten past ten.")]
    begin(tools=[clock]).respond("What time is it?")
    assert last(model.chats[1], "tool") == "ten past ten"


# --- what goes wrong ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "match"),
    [
        ({"status": 503}, "503"),
        ({"status": 401}, "401"),
        ({"dropped": True}, "cannot be reached"),
    ],
)
def test_a_failing_provider_leaves_the_message_and_the_session(
    begin: Begin, model: Model, root: Path, more: dict[str, object], match: str
) -> None:
    loop = begin(settings={"limits.deadline_s": 2})
    model.rule = lambda asked: Say("no", more=more)
    reply = loop.respond("Which tea after lunch?")
    assert match in reply.error
    assert "\n" not in reply.error
    assert reply.text == ""
    opening.SHARED._states.clear()
    model.rule = lambda asked: Say("White tea.")
    assert loop.respond("Please.").text == "White tea."
    assert last(model.chats[-1]).endswith("Which tea after lunch?\n\nPlease.")  # two in a row are one
    assert said(root) == [
        ("user", "Which tea after lunch?"),
        ("user", "Please."),
        ("assistant", "White tea."),
    ]


def test_ctrl_c_stops_the_answer_and_the_chat_goes_on(begin: Begin, model: Model, root: Path) -> None:
    def interrupt(kind: str, words: str) -> None:
        if kind == "text" and not model.script:
            raise KeyboardInterrupt

    loop = begin(show=interrupt)
    model.script = [Say("White tea, as every day.")]
    reply = loop.respond("Which tea?")
    assert (reply.stopped, reply.error) == (True, "")
    assert reply.text == "White tea, as every day."
    assert said(root)[-1] == ("assistant", reply.text)
    loop.show = lambda kind, words: None
    assert loop.respond("Go on.").text == "Noted."
    assert [m["content"] for m in model.chats[-1]["messages"] if m["role"] == "assistant"] == [
        "White tea, as every day."
    ]


def test_ctrl_c_between_calls_answers_them_all(begin: Begin, model: Model) -> None:
    def interrupt(kind: str, words: str) -> None:
        if words.startswith("memory_status"):
            raise KeyboardInterrupt

    loop = begin(show=interrupt)
    model.script = [Say(calls=(("memory_search", {"query": "tea"}), ("memory_status", {})))]
    assert loop.respond("Go.").stopped
    assert len(model.chats) == 1
    loop.show = lambda kind, words: None
    assert loop.respond("Go on.").text == "Noted."  # the server checks that calls and answers pair


def test_a_transcript_that_cannot_be_written_does_not_end_the_chat(
    begin: Begin, model: Model, root: Path
) -> None:
    shown = Shown()
    loop = begin(show=shown)
    (root / "sessions").write_text("a file where the folder should be")
    assert loop.respond("Hello.").text == "Noted."
    assert shown.of("note")[0].startswith("not kept: ")


def test_a_conversation_that_is_too_long_for_its_model_is_shortened_and_asked_again(
    begin: Begin, model: Model
) -> None:
    shown = Shown()
    model.aside = aside
    loop = begin(show=shown)
    for number in range(12):
        model.script = [Say(f"The review of part {number} covered its tables, indexes and owners. " * 30)]
        loop.respond(f"Please go through part {number} of the schema review.")
    model.script = [Say(refusal="maximum context length is 4096 tokens"), Say("Here I am.")]
    assert loop.respond("And what is left?").text == "Here I am."
    assert len(model.chats[-1]["messages"]) < len(model.chats[-2]["messages"])
    assert "<conversation-summary" in model.chats[-1]["messages"][1]["content"]
    assert shown.of("note")[0].startswith("shortened from about ")


# --- sessions -------------------------------------------------------------------------------------------


def test_a_session_is_gone_on_with(begin: Begin, model: Model) -> None:
    model.script = [call("memory_search", query="tea"), Say("White tea.")]
    begin("one").respond("Which tea after lunch?")
    reply = begin("one").respond("And which tea after lunch today?")
    assert reply.recalled is not None  # the notes of before were for that conversation alone
    sent = model.chats[-1]["messages"]
    assert [message["role"] for message in sent] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    assert text(model.chats[-1]).count(TEA) == 1
    assert begin("two").history == []


def test_a_session_that_rests_is_summed_up(begin: Begin, model: Model, root: Path) -> None:
    model.aside = aside
    loop = begin(settings={"summary.idle_s": 1})
    for number in range(3):
        loop.respond(f"We agreed that crate {number} goes to hall {number}.")
    wait_for(lambda: "## Session summaries" in note(root))
    assert "Asked – We agreed that crate 0 goes to hall 0." in note(root)


def test_hooks_are_told_of_everything_in_order(begin: Begin, model: Model) -> None:
    told: list[tuple[str, str]] = []

    class Listening:
        def on_session_start(self, event: object) -> None:
            told.append(("start", event.session))  # type: ignore[attr-defined]

        def on_message_received(self, event: object) -> None:
            told.append(("message", event.turn.text))  # type: ignore[attr-defined]

        def on_tool_executed(self, execution: object) -> None:
            told.append(("tool", execution.tool))  # type: ignore[attr-defined]

        async def on_response_ready(self, event: object) -> None:
            told.append(("answer", event.turn.text))  # type: ignore[attr-defined]

        def on_session_end(self, event: object) -> None:
            told.append(("end", event.session))  # type: ignore[attr-defined]

    model.script = [call("memory_status"), Say("Fine.")]
    loop = begin(hooks=[Listening()])
    loop.respond("How are you?")
    loop.close()
    assert told == [
        ("start", "s"), ("message", "How are you?"), ("tool", "memory_status"), ("answer", "Fine."), ("end", "s"),
    ]  # fmt: skip
