"""The workspace's own notes without what is forgotten: which files change, and the references into them.

Notes are those that are indexed, what else lies in `memory/` and `archive/`, and MEMORY.md, also where the
settings leave them out of the index.
"""

from __future__ import annotations

import errno
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, NamedTuple

from commonplace import atomic, paths, records
from commonplace.config.settings import WORKSPACE_COLLECTION, Settings
from commonplace.erasure import cutting
from commonplace.erasure.cutting import Cut, Gone
from commonplace.erasure.files import SESSIONS, stem_of
from commonplace.erasure.pages import Page
from commonplace.erasure.wanted import Known, Wanted
from commonplace.errors import NoteUnreadable
from commonplace.history import runs
from commonplace.notes import comments, excerpt
from commonplace.notes.scan import Listing, Source, look
from commonplace.types.erasure import Erased
from commonplace.types.revisions import Change

if TYPE_CHECKING:
    from commonplace.erasure.ground import Ground

Read = Callable[[str], bytes | None]
Moved = Callable[[int], str | None]
Shift = Callable[[str, str, Moved], str]
ALWAYS = ("MEMORY.md", "memory/**/*.md", "archive/**/*.md")
_DENIED = os.strerror(errno.EACCES).lower()  # as `paths.reason` says it
_PASSES = 4  # a reference that goes may let a line go, which may take a reference with it


class Composed(NamedTuple):
    """What is to be changed: the changes, and what of each note goes, by its path."""

    changes: list[Change]
    cuts: Mapping[str, Cut]

    @property
    def known(self) -> tuple[Known, ...]:
        """The notes that change, by what they were and will be."""
        return tuple(Known(c.path, runs.digest(c.before), runs.digest(c.after)) for c in self.changes)

    @property
    def places(self) -> list[Erased]:
        """What goes, place by place, in its own words."""
        return [Erased("notes", path, one.first, one.last, one.text) for path, one in self._gone()]

    @property
    def shown(self) -> list[Erased]:
        """What goes, place by place, as it may be shown: no private parts, no secrets."""
        return [Erased("notes", path, one.first, one.last, one.shown) for path, one in self._gone()]

    def _gone(self) -> Iterator[tuple[str, Gone]]:
        return ((path, one) for path, found in sorted(self.cuts.items()) for one in found.gone)


def notes(workspace: paths.Workspace, settings: Settings) -> list[str]:
    """Return the paths of the workspace's own notes, posix and relative to it; each file has one."""
    states = _listing(workspace, settings).states()
    return sorted(s.path for s in states if "/." not in f"/{s.path}")  # `applying.contain` changes no such


def unreadable(names: Iterable[str], read: Read) -> dict[str, str]:
    """Return the notes that cannot be read now, each with the reason and what mends it."""
    found: dict[str, str] = {}
    for name in names:
        try:
            read(name)
        except NoteUnreadable as error:
            mend = f"; allow it (chmod u+rw {shlex.quote(paths.shown(name))})"
            found[name] = f"{error.reason}{mend if error.reason == _DENIED else ''}"
    return found


def links(ground: Ground, wanted: Wanted, *, change: bool) -> list[Erased]:
    """Name the links to notes that change, each with its file; remove those to files that are no more.

    Links with a name that is forgotten go as well, and links to such a link. `wanted` knows which notes
    change. Raises NoteUnreadable.
    """
    workspace, root = ground.workspace, ground.workspace.files
    found: list[Erased] = []
    gone: list[tuple[int, str]] = []
    with atomic.locked(ground.lock) if change else nullcontext():
        listing = _listing(workspace, ground.settings)
        changed = {os.path.realpath(f"{listing.root}/{known.path}"): known for known in wanted.known}
        # All are followed before one goes: a link through another leads nowhere without it.
        for path in sorted(set(listing.links)):
            *through, real = _chain(f"{listing.root}/{path}")
            known = changed.get(real)
            named = any(wanted.owns(os.path.relpath(one, listing.root)) for one in through)
            if not named and (known is None or (known.after and known.path != path)):
                continue
            found.append(Erased("links", path, text=os.path.relpath(real, listing.root)))
            if named or (known and not known.after):
                gone.append((len(through), path))
        for _, path in sorted(gone, reverse=True) if change else ():  # who is killed leaves whole chains
            with records.translated(path):
                root.unlink(workspace.root / path, missing_ok=True)
    return found


