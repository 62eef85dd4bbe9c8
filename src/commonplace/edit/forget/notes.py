"""The workspace's own notes without what is forgotten: which files change, and the references into them.

Notes are those that are indexed, what else lies in `memory/` and `archive/`, and MEMORY.md, also where the
settings leave them out of the index.
"""

from __future__ import annotations

import errno
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.base import paths
from commonplace.base.errors import NoteUnreadable
from commonplace.base.tuples import NamedTuple
from commonplace.config.settings import WORKSPACE_COLLECTION, Settings
from commonplace.edit.forget import targets as intents
from commonplace.edit.forget.targets import Cut, CutNote, Gone, Targets
from commonplace.edit.forget.words import Words, together
from commonplace.markdown import comments, references
from commonplace.markdown.document import Document, decode
from commonplace.markdown.references import Moved
from commonplace.notes.scan import CollectionFiles, look
from commonplace.storage import journal, transaction
from commonplace.types import Statement
from commonplace.types.changes import Change, Erased
from commonplace.types.store import Known, Site

if TYPE_CHECKING:
    from commonplace.index.store import Store

Read = Callable[[str], bytes | None]
ALWAYS = ("MEMORY.md", "memory/**/*.md", "archive/**/*.md")
_DENIED = os.strerror(errno.EACCES).lower()  # as `paths.reason` says it
_PASSES = 4  # a reference that goes may let a line go, which may take a reference with it


@dataclass(frozen=True)
class Context(Site):
    """A workspace where something is forgotten: its settings and sources, what opens its index anew.

    `here` takes its name off a reference. Raises AccessDenied for that of another workspace.
    """

    settings: Settings
    sources: Sequence[CollectionFiles]
    open_store: Callable[[], Store]
    here: Callable[[str], str]

    def read(self, path: str) -> bytes | None:
        """Return the bytes of a file, None for a missing one. Raises OutsideRoots, NoteUnreadable."""
        return transaction.read(self.workspace, path)

    @cached_property
    def names(self) -> list[str]:
        """The files that may change, by their posix paths, as they were first listed."""
        return self.look()

    def look(self) -> list[str]:
        """List the files that may change: those that `transaction.contain` allows."""
        globs = dict.fromkeys((*self.settings.index.include, *ALWAYS))
        own = CollectionFiles(WORKSPACE_COLLECTION, os.fspath(self.workspace.root), tuple(globs))
        rows = ((prefix, name) for prefix, rows in look([own])[0].folders for name, *_ in rows)
        return sorted(f"{prefix}{name}" for prefix, name in rows if "/." not in f"/{prefix}{name}")

    @property
    def lock(self) -> Path:
        """The lock that every writer of notes takes."""
        return paths.lock_file(self.workspace, "notes")


class Composed(NamedTuple):
    """The changes, and the cut of each note by its path."""

    changes: list[Change]
    cuts: Mapping[str, Cut]

    @property
    def known(self) -> tuple[Known, ...]:
        """The notes that change, by what they were and will be."""
        return tuple(Known(c.path, journal.digest(c.before), journal.digest(c.after)) for c in self.changes)

    @property
    def stated(self) -> list[str]:
        """The texts of statements that are removed by their place."""
        return [text for cut in self.cuts.values() for text in cut.stated]

    @property
    def places(self) -> list[Erased]:
        """The removed places with their texts."""
        return [Erased("notes", path, gone.first, gone.last, gone.text) for path, gone in self._gone()]

    @property
    def whole(self) -> list[tuple[str, str]]:
        """The lines that are removed whole: note and text of each place."""
        return [(path, gone.text) for path, gone in self._gone() if gone.whole]

    @property
    def shown(self) -> list[Erased]:
        """The removed places and the rest of their lines, without secrets and private parts."""
        return [
            Erased("notes", path, gone.first, gone.last, gone.shown, rest=self.cuts[path].rest(gone))
            for path, gone in self._gone()
        ]

    def _gone(self) -> Iterator[tuple[str, Gone]]:
        return ((path, gone) for path, cut in sorted(self.cuts.items()) for gone in cut.gone)


