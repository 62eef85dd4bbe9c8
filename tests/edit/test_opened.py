"""A note that this memory writes into while an editor has it open: nothing of either change is lost."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.base import paths
from commonplace.base.errors import NoteUnreadable, PreviewOutdated
from commonplace.edit.forget import selection
from commonplace.edit.opened import Editing
from commonplace.storage import overwritten
from commonplace.types.changes import Selection

NOTE = "# Memory\n\n## Tea\n\n- White tea after lunch.\n- 茶在柜子里。\n\n## House\n\n- The gate is red.\n"
EDITED = NOTE.replace("White", "Green") + "- Bread on Saturdays.\n"


@pytest.fixture
def workspace(tmp_path: Path) -> paths.Workspace:
    (tmp_path / "MEMORY.md").write_text(NOTE, "utf-8")
    return paths.Workspace(tmp_path)


def opened(workspace: paths.Workspace) -> Memory:
    return Memory.open(workspace.root, overrides={"embedding.provider": "none"})


def test_what_the_editor_saved_over_goes_back_to_its_place(workspace: paths.Workspace) -> None:
    note = workspace.root / "MEMORY.md"
    with (
        opened(workspace) as memory,
        Editing(workspace, note) as editing,
    ):
        memory.remember("Oolong in winter.", long_term=True, section="Tea")
        memory.correct("The gate is red.", "The gate is blue.")
        note.write_text(EDITED, "utf-8")
        found, said = editing.overwritten()
        assert found is not None
        assert said == []
        assert "+- Oolong in winter." in found.diff
        note.write_text(EDITED + "- Later.\n", "utf-8")
        with pytest.raises(PreviewOutdated):
            editing.put_back(found)
        note.write_text(EDITED, "utf-8")
        assert editing.put_back(found) == 3
        text = note.read_text("utf-8")
        assert "- Green tea after lunch.\n- 茶在柜子里。\n- Oolong in winter." in text
        assert "- Bread on Saturdays.\n" in text
        assert "- ~~The gate is red.~~" in text
        assert "- The gate is blue." in text
        assert "\n- The gate is red." not in text
        assert overwritten.copies(workspace) == []
        assert overwritten.check(workspace) == []


def test_lines_at_the_same_place_stand_below_each_other_and_in_their_section(
    workspace: paths.Workspace,
) -> None:
    note = workspace.root / "MEMORY.md"
    with (
        opened(workspace) as memory,
        Editing(workspace, note) as editing,
    ):
        memory.remember("The lamp is new.", long_term=True, section="House")
        note.write_text(EDITED, "utf-8")
        found, _ = editing.overwritten()
        assert found is not None
        text = found.merged.decode()
        assert text.startswith(f"{EDITED}- The lamp is new.")
        assert text.count("\n## House\n") == 1


def test_what_was_forgotten_meanwhile_does_not_come_back_with_the_buffer(workspace: paths.Workspace) -> None:
    note = workspace.root / "MEMORY.md"
    with (
        opened(workspace) as memory,
        Editing(workspace, note) as editing,
    ):
        memory.forget(memory.forget(selection.of_reference("MEMORY.md:10"), dry_run=True))
        note.write_text(EDITED, "utf-8")
        found, _ = editing.overwritten()
        assert found is not None
        assert "-- The gate is red." in found.diff
        assert editing.put_back(found) == 0
        assert note.read_text("utf-8") == EDITED.replace("- The gate is red.\n", "")


def test_who_read_it_again_and_who_changed_nothing_is_asked_nothing(workspace: paths.Workspace) -> None:
    note = workspace.root / "MEMORY.md"
    with (
        opened(workspace) as memory,
        Editing(workspace, note) as editing,
    ):
        memory.remember("The lamp is new.", long_term=True, section="House")
        note.write_text(note.read_text("utf-8").replace("White", "Green"), "utf-8")
        assert editing.overwritten() == (None, [])
    with Editing(workspace, note) as editing:
        assert editing.overwritten() == (None, [])


def test_what_no_look_saw_is_known_from_the_record_and_what_was_taken_out_stays_out(
    workspace: paths.Workspace,
) -> None:
    note = workspace.root / "MEMORY.md"
    with opened(workspace) as memory:
        memory.remember("Oolong in winter.", long_term=True, section="Tea")
        with Editing(workspace, note) as editing:
            note.write_text(EDITED, "utf-8")
            assert editing.overwritten() == (None, [])
        with Editing(workspace, note) as editing:
            memory.remember("The lamp is new.", long_term=True, section="House")
            note.write_text(f"{EDITED}- Fish on Fridays.\n", "utf-8")
            found, _ = editing.overwritten()
            assert found is not None
            assert [copy.lines()[0][:18] for copy in found.copies] == ["- The lamp is new."]
            assert editing.put_back(found) == 1
    text = note.read_text("utf-8")
    assert "- The lamp is new." in text
    assert "Oolong" not in text
    assert overwritten.copies(workspace) == []


def test_what_is_forgotten_after_it_was_saved_over_is_not_offered_and_leaves_no_word(
    workspace: paths.Workspace,
) -> None:
    note, text = workspace.root / "MEMORY.md", partial(Selection, "text")
    with opened(workspace) as memory, Editing(workspace, note) as editing:
        memory.remember("Oolong in winter.", long_term=True, section="Tea")
        memory.remember("Kumquats in a jar.", long_term=True, section="House")
        note.write_text(EDITED, "utf-8")
        shown = memory.forget(text("Kumquats in a jar"), dry_run=True)
        assert any(place.where == "copies" for place in shown.places)
        done = memory.forget(shown)
        assert not done.left
        assert "Kumquats" not in held(workspace)
        found, _ = editing.overwritten()
        assert found is not None
        assert "Kumquats" not in found.diff + repr(vars(editing))
        assert [copy.lines()[0][:18] for copy in found.copies] == ["- Oolong in winter"]
        memory.forget(memory.forget(text("Oolong in winter"), dry_run=True))  # while somebody is asked
        with pytest.raises(PreviewOutdated):
            editing.put_back(found)
        assert editing.overwritten() == (None, [])
        memory.forget(memory.forget(text("The gate is red"), dry_run=True))  # the editor still has it
        note.write_text(EDITED.replace("\n", "\r\n"), "utf-8", newline="")
        found, _ = editing.overwritten()
        assert found is not None
        assert [line for line in found.diff.splitlines() if line[:1] in "+-"][2:] == ["-- The gate is red."]


def held(workspace: paths.Workspace) -> str:
    """All that the files of a workspace and of its state say, but for databases."""
    every = [*workspace.root.rglob("*"), *workspace.state.rglob("*")]
    files = (path for path in every if path.is_file() and ".sqlite" not in path.name)
    return "".join(path.read_bytes().decode("utf-8", "replace") for path in files)


def test_what_was_written_into_a_note_that_is_gone_is_offered_or_lies_in_a_copy(
    workspace: paths.Workspace,
) -> None:
    note, other = workspace.root / "MEMORY.md", workspace.root / "memory/else.md"
    with opened(workspace) as memory:
        for way in ("deleted", "moved", "link", "folder"):
            note.write_text(NOTE, "utf-8")
            with Editing(workspace, note) as editing:
                memory.remember("Oolong in winter.", long_term=True, section="Tea")
                if way == "moved":
                    other.parent.mkdir(exist_ok=True)
                    note.rename(other)
                else:
                    note.unlink()
                if way == "link":
                    note.symlink_to(workspace.root / "memory/new.md")
                    other.write_text(NOTE, "utf-8")
                elif way == "folder":
                    note.mkdir()
                found, said = editing.overwritten()
                assert isinstance(editing.trouble, NoteUnreadable)
                assert editing.after is None
                copied = [copy for copy in overwritten.copies(workspace) if "Oolong" in copy.lines()[0]]
                if way == "deleted":
                    assert found is not None
                    assert found.merged.startswith(b"- Oolong in winter.")
                    assert found.copies == tuple(copied)
                    assert editing.put_back(found) == 1
                    assert "gate" not in note.read_text("utf-8")
                elif way == "moved":
                    assert found is not None
                    assert found.merged == b"- Oolong in winter.\n"
                else:
                    assert found is None
                    assert copied[-1].name in said[-1]
                    note.unlink() if way == "link" else note.rmdir()
                    assert overwritten.put_back(workspace, copied[-1].note, [copied[-1]]) == (1, 0)
                    assert "- Oolong in winter." in note.read_text("utf-8")


def test_what_is_saved_as_it_was_read_is_noticed_and_a_correction_is_not_doubled(
    workspace: paths.Workspace,
) -> None:
    note = workspace.root / "MEMORY.md"
    with opened(workspace) as memory, Editing(workspace, note) as editing:
        memory.correct("The gate is red.", "The gate is blue.")
        note.write_text(NOTE, "utf-8")
        found, _ = editing.overwritten()
        assert found is not None
        assert editing.before == editing.after
        note.write_text(NOTE.replace("\n", "\r\n"), "utf-8", newline="")
        found, _ = editing.overwritten()
        assert found is not None
        lines = found.merged.decode().splitlines()
        assert [line.partition(" <")[0] for line in lines if "gate" in line] == [
            "- ~~The gate is red.~~",
            "- The gate is blue.",
        ]
        assert {line for copy in found.copies for line in copy.lines()} >= set(lines[-2:])


def test_a_note_that_was_deleted_or_moved_and_is_there_again_loses_and_doubles_nothing(
    workspace: paths.Workspace,
) -> None:
    note, other = workspace.root / "MEMORY.md", workspace.root / "memory/else.md"
    other.parent.mkdir()
    with opened(workspace) as memory:
        with Editing(workspace, note) as editing:
            note.unlink()
            memory.remember("Oolong in winter.", long_term=True, section="Tea")
            note.write_text(EDITED, "utf-8")
            found, _ = editing.overwritten()
            assert found is not None
            changed = [line[:20] for line in found.diff.splitlines() if line[:1] in "+-" and line[1:].strip()]
            assert changed[2:] == ["+- Oolong in winter."]
        with Editing(workspace, note) as editing:
            memory.remember("The lamp is new.", long_term=True, section="House")
            note.rename(other)
            note.write_text(EDITED, "utf-8")
            found, _ = editing.overwritten()
            assert found is not None
        with Editing(workspace, note) as editing:
            memory.remember("Figs.", long_term=True, section="House")
            note.unlink()
            found, _ = editing.overwritten()
            assert found is not None
            assert editing.put_back(found) == 1
            assert note.read_text("utf-8").split() == ["-", "Figs."]
