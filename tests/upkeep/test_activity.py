"""What is done in a memory is seen where it is left, by whichever process: questions, readings, entries, changes."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.types import Provenance
from commonplace.types.changes import Selection
from commonplace.upkeep.activity import Activities, Activity, follow
from tests.cli.conftest import workspace as workspace
from tests.places import settings_file

NOTE = "memory/2026-02-13.md"


@pytest.fixture
def memory(workspace: Path) -> Memory:
    return Memory.open(workspace)


def test_questions_and_readings_are_told_once(memory: Memory, workspace: Path) -> None:
    memory.search("before")
    activities = Activities(memory)
    assert activities.new() == []
    with Memory.open(workspace, agent="codex") as other:
        other.search("deploy", limit=1)
        other.recall("tea")
        other.get(f"{NOTE}#L5")
    search, recall, get = activities.new()
    assert (search.kind, search.agent, search.question, search.count) == ("search", "codex", "deploy", 1)
    assert search.places == (f"{NOTE}#L5-L6",)
    assert (recall.kind, recall.question) == ("recall", "tea")
    assert (get.kind, get.places, get.count) == ("get", (f"{NOTE}#L5",), 1)
    assert activities.new() == []


def test_entries_are_told_with_who_wrote_them(memory: Memory, workspace: Path) -> None:
    activities = Activities(memory)
    for agent in ("codex", "cursor"):
        provenance = Provenance("agent", agent, at="2099-01-01T09:00:00")
        written = memory.remember(f"Written by {agent}.", provenance=provenance)
    path = str(workspace / written.path)
    told = {one.agent: one for one in activities.new([path])}
    assert told.keys() == {"codex", "cursor"}
    assert told["cursor"].places == (f"{written.path}#L4",)
    mine = memory.remember("Written by me.")
    (one,) = activities.new([path])
    assert (one.kind, one.agent, one.places, one.count) == ("write", "", (mine.path,), 1)


def test_entries_that_stood_there_are_no_news(memory: Memory, workspace: Path) -> None:
    old = Provenance("agent", "codex", at="2001-01-01T09:00:00")
    written = memory.remember("Written long ago.", provenance=old)
    activities = Activities(memory)
    memory.remember("Written by me.")
    (one,) = activities.new([str(workspace / written.path)])
    assert one.agent == ""


def test_what_was_done_lately_is_told_with_its_words_and_nothing_twice(
    memory: Memory, workspace: Path
) -> None:
    memory.search("deploy")
    memory.correct("Lin signs it off.", "Mira signs it off.")
    memory.remember("Tea.\n\n- Green", provenance=Provenance("agent", "codex", at="2001-01-01T09:00:00"))
    activities = Activities(memory, 10)
    lately = activities.lately
    assert [one.question for one in lately if one.kind == "search"] == ["deploy"]
    assert [one.change for one in lately if one.kind == "change"] == ["correct"]
    (nested,) = [one for one in lately if one.agent == "codex"]
    assert [entry.words for entry in nested.entries] == ["Tea.", "Green"]
    assert [one.entries for one in activities.new([str(workspace / NOTE)])] == [()]
    assert Activities(memory).lately == []


def test_sessions_of_the_workspace_hide_none_of_its_notes_and_are_none(workspace: Path) -> None:
    settings_file(workspace).write_text("[sessions]\nindex = true\n")
    (workspace / "sessions").mkdir()
    said = '{"role": "user", "text": "When do we deploy?", "at": "2026-02-13T14:05:00"}\n'
    session = workspace / "sessions" / "s1.jsonl"
    session.write_text(said)
    memory = Memory.open(workspace)
    written = memory.remember("Tea.", provenance=Provenance("agent", "codex", at="2099-01-01T09:00:00"))
    activities = Activities(memory, 10)
    assert "codex" in {one.agent for one in activities.lately}
    session.write_text(said * 2)
    memory.remember("Rain.", provenance=Provenance("agent", "cursor", at="2099-01-01T09:00:00"))
    told = activities.new([str(session), str(workspace / written.path)])
    assert [one.agent for one in told] == ["cursor"]


def test_a_generated_change_is_told_once_and_not_as_a_write(memory: Memory, workspace: Path) -> None:
    activities = Activities(memory)
    run = memory.correct("Lin signs it off.", "Mira signs it off.").run
    (one,) = activities.new([str(workspace / NOTE)])
    assert (one.kind, one.change, one.run, one.places) == ("change", "correct", run, (NOTE,))
    assert activities.new([str(workspace / NOTE)]) == []


def test_forgetting_is_told_without_what_was_forgotten(memory: Memory, workspace: Path) -> None:
    memory.search("Lin")
    activities = Activities(memory)
    memory.forget(Selection("person", "Lin"))
    (one,) = activities.new([str(workspace / NOTE)])
    assert (one.kind, one.change) == ("change", "forget")
    assert "Lin" not in str(one)
    memory.search("after that")  # whose row may have the number of one that is gone
    assert [one.question for one in activities.new()] == ["after that"]


def test_notes_that_are_removed_are_told_and_other_files_are_not(memory: Memory, workspace: Path) -> None:
    activities = Activities(memory)
    (workspace / NOTE).unlink()
    for name in ("README.md", "memory/x.txt", ".commonplace/a.md", "memory/nothing.md"):
        (workspace / name).parent.mkdir(exist_ok=True)
        if "nothing" not in name:
            (workspace / name).write_text("text")
    names = [str(path) for path in workspace.rglob("*")]
    told = activities.new(
        [*names, str(workspace / NOTE), str(workspace / "memory/nothing.md"), "/etc/passwd"]
    )
    assert [(one.kind, one.places) for one in told if one.kind == "remove"] == [("remove", (NOTE,))]
    assert {place for one in told for place in one.places} <= {NOTE, "MEMORY.md", "memory/2026-02-14.md"}


def test_a_memory_is_followed_until_it_is_stopped(memory: Memory, workspace: Path) -> None:
    told: list[Activity] = []
    heard, stop = threading.Event(), threading.Event()

    def tell(activity: Activity) -> None:
        told.append(activity)
        if {one.kind for one in told} >= {"search", "write"}:
            heard.set()

    following = threading.Thread(target=follow, args=(memory, tell), kwargs={"stop": stop})
    following.start()
    try:
        with Memory.open(workspace) as other:
            for number in range(100):  # until it is watched
                other.search("deploy")
                (workspace / NOTE).write_text(f"# A\n\n- Line {number}.\n")
                if heard.wait(0.5):
                    break
        assert heard.is_set()
    finally:
        stop.set()
        following.join(60)
    assert not following.is_alive()
