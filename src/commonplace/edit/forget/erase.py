"""Forgetting, step by step: written down first, carried on after a kill, verified at the end.

The order is that of the flow of text: waiting entries, notes, transcripts, the history of
changes, derived stores. The targets lie in the state until every step is done; they go
before the byte scan, so that the scan finds them as well if they do not.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from commonplace import render
from commonplace.base import locks, paths, remedies
from commonplace.base.errors import CommonplaceError, NoteUnreadable, PreviewOutdated
from commonplace.edit.forget import journal, notes, residue, selection, stores
from commonplace.edit.forget.notes import Composed, Context
from commonplace.edit.forget.selection import Choice
from commonplace.edit.forget.targets import Targets
from commonplace.index.sqlite import forget as index
from commonplace.notes.scan import places
from commonplace.redaction.redact import strip_private
from commonplace.storage import journal as runs
from commonplace.storage import queue, state, transaction
from commonplace.transcripts.session import ENDING, FOLDER
from commonplace.types import progress
from commonplace.types.changes import About, Change, Erased, Erasure, Run, Selection, Trace, Unreachable


def forget(
    context: Context,
    what: Sequence[Selection] | Erasure,
    *,
    dry_run: bool = False,
    now: datetime | None = None,
    agent: str = "",
    session: str = "",
) -> Erasure:
    """Forget what is selected, or was previewed, after what one that was killed has left.

    See `Memory.forget`.
    """
    if dry_run:
        return preview(context, _choose(context, what))
    workspace = context.workspace
    workspace.check_writable()
    with locks.locked(paths.lock_file(workspace, "erase")):
        erased = [_carry_on(context, intent, now) for intent in journal.pending(workspace)]
        if what:
            choice = _choose(context, what)
            targets = replace(choice.targets, agent=agent, session=session)
            if targets.shown is not None:
                waiting = stores.find(context, "spool", targets)
                journal.check(context, targets, choice.composed, waiting)
            targets = replace(targets, requests=selection.requested(context, choice))
            progress.check()
            intent = journal.add(workspace, targets)
            try:
                erased.append(_erase(context, intent, targets, now, choice))
            except CommonplaceError:  # before any change
                journal.end(workspace, intent)
                raise
    return erased[0] if len(erased) == 1 else _sum(erased)


def _sum(erased: Sequence[Erasure]) -> Erasure:
    """Several erasures, the earliest first, as one."""
    last = {trace.path: trace for erasure in erased for trace in erasure.left}
    return Erasure(
        tuple(place for erasure in erased for place in erasure.places),
        tuple(dict.fromkeys(row for erasure in erased for row in erasure.unreachable)),
        tuple(last.values()),
        next((erasure.run for erasure in reversed(erased) if erasure.run), None),
    )


def _carry_on(context: Context, intent: str, now: datetime | None) -> Erasure:
    """Resume the forgetting of a killed process.

    A confirmed forgetting that has not begun is dropped if the notes have changed.
    """
    try:
        return _erase(context, intent, journal.read(context.workspace, intent), now)
    except PreviewOutdated as error:
        journal.end(context.workspace, intent)
        dropped = f"what was confirmed before ({error})"
        return Erasure((), (Unreachable(dropped, remedies.say("forget.once_more")),))


def preview(context: Context, choice: Choice) -> Erasure:
    """Return a preview; no file changes."""
    targets = replace(choice.targets, requests=selection.requested(context, choice))
    waiting = stores.find(context, "spool", targets)
    basis = journal.basis(choice.targets, [*waiting, *choice.composed.places])
    places = [*waiting, *choice.composed.shown]
    for name in ("copies", *stores.after_notes()):
        places += stores.find(context, name, targets)
    places += index.count(context, [*choice.composed.cuts, *_transcripts(places)])
    closed = [
        Unreachable(f"{path}: what it says is not known: {reason}", f"then: {remedies.say('forget.again')}")
        for path, reason in choice.unreadable.items()
    ]
    remarks = selection.remarks(choice, done=False)
    elsewhere = residue.unreachable(context, targets, was_here=bool(places))
    return Erasure(tuple(map(_shown, places)), (*closed, *remarks, *elsewhere), dry_run=True, basis=basis)


def _choose(context: Context, what: Sequence[Selection] | Erasure) -> Choice:
    if isinstance(what, Erasure):
        return selection.choose_again(context, journal.previewed(what))
    return selection.choose(context, what)


def _shown(place: Erased) -> Erased:
    """A place as it may be shown: of our records, too, without private parts and secrets."""
    if place.where == "notes" or not place.text:
        return place
    return replace(place, text=stores.Secrets().mask(strip_private(place.text)))


def _transcripts(places: Sequence[Erased]) -> list[str]:
    return list(dict.fromkeys(place.path for place in places if place.where == "transcripts"))


# --- the work ------------------------------------------------------------------------------------------


def _erase(
    context: Context, intent: str, targets: Targets, now: datetime | None, choice: Choice | None = None
) -> Erasure:
    """Do all steps; what fails keeps the intent, so that it is done again, and is reported.

    Raises PreviewOutdated, or an error that prevents the comparison, before any change.
    """
    work, remarks = _Work(context, intent, targets, now), list[Unreachable]()
    if choice is not None:
        work.staying, remarks = choice.notes, selection.remarks(choice, done=True)
    copies = stores.find(context, "copies", targets)
    work.do(work.entries_and_notes)

    def clean_copies() -> list[Erased]:
        stores.forget(context, "copies", work.targets)
        return copies  # changing the notes has made copies, too, which are no places

    work.do(clean_copies)
    for name in stores.after_notes():
        work.do(lambda name=name: stores.forget(context, name, work.targets))  # type: ignore[misc]
    work.do(work.index)
    work.do(work.vectors)
    work.do(work.record)
    if not work.troubles:
        work.do(lambda: journal.end(context.workspace, intent))
    kept = context.shown(state.path(context.workspace)) if work.troubles else ""  # holds the intent
    left = [one for one in residue.scan(context, work.targets) if one.path.removesuffix("-wal") != kept]
    was_here = bool(work.places or left)
    unreachable = [*remarks, *residue.unreachable(context, work.targets, was_here=was_here)]
    left = list(_with_remedies(context, left, unreachable, work.blocked))
    run = runs.load(context.workspace, work.run.id) if work.run else None
    return Erasure(tuple(map(_shown, work.places)), tuple(unreachable), (*work.troubles, *left), run)


class _Work:
    """One forgetting under way."""

    def __init__(self, context: Context, intent: str, targets: Targets, now: datetime | None) -> None:
        self.context, self.intent, self.targets, self.now = context, intent, targets, now
        self.staying: Mapping[str, bytes] = {}  # notes without a match, with the bytes that were read
        self.places: list[Erased] = []
        self.troubles: list[Trace] = []
        self.blocked: dict[str, str] = {}  # notes that cannot be changed, and why
        # Nothing but what a preview showed may go, unless some of it is gone already.
        self.confirmed = targets.shown is not None and not targets.known
        self.entries: Set[str] | None = None  # of the spool, those that may go
        self.run: Run | None = None

    def do(self, step: Callable[[], Sequence[Erased]]) -> None:
        """Do a step; one that fails does not keep the others from being done.

        Raises PreviewOutdated, and what fails while what was confirmed is not compared yet.
        """
        try:
            self.places += step()
        except CommonplaceError as error:
            if isinstance(error, PreviewOutdated) or (self.confirmed and not self.targets.known):
                raise
            self.troubles.append(Trace(str(error), 0, f"then: {remedies.say('forget.resume')}"))

    def entries_and_notes(self) -> list[Erased]:
        """Change the notes, then the waiting entries, under the lock of the queue."""
        with queue.hold(self.context.workspace):
            self.do(self.notes)
            self.do(lambda: stores.forget(self.context, "spool", self.targets, among=self.entries))
        return []

    def notes(self) -> list[Erased]:
        """Change the notes; one that cannot be changed does not keep the others from it."""
        root = self.context.workspace.root
        held, closed = notes.contents(self.context)
        self.blocked |= closed
        while True:
            try:
                held = {name: data for name, data in held.items() if name not in self.blocked}
                likely = [name for name, data in held.items() if self.staying.get(name) != data]
                composed = notes.compose(likely, held.get, self.targets)
                concerned = {change.path for change in composed.changes}
                concerned |= {block.path for block in self.targets.blocks}.intersection(held)
                places = self._change(sorted(concerned))
                break
            except NoteUnreadable as error:
                path = next((n for n in held if error.path in (n, paths.shown(root / n))), "")
                if not path or path in self.blocked:
                    raise
                self.blocked[path] = error.reason
        resume = f"then: {remedies.say('forget.resume')}"
        self.troubles += [
            Trace(path, 0, f"cannot be changed: {reason}; {resume}") for path, reason in self.blocked.items()
        ]
        return places

    def _change(self, names: Sequence[str]) -> list[Erased]:
        """Change some notes atomically, in one run that keeps no bytes."""
        composed = Composed([], {})

        def compose(read: transaction.Read) -> Sequence[Change]:
            nonlocal composed
            composed = notes.compose(names, read, self.targets)
            if self.confirmed:
                waiting = stores.find(self.context, "spool", self.targets)
                journal.check(self.context, self.targets, composed, waiting, self.blocked)
                self.entries = {place.text for place in waiting}
            if composed.changes:
                known = {note.before: note for note in (*self.targets.known, *composed.known)}
                self.targets = replace(self.targets, known=tuple(known.values()))
                journal.write(self.context.workspace, self.intent, self.targets)
            return composed.changes

        self.run = transaction.rewrite(
            self.context.workspace,
            compose,
            lambda: self._about(len(composed.places), "statement"),
            keep=False,
            now=self.now,
            settings=self.context.settings.history,
        )
        if self.run is None and self.targets.known:  # of a process that was killed after it changed them
            earlier = (run for run in runs.listed(self.context.workspace) if run.about.kind == "forget")
            self.run = next(earlier, None)
        return composed.shown

    def _about(self, count: int, noun: str) -> About:
        """Return agent, session and count, without the words."""
        agent, session = self.targets.agent, self.targets.session
        title = f"forget {render.count(count, noun)}"
        return About("forget", title, by="agent" if agent else "owner", agent=agent, session=session)

    def _changed(self) -> list[str]:
        return [*(note.path for note in self.targets.known), *_transcripts(self.places)]

    def index(self) -> list[Erased]:
        """Bring the index up to what is left."""
        places = index.count(self.context, self._changed())
        index.renew(self.context, self.context.open_store)
        return places

    def vectors(self) -> list[Erased]:
        """Empty the cache of vectors: the index keeps those of texts that are still there."""
        return stores.forget(self.context, "vectors", self.targets) if self.places else []

    def record(self) -> list[Erased]:
        """Make an entry in the record of changes for what changed no note."""
        if self.run is None and self.places:
            workspace, about = self.context.workspace, self._about(len(self.places), "place")
            with locks.locked(self.context.lock):
                at = self.now or datetime.now().astimezone()
                self.run = runs.begin(workspace, (), about, at, keep=False, state="done")
        return []


def _with_remedies(
    context: Context, left: Sequence[Trace], unreachable: Iterable[Unreachable], blocked: Iterable[str]
) -> Iterator[Trace]:
    """Say of what is still found what to do about it.

    Notes that are `blocked` are named already, collections and the index because of them as unreachable.
    """
    transcripts = (context.workspace.root / FOLDER).glob(f"*{ENDING}")
    own = {*context.names, *map(context.shown, transcripts)} if left else set()
    roots = [*map(os.path.realpath, places(context.sources[1:]))]
    index, named = context.shown(context.index), set(blocked)
    if any(row.what.startswith("collection ") for row in unreachable):
        named.add(index)
    holding = residue.listed(
        [path for path in dict.fromkeys((*named, *(t.path for t in left))) if path in own]
    )
    for trace in left:
        path = Path(os.path.realpath(context.workspace.root / trace.path))
        bare = trace.path.removesuffix("-wal")
        if bare in named or any(map(path.is_relative_to, roots)):
            continue
        with_notes = f"it goes with what still says it: {holding}" if holding and bare == index else ""
        yield replace(trace, remedy=trace.remedy or with_notes or _remedy(trace.path, own))


def _remedy(path: str, own: Set[str]) -> str:
    if os.path.basename(path) in ("config.toml", paths.FORMER_SETTINGS):
        return f"your settings say it: {remedies.say('config.edit')}"
    if path in own:
        return f"it was not changed, or is written again: {remedies.say('forget.again')}"
    ours = ("STATE/", "INDEX/", os.fspath(paths.user_cache_dir()))
    if path.startswith(ours):
        return f"end other programs that use it, then: {remedies.say('forget.again')}"
    return "it is no note of ours: change it there"
