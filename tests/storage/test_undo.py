"""Runs taken back: exactly, in any company, or refused with the reason and nothing changed."""

from __future__ import annotations

import random
import shutil
import stat
import tempfile
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.base import paths
from commonplace.config.settings import History
from commonplace.storage import journal, transaction, undo
from commonplace.types.changes import About, Change, Run
from tests import applying
from tests.storage.conftest import ABOUT, Changing

FILES = ("MEMORY.md", "memory/archive.md", "memory/2026-02-13.md")


def applied(workspace: paths.Workspace, *changes: Change, **named: object) -> Run:
    run = applying.apply(workspace, changes, ABOUT, **named)  # type: ignore[arg-type]
    assert run is not None
    return run


def state(workspace: paths.Workspace) -> dict[str, bytes | None]:
    return {path: transaction.read(workspace, path) for path in FILES}


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("kind", [0o644, 0o664, 0o600, 0o440])
def test_a_note_that_is_brought_back_has_its_permissions_again(
    workspace: paths.Workspace, change: Changing, kind: int
) -> None:
    note = workspace.memory_file
    note.chmod(kind)
    applied(workspace, change("MEMORY.md", None), change("memory/archive.md", b"- one\n"))
    assert mode(workspace.root / "memory/archive.md") == 0o600
    undo.undo(workspace)
    assert mode(note) == kind
    (again,) = undo.undo(workspace, journal.names(workspace)[-1])  # which deletes it again
    assert not note.exists()
    undo.undo(workspace, again.id)
    assert mode(note) == kind


def test_an_overlap_refuses_and_names_what_to_undo_first(
    workspace: paths.Workspace, change: Changing
) -> None:
    first = applied(
        workspace, change("memory/archive.md", b"- one\n"), change("MEMORY.md", b"# Memory\n\n- two\n")
    )
    second = applied(workspace, change("MEMORY.md", b"# Memory\n\n- three\n"))
    before = state(workspace)
    with pytest.raises(undo.NotUndone) as refused:
        undo.undo(workspace, first.id)
    assert (
        f"MEMORY.md was changed since: line 3, where it had changed something; undo {second.id} first"
        in str(refused.value)
    )
    assert state(workspace) == before
    taken = undo.undo(workspace, first.id, since=True)
    assert [run.about.undoes for run in taken] == [second.id, first.id]
    assert state(workspace) == {"MEMORY.md": b"# Memory\n\n- one\n", FILES[1]: None, FILES[2]: None}


def test_lines_that_somebody_edited_by_hand_are_named(workspace: paths.Workspace, change: Changing) -> None:
    before = b"# Memory\n\n- one\n- two\n- three\n- four\n- five\n- six\n"
    workspace.memory_file.write_bytes(before)
    run = applied(
        workspace,
        change("MEMORY.md", before.replace(b"one", b"1").replace(b"three", b"3").replace(b"five", b"5")),
    )
    by_hand = (("1", "uno", "line 3"), ("3\n", "3!\n- x\n", "lines 5 to 6"), ("- 5\n", "", "before line 7"))
    for written, instead, named in by_hand:
        edited = workspace.memory_file.read_text().replace(written, instead)
        workspace.memory_file.write_text(edited)
        with pytest.raises(undo.NotUndone) as refused:
            undo.undo(workspace)
        assert f"MEMORY.md was changed since: {named}, where it had" in str(refused.value)
        assert f"change the file itself: the log of changes shows what {run.id} changed" in str(refused.value)
        workspace.memory_file.write_text(edited.replace(instead, written) if instead else edited + written)


@pytest.mark.parametrize("edit", ["deleted", "edited"])
def test_a_file_that_it_made_and_others_changed_is_not_removed(
    workspace: paths.Workspace, change: Changing, edit: str
) -> None:
    applied(workspace, change("memory/archive.md", b"- one\n"))
    archive = workspace.memory_dir / "archive.md"
    if edit == "edited":
        archive.write_bytes(b"- one\n- two\n")
        with pytest.raises(undo.NotUndone, match=r"archive\.md was changed since, and made by it \(line 2\)"):
            undo.undo(workspace)
        assert archive.read_bytes() == b"- one\n- two\n"
    else:
        archive.unlink()
        with pytest.raises(
            undo.NotUndone, match=r"as they were before .* \(memory/archive\.md\); to take back"
        ):
            undo.undo(workspace)


def test_an_undo_of_an_undo_is_a_redo_and_can_be_undone(workspace: paths.Workspace, change: Changing) -> None:
    run = applied(workspace, change("MEMORY.md", b"new\n"))
    for _ in range(3):
        (back,) = undo.undo(workspace)
        assert (back.about.undoes, workspace.memory_file.read_bytes()) == (run.id, b"# Memory\n\n- one\n")
        with pytest.raises(undo.NothingToUndo, match=f"undone already; undoing {back.id}"):
            undo.undo(workspace)
        with pytest.raises(undo.NotUndone, match="undone already"):
            undo.undo(workspace, run.id)
        undo.undo(workspace, back.id)
        assert workspace.memory_file.read_bytes() == b"new\n"


