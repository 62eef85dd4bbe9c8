"""Conflict copies of sync programs: a note that two machines changed, merged with its copy entry by entry.

The common ancestor is not known, so every line of the note stays: entries of the copy alone
are put in, and an entry that one side struck is struck. What may be two versions of one entry, or an entry
that the other machine deleted, is left to the owner.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

from commonplace.base import paths, remedies
from commonplace.base.errors import CommonplaceError, NoteNotFound
from commonplace.base.messages import Message, message
from commonplace.base.tuples import NamedTuple
from commonplace.config.settings import WORKSPACE_COLLECTION, Settings
from commonplace.edit.forget.notes import shifted
from commonplace.edit.resolve import Corpus
from commonplace.index.base import Key
from commonplace.language import composed
from commonplace.markdown import comments, conflicts, metadata, references, statements, structure
from commonplace.markdown.document import Document, Edit, in_list
from commonplace.storage import diffs, journal, overwritten, transaction, writes
from commonplace.types.changes import About, Change, Run

_Kind = Literal["heading", "front matter", ""]


class Block(NamedTuple):
    """An entry, paragraph, table, fence or heading: its lines (from 0, half-open) and its heading path.

    `text` identifies it; `words` is the same without strikes and comments.
    """

    first: int
    last: int
    section: tuple[str, ...]
    text: str
    words: str
    kind: _Kind = ""


@dataclass(frozen=True, slots=True)
class Merge:
    """A conflict copy merged into its note: the new bytes of both (None: no file) and what was done.

    `added`, `struck` and `dropped` count entries that were put in, struck, and left out because this machine
    had taken them out. `differing` and `uncertain` count entries of the copy that may be another version of
    an entry of the note, or one that the other machine deleted; both are put in as well.
    """

    copy: str
    note: str
    changes: tuple[Change, ...] = ()
    added: int = 0
    struck: int = 0
    dropped: int = 0
    differing: int = 0
    uncertain: int = 0

    JSON: ClassVar = "copy note added struck dropped differing uncertain diff"

    @property
    def diff(self) -> str:
        """The change of the note as a unified diff."""
        return diffs.of_changes(self.changes[:1])


def find(workspace: paths.Workspace, settings: Settings) -> dict[str, str]:
    """Return the conflict copies of MEMORY.md and of the workspace's own notes, each with its note."""
    curated = workspace.memory_file.relative_to(workspace.root).as_posix()
    folder, names = curated.rpartition("/")[0], workspace.files.names(workspace.memory_file.parent)
    paths_of = (f"{folder}/{name}".lstrip("/") for name in names)  # in no index
    return {path: curated for path in paths_of if conflicts.original(path) == curated} | Corpus(
        workspace, settings, lambda path: None
    ).copies


def plan(
    workspace: paths.Workspace, settings: Settings, copy: str, read: journal.Read | None = None
) -> Merge:
    """Compose the merge of a copy. Raises NoteNotFound for any other file, NoteUnreadable."""
    read = read or (lambda path: transaction.read(workspace, path))
    corpus, note = Corpus(workspace, settings, read), find(workspace, settings).get(copy, "")
    if not note or (theirs := read(copy)) is None:
        raise NoteNotFound(paths.shown(copy), reason="it is no conflict copy")
    mine = read(note)
    if mine is None:  # the other machine deleted or moved it
        return Merge(copy, note, (Change(note, None, theirs), Change(copy, theirs, None)), uncertain=1)
    sides = (Document.read(mine, note).checked(), Document.read(theirs, note).checked())
    removed = set[bytes]() if _is_undone(workspace, copy, theirs) else writes.guard(workspace, note).removed
    gone = {first for one, first, _ in writes.blocks(sides[1].bare) if one in removed}
    merging = _Merging(*sides, gone.__contains__)
    merged, edit = merging.merged()
    held = {path: corpus.glance(path) for path in corpus.paths if path != note}
    others = shifted(held, {note: edit.follower(note)}).items()
    changes = [Change(note, mine, merged.data), Change(copy, theirs, None)]
    changes += [Change(path, held[path], after) for path, after in others]
    return Merge(copy, note, tuple(changes), **merging.counts)


def apply(workspace: paths.Workspace, settings: Settings, merge: Merge) -> Run | None:
    """Merge a copy as planned and delete it, in one run that `undo` takes back.

    Raises PreviewOutdated where the merge would be another by now, AccessDenied, NoteUnreadable.
    """
    run = transaction.rewrite(
        workspace, lambda read: plan(workspace, settings, merge.copy, read).changes,
        About("merge", f"merge {merge.copy}"), shown=diffs.digest(merge.changes), settings=settings.history,
    )  # fmt: skip
    for copy in overwritten.copies(workspace):  # the sync program wrote over our lines, which stand again
        if copy.note == merge.note and not (copy.lines(merge.changes[0].after or b"") or copy.restored):
            overwritten.discard(workspace, copy.name)
    return run


