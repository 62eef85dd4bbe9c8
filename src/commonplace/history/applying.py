"""Several files changed as one: written down first, then each exchanged whole, carried on after a crash.

Whoever is killed leaves every file old or new, and a run that is begun. The next one that changes anything,
or asks for the record, carries it on: files that are still as they were are exchanged now; one that somebody
else has changed meanwhile is left as it is, and the run says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from commonplace import atomic, paths
from commonplace.config.settings import History
from commonplace.errors import NoteNotFound, NoteUnreadable
from commonplace.history import runs
from commonplace.types.revisions import About, Change, ChangedFile, Run, RunState

Read = Callable[[str], bytes | None]
Compose = Callable[[Read], Sequence[Change]]
LEFT = "was changed by somebody else before the run could be carried on"


class FileChanged(NoteUnreadable):
    """A file is not the one that a change was made for; nothing was written."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "was changed meanwhile, so nothing was written; try again")


def apply(
    workspace: paths.Workspace,
    changes: Sequence[Change],
    about: About,
    *,
    keep: bool = True,
    now: datetime | None = None,
    settings: History | None = None,
) -> Run | None:
    """Make changes of several files, all or none; None where there is nothing to change.

    They are exchanged in their order: let what is moved come before what it is moved out of. Without `keep`
    no bytes are kept once it is done, and it cannot be undone. Raises FileChanged where a file is not as its
    change says, OutsideRoots, NoteUnreadable, with nothing written.
    """

    def compose(read: Read) -> Sequence[Change]:
        for change in changes:
            if read(change.path) != change.before:
                raise FileChanged(change.path)
        return changes

    return rewrite(workspace, compose, about, keep=keep, now=now, settings=settings)


def rewrite(
    workspace: paths.Workspace,
    compose: Compose,
    about: About | Callable[[], About],
    *,
    keep: bool = True,
    now: datetime | None = None,
    settings: History | None = None,
) -> Run | None:
    """Read files, compose their changes and make them, all under the lock that every writer of notes takes.

    `compose` is given what reads a file (None for none) and may raise to change nothing; `about` is asked
    for after it. Returns None where nothing changes. Raises as `apply` does, and what `compose` raises.
    """
    with atomic.locked(_lock(workspace)):
        _carry_on(workspace)
        changes = [c for c in compose(lambda path: read(workspace, path)) if c.before != c.after]
        if not changes:
            return None
        for change in changes:
            paths.contain(workspace.root / change.path, [workspace.root], missing_ok=True)
        told = about if isinstance(about, About) else about()
        run = runs.begin(workspace, changes, told, now or datetime.now().astimezone(), keep=keep)
        return _finish(workspace, run, changes)


def read(workspace: paths.Workspace, path: str) -> bytes | None:
    """Return the bytes of a file of the workspace, None for none. Raises OutsideRoots, NoteUnreadable."""
    try:
        return paths.read_contained(Path(path), [workspace.root])
    except NoteNotFound:
        return None


def recover(workspace: paths.Workspace) -> list[Run]:
    """Carry on what was begun by somebody who was killed; return the runs. Raises NoteUnreadable."""
    if not any(run.state == "begun" for run in runs.listed(workspace)):
        return []
    with atomic.locked(_lock(workspace)):
        return _carry_on(workspace)


def _carry_on(workspace: paths.Workspace) -> list[Run]:
    """Finish, under the lock, every run that is begun: whoever began it is dead, or would hold the lock."""
    found = [run for run in runs.listed(workspace) if run.state == "begun"]
    return [_finish(workspace, run, None) for run in reversed(found)]


def _finish(workspace: paths.Workspace, run: Run, changes: Sequence[Change] | None) -> Run:
    """Exchange the files of a run that are not exchanged yet, and write down that it is done."""
    files: list[ChangedFile] = []
    for place, file in enumerate(run.files):
        if changes is None:
            before = read(workspace, file.path)
            same = runs.digest(before) in (file.before, file.after)
            after = runs.content(workspace, run, place, "after") if same else None
        else:
            before, after = changes[place].before, changes[place].after
            same = True
        done = same and atomic.exchange(workspace.root / file.path, before, after, lock=_lock(workspace))
        files.append(file if done else replace(file, left=LEFT))
    state: RunState = "partial" if any(file.left for file in files) else "done"
    done_run = replace(run, files=tuple(files), state=state)
    runs.save(workspace, done_run)
    return done_run


def _lock(workspace: paths.Workspace) -> Path:
    return paths.lock_file(workspace, "notes")
