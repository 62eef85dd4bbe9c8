"""Undo of generated changes (runs): exact, or refused with a reason.

A file that is as the run left it gets its bytes from before. In a file that was changed since, only the hunks
of the run are reverted, if all of them are unchanged; later edits stay byte for byte.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import takewhile

from commonplace.base import paths, remedies
from commonplace.base.errors import CommonplaceError, NoteUnreadable, PreviewOutdated
from commonplace.base.messages import Message, message
from commonplace.base.tuples import NamedTuple
from commonplace.config.settings import History
from commonplace.storage import diffs, journal, transaction, writes
from commonplace.types.changes import About, Change, Run


class NotUndone(CommonplaceError):
    """A run cannot be undone, with the reason; its files were not changed."""

    def __init__(self, run: str, reason: str) -> None:
        super().__init__(message("undo", "{run}: {reason}", run=run or "undo", reason=reason))
        self.run = run


class NothingToUndo(NotUndone):
    """No run is left to undo; undoing `last`, the newest undo, restores the run that it undid."""

    def __init__(self, last: Run | None = None) -> None:
        reason = message("undo.nothing", "there is no generated change that could be undone")
        if last is not None:
            remedy = remedies.say("undo.run", last.id)
            reason = message("undo.all", "every generated change is undone already; {remedy}", remedy=remedy)
        super().__init__("", reason)


class Undoing(NamedTuple):
    """A run, and the changes that undo it."""

    run: Run
    changes: tuple[Change, ...]


def undo(
    workspace: paths.Workspace,
    name: str = "",
    *,
    settings: History | None = None,
    agent: str = "",
    session: str = "",
    since: bool = False,
    shown: Sequence[tuple[str, str]] | None = None,
) -> tuple[Run, ...]:
    """Undo the run whose id begins with `name`, or the newest that can be undone; return the new runs.

    With `since`, undo the later generated runs before it, newest first. Each undo is a run of its own, and
    can be undone. Raises NotUndone, NoteUnreadable, and PreviewOutdated if the plan differs from `shown`
    (its `digests`); runs undone before the error stay undone.
    """
    made: list[Run] = []
    plan = planned(workspace, name, since=since)
    if shown is not None and digests(plan) != [*shown]:
        raise PreviewOutdated([change.path for change in net([*plan])])
    for run, changes in plan:
        about = About(
            "undo", f"undo {run.about.title}", by="agent" if agent else "owner", agent=agent,
            session=session, undoes=run.id,
        )  # fmt: skip

        def compose(read: journal.Read, run: Run = run) -> list[Change]:
            return _back(workspace, run, read)

        # A write between two of several runs was not in the preview: raise PreviewOutdated.
        digest = diffs.digest(changes) if shown is not None else ""
        done = transaction.rewrite(
            workspace, compose, about, settings=settings, shown=digest, empty=not run.files
        )
        if done is not None:
            made.append(done)
            transaction.drop_empty_folders(workspace, (file.path for file in done.files if not file.after))
    return tuple(made)


def digests(plan: Sequence[Undoing]) -> list[tuple[str, str]]:
    """Return the id of each run in a plan, with the digest of the changes that undo it."""
    return [(undoing.run.id, diffs.digest(undoing.changes)) for undoing in plan]


def planned(workspace: paths.Workspace, name: str = "", *, since: bool = False) -> tuple[Undoing, ...]:
    """Return the runs that `undo` would undo, in order, with their changes.

    Only begun runs are carried on; no other file changes. Raises NotUndone, NoteUnreadable.
    """
    transaction.recover(workspace)
    run = find(workspace, name)
    files: dict[str, bytes | None] = {}

    def read(path: str) -> bytes | None:
        return files[path] if path in files else journal.read(workspace, path)

    undoings = []
    for later in _since(workspace, run) if since else [run]:
        changes = _back(workspace, later, read)
        files.update((change.path, change.after) for change in changes)
        undoings.append(Undoing(later, tuple(changes)))
    if run.files and not any(undoing.changes for undoing in undoings):
        same = "its files are as they were before it, so nothing is left to take back ({files}); {older}"
        files_of = tuple(file.path for file in run.files)
        raise NotUndone(run.id, message("undo.same", same, files=files_of, older=_older()))
    return tuple(undoings)


def net(undoings: Sequence[Undoing]) -> list[Change]:
    """Return the changes of several undos, merged into one change a file."""
    total: dict[str, Change] = {}
    for change in (change for undoing in undoings for change in undoing.changes):
        before = total[change.path].before if change.path in total else change.before
        total[change.path] = Change(change.path, before, change.after, change.mode)
    return [change for change in total.values() if change.before != change.after]


def find(workspace: paths.Workspace, name: str = "") -> Run:
    """Return the run whose id begins with `name`; for an empty name, the newest that can be undone.

    If no run can be undone, return the newest that is not; its undo raises the reason. Raises NotUndone.
    """
    if not name:
        return _newest(workspace)
    names = [candidate for candidate in journal.names(workspace) if candidate.startswith(name)]
    if len(names) != 1:
        reason = message("undo.unknown", "no such run; {log}", log=remedies.say("log"))
        if names:
            several = "more than one run begins so: {runs}; {log}"
            reason = message("undo.several", several, runs=tuple(names[:3]), log=remedies.say("log"))
        raise NotUndone(name, reason)
    if (named := journal.load(workspace, names[0])) is None:
        raise NotUndone(name, "it was just removed")
    return named


def _newest(workspace: paths.Workspace) -> Run:
    last = passed = None
    for run in (run for run in journal.newest_first(workspace) if not run.undone):
        if run.about.kind == "undo":
            last = last or run
        elif _lacks(workspace, run) is None or _is_overwritten(workspace, run):
            return run
        passed = passed or (run if run.about.kind != "undo" else None)
    if passed is not None:
        return passed  # its undo raises the reason
    raise NothingToUndo(last)


def _lacks(workspace: paths.Workspace, run: Run) -> Message | None:
    """Return the reason why a run cannot be undone, whether or not later runs are; None if it may be."""
    if not run.kept:
        return message("undo.not_kept", "a forgetting cannot be undone")
    now = (
        file.left or journal.digest(journal.read(workspace, file.path)) == file.before for file in run.files
    )
    if run.files and all(now):
        return message("undo.as_before", "its files are as they were before it")
    if run.about.kind == "remember":
        try:
            _back(workspace, run, lambda path: journal.read(workspace, path))
        except NotUndone:
            return message("undo.edited", "the entry was edited or moved since")
    return None


def _is_overwritten(workspace: paths.Workspace, run: Run) -> bool:
    """Tell whether another program overwrote the entry of a run, and a kept version still has it."""
    if run.about.kind != "remember" or not run.kept or not run.files:
        return False
    from commonplace.storage import overwritten

    writes.update(workspace, {})
    path = run.files[0].path
    before, after = (journal.content(workspace, run, 0, side) or b"" for side in ("before", "after"))
    now = Counter(writes.texts(journal.read(workspace, path) or b""))
    entry = Counter(writes.texts(after)) - Counter(writes.texts(before)) - now
    for copy in overwritten.copies(workspace):
        whole = Counter(copy.lines())
        if copy.note == path and entry and entry <= whole:
            added = now - Counter(writes.texts(copy.content))
            return not any(diffs.is_edited(text, added) for text in entry)
    return False


def skipped(workspace: paths.Workspace, run: Run) -> Iterator[Message]:
    """Yield a message for each later run that cannot be undone, newest first, with the reason."""
    for later in _later(workspace, run):
        if not later.undone and later.about.kind != "undo" and (why := _lacks(workspace, later)):
            passed = "{run} ({title}) was passed over: {why}"
            yield message("undo.skipped", passed, run=later.id, title=later.about.title, why=why)


def _later(workspace: paths.Workspace, run: Run) -> Iterator[Run]:
    return takewhile(lambda later: later.id > run.id, journal.newest_first(workspace))


def _since(workspace: paths.Workspace, run: Run) -> list[Run]:
    """Return a run and the later generated runs that are not undone, newest first.

    An undo of a run in this range is left out, since both together have no effect; and entries (`remember`),
    which were not generated.
    """
    return [
        *(
            later for later in _later(workspace, run)
            if not (later.undone or later.about.undoes >= run.id or later.about.kind == "remember")
        ),
        run,
    ]  # fmt: skip


def _back(workspace: paths.Workspace, run: Run, read: journal.Read) -> list[Change]:
    """Return the changes that undo a run, last file first. Raises NotUndone, NoteUnreadable."""
    if run.undone:
        raise NotUndone(run.id, message("undo.done", "it is undone already, by {by}", by=run.undone))
    if not run.kept:
        gone = "a forgetting cannot be undone, since what it removed is not kept; {older}"
        raise NotUndone(run.id, message("undo.forgetting", gone, older=_older()))
    if run.state == "begun":
        raise NotUndone(run.id, message("undo.begun", "it is being made now; try again"))
    changes = []
    for place, file in reversed([*enumerate(run.files)]):
        if not file.left:
            now = read(file.path)
            back = _taken_back(workspace, run, place, now)
            if back != now:
                changes.append(Change(file.path, now, back, file.mode))
    return changes


def _taken_back(workspace: paths.Workspace, run: Run, place: int, now: bytes | None) -> bytes | None:
    """Return the bytes of one file after the undo of a run; None: no file. Raises NotUndone."""
    file = run.files[place]
    digest = journal.digest(now)
    if _is_overwritten(workspace, run):
        lost = "another program saved {path} without its entry; {remedy}; {older}"
        remedy = remedies.say("restore", file.path, "it")
        raise NotUndone(
            run.id, message("undo.overwritten", lost, path=file.path, remedy=remedy, older=_older())
        )
    if digest == file.before:
        return now
    try:
        before = journal.content(workspace, run, place, "before")
        if digest == file.after:
            return before
        after = journal.content(workspace, run, place, "after")
    except NoteUnreadable as error:
        raise NotUndone(run.id, f"what is kept of {file.path} cannot be used ({error})") from error
    if now is None:
        how = message("undo.deleted", "was deleted since")
    elif after is None:
        how = message("undo.anew", "was deleted by it, and made anew since")
    elif before is None:
        since = diffs.hunks(diffs.split(after), diffs.split(now))
        how = message("undo.made", "was changed since, and made by it ({lines})", lines=diffs.lines(since))
    else:
        try:
            return diffs.revert(before, after, now)
        except diffs.Overlap as error:
            how = message("undo.changed", "was changed since: {what}", what=str(error))
    advice = _advice(workspace, run, file.path)
    reason = message("undo.file", "{path} {how}; {advice}", path=file.path, how=how, advice=advice)
    raise NotUndone(run.id, reason)


def _older() -> Message:
    return message("undo.older", "to take back an older change, name it: {log}", log=remedies.say("log"))


def _advice(workspace: paths.Workspace, run: Run, path: str) -> Message:
    """Return the advice to undo the later runs that changed a file, or to edit the file by hand."""
    since = _since(workspace, run)[:-1]
    later = [one for one in since if any(file.path == path and not file.left for file in one.files)]
    if not all(run.kept for run in later) or not later:
        return message("undo.by_hand", "change the file itself: {log}", log=remedies.say("log.run", run.id))
    more = " and {more} more" if len(later) > 3 else ""
    first = f"undo {{runs}}{more} first, or all of them with --since"
    runs_of = tuple(run.id for run in later[:3])
    return message("undo.first", first, runs=runs_of, more=max(0, len(later) - 3))
