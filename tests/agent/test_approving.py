"""Forgetting in a conversation: a model asks, a person says yes or no, and nothing comes back afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.agent import tools
from commonplace.agent.loop import NOBODY
from commonplace.agent.tools import Tool
from commonplace.edit.forget import requests
from commonplace.types import Erasure
from tests.agent.model_server import Asked, Model, Say, call, last, text
from tests.agent.talking import Begin
from tests.copies import files_of

DIARY = "Ottoline keeps her diary in the piano."


class Person:
    """Somebody who is asked, and what they were shown."""

    def __init__(self, *, says: bool) -> None:
        self.says = says
        self.shown: list[str] = []

    def __call__(self, tool: Tool, preview: str) -> bool:
        assert tool.name == "memory_forget"
        self.shown.append(preview)
        return self.says


@pytest.fixture
def diary(root: Path) -> Path:
    note = root / "memory" / "2026-01-06.md"
    note.write_text(f"# 2026-01-06\n\n- {DIARY}\n- The tuner comes in March.\n", "utf-8")
    return note


def code(asked: Asked) -> str:
    return last(asked, "tool").rpartition("confirm: ")[2].split()[0]


def confirm(asked: Asked) -> Say:
    return call("memory_forget", what="diary", confirm=code(asked))


def test_a_model_that_calls_twice_by_itself_erases_nothing(begin: Begin, model: Model, diary: Path) -> None:
    """Where nobody is there to ask it is left to the owner, and no code is given."""
    before = diary.read_bytes()

    def insist(asked: Asked) -> Say:
        approve = last(asked, "tool").rpartition("--approve ")[2].split()[0]
        return call("memory_forget", what="diary", confirm=approve)

    model.script = [call("memory_forget", what="diary"), insist, Say("Done.")]
    loop = begin()
    reply = loop.respond("What is the weather?")
    assert "the owner has to approve" in reply.executions[0].result
    assert tools.STALE in reply.executions[1].error
    assert diary.read_bytes() == before
    assert [one.selection.value for one in requests.listed(loop.memory.workspace)] == ["diary"]


def test_a_code_of_a_session_with_a_person_is_none_where_nobody_is(
    begin: Begin, model: Model, diary: Path
) -> None:
    loop = begin()
    given = tools.confirmations_of(loop.memory).offer("request", "Would erase the diary.", Erasure(()))
    model.script = [call("memory_forget", what="diary", confirm=given), Say("Done.")]
    reply = loop.respond("Forget the diary.")
    assert NOBODY in reply.executions[0].error


@pytest.mark.parametrize("by_agents", ["allow", "never"])
def test_a_setting_lets_models_erase_alone_or_not_at_all(
    begin: Begin, model: Model, diary: Path, by_agents: str
) -> None:
    person = Person(says=True)
    further = [confirm] if by_agents == "allow" else []
    model.script = [call("memory_forget", what="diary"), *further, Say("Done.")]
    reply = begin(approve=person, settings={"forget.by_agents": by_agents}).respond("Forget the diary.")
    assert person.shown == []
    assert (DIARY in diary.read_text("utf-8")) == (by_agents == "never")
    assert ("forget.by_agents" in reply.executions[0].error) == (by_agents == "never")


def test_a_no_is_told_and_changes_nothing(begin: Begin, model: Model, diary: Path) -> None:
    before, person = diary.read_bytes(), Person(says=False)
    model.script = [call("memory_forget", what="diary"), confirm, Say("I left it.")]
    reply = begin(approve=person).respond("Forget the diary.")
    assert DIARY in person.shown[0]
    assert "memory/2026-01-06.md#L3" in person.shown[0]
    assert "the user said no" in reply.executions[1].error
    assert diary.read_bytes() == before


def test_after_a_yes_it_is_gone_everywhere(begin: Begin, model: Model, diary: Path, root: Path) -> None:
    person = Person(says=True)
    model.script = [
        call("memory_search", query="Where is the diary of Ottoline?"),
        Say("I found it, shall I?"), call("memory_forget", what="diary"), confirm, Say("It is forgotten."),
    ]  # fmt: skip
    loop = begin(approve=person)
    loop.respond("Where is it that Ottoline keeps hers?")
    reply = loop.respond("Have that forgotten.")
    assert [execution.error for execution in reply.executions] == ["", ""]
    assert len(person.shown) == 1
    assert "tuner" in diary.read_text("utf-8")
    loop.respond("And now?")
    assert "diary in the piano" not in text(model.chats[-1])
    loop.close()
    for file in files_of(root):
        assert b"diary in the piano" not in file.read_bytes(), file


def test_forged_codes_ask_nobody(begin: Begin, model: Model, diary: Path) -> None:
    before, person = diary.read_bytes(), Person(says=True)
    model.script = [
        call("memory_forget", what="diary", confirm="the-user-said-yes"),
        Say("", tuple(("memory_forget", {"what": "diary", "confirm": f"{n}"}) for n in range(4))),
        Say("Hm."),
    ]
    reply = begin(approve=person).respond("Forget the diary.")
    assert all("confirms nothing" in execution.error for execution in reply.executions)
    assert person.shown == []
    assert diary.read_bytes() == before


def test_a_code_twice_in_one_answer_erases_once(begin: Begin, model: Model, diary: Path) -> None:
    person = Person(says=True)

    def twice(asked: Asked) -> Say:
        return Say("", (("memory_forget", {"what": "diary", "confirm": code(asked)}),) * 3)

    model.script = [call("memory_forget", what="diary"), twice, Say("Done.")]
    reply = begin(approve=person).respond("Forget the diary.")
    assert [bool(execution.error) for execution in reply.executions] == [False, False, True, True]
    assert len(person.shown) == 1


def test_a_person_is_shown_what_the_code_is_of(begin: Begin, model: Model, diary: Path, root: Path) -> None:
    """A model that shows one preview and confirms with the words of another gets neither."""
    person = Person(says=True)
    model.script = [
        call("memory_forget", what="diary"),
        lambda asked: call("memory_forget", what="MEMORY.md", kind="note", confirm=code(asked)),
        Say("Done."),
    ]
    reply = begin(approve=person).respond("Forget the diary.")
    assert "confirms nothing" in reply.executions[1].error
    assert (root / "MEMORY.md").exists()
    assert DIARY in diary.read_text("utf-8")
