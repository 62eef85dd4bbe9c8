"""Atomic changes of several files: recorded first, then each file replaced whole, recovered after a crash.

A killed process leaves every file old or new, and a run in state `begun`. The next command that changes a
note, or reads the record, carries it on: it replaces the files that are still as before; a file that was
changed meanwhile stays as it is, and the run records that.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from posixpath import dirname

from commonplace.base import locks, paths
from commonplace.base.errors import CommonplaceError, NoteUnreadable, OutsideRoots, PreviewOutdated
from commonplace.base.messages import message
from commonplace.config.settings import History
from commonplace.storage import diffs, files, journal, writes
from commonplace.storage.journal import Read as Read
from commonplace.storage.journal import contain
from commonplace.storage.journal import read as read
from commonplace.types.changes import About, Change, ChangedFile, Run, RunState

Compose = Callable[[Read], Sequence[Change]]
_ENTRIES = 100  # changes of single entries that are kept
# Also for a path that meanwhile leads outside, is hidden or is no regular file.
LEFT = "was changed by somebody else before the run could be carried on"
DAMAGED = "was left as it is: what was to be written is damaged"


class FileChanged(NoteUnreadable):
    """A file differs from the `before` of its change; the run was not made."""

    def __init__(self, path: str) -> None:
        changed = "was changed meanwhile, so nothing was written; try again"
        super().__init__(path, message("note.changed", changed))


def note_entry(workspace: paths.Workspace, change: Change, about: About, now: datetime) -> str:
    """Record an entry that was written to its note; return the run's id, empty if that fails.

    The sides of the change are only the lines around the entry; an undo finds them in the note.
    """
    try:
        with locks.locked(_lock(workspace)):
            journal.prune_kind(workspace, about.kind, _ENTRIES - 1)
            return journal.begin(workspace, [change], about, now, keep=True, state="done").id
    except CommonplaceError:
        return ""


def rewrite(
    workspace: paths.Workspace,
    compose: Compose,
    about: About | Callable[[], About],
    *,
    keep: bool = True,
    now: datetime | None = None,
    settings: History | None = None,
    shown: str = "",
    dry_run: bool = False,
    empty: bool = False,
) -> Run | None:
    """Compose changes of several files and apply them as one run, under the lock of notes.

    `compose` gets a function that reads a file (None: no file) and may raise to cancel; a callable `about`
    is called after it. Composing runs without the lock; if a file that it read has changed meanwhile, it runs
    again under the lock. Files are replaced in order: put the target of a move before its source.

    keep: store the old bytes, for undo. settings: commit the run if they say so and the workspace is in a git
    repository, and remove old runs. shown: digest (`diffs.digest`) of the preview. dry_run: only compose.
    empty: record a run without files (for changes elsewhere).

    Return None with `dry_run`, and without `empty` if no file changes. Raises the errors of `compose`,
    PreviewOutdated if the changes differ from the preview, FileChanged if a file differs from its `before`,
    AccessDenied, OutsideRoots, NoteUnreadable; files written by then are restored. Where that fails, as on a
    full disk, the run is carried on later.
    """
    if dry_run:
        compose(lambda path: read(workspace, path))
        return None
    workspace.check_writable()
    now = now or datetime.now().astimezone()
    recover(workspace)
    seen: dict[str, bytes | None] = {}

    def noted(path: str) -> bytes | None:
        if path not in seen:
            seen[path] = read(workspace, path)
        return seen[path]

    changes = _composed(compose, noted, shown)
    if not changes and not empty:
        return None
    with locks.locked(_lock(workspace)):
        _carry_on(workspace)
        if any(read(workspace, path) != data for path, data in seen.items()):
            changes = _composed(compose, lambda path: read(workspace, path), shown)
            if not changes and not empty:
                return None
        run = _make(workspace, changes, about, keep, now, settings)
    if run.uncommitted != journal.WAITING:
        return run
    from commonplace.storage import committing

    return committing.commit(workspace, run)


def _composed(compose: Compose, read: Read, shown: str) -> list[Change]:
    """Compose the effective changes. Raises PreviewOutdated if their digest is not `shown`."""
    changes = [change for change in compose(read) if change.before != change.after]
    if shown and diffs.digest(changes) != shown:
        raise PreviewOutdated([change.path for change in changes])
    return changes


def _make(
    workspace: paths.Workspace,
    changes: Sequence[Change],
    about: About | Callable[[], About],
    keep: bool,
    now: datetime,
    settings: History | None,
) -> Run:
    """Record a run and make its changes, or restore the files; the caller holds the lock."""
    with_modes = list(_with_modes(workspace, changes))
    from commonplace.redaction.redact import public

    about = about if isinstance(about, About) else about()
    why, agent, session = (public(text).strip() for text in (about.why, about.agent, about.session))
    title = " ".join(public(about.title).split())
    about = replace(about, title=title, why=why, agent=agent, session=session)
    waiting = journal.WAITING if changes and settings is not None and settings.git == "auto" else ""
    run = journal.begin(workspace, with_modes, about, now, keep=keep, uncommitted=waiting)
    try:
        for change in with_modes:
            if not _exchange(workspace, change, about):
                raise FileChanged(change.path)
        run = _close(workspace, run, run.files)
    except (CommonplaceError, OSError, KeyboardInterrupt):
        # If the restore fails, the run stays begun, and the next command carries it on.
        with suppress(CommonplaceError, OSError):
            for change in reversed(with_modes):
                _exchange(workspace, Change(change.path, change.after, change.before, change.mode))
            journal.remove(workspace, run.id)
        raise
    if settings is not None:
        journal.prune(workspace, settings.keep_mb)
    return run


def _with_modes(workspace: paths.Workspace, changes: Sequence[Change]) -> Iterator[Change]:
    """Yield changes with the modes of existing files. Raises NoteUnreadable for one file by two paths."""
    seen: dict[Path, str] = {}
    for change in changes:
        if (same := seen.setdefault(contain(workspace, change.path), change.path)) != change.path:
            reason = f"is the same file as {paths.shown(same)}, so nothing was written"
            raise NoteUnreadable(paths.shown(change.path), reason)
        mode = change.mode
        if change.before is not None:
            with suppress(OSError):  # missing: the exchange fails on it
                mode = stat.S_IMODE(os.stat(workspace.root / change.path).st_mode)
        yield replace(change, mode=mode)


def recover(workspace: paths.Workspace) -> list[Run]:
    """Carry on the runs that a killed process left begun; return them. Raises NoteUnreadable."""
    if not journal.unfinished(workspace):
        return []
    with locks.locked(_lock(workspace)):
        return _carry_on(workspace)


def warnings(workspace: paths.Workspace) -> list[str]:
    """Resume interrupted runs; return a sentence for each skipped file, or for the error."""
    try:
        left = [(run, file) for run in recover(workspace) for file in run.files if file.left]
    except CommonplaceError as error:
        return [f"a generated change could not be carried on: {error}"]
    return [f"{file.path} {file.left} ({run.about.title}, {run.id})" for run, file in left]


def drop_empty_folders(workspace: paths.Workspace, gone: Iterable[str]) -> None:
    """Remove the empty folders of deleted files, and empty parents; `paths.MEMORY_FOLDER` stays."""
    for folder in {dirname(path) for path in gone}:
        while folder not in ("", paths.MEMORY_FOLDER):
            try:
                workspace.files.rmdir(folder)
            except OSError:  # not empty
                break
            folder = dirname(folder)


def _exchange(workspace: paths.Workspace, change: Change, about: About | None = None) -> bool:
    writer = (about.by, about.agent) if about else ()
    return files.exchange(
        workspace.root / change.path, change.before, change.after, mode=change.mode, lock=_lock(workspace),
        within=workspace.root, guard=writes.guard(workspace, change.path, *writer),
    )  # fmt: skip


def _carry_on(workspace: paths.Workspace) -> list[Run]:
    """Finish every begun run, under the lock: its process is dead, or it would hold the lock."""
    done = []
    for run in journal.unfinished(workspace):
        files = [replace(file, left=_resume_file(workspace, run, n)) for n, file in enumerate(run.files)]
        done.append(_close(workspace, run, files))
    return done


def _resume_file(workspace: paths.Workspace, run: Run, place: int) -> str:
    """Write a file of a begun run if it is still as before; return why it was left, or an empty text.

    Raises NoteUnreadable for temporary obstacles: a full disk, a file that is not writable.
    """
    file = run.files[place]
    try:
        now = read(workspace, file.path)
    except OutsideRoots:
        return LEFT
    digest = journal.digest(now)
    if digest in (file.before, file.after):
        try:
            after = now if digest == file.after else journal.content(workspace, run, place, "after")
        except NoteUnreadable:
            return DAMAGED
        if _exchange(workspace, Change(file.path, now, after, file.mode), run.about):
            return ""
    files.clear(workspace.root / file.path, lock=_lock(workspace), within=workspace.root)
    return LEFT


def _close(workspace: paths.Workspace, run: Run, files: Sequence[ChangedFile]) -> Run:
    """Record that a run is done or partial."""
    state: RunState = "partial" if any(file.left for file in files) else "done"
    made = replace(run, files=tuple(files), state=state)
    journal.put(workspace, made)
    return made


def _lock(workspace: paths.Workspace) -> Path:
    return paths.lock_file(workspace, "notes")
