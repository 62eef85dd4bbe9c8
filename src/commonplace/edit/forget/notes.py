"""The workspace's own notes without what is forgotten: which files change, and the references into them.

Notes are those that are indexed, what else lies in `memory/` and `archive/`, and MEMORY.md, also where the
settings leave them out of the index.
"""

from __future__ import annotations

import errno
import os
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.base import locks, paths, records
from commonplace.base.errors import NoteUnreadable
from commonplace.base.tuples import NamedTuple
from commonplace.changes import runs, transaction
from commonplace.config.settings import WORKSPACE_COLLECTION, Settings
from commonplace.edit.forget import targets as intents
from commonplace.edit.forget.targets import Cut, Gone, Page, Targets
from commonplace.edit.forget.words import together
from commonplace.markdown import comments, references
from commonplace.markdown.document import Document, decode
from commonplace.markdown.references import Moved
from commonplace.notes.scan import Listing, Source, look
from commonplace.types.changes import Change, Erased
from commonplace.types.store import Known, Site

if TYPE_CHECKING:
    from commonplace.index.store import Store

Read = Callable[[str], bytes | None]
ALWAYS = ("MEMORY.md", "memory/**/*.md", "archive/**/*.md")
_DENIED = os.strerror(errno.EACCES).lower()  # as `paths.reason` says it
_MOST_PAGES = 16
_PASSES = 4  # a reference that goes may let a line go, which may take a reference with it


@dataclass(frozen=True)
class Context(Site):
    """A workspace where something is forgotten: its settings and sources, what opens its index anew."""

    settings: Settings
    sources: Sequence[Source]
    open_store: Callable[[], Store]
    pages: dict[str, tuple[bytes, Page]] = field(default_factory=dict, compare=False)
    held: dict[str, tuple[tuple[int, int], bytes]] = field(default_factory=dict, compare=False)

    def page(self, data: bytes, path: str) -> Page:
        """Read a note; the first ones that are asked for are read once, while their bytes stay."""
        known = self.pages.get(path)
        if known is not None and known[0] == data:
            return known[1]
        page = Page.read(data, path)
        if known is not None or len(self.pages) < _MOST_PAGES:
            self.pages[path] = data, page
        return page

    def read(self, path: str) -> bytes | None:
        """Return the bytes of a file of the workspace, None for none. Raises OutsideRoots, NoteUnreadable."""
        return transaction.read(self.workspace, path)

    @cached_property
    def listing(self) -> Listing:
        """The files that may change, as they lay when they were first asked for."""
        return self.look()

    def look(self) -> Listing:
        """Return the files that may change."""
        globs = tuple(dict.fromkeys((*self.settings.index.include, *ALWAYS)))
        return look([Source(WORKSPACE_COLLECTION, os.fspath(self.workspace.root), globs)])[0]

    @cached_property
    def states(self) -> dict[str, tuple[int, int]]:
        """The time and size of each of the workspace's own notes, by its posix path, as it was listed."""
        return _states(self.listing)

    @property
    def lock(self) -> Path:
        """The lock that every writer of notes takes."""
        return paths.lock_file(self.workspace, "notes")


class Composed(NamedTuple):
    """What is to be changed: the changes, and what of each note goes, by its path."""

    changes: list[Change]
    cuts: Mapping[str, Cut]

    @property
    def known(self) -> tuple[Known, ...]:
        """The notes that change, by what they were and will be."""
        return tuple(Known(c.path, runs.digest(c.before), runs.digest(c.after)) for c in self.changes)

    @property
    def stated(self) -> list[str]:
        """What the statements say that go by their place."""
        return [text for cut in self.cuts.values() for text in cut.stated]

    @property
    def places(self) -> list[Erased]:
        """What goes, place by place, in its own words."""
        return [Erased("notes", path, gone.first, gone.last, gone.text) for path, gone in self._gone()]

    @property
    def whole(self) -> list[tuple[str, str]]:
        """What goes as whole lines, place by place: the note and what they say."""
        return [(path, gone.text) for path, gone in self._gone() if gone.whole]

    @property
    def shown(self) -> list[Erased]:
        """What goes, place by place, and what is left, as it may be shown: no secrets, nothing private."""
        return [
            Erased("notes", path, gone.first, gone.last, gone.shown, rest=self.cuts[path].rest(gone))
            for path, gone in self._gone()
        ]

    def _gone(self) -> Iterator[tuple[str, Gone]]:
        return ((path, gone) for path, cut in sorted(self.cuts.items()) for gone in cut.gone)