def merge_certain(workspace: paths.Workspace, settings: Settings, files: Iterable[Key]) -> list[Message]:
    """Merge the copies among indexed files whose every entry is new or equal; return sentences for the owner.

    MEMORY.md, copies that a name alone does not tell, and merges that were undone are left to the owner.
    """
    known = {path for collection, path in files if collection == WORKSPACE_COLLECTION}
    told = list[Message]()
    if not any(_is_certain(name, conflicts.original(name, known)) for name in known):
        return told
    for copy, note in find(workspace, settings).items():
        if not _is_certain(copy, note):
            continue
        try:
            merge = plan(workspace, settings, copy)
            if merge.differing or merge.uncertain or _is_undone(workspace, copy, merge.changes[1].before):
                continue
            run = apply(workspace, settings, merge)
        except CommonplaceError:  # status and doctor name the copy
            continue
        if run is not None:
            done = "{copy} is merged into {note}: {added:,} new, {struck:,} struck; {undo}"
            values = {"added": merge.added, "struck": merge.struck, "undo": remedies.say("undo")}
            told.append(message("conflict.merged", done, copy=copy, note=note, **values))
    return told


def _is_certain(copy: str, note: str) -> bool:
    """Tell whether a copy is recognised by its name, and its note is not MEMORY.md."""
    kind = metadata.kind_of(note) if note else "long-term"
    return kind == "daily" or (kind == "note" and bool(conflicts.original(copy)))


def _is_undone(workspace: paths.Workspace, copy: str, data: bytes | None) -> bool:
    """Tell whether the owner has undone the merge of these bytes of a copy."""
    undone = (run for run in journal.newest_first(workspace) if run.about.kind == "merge" and run.undone)
    return any(
        (file.path, file.before) == (copy, journal.digest(data)) for run in undone for file in run.files
    )


def blocks(document: Document) -> list[Block]:
    """Split a document into blocks; a list item holds what is indented below it."""
    bare, marks = document.bare, structure.heading_lines(document.blocks)
    front, levels = document.front_matter, {heading.line: heading for heading in document.headings}
    starts, around = list[tuple[int, tuple[str, ...]]](), list[tuple[int, str]]()
    inside, gap = 0, True
    for number, line in enumerate(bare, 1):
        if number <= inside or not line.strip():
            gap = gap or number > inside
            continue
        if heading := levels.get(number):
            around = [one for one in around if one[0] < heading.level]
            around.append((heading.level, " ".join(heading.text.split())))
        begins = gap or structure.begins_entry(line)
        is_first = not starts or (starts[-1][0] in marks and number not in marks)
        if heading or is_first or (begins and not line[:1].isspace() and number not in marks):
            starts.append((number, tuple(text for _, text in around)))
        spans = [document.fence(number), front and range(front[0], front[1] + 1)]
        spans.append(range(max(document.whole({number})) + 1) if "<" in line else None)
        inside = max((span[-1] for span in spans if span and number in span), default=0)
        gap = number in marks
    found = list[Block]()
    for place, (first, section) in enumerate(starts):
        last = starts[place + 1][0] - 1 if place + 1 < len(starts) else len(bare)
        while not bare[last - 1].strip():
            last -= 1
        text = composed("\n".join(references.without(line).rstrip() for line in bare[first - 1 : last]))
        words = " ".join(comments.without(text).replace("~~", "").split())
        kind: _Kind = "heading" if first in marks else "front matter" if front and first == front[0] else ""
        found.append(Block(first - 1, last, section, text, words, kind))
    return found


