"""Forgetting, step by step: written down first, carried on by whoever comes next, verified at the end.

The order is that of the flow of text: what waits to be written into notes, the notes, what was said, what was
there before, what was made of it. What is to be forgotten lies in `.commonplace/erasing/` until every step
is done; that file goes before the byte scan, so that the scan finds it as well if it does not.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from commonplace import atomic, paths, render
from commonplace.erasure import (
    begun,
    beyond,
    composing,
    files,
    indexed,
    previewing,
    records,
    redaction,
    scanning,
    selecting,
    stores,
)
from commonplace.erasure.composing import Composed
from commonplace.erasure.ground import Ground
from commonplace.erasure.selecting import Chosen
from commonplace.erasure.wanted import Wanted
from commonplace.errors import CommonplaceError, NoteUnreadable, PreviewOutdated
from commonplace.history import applying, runs
from commonplace.notes.redact import strip_private
from commonplace.types.erasure import Erased, Erasure, Selection, Trace, Unreachable
from commonplace.types.revisions import About, Change, Run

_LOCK = "erase"
MOST_PARTLY = 20  # statements with a part of a name alone that are told one by one
Step = Callable[..., list[Erased]]
# Each looks through one kind of store, and changes it if it is told to.
STEPS: tuple[Step, ...] = (
    files.transcripts,
    records.clean,
    stores.usage,
    stores.answers,
    files.marks,
    files.logs,
    files.leftovers,
    files.requests,
)


def forget(
    ground: Ground,
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
        return planned(ground, _chosen(ground, what))
    with atomic.locked(paths.lock_file(ground.workspace, _LOCK)):
        begun.tidy(ground.workspace)
        erased = [_carry_on(ground, path, now) for path in begun.pending(ground.workspace)]
        if what:
            chosen = _chosen(ground, what)
            told = replace(chosen.wanted, agent=agent, session=session)
            if told.shown is not None:
                waiting = files.spool(ground, told, change=False)
                previewing.check(ground, told, chosen.composed, waiting)
            told = told.with_vectors(_vector_keys(ground, chosen.composed, told))
            told = replace(told, requests=selecting.requested(ground, chosen))
            further = _of_choice(ground, chosen)
            path = begun.note(ground.workspace, told)
            try:
                erased.append(_erase(ground, path, told, now, further))
            except CommonplaceError:  # nothing is changed yet
                begun.end(path)
                raise
        begun.tidy(ground.workspace)
    return _joined(erased)


def _chosen(ground: Ground, what: Sequence[Selection] | Erasure) -> Chosen:
    if isinstance(what, Erasure):
        return selecting.choose_again(ground, previewing.read(what))
    return selecting.choose(ground, what)


def planned(ground: Ground, chosen: Chosen) -> Erasure:
    """Say what would go, and change nothing."""
    told = chosen.wanted.with_vectors(_vector_keys(ground, chosen.composed, chosen.wanted))
    told = replace(told, requests=selecting.requested(ground, chosen))
    waiting = files.spool(ground, told, change=False)
    basis = previewing.basis(chosen.wanted, [*waiting, *chosen.composed.places])
    places = [*waiting, *chosen.composed.shown]
    places += composing.links(ground, replace(told, known=chosen.composed.known), change=False)
    places += files.copies(ground, told, change=False)
    for step in STEPS:
        places += step(ground, told, change=False)
    places += stores.vectors(ground, told, change=False)
    places += indexed.count(ground, told, [*chosen.composed.cuts, *_transcripts(places)])
    closed = [
        Unreachable(f"{path}: what it says is not known: {reason}", "then: commonplace forget again")
        for path, reason in chosen.unreadable.items()
    ]
    further = [*_of_choice(ground, chosen), *beyond.unreachable(ground, told, was_here=bool(places))]
    shown = tuple(map(_shown, places))
    return Erasure(shown, (*closed, *further), dry_run=True, basis=basis)


def _shown(place: Erased) -> Erased:
    """A place as it may be shown: of records of ours, too, without private parts and secrets."""
    if place.where in ("notes", "links") or not place.text:
        return place
    return replace(place, text=redaction.Secrets().replaced(strip_private(place.text)))


def _transcripts(places: Sequence[Erased]) -> list[str]:
    return list(dict.fromkeys(place.path for place in places if place.where == "transcripts"))


def _vector_keys(ground: Ground, composed: Composed, told: Wanted) -> set[str]:
    """The keys of all texts of files that change; those that stay are taken out once the index is new."""
    if not stores.vector_cache().exists():
        return set()
    changed = _transcripts(files.transcripts(ground, told, change=False))
    return indexed.vector_keys(ground, [*composed.cuts, *changed], (*told.texts, *told.people))


def _of_choice(ground: Ground, chosen: Chosen) -> list[Unreachable]:
    """What the owner should know of what was chosen: what says it as well, and what rests on it."""
    found = [
        Unreachable(f"{citation} says the same, and was not asked for", f"commonplace forget '{citation}'")
        for citation in selecting.elsewhere(ground, chosen)
    ]
    found += [
        Unreachable(f"{citation} rests on nothing but what goes", f"commonplace forget '{citation}'")
        for citation in composing.resting(chosen.composed, chosen.names, ground.read)
    ]
    partly = list(selecting.partly_named(ground, chosen))
    found += [
        Unreachable(
            f"{citation} says {part}, which may mean the same person", f"commonplace forget '{citation}'"
        )
        for citation, part in partly[:MOST_PARTLY]
    ]
    if len(partly) > MOST_PARTLY:
        more = render.count(len(partly) - MOST_PARTLY, "further statement")
        told = f"{more} with a part of a name alone"
        found.append(Unreachable(told, f"commonplace forget --query '{partly[0][1]}'"))
    if chosen.transcripts:
        told = f"{beyond.listed(chosen.transcripts)}: sentences that were said in the session as well"
        found.append(Unreachable(told, "commonplace forget --text, with their words"))
    if chosen.short:
        told = (
            f"{render.count(len(chosen.short), 'statement')} too short to look for in transcripts and caches"
        )
        found.append(Unreachable(told, "commonplace forget --text, with their words"))
    return found


def _carry_on(ground: Ground, path: Path, now: datetime | None) -> Erasure:
    """Go on with what somebody who was killed had begun. Raises NoteUnreadable for a note that is none.

    What was confirmed, and has not changed anything yet, is dropped where the notes are others by now.
    """
    try:
        return _erase(ground, path, begun.read(path), now, [])
    except PreviewOutdated as error:
        begun.end(path)
        dropped = f"what was confirmed before ({error})"
        return Erasure((), (Unreachable(dropped, "commonplace forget, once more"),))


# --- the work ------------------------------------------------------------------------------------------


def _erase(
    ground: Ground, path: Path, told: Wanted, now: datetime | None, further: Sequence[Unreachable]
) -> Erasure:
    """Do all steps; what fails keeps the note, so that it is done again, and is told.

    Raises PreviewOutdated, and what keeps a preview from being compared, with nothing changed.
    """
    work = _Work(ground, path, told)
    copies = files.copies(ground, told, change=False)
    work.entries_and_notes(now)
    work.do(lambda: composing.links(ground, work.wanted, change=True))
    work.do(lambda: work.without_copies(copies))
    for step in STEPS:
        work.do(lambda step=step: step(ground, work.wanted, change=True))  # type: ignore[misc]
    work.do(work.index)
    work.do(lambda: stores.vectors(ground, work.stale(), change=True))
    work.do(lambda: work.record(now))
    if not work.troubles:
        work.do(lambda: begun.end(path))
    left = [trace for trace in scanning.scan(ground, work.wanted) if trace.path != ground.shown(path)]
    was_here = bool(work.places or left)
    unreachable = [*further, *beyond.unreachable(ground, work.wanted, was_here=was_here)]
    left = _explained(ground, left, unreachable, work.blocked)
    run = runs.load(ground.workspace, work.run.id) if work.run else None
    return Erasure(tuple(map(_shown, work.places)), tuple(unreachable), (*work.troubles, *left), run)


class _Work:
    """One forgetting under way."""

    def __init__(self, ground: Ground, path: Path, told: Wanted) -> None:
        self.ground, self.path, self.wanted = ground, path, told
        self.places: list[Erased] = []
        self.troubles: list[Trace] = []
        self.blocked: dict[str, str] = {}  # notes that cannot be changed, and why
        # Nothing but what a preview showed may go, unless some of it is gone already.
        self.confirmed = told.shown is not None and not told.known
        self.entries: Set[str] | None = None  # of the spool, those that may go
        self.run: Run | None = None

    def do(self, step: Callable[[], Sequence[Erased]]) -> None:
        """Do a step; one that fails does not keep the others from being done."""
        try:
            self.places += step()
        except PreviewOutdated:
            raise
        except CommonplaceError as error:
            self.fail(error)

    def fail(self, error: CommonplaceError) -> None:
        """Note that a step failed; raise the error while what was confirmed is not compared yet."""
        if self.confirmed and not self.wanted.known:
            raise error
        self.troubles.append(Trace(str(error), 0, "then: commonplace forget --resume"))

    def entries_and_notes(self, now: datetime | None) -> None:
        """Change the notes, then what waits to be written into them, which nobody writes meanwhile.

        Raises PreviewOutdated, and of what was confirmed whatever keeps it from being compared, with nothing
        changed.
        """
        try:
            with files.no_drain(self.ground):
                self.do(lambda: self.notes(now))
                self.do(lambda: files.spool(self.ground, self.wanted, change=True, among=self.entries))
        except PreviewOutdated:
            raise
        except CommonplaceError as error:
            self.fail(error)

    def notes(self, now: datetime | None) -> list[Erased]:
        """Change the notes; one that cannot be changed does not keep the others from it."""
        names = composing.notes(self.ground.workspace, self.ground.settings)
        self.blocked |= composing.unreadable(names, self.ground.read)
        while True:
            try:
                found = self._changed([name for name in names if name not in self.blocked], now)
                break
            except NoteUnreadable as error:
                shown = {name: paths.shown(self.ground.workspace.root / name) for name in names}
                path = next((name for name in names if error.path in (name, shown[name])), "")
                if not path or path in self.blocked:
                    raise
                self.blocked[path] = error.reason
        told = "cannot be changed: {}; then: commonplace forget --resume"
        self.troubles += [Trace(path, 0, told.format(reason)) for path, reason in self.blocked.items()]
        return found

    def without_copies(self, copies: list[Erased]) -> list[Erased]:
        """Clean the copies of notes, and those that changing the notes has made, which are no places."""
        files.copies(self.ground, self.wanted, change=True)
        return copies

    def _changed(self, names: Sequence[str], now: datetime | None) -> list[Erased]:
        """Change some notes, all or none, in one run that keeps no bytes."""
        composed: list[Composed] = []

        def compose(read: applying.Read) -> Sequence[Change]:
            found = composing.compose(names, read, self.wanted, self.ground.shift)
            composed.append(found)
            if self.confirmed:
                waiting = files.spool(self.ground, self.wanted, change=False)
                previewing.check(self.ground, self.wanted, found, waiting, self.blocked)
                self.entries = {place.text for place in waiting}
            if found.changes:
                known = {one.before: one for one in (*self.wanted.known, *found.known)}
                self.wanted = replace(self.wanted, known=tuple(known.values()))
                begun.write(self.path, self.wanted)
            return found.changes

        self.run = applying.rewrite(
            self.ground.workspace,
            compose,
            lambda: _about(self.wanted, len(composed[-1].places), "statement"),
            keep=False,
            now=now,
            settings=self.ground.settings.history,
        )
        self.run = self.run or self._earlier()
        return composed[-1].shown

    def _earlier(self) -> Run | None:
        """The run of one that was killed after it had changed the notes."""
        if not self.wanted.known:
            return None
        found = (run for run in runs.listed(self.ground.workspace) if run.about.kind == "forget")
        return next(found, None)

    def record(self, now: datetime | None) -> list[Erased]:
        """Make an entry in the record of changes for what changed no note. Raises NoteUnreadable."""
        if self.run is None and self.places:
            workspace, count = self.ground.workspace, len(self.places)
            with atomic.locked(self.ground.lock):
                at = now or datetime.now().astimezone()
                run = runs.begin(workspace, (), _about(self.wanted, count, "place"), at, keep=False)
                self.run = replace(run, state="done")
                runs.save(workspace, self.run)
        return []

    def index(self) -> list[Erased]:
        """Bring the index up to what is left."""
        changed = [*(one.path for one in self.wanted.known), *_transcripts(self.places)]
        found = indexed.count(self.ground, self.wanted, changed)
        indexed.clean(self.ground)
        return found

    def stale(self) -> Wanted:
        """What is wanted, without the vectors of texts that are still there."""
        changed = [*(one.path for one in self.wanted.known), *_transcripts(self.places)]
        kept = indexed.vector_keys(self.ground, changed, ())
        return replace(self.wanted, vectors=tuple(key for key in self.wanted.vectors if key not in kept))


def _about(told: Wanted, count: int, noun: str) -> About:
    """Who, when and how much; never what."""
    title = f"forget {render.count(count, noun)}"
    return About(
        "forget", title, by="agent" if told.agent else "owner", agent=told.agent, session=told.session
    )


def _explained(
    ground: Ground, left: list[Trace], unreachable: list[Unreachable], blocked: Iterable[str]
) -> list[Trace]:
    """Leave out what stands in collections, and in the index because of them: it is told as unreachable.

    Notes that are `blocked` are told already.
    """
    roots = [Path(os.path.realpath(source.root)) for source in ground.sources[1:]]
    told = any(one.what.startswith("collection ") for one in unreachable)
    indexes = {ground.shown(path) for path in ground.indexes}
    own = {*composing.notes(ground.workspace, ground.settings), *_own_transcripts(ground)}
    holding = [path for path in dict.fromkeys((*blocked, *(t.path for t in left))) if path in own]
    found = []
    for trace in left:
        path = Path(os.path.realpath(ground.workspace.root / trace.path))
        is_index = trace.path.removesuffix("-wal") in indexes
        if trace.path in blocked or (is_index and told) or any(path.is_relative_to(root) for root in roots):
            continue
        if not trace.remedy and is_index and holding:
            trace = replace(trace, remedy=f"it goes with what still says it: {beyond.listed(holding)}")
        found.append(trace if trace.remedy else replace(trace, remedy=_remedy(trace.path, own)))
    return found


def _own_transcripts(ground: Ground) -> Iterator[str]:
    return map(ground.shown, (ground.workspace.root / files.SESSIONS).glob("*.jsonl"))


def _remedy(path: str, own: Set[str]) -> str:
    if path == paths.SETTINGS_FILE:
        return "your settings say it: commonplace config edit"
    if path in own:
        return "it was not changed, or is written again: commonplace forget again"
    if path.startswith(f"{paths.DERIVED_FOLDER}/history/") and path.endswith(f"/{runs.RECORD}"):
        return "it names a note so, and goes with that record after history.keep_days"
    ours = (f"{paths.DERIVED_FOLDER}/", os.fspath(paths.user_cache_dir()))
    if path.startswith(ours):
        return "end other programs that use it, then: commonplace forget again"
    return "it is no note of ours: change it there"


def _joined(erased: Sequence[Erasure]) -> Erasure:
    """Several forgettings as one."""
    if len(erased) == 1:
        return erased[0]
    last = {trace.path: trace for one in erased for trace in one.left}
    return Erasure(
        tuple(place for one in erased for place in one.places),
        tuple(dict.fromkeys(told for one in erased for told in one.unreachable)),
        tuple(last.values()),
        next((one.run for one in reversed(erased) if one.run), None),
    )
