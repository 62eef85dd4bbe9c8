"""A generated change taken back: exactly, or not at all with the reason.

A file that is as the run left it gets the bytes from before. Of one that was changed since, only what the run
changed is taken back, if all of it still stands; everything later stays byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from commonplace.base import locks, paths, remedies
from commonplace.base.errors import CommonplaceError, NoteUnreadable, PreviewOutdated
from commonplace.base.messages import Message, message
from commonplace.base.tuples import NamedTuple
from commonplace.changes import transaction
from commonplace.config.settings import History
from commonplace.notes import writes
from commonplace.storage import diffs, journal
from commonplace.types.changes import About, Change, ChangedFile, Run


class NotUndone(CommonplaceError):
    """A run cannot be taken back, and why; nothing was changed."""

    def __init__(self, run: str, reason: str) -> None:
        super().__init__(message("undo", "{run}: {reason}", run=run or "undo", reason=reason))
        self.run = run


class NothingToUndo(NotUndone):
    """There is no run that could be taken back; `last` is the undo that would do the last one again."""

    def __init__(self, last: Run | None = None) -> None:
        reason = message("undo.nothing", "there is no generated change that could be undone")
        if last is not None:
            remedy = remedies.say("undo.run", last.id)
            reason = message("undo.all", "every generated change is undone already; {remedy}", remedy=remedy)
        super().__init__("", reason)


class Undoing(NamedTuple):
    """A run, and the changes that would take it back."""

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
    """Take back a run by its name or the beginning of it, the newest one that stands unless it is named.

    With `since`, everything generated after it is taken back first, newest first. Each taking back is a run
    of its own, which may be undone in turn. Raises NotUndone, NoteUnreadable, with nothing changed, and
    PreviewOutdated where what was `shown` (the `digests` of a plan) was something else.
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

        # What is written between two of several was not in the preview, and ends the undo.
        digest = diffs.digest(changes) if shown is not None else ""
        done = transaction.rewrite(
            workspace, compose, about, settings=settings, shown=digest, empty=not run.files
        )
        if done is not None:
            made.append(done)
            transaction.drop_empty_folders(workspace, (file.path for file in done.files if not file.after))
    return tuple(made)


def digests(plan: Sequence[Undoing]) -> list[tuple[str, str]]:
    """Return what tells a plan from any other: of each run, what taking it back changes."""
    return [(undoing.run.id, diffs.digest(undoing.changes)) for undoing in plan]


def planned(workspace: paths.Workspace, name: str = "", *, since: bool = False) -> tuple[Undoing, ...]:
    """Return what `undo` would take back, in its order, with the changes.

    Nothing is changed but what was begun. Raises NotUndone, NoteUnreadable.
    """
    transaction.recover(workspace)
    try:
        return _planned(workspace, name, since=since)
    except NothingToUndo:
        raise
    except (NotUndone, NoteUnreadable):
        # The record may be changing: a forgetting puts new hashes, then new bytes, under this lock.
        with locks.locked(paths.lock_file(workspace, "notes")):
            return _planned(workspace, name, since=since)


def _planned(workspace: paths.Workspace, name: str, *, since: bool) -> tuple[Undoing, ...]:
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
    """Return several takings back as one change of each file."""
    total: dict[str, Change] = {}
    for change in (change for undoing in undoings for change in undoing.changes):
        before = total[change.path].before if change.path in total else change.before
        total[change.path] = Change(change.path, before, change.after, change.mode)
    return [change for change in total.values() if change.before != change.after]


def find(workspace: paths.Workspace, name: str = "") -> Run:
    """Return a run by the beginning of its name; for none, the newest that stands and can be undone.

    Raises NotUndone.
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
        return passed  # which raises its reason
    raise NothingToUndo(last)


def _lacks(workspace: paths.Workspace, run: Run) -> Message | None:
    """Why a run has nothing that could be taken back, whatever becomes of other runs; None where it has."""
    if not run.kept:
        return message("undo.not_kept", "a forgetting cannot be undone")
    if run.files and all(_is_as_before(workspace, file) for file in run.files):
        return message("undo.as_before", "its files are as they were before it")
    if run.about.kind == "remember":
        try:
            _back(workspace, run, lambda path: journal.read(workspace, path))
        except NotUndone:
            return message("undo.edited", "the entry was edited or moved since")
    return None


def _is_overwritten(workspace: paths.Workspace, run: Run) -> bool:
    """Tell whether another program overwrote the entry of a run, and a copy that has it is kept."""
    if run.about.kind != "remember" or not run.kept or not run.files:
        return False
    from commonplace.changes import overwritten

    path = run.files[0].path
    before, after = (journal.content(workspace, run, 0, side) or b"" for side in ("before", "after"))
    entry = writes.said(after) - writes.said(before)
    now = writes.said(journal.read(workspace, path) or b"")
    kept = [copy.ours for copy in overwritten.copies(workspace) if copy.note == path]
    versions = [*kept, writes.guard(workspace, path).standing() or b""]
    whole = [one for one in map(writes.said, versions) if not entry - (one - now)]
    return bool(entry) and any(not any(writes.is_edited(text, now - one) for text in entry) for one in whole)


def _is_as_before(workspace: paths.Workspace, file: ChangedFile) -> bool:
    return bool(file.left) or journal.digest(journal.read(workspace, file.path)) == file.before


def skipped(workspace: paths.Workspace, run: Run) -> Iterator[Message]:
    """Name the runs after a run that stand and cannot be undone, newest first, with the reason."""
    for later in journal.newest_first(workspace):
        if later.id <= run.id:
            break
        if not later.undone and later.about.kind != "undo" and (why := _lacks(workspace, later)):
            passed = "{run} ({title}) was passed over: {why}"
            yield message("undo.skipped", passed, run=later.id, title=later.about.title, why=why)


def _since(workspace: paths.Workspace, run: Run) -> list[Run]:
    """A run and all that stands of those after it, newest first."""
    standing = []
    for later in journal.newest_first(workspace):
        if later.id <= run.id:
            break
        # One that takes back another of these has no part in it: both together changed nothing. Entries
        # that somebody wrote were not generated.
        if not (later.undone or later.about.undoes >= run.id or later.about.kind == "remember"):
            standing.append(later)
    return [*standing, run]


def _back(workspace: paths.Workspace, run: Run, read: journal.Read) -> list[Change]:
    """The changes that take a run back, in the opposite order. Raises NotUndone, NoteUnreadable."""
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
    """What becomes of one file of a run. Raises NotUndone."""
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
    """Which later runs changed a file as well and would have to be undone first."""

    def changed_it(later: Run) -> bool:
        return any(file.path == path and not file.left for file in later.files)

    later = list(filter(changed_it, _since(workspace, run)[:-1]))
    if not later:
        log = remedies.say("log.run", run.id)
        return message("undo.by_hand", "change the file itself: {log}", log=log)
    if gone := [run.id for run in later if not run.kept]:
        lost = "what {run} forgot there cannot be brought back, so change the file itself"
        return message("undo.lost", lost, run=gone[0])
    more = " and {more} more" if len(later) > 3 else ""
    first = f"undo {{runs}}{more} first, or all of them with --since"
    runs_of = tuple(run.id for run in later[:3])
    return message("undo.first", first, runs=runs_of, more=max(0, len(later) - 3))
