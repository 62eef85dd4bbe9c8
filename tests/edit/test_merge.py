"""A note that this memory writes into while an editor has it open: nothing of either change is lost."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.base import paths
from commonplace.base.errors import PreviewOutdated
from commonplace.edit import merge
from commonplace.edit.forget import selection
from commonplace.notes import writes

NOTE = "# Memory\n\n## Tea\n\n- White tea after lunch.\n- 茶在柜子里。\n\n## House\n\n- The gate is red.\n"
EDITED = NOTE.replace("White", "Green") + "- Bread on Saturdays.\n"


@pytest.fixture
def workspace(tmp_path: Path) -> paths.Workspace:
    (tmp_path / "MEMORY.md").write_text(NOTE, "utf-8")
    return paths.Workspace(tmp_path)


def wait_for(editing: merge.Editing, number: int) -> None:
    end = time.monotonic() + 60
    while len(editing._seen) < number:
        assert time.monotonic() < end
        time.sleep(0.02)


def test_what_the_editor_saved_over_goes_back_to_its_place(workspace: paths.Workspace) -> None:
    note = workspace.root / "MEMORY.md"
    with (
        Memory.open(workspace.root, overrides={"embedding.provider": "none"}) as memory,
        merge.Editing(workspace, note) as editing,
    ):
        memory.remember("Oolong in winter.", long_term=True, section="Tea")
        wait_for(editing, 1)
        memory.correct("The gate is red.", "The gate is blue.")
        wait_for(editing, 2)
        note.write_text(EDITED, "utf-8")
    found, said = editing.overwritten()
    assert found is not None
    assert said == []
    assert "+- Oolong in winter." in found.diff
    note.write_text(EDITED + "- Later.\n", "utf-8")
    with pytest.raises(PreviewOutdated):
        merge.put_back(workspace, found)
    note.write_text(EDITED, "utf-8")
    assert merge.put_back(workspace, found) == 3
    text = note.read_text("utf-8")
    assert "- Green tea after lunch.\n- 茶在柜子里。\n- Oolong in winter." in text
    assert "- Bread on Saturdays.\n" in text
    assert "- ~~The gate is red.~~" in text
    assert "- The gate is blue." in text
    assert "\n- The gate is red." not in text
    assert writes.copies(workspace) == []
    assert writes.check(workspace) == []


def test_lines_at_the_same_place_stand_below_each_other_and_in_their_section(
    workspace: paths.Workspace,
) -> None:
    note = workspace.root / "MEMORY.md"
    with (
        Memory.open(workspace.root, overrides={"embedding.provider": "none"}) as memory,
        merge.Editing(workspace, note) as editing,
    ):
        memory.remember("The lamp is new.", long_term=True, section="House")
        wait_for(editing, 1)
        note.write_text(EDITED, "utf-8")
    found, _ = editing.overwritten()
    assert found is not None
    text = found.merged.decode()
    assert text.startswith(f"{EDITED}- The lamp is new.")
    assert text.count("\n## House\n") == 1


def test_what_was_forgotten_meanwhile_does_not_come_back_with_the_buffer(workspace: paths.Workspace) -> None:
    note = workspace.root / "MEMORY.md"
    with (
        Memory.open(workspace.root, overrides={"embedding.provider": "none"}) as memory,
        merge.Editing(workspace, note) as editing,
    ):
        memory.forget(memory.forget(selection.of_reference("MEMORY.md:10"), dry_run=True))
        wait_for(editing, 1)
        note.write_text(EDITED, "utf-8")
    found, _ = editing.overwritten()
    assert found is not None
    assert "-- The gate is red." in found.diff
    assert merge.put_back(workspace, found) == 0
    assert note.read_text("utf-8") == EDITED.replace("- The gate is red.\n", "")


def test_who_read_it_again_and_who_changed_nothing_is_asked_nothing(workspace: paths.Workspace) -> None:
    note = workspace.root / "MEMORY.md"
    with (
        Memory.open(workspace.root, overrides={"embedding.provider": "none"}) as memory,
        merge.Editing(workspace, note) as editing,
    ):
        memory.remember("The lamp is new.", long_term=True, section="House")
        wait_for(editing, 1)
        note.write_text(note.read_text("utf-8").replace("White", "Green"), "utf-8")
    assert editing.overwritten() == (None, [])
    assert editing.added == 1
    with merge.Editing(workspace, note) as editing:
        pass
    assert editing.overwritten() == (None, [])


def test_what_no_look_saw_is_known_from_the_record_and_what_was_taken_out_stays_out(
    workspace: paths.Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge, "_LOOK_S", 60.0)
    note = workspace.root / "MEMORY.md"
    with Memory.open(workspace.root, overrides={"embedding.provider": "none"}) as memory:
        memory.remember("Oolong in winter.", long_term=True, section="Tea")
        with merge.Editing(workspace, note) as editing:
            note.write_text(EDITED, "utf-8")
        assert editing.overwritten() == (None, [])
        with merge.Editing(workspace, note) as editing:
            memory.remember("The lamp is new.", long_term=True, section="House")
            note.write_text(f"{EDITED}- Fish on Fridays.\n", "utf-8")
    found, _ = editing.overwritten()
    assert found is not None
    assert [copy.lines[0][:18] for copy in found.copies] == ["- The lamp is new."]
    assert merge.put_back(workspace, found) == 1
    text = note.read_text("utf-8")
    assert "- The lamp is new." in text
    assert "Oolong" not in text
    assert [copy.lines[0][:17] for copy in writes.copies(workspace)] == ["- Oolong in winte"]