def _chain(path: str) -> list[str]:
    """A link, the links that it leads through, and at the end what it leads to, there or not."""
    found: list[str] = []
    while os.path.islink(path) and path not in found:
        path = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        found.append(path)
        path = os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(path)))
    return [*found, os.path.realpath(path)]


def same_note(workspace: paths.Workspace, names: Iterable[str], path: str) -> str:
    """Return which of some notes a link leads to as well; empty for none."""
    real = os.path.realpath(workspace.root / path)
    same = (name for name in names if os.path.realpath(workspace.root / name) == real)
    return next(same, "") if os.path.islink(workspace.root / path) else ""


def _listing(workspace: paths.Workspace, settings: Settings) -> Listing:
    globs = tuple(dict.fromkeys((*settings.index.include, *ALWAYS)))
    return look([Source(WORKSPACE_COLLECTION, os.fspath(workspace.root), globs)])[0]


def compose(names: Iterable[str], read: Read, wanted: Wanted, shift: Shift) -> Composed:
    """Return the notes without what is forgotten, references into them moved with their lines."""
    before = {name: data for name in names if (data := read(name)) is not None}
    source, cuts = before, _cuts(before, wanted)
    for _ in range(_PASSES):
        moved = _shifted(before, cuts | _transcripts(wanted), shift)
        if not moved:
            break
        source = before | moved
        again = {name: cut for name, cut in cuts.items() if name not in moved} | _cuts(moved, wanted)
        same = _lines(again) == _lines(cuts)
        cuts = again
        if same:
            break
    after = {name: cuts[name].data if name in cuts else data for name, data in source.items()}
    changes = [Change(name, data, after[name]) for name, data in before.items() if after[name] != data]
    return Composed(changes, cuts)


def _transcripts(wanted: Wanted) -> dict[str, Cut]:
    """The transcripts of forgotten sessions, of which no line is left that a reference could point at."""
    every = Cut(None, (), _Every())
    return {f"{SESSIONS}/{stem_of(session)}.jsonl": every for session in wanted.sessions}


class _Every(frozenset[int]):
    """All lines."""

    def __contains__(self, line: object) -> bool:
        return True

    def __bool__(self) -> bool:
        return True


def _lines(cuts: Mapping[str, Cut]) -> dict[str, frozenset[int]]:
    return {name: cut.lines for name, cut in cuts.items() if cut.lines}


def _cuts(notes: Mapping[str, bytes], wanted: Wanted) -> dict[str, Cut]:
    found = ((name, cutting.cut(name, data, wanted)) for name, data in notes.items())
    return {name: cut for name, cut in found if cut is not None}


def _shifted(notes: Mapping[str, bytes], cuts: Mapping[str, Cut], shift: Shift) -> dict[str, bytes]:
    """The notes whose references into others change, before anything is cut out of them."""
    targets = {name: cut for name, cut in cuts.items() if cut.lines}
    found: dict[str, bytes] = {}
    for name, data in notes.items():
        if b"<!--" not in data and b"<\0!\0" not in data:
            continue
        page = Page(name, data)
        text = page.text
        for target, cut in targets.items():
            if target in text:
                text = shift(text, target, _mover(target, cut))
        if text != page.text:
            found[name] = page.encoded([text])
    return found


def _mover(path: str, cut: Cut) -> Moved:
    def moved(line: int) -> str | None:
        place = cut.moved(line)
        return None if place is None else f"{path}#L{place}"

    return moved


def resting(composed: Composed, names: Iterable[str], read: Read) -> Iterator[str]:
    """Yield statements that stay and rest on nothing but lines that go, as hits cite them."""
    gone = _lines(composed.cuts)
    for name in names if gone else ():
        data = read(name)
        if data is None or b"from=" not in data:
            continue
        for statement in Page(name, data).statements:
            told = comments.sources(statement.said)
            if (
                told
                and statement.first not in gone.get(name, ())
                and all(_is_gone(one, gone) for one in told)
            ):
                yield statement.citation


def _is_gone(reference: str, gone: Mapping[str, frozenset[int]]) -> bool:
    wanted = excerpt.parse_reference(reference)
    lines = gone.get(wanted.path, frozenset())
    last = wanted.last if wanted.last is not None else wanted.first
    return bool(lines) and all(n in lines for n in range(wanted.first, last + 1))