def contents(context: Context) -> tuple[dict[str, bytes], dict[str, str]]:
    """Return the bytes of notes, and those that cannot be read now with the reason and what mends it."""
    held, reasons = dict[str, bytes](), dict[str, str]()
    for name, plainly in context.workspace.files.each(context.look()):
        try:
            data = context.read(name) if plainly is None else plainly
            if data is not None:
                held[name] = data
        except NoteUnreadable as error:
            mend = f"; allow it (chmod u+rw {shlex.quote(paths.shown(name))})"
            reasons[name] = f"{error.reason}{mend if error.reason == _DENIED else ''}"
    return held, reasons


def same_note(workspace: paths.Workspace, names: Iterable[str], path: str) -> str:
    """Return the note that a link leads to; empty for any other path."""
    if not os.path.islink(workspace.root / path):  # nor is what can be no name of a file
        return ""
    real = os.path.realpath(workspace.root / path)
    return next((name for name in names if os.path.realpath(workspace.root / name) == real), "")


def compose(names: Iterable[str], read: Read, targets: Targets) -> Composed:
    """Return the notes without what is forgotten, references into them moved with their lines."""
    before = {name: data for name in names if (data := read(name)) is not None}
    after: dict[str, bytes | None] = {}
    cuts = _cuts(before, targets)
    # Of the transcripts of forgotten sessions no line is left that a reference could point at.
    maps: dict[str, Moved] = dict.fromkeys(targets.transcripts, lambda _: None)
    for _ in range(_PASSES):
        lines = _lines(cuts)
        moved = shifted(before, maps | {name: cuts[name].edit.follower(name) for name in lines})
        after = {**before, **moved}
        cuts = {name: cut for name, cut in cuts.items() if name not in moved} | _cuts(moved, targets)
        if _lines(cuts) == lines:
            break
    after |= {name: cut.data for name, cut in cuts.items()}
    changes = [Change(name, data, after[name]) for name, data in before.items() if after[name] != data]
    return Composed(changes, cuts)


def _cuts(notes: Mapping[str, bytes], targets: Targets) -> dict[str, Cut]:
    cuts = ((name, intents.cut(CutNote.read(notes[name], name), targets)) for name in _likely(notes, targets))
    return {name: cut for name, cut in cuts if cut is not None}


def _likely(notes: Mapping[str, bytes], targets: Targets) -> Iterator[str]:
    """Yield the notes that may lose something."""
    asked = {block.path for block in targets.blocks}
    for some in together((name, f"{name}\n{decode(data)}") for name, data in notes.items()):
        if not asked.isdisjoint(some) or targets.may_take("\n\n".join(some.values())):
            yield from (name for name, text in some.items() if name in asked or targets.may_take(text))


def _lines(cuts: Mapping[str, Cut]) -> dict[str, Set[int]]:
    return {name: cut.lines for name, cut in cuts.items() if cut.lines}


def shifted(notes: Mapping[str, bytes], maps: Mapping[str, Moved]) -> dict[str, bytes]:
    """Return the notes whose references into notes with moved lines change, by their paths."""
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


def staying(composed: Composed, notes: Mapping[str, bytes], words: Words) -> Iterator[Statement]:
    """Yield the statements that stay, as they were, of those notes that hold some words or name sources."""
    before, gone = {change.path: change.before for change in composed.changes}, _lines(composed.cuts)
    for name, data in notes.items():
        if (gone and b"from=" in (before.get(name) or data)) or words.match(data.decode("utf-8", "replace")):
            page = Document.read(before.get(name) or data, name)
            yield from (one for one in page.stated if one.first not in gone.get(name, ()))


def resting(composed: Composed, statements: Iterable[Statement]) -> Iterator[str]:
    """Yield the citations of statements whose sources are all removed."""
    gone = _lines(composed.cuts)
    for statement in statements:
        sources = comments.sources(statement.said)
        if sources and all(_is_gone(source, gone) for source in sources):
            yield statement.citation


def _is_gone(reference: str, gone: Mapping[str, Set[int]]) -> bool:
    cited = references.parse_reference(reference)
    lines = gone.get(cited.path, ())
    return bool(lines) and all(n in lines for n in range(cited.first, cited.end + 1))