class _Merging:
    """The blocks of a note and of its copy: which are the same, and where those of the copy alone go."""

    def __init__(self, note: Document, copy: Document, is_removed: Callable[[int], bool]) -> None:
        """Match the blocks and place the others; `is_removed` tells of a line in `copy` that we took out."""
        self.note, self.copy, self._is_removed = note, copy, is_removed
        self.mine, self.theirs = blocks(note), blocks(copy)
        self.same: dict[int, int] = {}  # blocks of the copy by number, and those of the note
        self.struck: dict[int, int] = {}  # blocks of the note, and the struck ones of the copy
        self.places: dict[int, int] = {}  # blocks of the copy, and the one of the note they are put behind
        self.counts = dict.fromkeys(("added", "dropped", "differing", "uncertain"), 0)
        self._match(lambda block: (block.section, "" if block.kind == "heading" else block.words))
        self._match(lambda block: None if block.kind else block.words)
        for number, own in self.same.items():
            sides = self.theirs[number], self.mine[own]
            if not sides[0].kind and sides[0].text != sides[1].text:  # comments are those of the note
                is_struck = ["~~" in side.text for side in sides]
                self.struck |= {own: number} if is_struck == [True, False] else {}
                self.counts["differing"] += is_struck[0] == is_struck[1]
        for number in range(len(self.theirs)):
            if number not in self.same and number not in self.places:
                self._place(number)
        self.counts["struck"] = len(self.struck)
        self.counts["uncertain"] += not self.same  # without a common block: perhaps another note

    def _match(self, key: Callable[[Block], Hashable]) -> None:
        free = defaultdict[Hashable, list[int]](list)
        for number in sorted(set(range(len(self.mine))) - set(self.same.values()), reverse=True):
            free[key(self.mine[number])].append(number)
        for number, block in enumerate(self.theirs):
            if number not in self.same and key(block) is not None and free[key(block)]:
                self.same[number] = free[key(block)].pop()

    def _place(self, number: int) -> None:
        """Say behind which block of the note one of the copy goes, and count it."""
        block, before = self.theirs[number], number - 1
        if block.kind == "heading":  # it comes with its entries
            size = len(block.section)
            if sum(other.section[:size] == block.section for other in self.theirs) == 1:
                self._end(block.section)
            return
        place = self.same.get(before, self.places.get(before, -1))
        later = range(number + 1, len(self.theirs))
        common = (self.same[n] for n in later if n in self.same and self.theirs[n].section == block.section)
        behind = next(common, None)
        kind = "added"
        if self._is_removed(block.first):
            kind = "dropped"
        elif block.kind and self.mine and self.mine[0].kind == block.kind:
            kind = "differing"  # front matter: that of the note stands
        elif place >= 0 and before >= 0 and "~~" in self.theirs[before].text and "since=" in block.text:
            kind = "differing" if place not in self.struck and before in self.same else "added"
        elif (like := self._like(block)) is not None:
            kind, place = "differing", like
        elif behind is not None:
            kind, place = "uncertain", behind - 1
        else:
            place = self._end(block.section)
        self.counts[kind] += 1
        if kind != "dropped" and not (block.kind and kind == "differing"):
            self.places[number] = place

    def _like(self, block: Block) -> int | None:
        """Return a block of the note alone that may be another version of one of the copy."""
        hour, line = statements.leading_time(_said(self.copy, block))
        for own in sorted(set(range(len(self.mine))) - set(self.same.values())):
            other_hour, other = statements.leading_time(_said(self.note, self.mine[own]))
            same = hour == other_hour or not (hour and other_hour)
            if same and self.mine[own].kind == block.kind and diffs.is_edited(line, [other]):
                return own
        return None

    def _end(self, section: tuple[str, ...]) -> int:
        """Return the last block of the note in a section; one that it lacks goes behind its parent."""
        own = [n for n, block in enumerate(self.mine) if block.section == section]
        size = len(section)
        while not own and size:
            size -= 1
            own = [n for n, block in enumerate(self.mine) if block.section[:size] == section[:size]]
        place = own[-1] if own else -1
        for number, block in enumerate(self.theirs if size < len(section) else ()):
            is_above = block.kind == "heading" and section[: len(block.section)] == block.section
            if is_above and number not in self.same and number not in self.places:
                self.places[number] = place
        return place

    def merged(self) -> tuple[Document, Edit]:
        """Return the merged note, and where each line of the note is now."""
        rows = list[tuple[Document, int]]()  # lines, of the note or the copy; -1 for a blank one

        def put(document: Document, first: int, last: int) -> None:
            if rows and first < last and rows[-1][1] >= 0 and not rows[-1][0] is document is self.note:
                above, below = (one.bare[n] for one, n in (rows[-1], (document, first)))
                if above.strip() and below.strip() and not (in_list(above) and in_list(below)):
                    rows.append((self.copy, -1))
            rows.extend((document, line) for line in range(first, last))

        for own, block in [(-1, Block(0, 0, (), "", "")), *enumerate(self.mine)]:
            stands = self.theirs[self.struck[own]] if own in self.struck else block
            put(self.copy if own in self.struck else self.note, stands.first, stands.last)
            behind = [self.theirs[n] for n in sorted(self.places) if self.places[n] == own]
            for other in sorted(behind, key=partial(_distance, block.section)):
                put(self.copy, other.first, other.last)
            following = self.mine[own + 1].first if own + 1 < len(self.mine) else len(self.note.lines)
            put(self.note, block.last, following)
        now = {line: row for row, (document, line) in enumerate(rows, 1) if document is self.note}
        for own, number in self.struck.items():
            first = rows.index((self.copy, self.theirs[number].first)) + 1
            now |= dict.fromkeys(range(self.mine[own].first, self.mine[own].last), first)
        edit = Edit(self.note, [now.get(line) for line in range(len(self.note.lines))])
        note = self.note.follow({self.note.path: edit.follower(self.note.path)})
        end = "\r\n" if "\r" in note.text else "\n"
        lines = [
            note.bare[n] + (note.end(n + 1) or end)
            if side is self.note
            else (self.copy.bare[n] if n >= 0 else "") + end
            for side, n in rows
        ]
        if rows and rows[-1] == (self.note, len(note.lines) - 1) and not note.end(len(note.lines)):
            lines[-1] = note.bare[-1]
        return note.with_text("".join(lines)), edit


def _distance(section: tuple[str, ...], block: Block) -> int:
    """Order blocks behind the last one of a section: of the same section, of one within it, others."""
    return (block.section != section) + (block.section[: len(section)] != section)


def _said(document: Document, block: Block) -> str:
    """The first line of a block, without the mark of a list and strikes."""
    line = document.bare[block.first].replace("~~", "")
    return line[structure.opening(line) :]
