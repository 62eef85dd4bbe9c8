"""What agents ask to have forgotten: kept for a week, for the owner alone, gone with what it asks for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.agent.tools import call
from commonplace.base.errors import ConfigError
from commonplace.edit.forget import journal, requests
from commonplace.edit.forget.targets import Targets
from commonplace.storage import keyvalue
from commonplace.types import Erasure, Selection


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "a.md").write_text('- Mira has the blue "vase".\n- Bo has a kiln.\n')
    with Memory.open(tmp_path, overrides={"embedding.provider": "none"}) as opened:
        yield opened


def test_what_is_asked_for_comes_back_as_it_was(memory: Memory) -> None:
    selection = Selection("person", "Mira \udc80", ("米拉",))
    preview = memory.forget(Selection("person", "Mira"), dry_run=True)
    kept = requests.keep(memory.workspace, selection, preview, agent="helper", session="s")
    (found,) = requests.listed(memory.workspace)
    assert (found.selection, found.agent, found.session) == (selection, "helper", "s")
    assert found.preview.basis == preview.basis
    assert requests.find(memory.workspace, "1") == requests.find(memory.workspace, kept.code) == found
    again = requests.keep(memory.workspace, selection, preview, agent="helper")
    assert again.code == kept.code
    requests.remove(memory.workspace, kept)
    with pytest.raises(ConfigError, match="look through those that wait"):
        requests.find(memory.workspace, kept.code)


def test_after_a_week_it_is_gone_and_so_is_one_of_a_wrong_clock(memory: Memory) -> None:
    now = datetime.now().astimezone()
    for days in (-8, -6, 8):
        requests.keep(
            memory.workspace, Selection("text", f"{days}"), Erasure(()), now=now + timedelta(days=days)
        )
    assert [one.selection.value for one in requests.listed(memory.workspace, now)] == ["-6"]
    assert len(keyvalue.each(memory.workspace, "request")) == 1


def test_one_that_came_with_the_folder_is_not_shown(memory: Memory) -> None:
    kept = requests.keep(memory.workspace, Selection("text", "Bo"), Erasure(()))
    planted = memory.workspace.derived / "requests" / "0123abcd.json"
    planted.parent.mkdir(parents=True)
    own = json.dumps(keyvalue.read(memory.workspace, "request", kept.code))
    planted.write_text(own.replace('"Bo"', '"Mira"'))
    with Memory.open(memory.workspace.root, overrides={"embedding.provider": "none"}) as opened:
        assert [one.code for one in requests.listed(opened.workspace)] == [kept.code]
        aside = memory.workspace.derived / "old" / "requests" / planted.name
        assert aside.exists()
        done = opened.forget(Selection("person", "Mira"))
        assert ".commonplace/old" in [place.path for place in done.places]
        assert (done.left, aside.parent.parent.exists()) == ((), False)


def test_what_is_no_request_is_removed(memory: Memory) -> None:
    kept = requests.keep(memory.workspace, Selection("text", "Bo"), Erasure(()))
    for number, value in enumerate(({}, {"kind": 1}, {"kind": "text", "value": "x", "also": 1})):
        keyvalue.write(memory.workspace, "request", f"1111111{number}", value)
    assert [one.code for one in requests.listed(memory.workspace)] == [kept.code]
    assert len(keyvalue.each(memory.workspace, "request")) == 1


def test_nobody_is_flooded_and_no_agent_keeps_others_out(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "MOST", 3)

    def ask(text: str, agent: str) -> None:
        requests.keep(memory.workspace, Selection("text", text), Erasure(()), agent=agent)

    for number in range(3):
        ask(f"{number}", "eager")
    with pytest.raises(ConfigError, match="3 requests of this agent wait for the owner already"):
        ask("one more", "eager")
    ask("1", "eager")
    ask("vase", "")
    ask("kiln", "helper")


def test_what_is_forgotten_otherwise_takes_the_request_along(memory: Memory) -> None:
    for what in ("vase", "kiln"):
        assert call(memory, "memory_forget", {"what": f"{what}", "kind": "text"}).data["approve"]
    done = memory.forget(Selection("text", "vase"))
    assert done.complete, done.left
    assert [place.path for place in done.places if place.where == "requests"]
    assert [one.selection.value for one in requests.listed(memory.workspace)] == ["kiln"]


BOX = "# Box\n\n- token zx81.\n- Lisbon box.\n\n## Other\n\n- Zinc Mirabel.\n"
BOX_PATH = "memory/box.md"


@pytest.mark.parametrize(("asked", "kind"), [
    (BOX_PATH, "note"), (f"{BOX_PATH}#L3", "lines"), (f"{BOX_PATH}#L3-L4", "lines"), ("zx81", "text"),
    ("Mirabel", "person"),
])  # fmt: skip
def test_a_request_goes_with_the_note_that_it_asks_for(memory: Memory, asked: str, kind: str) -> None:
    (memory.workspace.root / BOX_PATH).write_text(BOX)
    assert call(memory, "memory_forget", {"what": asked, "kind": kind}).data["approve"]
    call(memory, "memory_forget", {"what": "kiln", "kind": "text"})
    done = memory.forget(Selection("note", BOX_PATH))
    assert done.complete, done.left
    assert [one.selection.value for one in requests.listed(memory.workspace)] == ["kiln"]
    rest = b"".join(path.read_bytes() for path in memory.workspace.state.glob("state.sqlite*"))
    assert b"box" not in rest


@pytest.mark.parametrize("selection", [
    Selection("lines", f"{BOX_PATH}#L3"), Selection("lines", f"{BOX_PATH}#L3-L4"),
    Selection("text", "zx81"), Selection("text", "token"),
])  # fmt: skip
def test_a_request_goes_with_any_of_its_lines(memory: Memory, selection: Selection) -> None:
    (memory.workspace.root / BOX_PATH).write_text(BOX)
    call(memory, "memory_forget", {"what": f"{BOX_PATH}#L3", "kind": "lines"})
    call(memory, "memory_forget", {"what": f"{BOX_PATH}#L8", "kind": "lines"})
    done = memory.forget(selection)
    assert done.complete, done.left
    assert [one.selection.value for one in requests.listed(memory.workspace)] == [f"{BOX_PATH}#L8"]


def test_a_request_stays_while_another_note_says_it(memory: Memory) -> None:
    (memory.workspace.root / BOX_PATH).write_text(BOX + "- A kiln.\n")
    call(memory, "memory_forget", {"what": "kiln", "kind": "text"})
    assert memory.forget(Selection("note", BOX_PATH)).complete
    assert [one.selection.value for one in requests.listed(memory.workspace)] == ["kiln"]


def test_one_that_was_killed_takes_the_request_along(memory: Memory) -> None:
    (memory.workspace.root / BOX_PATH).write_text(BOX)
    call(memory, "memory_forget", {"what": "zx81", "kind": "text"})
    code = requests.listed(memory.workspace)[0].code
    journal.add(memory.workspace, Targets(notes=(BOX_PATH,), requests=(code,)))
    assert memory.forget([]).complete
    assert requests.listed(memory.workspace) == []
