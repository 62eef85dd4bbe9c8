"""What a session was given: known by what is said, in memory and in files, and forgotten in time."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace import Memory
from commonplace.agent import seen
from commonplace.agent.seen import Injected
from commonplace.base import paths
from commonplace.storage import keyvalue, state
from commonplace.types import Hit
from tests.cli.conftest import environment

HIT = Hit("MEMORY.md", 3, 4, "- Tea is white.\n- 周五不部署。", 1.0, "Memory", (), None, "memory", "")


@pytest.fixture
def workspace(tmp_path: Path) -> paths.Workspace:
    return paths.Workspace(tmp_path)


@pytest.fixture(params=["memory", "files"])
def given_to(request: pytest.FixtureRequest, workspace: paths.Workspace) -> Injected:
    return Injected(workspace if request.param == "files" else None)


def says(text: str) -> Hit:
    return replace(HIT, text=text)


def test_a_passage_is_new_to_a_session_once(given_to: Injected) -> None:
    assert given_to.new("a", [HIT]) == [True]
    given_to.add("a", [HIT])
    assert given_to.new("a", [HIT, says("- Tea is green.")]) == [False, True]
    assert given_to.new("b", [HIT]) == [True]


def test_what_changed_is_new_and_a_part_of_what_was_said_is_not(given_to: Injected) -> None:
    given_to.add("a", [HIT])
    news = given_to.new(
        "a",
        [says("- Tea is white.\n- 周五不部署！"), says("- 周五不部署。"), says("## H\n\n-  Tea is white.")],
    )
    assert news == [True, False, False]


def test_the_same_words_of_another_note_are_new(given_to: Injected) -> None:
    given_to.add("a", [HIT])
    assert given_to.new("a", [replace(HIT, path="memory/2026-01-01.md")]) == [True]


def test_a_heading_alone_is_known_as_well(given_to: Injected) -> None:
    given_to.add("a", [says("# Title")])
    assert given_to.new("a", [says("# Title"), says("# Other")]) == [False, True]


def test_without_a_session_everything_is_new_and_nothing_is_kept(given_to: Injected) -> None:
    given_to.add("", [HIT])
    assert given_to.new("", [HIT]) == [True]


def test_a_session_can_be_forgotten(given_to: Injected) -> None:
    given_to.add("a", [HIT])
    given_to.add("b", [HIT])
    given_to.forget("a")
    assert (given_to.new("a", [HIT]), given_to.new("b", [HIT])) == ([True], [False])
    given_to.forget("never heard of")


def test_the_oldest_is_forgotten_first(given_to: Injected, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen, "MAX_STATEMENTS", 3)
    for text in ("one.", "two.", "three.", "one.", "four."):
        given_to.add("a", [says(text)])
    assert given_to.new("a", [says("one."), says("two."), says("three."), says("four.")]) == [
        False,
        True,
        False,
        False,
    ]


def test_sessions_in_memory_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen, "MAX_SESSIONS", 2)
    known = Injected()
    for session in "abc":
        known.add(session, [HIT])
    assert [known.new(session, [HIT]) for session in "cba"] == [[False], [False], [True]]


@given(st.lists(st.text(st.sampled_from("ab。.\n# …"), min_size=1, max_size=12), max_size=8))
def test_what_was_given_is_never_new(texts: list[str]) -> None:
    known = Injected()
    known.add("a", map(says, texts))
    assert not any(known.new("a", [says(text) for text in texts]))


# --- files ----------------------------------------------------------------------------------------------


def test_other_processes_know_what_was_given(workspace: paths.Workspace) -> None:
    Injected(workspace).add("a", [HIT])
    assert Injected(workspace).new("a", [HIT]) == [False]
    program = (
        "import sys; from pathlib import Path; from commonplace.base import paths; from commonplace.types import Hit;"
        "from commonplace.agent.seen import Injected;"
        "hit = Hit('MEMORY.md', 1, 1, f'- said by {sys.argv[2]}.', 1.0, '', (), None, 'memory', '');"
        "Injected(paths.Workspace(Path(sys.argv[1]))).add('a', [hit])"
    )
    command = [sys.executable, "-c", program, str(workspace.root)]
    running = [subprocess.Popen([*command, str(n)], env=environment()) for n in range(6)]
    assert [process.wait(60) for process in running] == [0] * 6
    known = Injected(workspace)
    assert known.new("a", [says(f"- said by {n}.") for n in range(6)]) == [False] * 6
    assert known.new("a", [HIT]) == [False]


def test_a_session_forgotten_by_another_process_is_forgotten_here(workspace: paths.Workspace) -> None:
    here, there = Injected(workspace), Injected(workspace)
    here.add("a", [HIT])
    there.forget("a")
    assert here.new("a", [HIT]) == [True]


def test_the_state_holds_no_word_of_the_notes_and_no_name_of_the_session(workspace: paths.Workspace) -> None:
    Injected(workspace).add("session/../name", [HIT])
    ((name, told),) = keyvalue.each(workspace, "injected")
    assert told.keys() == {"given"}
    assert all(len(digest) == 16 and int(digest, 16) >= 0 for digest in told["given"])
    assert "name" not in name


def test_what_sessions_long_over_were_given_is_removed(workspace: paths.Workspace) -> None:
    known = Injected(workspace)
    known.add("old", [HIT])
    with state.writing(workspace) as connection:
        connection.execute("UPDATE value SET at = at - ?", (seen.KEPT_S + 60,))
    known.add("new", [HIT])
    ((name, _),) = keyvalue.each(workspace, "injected")
    assert name == keyvalue.of_session("new")


def test_a_folder_that_cannot_be_written_is_said_and_no_error(workspace: paths.Workspace) -> None:
    workspace.state.parent.mkdir(parents=True)
    workspace.state.write_text("a file where the folder belongs")
    known = Injected(workspace)
    known.add("a", [HIT])
    assert "what this session was given" in known.trouble
    assert known.new("a", [HIT]) == [True]
    known.forget("a")


def test_nothing_is_withheld_by_what_somebody_else_says_was_given(workspace: paths.Workspace) -> None:
    known = Injected(workspace)
    known.add("a", [HIT])
    ((name, told),) = keyvalue.each(workspace, "injected")
    planted = workspace.derived / "injected" / f"{name}.json"
    planted.parent.mkdir(parents=True)
    planted.write_text(json.dumps(told))
    known.forget("a")
    with Memory.open(workspace.root, overrides={"embedding.provider": "none"}):
        assert not planted.exists()
        assert known.new("a", [HIT]) == [True]


def test_of_a_passage_that_grew_only_what_is_new_is_left(given_to: Injected) -> None:
    text = "## Observations\n\n- Ran make test\n\n- Wrote plan.md\n- 豆豆上青禾小学。\n"
    given_to.add("a", [says("## Observations\n\n- Ran make test"), says("- 豆豆上青禾小学。")])
    grown = replace(HIT, text=text, start_line=3, end_line=9)
    (rest,) = given_to.rest("a", [grown])
    assert rest is not None
    assert (rest.text, rest.start_line, rest.end_line) == ("- Wrote plan.md", 7, 7)
    given_to.add("a", [rest])
    assert given_to.rest("a", [grown]) == [None]
    assert given_to.rest("b", [grown]) == [grown]
    assert given_to.rest("", [grown]) == [grown]