def test_what_was_forgotten_on_purpose_is_not_undone_nor_passed_over(
    workspace: paths.Workspace, change: Changing
) -> None:
    applied(workspace, change("MEMORY.md", b"# Memory\n"))
    applied(workspace, change("MEMORY.md", b"# M\n"), keep=False)
    for name in ("", *journal.names(workspace)[:1]):
        with pytest.raises(undo.NotUndone, match=r"not kept|change the file itself"):
            undo.undo(workspace, name)
    assert workspace.memory_file.read_bytes() == b"# M\n"


def test_a_name_must_be_one_run(workspace: paths.Workspace, change: Changing) -> None:
    for data in (b"1\n", b"2\n"):
        applied(workspace, change("MEMORY.md", data))
    for name, told in (("2", "more than one"), ("19", "no such run"), ("../..", "no such run")):
        with pytest.raises(undo.NotUndone, match=told):
            undo.undo(workspace, name)


def test_old_runs_are_removed_by_a_later_one(
    workspace: paths.Workspace, change: Changing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "_MOST", 2)
    start = datetime(2026, 1, 1, 12).astimezone()
    settings = History("off")
    made = [
        applied(
            workspace, change("MEMORY.md", b"%d\n" % day), now=start + timedelta(days=day), settings=settings
        )
        for day in (0, 20, 45)
    ]
    assert journal.names(workspace) == [run.id for run in made[1:]]


def test_a_change_that_is_not_finished_is_not_removed(workspace: paths.Workspace, change: Changing) -> None:
    now = datetime(2026, 1, 1, 12).astimezone()
    begun, done, last = (applied(workspace, change("MEMORY.md", b"%d\n" % n), now=now) for n in range(3))
    journal.put(workspace, replace(begun, state="begun"))
    journal.prune(workspace, 0)
    assert journal.names(workspace) == [begun.id, last.id]
    assert done.id not in journal.names(workspace)


class Model:
    """A workspace with random runs and, if wanted, random edits of others."""

    def __init__(self, rng: random.Random, root: Path) -> None:
        self.rng, self.workspace = rng, paths.Workspace(root)
        self.count = 0

    def lines(self, path: str) -> list[bytes]:
        return (transaction.read(self.workspace, path) or b"").splitlines(keepends=True)

    def new(self) -> bytes:
        self.count += 1
        return self.rng.choice([b"\n", b"- same\n", b"- line %d\n" % self.count])

    def edited(self, path: str) -> bytes | None:
        found = self.lines(path)
        for _ in range(self.rng.randint(1, 3)):
            place = self.rng.randint(0, len(found))
            if found and self.rng.random() < 0.4:
                del found[min(place, len(found) - 1)]
            else:
                found.insert(place, self.new())
        return b"".join(found) if found or self.rng.random() < 0.5 else None

    def run(self) -> Run | None:
        chosen = self.rng.sample(FILES, self.rng.randint(1, 2))
        changes = [Change(path, transaction.read(self.workspace, path), self.edited(path)) for path in chosen]
        return applying.apply(self.workspace, changes, About("consolidate", "random"))

    def disturb(self) -> None:
        path = self.workspace.root / self.rng.choice(FILES)
        data = self.edited(path.relative_to(self.workspace.root).as_posix())
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data or b"")


@given(st.randoms(use_true_random=False))
def test_all_runs_undone_in_reverse_give_the_first_bytes(rng: random.Random) -> None:
    root = Path(tempfile.mkdtemp())
    try:
        model = Model(rng, root)
        model.disturb()
        states = [state(model.workspace)]
        for _ in range(4):
            if model.run():
                states.append(state(model.workspace))
        made = journal.names(model.workspace)
        if rng.random() < 0.5 and made:
            undo.undo(model.workspace, made[0], since=True)
        else:
            for name in reversed(made):
                assert state(model.workspace) == states.pop()
                undo.undo(model.workspace, name)
        assert state(model.workspace) == states[0]
    finally:
        shutil.rmtree(root)


@given(st.randoms(use_true_random=False))
def test_among_edits_of_others_a_run_is_taken_back_or_refused_whole(rng: random.Random) -> None:
    root = Path(tempfile.mkdtemp())
    try:
        model = Model(rng, root)
        model.disturb()
        for _ in range(3):
            model.run()
            if rng.random() < 0.6:
                model.disturb()
        for name in rng.sample(journal.names(model.workspace), len(journal.names(model.workspace))):
            before = state(model.workspace)
            try:
                (undone,) = undo.undo(model.workspace, name)
            except undo.NotUndone:
                assert state(model.workspace) == before
            else:
                undo.undo(model.workspace, undone.id)  # and again
                assert state(model.workspace) == before
    finally:
        shutil.rmtree(root)