def _states(listing: Listing) -> dict[str, tuple[int, int]]:
    """The time and size of each file that may change, by its path, sorted."""
    states = [
        (prefix + name, (mtime_ns, size))
        for prefix, rows in listing.folders
        if "/." not in f"/{prefix}"  # `transaction.contain` allows no others
        for name, mtime_ns, size in rows
        if name[0] != "."
    ]
    return dict(sorted(states))


def contents(context: Context) -> tuple[dict[str, bytes], dict[str, str]]:
    """Return the bytes of notes, and those that cannot be read now with the reason and what mends it.

    A note whose time and size stay is read once.
    """
    held, reasons = context.held, dict[str, str]()
    states = _states(context.look()) if held else context.states
    changed = [name for name, at in states.items() if name not in held or held[name][0] != at]
    for name, plainly in context.workspace.files.each(changed):
        held.pop(name, None)
        try:
            data = context.read(name) if plainly is None else plainly
            if data is not None:
                held[name] = states[name], data
        except NoteUnreadable as error:
            mend = f"; allow it (chmod u+rw {shlex.quote(paths.shown(name))})"
            reasons[name] = f"{error.reason}{mend if error.reason == _DENIED else ''}"
    return {name: held[name][1] for name in states if name in held}, reasons


def links(context: Context, targets: Targets, *, change: bool) -> list[Erased]:
    """Name the links to notes that change, each with its file; remove those to files that are no more.

    Links with a name that is forgotten go as well, and links to such a link. `targets` knows which notes
    change. Raises NoteUnreadable.
    """
    workspace = context.workspace
    with locks.locked(context.lock) if change else nullcontext():
        # All are followed before one goes: a link through another leads nowhere without it.
        links = list(_leading(context.listing, targets))
        if change:
            for link in sorted(links, reverse=True):  # a kill leaves whole chains
                if link.goes:
                    with records.translated(link.path):
                        workspace.files.unlink(workspace.root / link.path, missing_ok=True)
    return [Erased("links", link.path, text=link.target) for link in links]


class _Link(NamedTuple):
    """A link to a note, over so many others; both are relative to the workspace."""

    steps: int
    path: str
    target: str
    goes: bool


def _leading(listing: Listing, targets: Targets) -> Iterator[_Link]:
    """The links through which a note changes, and those that go: to no file any more, or by their names."""
    known = {note.path for note in targets.known}
    gone = {os.path.realpath(f"{listing.root}/{note.path}") for note in targets.known if not note.after}
    for path in sorted(set(listing.links)):
        *through, real = _chain(f"{listing.root}/{path}")
        goes = real in gone or any(targets.owns(os.path.relpath(link, listing.root)) for link in through)
        if goes or path in known:
            yield _Link(len(through), path, os.path.relpath(real, listing.root), goes)


def _chain(path: str) -> list[str]:
    """A link, the links that it leads through, and at the end what it leads to, there or not."""
    chain: list[str] = []
    while os.path.islink(path) and path not in chain:
        path = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        chain.append(path)
        path = os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(path)))
    return [*chain, os.path.realpath(path)]


def same_note(workspace: paths.Workspace, names: Iterable[str], path: str) -> str:
    """Return which of some notes a link leads to as well; empty for none."""
    if not os.path.islink(workspace.root / path):  # nor is what can be no name of a file
        return ""
    real = os.path.realpath(workspace.root / path)
    return next((name for name in names if os.path.realpath(workspace.root / name) == real), "")


def compose(
    names: Iterable[str], read: Read, targets: Targets, page: Callable[[bytes, str], Page] = Page.read
) -> Composed:
    """Return the notes without what is forgotten, references into them moved with their lines."""
    before = {name: data for name in names if (data := read(name)) is not None}
    after: dict[str, bytes | None] = {}
    cuts = _cuts(before, targets, page)
    # Of the transcripts of forgotten sessions no line is left that a reference could point at.
    maps: dict[str, Moved] = dict.fromkeys(targets.transcripts, lambda _: None)
    for _ in range(_PASSES):
        lines = _lines(cuts)
        moved = _shifted(before, maps | {name: cuts[name].edit.follower(name) for name in lines})
        after = {**before, **moved}
        cuts = {name: cut for name, cut in cuts.items() if name not in moved} | _cuts(moved, targets, page)
        if _lines(cuts) == lines:
            break
    after |= {name: cut.data for name, cut in cuts.items()}
    changes = [Change(name, data, after[name]) for name, data in before.items() if after[name] != data]
    return Composed(changes, cuts)


def standing(before: Page, after: Page, targets: Targets) -> int:
    """Return how many lines of blocks stand in a note as often as before, though they were to go."""
    blocks = (block for block in targets.blocks if block.path == before.path)
    numbers = {number for block in blocks for number in before.find(block)}
    asked = Counter(before.said[number - 1] for number in numbers)
    were, are = Counter(before.said), Counter(after.said)
    return sum(are[line] > were[line] - count for line, count in asked.items() if line.strip())


def _cuts(notes: Mapping[str, bytes], targets: Targets, page: Callable[[bytes, str], Page]) -> dict[str, Cut]:
    cuts = ((name, intents.cut(page(notes[name], name), targets)) for name in _likely(notes, targets))
    return {name: cut for name, cut in cuts if cut is not None}


def _likely(notes: Mapping[str, bytes], targets: Targets) -> Iterator[str]:
    """Yield the notes that may lose something."""
    asked = {block.path for block in targets.blocks}
    for some in together((name, f"{name}\n{decode(data)}") for name, data in notes.items()):
        if not asked.isdisjoint(some) or targets.may_take("\n\n".join(some.values())):
            yield from (name for name, text in some.items() if name in asked or targets.may_take(text))


def _lines(cuts: Mapping[str, Cut]) -> dict[str, Set[int]]:
    return {name: cut.lines for name, cut in cuts.items() if cut.lines}


def _shifted(notes: Mapping[str, bytes], maps: Mapping[str, Moved]) -> dict[str, bytes]:
    """The notes whose references into others change, before anything is cut out of them."""
    shifted: dict[str, bytes] = {}
    for name, data in notes.items():
        if b"<!--" not in data and b"<\0!\0" not in data:
            continue
        document = Document.read(data, name)
        named = {target: moved for target, moved in maps.items() if target in document.text}
        after = document.follow(named)
        if after is not document:
            shifted[name] = after.data
    return shifted


def resting(composed: Composed, notes: Mapping[str, bytes]) -> Iterator[str]:
    """Yield statements that stay in notes and rest on nothing but lines that go, as hits cite them."""
    gone = _lines(composed.cuts)
    before = {change.path: change.before for change in composed.changes}
    for name in notes if gone else ():
        data = before.get(name) or notes[name]
        if b"from=" not in data:
            continue
        for statement in Document.read(data, name).stated:
            sources = comments.sources(statement.said)
            stays = statement.first not in gone.get(name, ())
            if sources and stays and all(_is_gone(source, gone) for source in sources):
                yield statement.citation


def _is_gone(reference: str, gone: Mapping[str, Set[int]]) -> bool:
    cited = references.parse_reference(reference)
    lines = gone.get(cited.path, ())
    return bool(lines) and all(n in lines for n in range(cited.first, cited.end + 1))
