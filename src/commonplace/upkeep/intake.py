"""Other memories, written into the notes once: as one run, with their origin.

Readers of other formats yield facts and pages (`types.imports`), which become entries and notes here.
Imported items are remembered by keyed hashes, so that a second import writes new items, updates those that
are still as they were written, and reports the rest. Items that an undo took back count as never written.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import tee
from typing import TYPE_CHECKING
from unicodedata import category

from commonplace.base import clock, paths
from commonplace.base.errors import ConfigError, NoteUnreadable, PreviewOutdated
from commonplace.base.tuples import NamedTuple
from commonplace.markdown import metadata
from commonplace.markdown.document import Document, damage, decode
from commonplace.notes import additions, appends, layout, scan
from commonplace.redaction.redact import redact
from commonplace.storage import diffs, journal, transaction
from commonplace.storage.receipts import FileReceipt, Receipts
from commonplace.types import About, Change, FileFailure, Provenance, progress
from commonplace.types.imports import Description, Fact, Folder, Import, ImportedFile, Outcome, Page, Part

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.storage.transaction import Read

MOST = 200_000  # facts and pages of one import
LARGEST = 8 << 20  # bytes of one fact or page
LARGEST_IN_ALL = 256 << 20
MOST_NAMED = 1_000  # parts that are left out
_LONGEST_NAME = 255  # bytes, on most file systems
_JOINERS = "\u200c\u200d"  # within words and emoji
_HIDDEN_REST = "opens <private> and never closes it; close it there and import again"


class Item(NamedTuple):
    """A fact or a page, its key, and a hash of what its source says."""

    part: Fact | Page
    key: str
    digest: str


@dataclass(slots=True)
class _IntakeDraft:
    """The result of one composition; another attempt begins with a new one."""

    changes: dict[str, Change] = field(default_factory=dict)  # by paths
    folders: set[str] = field(default_factory=set)  # of what changes
    files: list[ImportedFile] = field(default_factory=list)
    known: dict[str, FileReceipt] = field(default_factory=dict)  # by paths, to be remembered
    redacted: list[str] = field(default_factory=list)
    left_out: list[FileFailure] = field(default_factory=list)

    def remember(self, path: str, known: FileReceipt, before: FileReceipt | None) -> None:
        """Note what is to be remembered of a file beyond what is remembered already."""
        had = before.items if before else {}
        news = {key: digest for key, digest in known.items.items() if had.get(key) != digest}
        if (other := self.known.get(path)) and other.items.keys() != news.keys():  # a page and entries
            self.known[path] = FileReceipt("", known.day, {**other.items, **news})
        elif news or before is None or known.digest != before.digest:
            self.known[path] = known._replace(items=news)

    def reading(self, read: Read, workspace: paths.Workspace) -> Read:
        """Return what reads a file as this import leaves it so far. Raises NoteUnreadable as `read` does."""

        def drafted(path: str) -> bytes | None:
            if path in self.changes:
                return self.changes[path].after
            above = path.split("/")[:-1]
            parents = ("/".join(above[:number]) for number in range(1, len(above) + 1))
            is_folder = path in self.folders or workspace.files.is_folder(path)
            if is_folder or any(parent in self.changes for parent in parents):
                raise NoteUnreadable(paths.shown(path), "its name is that of a folder, or below a note's")
            return read(path)

        return drafted

    def change(self, path: str, before: bytes | None, after: bytes | None) -> None:
        """Note that a file becomes another one."""
        first = self.changes[path].before if path in self.changes else before
        self.changes[path] = Change(path, first, after)
        while path := path.rpartition("/")[0]:
            self.folders.add(path)


def carry_out(
    memory: Memory,
    source: str,
    origin: str,
    parts: Iterable[Part],
    *,
    dry_run: bool = False,
    show: bool = False,
    now: datetime | None = None,
) -> Import:
    """Write the contents of another memory of a kind (`source`) into the notes, as one run; return a report.

    `origin` is its path, for the record. With `dry_run` no note is written, with `show` the diff is returned
    as well. Unreadable parts are listed in `left_out`, and the rest is written. Raises NoteUnreadable and
    ConfigError, with no note changed.
    """
    now = now or datetime.now().astimezone()
    sorted_out = _sort(parts)
    known = Receipts(memory.workspace)
    items = [_item(known, source, part) for part in sorted_out.texts]
    draft = _IntakeDraft()

    def compose(read: Read) -> Sequence[Change]:
        nonlocal draft
        draft = _IntakeDraft()
        reading, is_whole = draft.reading(read, memory.workspace), not sorted_out.left_out
        _compose(draft, memory, source, origin, items, known, reading, now, is_whole)
        return list(draft.changes.values())

    about = About("import", f"import {source}", f"from {paths.shown(origin)}")
    workspace, folders = memory.workspace, (sorted_out.folders, sorted_out.descriptions)
    planned, _ = additions.add(workspace.root, source, *folders, dry_run=True)
    run = transaction.rewrite(
        workspace, compose, about, now=now, settings=memory.settings.history, dry_run=dry_run,
        empty=any(one.outcome == "new" for one in planned),
    )  # fmt: skip
    settings, failed = additions.add(workspace.root, source, *folders, dry_run=dry_run)
    added = [one for one in settings if one.outcome == "new"]
    if not dry_run and (draft.known or added):
        known.save(run.id if run else "", draft.known, added)
    return Import(
        source,
        tuple(draft.files),
        tuple(settings),
        (*sorted_out.left_out, *draft.left_out, *failed),
        tuple(sorted_out.remarks),
        tuple(dict.fromkeys(draft.redacted)),
        run.id if run else "",
        dry_run,
        diffs.of_changes(list(draft.changes.values())) if show else "",
    )


def digest(shown: Import) -> str:
    """Return what tells one preview of an import from another; of a large one no more is to be kept."""
    return hashlib.sha256(repr(shown).encode("utf-8", "surrogatepass")).hexdigest()


def carry_out_shown(
    memory: Memory, source: str, origin: str, parts: Iterable[Part], shown: str, *, now: datetime
) -> Import:
    """Carry out an import whose preview of the moment `now` was `shown`, its `digest`.

    The parts that are compared are those that are written. Raises PreviewOutdated where they are others by
    now, and as `carry_out` does.
    """
    compared, kept = tee(parts)
    again = carry_out(memory, source, origin, compared, dry_run=True, show=True, now=now)
    if digest(again) != shown:
        raise PreviewOutdated([file.path for file in again.files])
    return carry_out(memory, source, origin, kept, show=True, now=now)


@dataclass(slots=True)
class _Sorted:
    """The parts from a reader that are within bounds."""

    texts: list[Fact | Page] = field(default_factory=list)
    folders: list[Folder] = field(default_factory=list)
    descriptions: list[Description] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    left_out: list[FileFailure] = field(default_factory=list)
    size: int = 0
    unnamed: int = 0

    def take(self, part: Fact | Page) -> bool:
        """Take a text unless it is too large; return False if the import is full."""
        size = len(part.text) if isinstance(part, Fact) else len(part.data)
        self.size += size
        if size > LARGEST:
            self.leave(FileFailure(paths.shown(part.origin), f"larger than {LARGEST >> 20} MiB"))
        elif isinstance(part, Page) and (reason := _unfit(part.path)):
            self.leave(FileFailure(paths.shown(part.origin), reason))
        elif len(self.texts) == MOST or self.size > LARGEST_IN_ALL:
            most = f"{MOST:,} entries or {LARGEST_IN_ALL >> 20} MiB"
            reason = f"the source holds more than {most}; the rest is left out"
            self.leave(FileFailure(paths.shown(part.origin), reason))
            return False
        else:
            self.texts.append(part)
        return True

    def leave(self, failure: FileFailure) -> None:
        """Name what is left out, or count it where many are named already."""
        if len(self.left_out) < MOST_NAMED:
            self.left_out.append(failure)
        else:
            self.unnamed += 1


def _unfit(path: str) -> str:
    """Why a path may be no note's, empty where it may."""
    if any("\ud800" <= one <= "\udfff" for one in path):
        return "its name is not UTF-8: rename it"
    if not all(one.isprintable() or one in _JOINERS or category(one) == "Zs" for one in path):
        return "its name holds a line break or a sign that cannot be seen: rename it"
    if any(len(part.encode()) > _LONGEST_NAME for part in path.split("/")):
        return f"its name is longer than {_LONGEST_NAME} bytes: rename it"
    return ""


def _sort(parts: Iterable[Part]) -> _Sorted:
    sorted_out = _Sorted()
    for part in parts:
        match part:
            case Fact() | Page():
                if not sorted_out.take(part):
                    break
            case Folder():
                sorted_out.folders.append(part)
            case Description():
                sorted_out.descriptions.append(part)
            case str():
                sorted_out.remarks.append(part)
            case FileFailure():
                sorted_out.leave(part)
    if sorted_out.unnamed:
        sorted_out.left_out.append(FileFailure("…", f"{sorted_out.unnamed:,} more, which are not named"))
    return sorted_out


def _item(known: Receipts, source: str, part: Fact | Page) -> Item:
    """A part with what it is known by: a fact by its name at its source, a page by where it lies."""
    if isinstance(part, Fact):
        at = part.at.astimezone(UTC) if part.at and part.at.tzinfo else part.at  # a journey is no change
        said = repr((part.text, at and at.isoformat(), part.heading, part.session)).encode()
        name = part.origin
    else:
        said, name = part.data, os.path.realpath(part.place)
    key = known.hashed(f"{source}\0{name}".encode("utf-8", "surrogatepass"))
    return Item(part, key, known.hashed(said))


# --- composing ------------------------------------------------------------------------------------------


def _compose(
    draft: _IntakeDraft,
    memory: Memory,
    source: str,
    origin: str,
    items: Sequence[Item],
    known: Receipts,
    read: Read,
    now: datetime,
    is_whole: bool,
) -> None:
    # An item that its source holds twice counts once.
    items = list({item.key: item for item in reversed(items)}.values())[::-1]
    places = [*scan.sources(os.path.realpath(memory.workspace.root), memory.settings)]
    long_term = memory.workspace.memory_file.relative_to(memory.workspace.root).as_posix()
    for number, item in enumerate(items):
        progress.tell("entries", number, len(items))
        if not isinstance(item.part, Page):
            continue
        place = os.path.realpath(item.part.place)
        if os.path.lexists(place) and any(one.holds(place) for one in places):  # no entry of an export
            shown = paths.shown(item.part.place)
            draft.left_out.append(FileFailure(shown, "is searched where it lies already"))
        else:
            try:
                _compose_page(draft, source, item, known, read, now, long_term)
            except NoteUnreadable as error:
                draft.left_out.append(FileFailure(paths.shown(item.part.origin), error.reason))
    progress.tell("entries", len(items), len(items))
    facts = [item for item in items if isinstance(item.part, Fact)]
    names = [f"memory/{name}" for name in memory.workspace.files.names("memory")]
    notes = [name for name in names if name.endswith((f"/{source}.md", f"-{source}.md"))]
    place = known.hashed(os.path.realpath(origin).encode("utf-8", "surrogatepass"))
    whole = Origin(source, origin, place, notes if facts else (), is_whole)
    _compose_facts(draft, whole, facts, known, read, now, memory.settings.remember.times)


def _compose_facts(
    draft: _IntakeDraft,
    source: Origin,
    items: Sequence[Item],
    known: Receipts,
    read: Read,
    now: datetime,
    times: bool,
) -> None:
    """Compose the notes of the days of facts, those alone that something is new, changed or gone in."""
    days: dict[str, list[Item]] = {path: [] for path in source.notes}
    for item in items:
        assert isinstance(item.part, Fact)
        at = _moment(item.part)
        path = f"memory/{at:%Y-%m-%d}-{source.kind}.md" if at else f"memory/{source.kind}.md"
        days.setdefault(path, []).append(item)
    current = {item.key for item in items}
    for number, (path, facts) in enumerate(sorted(days.items()), 1):
        progress.tell("days", number, len(days))
        file = known.of_file(path)
        had = {key: _Written(*value.split(" ")) for key, value in file.items.items()} if file else {}
        gone = had.keys() - {fact.key for fact in facts}
        gone = {key for key in gone if source.has_lost(had[key], key in current)}
        if not gone and all(fact.key in had and had[fact.key].said == fact.digest for fact in facts):
            draft.files += [ImportedFile(path, "same")] if facts else []
            continue
        placed = [(fact, entry) for fact in facts if (entry := _placed(draft, source.kind, fact.part, times))]
        if placed or gone:
            try:
                day = file.day if file else f"{now:%Y-%m-%d}"
                _compose_day(draft, source, path, day, read(path), file, placed, had, gone)
            except NoteUnreadable as error:
                draft.left_out.append(FileFailure(error.path, error.reason))


def _moment(fact: Fact) -> datetime | None:
    """When it was, on this machine's clock."""
    return fact.at and clock.local(fact.at)


def _placed(draft: _IntakeDraft, source: str, fact: Fact | Page, times: bool) -> appends.Placed | None:
    """Return a fact as written in its note, with its heading; None if it may not be written."""
    assert isinstance(fact, Fact)
    if not _is_closed(draft, fact.origin, fact.text):
        return None
    at = _moment(fact)
    moment = at.isoformat(timespec="seconds") if at else ""
    provenance = Provenance(fact.by, fact.by_agent or source, fact.session, moment)
    placed, kinds = layout.placed(
        fact.text, fact.heading, provenance, f"{at:%H:%M}" if at and times else None
    )
    draft.redacted += kinds
    return placed if placed[0] else None


def _is_closed(draft: _IntakeDraft, origin: str, text: str) -> bool:
    try:
        layout.check_closed(text, origin)
    except ConfigError:
        draft.left_out.append(FileFailure(paths.shown(origin), _HIDDEN_REST))
        return False
    return True


class _Written(NamedTuple):
    """The record of an entry: hashes of its text at its source, and of the place of that."""

    said: str
    place: str = ""


class Origin(NamedTuple):
    """The kind of a source, its path, a hash of that, and the notes that hold entries of its kind.

    `is_whole`: it was read entirely, so that missing entries were deleted there.
    """

    kind: str
    shown: str
    place: str
    notes: Sequence[str]
    is_whole: bool

    def has_lost(self, entry: _Written, is_elsewhere: bool) -> bool:
        """Return True if an entry that a note no longer gets from this source came from it."""
        return is_elsewhere or (self.is_whole and entry.place == self.place)


def _compose_day(
    draft: _IntakeDraft,
    source: Origin,
    path: str,
    day: str,
    before: bytes | None,
    file: FileReceipt | None,
    placed: Sequence[tuple[Item, appends.Placed]],
    had: Mapping[str, _Written],
    gone: Set[str],
) -> None:
    """Compose the note of a day: anew if it stands as imports left it, else with what is new added to it.

    `had` are the entries that imports wrote into it, `gone` the keys of those that the source lost.
    """
    items = {item.key: " ".join(_Written(item.digest, source.place)) for item, _ in placed}
    new = [entry for item, entry in placed if item.key not in had]
    updated = sum(item.key in had and had[item.key].said != item.digest for item, _ in placed)
    removed, differs = len(gone), 0
    # A note that is gone may have been rolled up: what stood in it is not written again.
    is_ours = not had if before is None else file is not None and journal.digest(before)[:32] == file.digest
    if before is not None and is_ours and had.keys() <= items.keys() | gone:
        entries = [entry for _, entry in placed]
        after = _day_note(source.kind, source.shown, path, entries, day) if entries else None
    else:
        updated, removed, differs = 0, 0, updated + removed
        after = before
        if before is not None:
            after = appends.insert_all(Document.read(before, path).checked(), new)[0].data
        elif new:
            after = _day_note(source.kind, source.shown, path, new, day)
    left: Outcome = "gone" if before is None and file else "edited"
    stands: Outcome = "same" if after == before else "changed" if before is not None else "new"
    added = len(new) if after != before else 0
    outcome = left if differs else stands
    draft.files.append(ImportedFile(path, outcome, added, updated, differs, removed))
    # The hash of a note that somebody changed is not remembered: it is never composed anew.
    digest = journal.digest(after)[:32] if is_ours and after is not None else ""
    draft.remember(path, FileReceipt(digest, day, {**items, **dict.fromkeys(gone, "")}), file)
    if after != before:
        draft.change(path, before, after)


def _day_note(source: str, origin: str, path: str, entries: Sequence[appends.Placed], day: str) -> bytes:
    """Return a note of a source's entries, of a day or undated."""
    title = metadata.date_of(path) or source
    head = f"---\nimported_from: {source}\nimported: {day}\noriginal: {_quoted(origin)}\n---\n# {title}\n"
    return appends.insert_all(Document.of(head, path), entries)[0].data


def _quoted(text: str) -> str:
    """A path as YAML takes it on one line: from the home folder, without secrets."""
    home = os.path.expanduser("~")
    text = f"~{text[len(home) :]}" if text.startswith(home + os.sep) else text
    plain = redact("".join(c if c.isprintable() else " " for c in text))[0]
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _compose_page(
    draft: _IntakeDraft, source: str, item: Item, known: Receipts, read: Read, now: datetime, long_term: str
) -> None:
    """Compose a note that is taken whole: where an import put it before, else at a free path."""
    page = item.part
    assert isinstance(page, Page)
    had = known.digest(item.key)
    # Long-term memory may lie in either of two places.
    own = long_term if page.path == paths.MEMORY_FILE else page.path
    path = next((p for p in (own, page.instead) if had and not known.is_elsewhere(item.key, p)), "")
    file = known.of_file(path) if path else None
    day = file.day if file else f"{now:%Y-%m-%d}"
    if not path and (there := known.of_file(own)) and item.digest in there.items.values():
        path, file = own, there  # the source has moved
    if file and item.digest in file.items.values():
        draft.files.append(ImportedFile(path, "same"))
        return
    if (after := _page(draft, source, page, day)) is None:
        return
    if not path:
        standing = {one: read(one) for one in (own, page.instead) if not _unfit(one)}
        path = next((one for one in standing if _is_free(standing[one], after, page)), "")
        if not path:
            draft.files.append(ImportedFile(own, "taken", differs=1))
            return
    before = read(path)
    outcome: Outcome = "new" if before is None else "same" if before == after else "changed"
    if file and journal.digest(before)[:32] != file.digest:
        outcome, after = ("edited" if before is not None else "gone"), before
    written = outcome in ("new", "changed")
    draft.files.append(
        ImportedFile(
            path,
            outcome,
            int(written and not file),
            int(written and bool(file)),
            int(outcome in ("edited", "gone")),
        )
    )
    digest = file.digest if file and not written else journal.digest(after)[:32]
    draft.remember(path, FileReceipt(digest, day, {item.key: item.digest}), file)
    if after != before:
        draft.change(path, before, after)


def _is_free(before: bytes | None, after: bytes, page: Page) -> bool:
    """Return True if a page may replace these bytes: missing, equal, or (curated) at most a bare title."""
    if before is None or before == after:
        return True
    return page.is_curated and decode(before).strip() in ("", layout.MEMORY_TITLE)


def _page(draft: _IntakeDraft, source: str, page: Page, day: str) -> bytes | None:
    """A note as it may be written, with where it came from; None where it may not."""
    if (at := damage(page.data)) is not None:  # a copy with replaced letters would pass for what was written
        line = page.data.count(b"\n", 0, at) + 1
        reason = f"is not UTF-8 (line {line:,}); convert it, then import again"
        draft.left_out.append(FileFailure(paths.shown(page.origin), reason))
        return None
    text = decode(page.data)
    if not _is_closed(draft, page.origin, text):
        return None
    if page.is_own:
        return page.data
    text, kinds = layout.own_words(text, Provenance("agent", source), True)
    draft.redacted += kinds
    if page.is_curated:
        return text.encode()
    place = _quoted(page.place)
    own = [f"imported_from: {source}", f"imported: {day}", f"original: {place}", "by: agent"]
    lines = text.split("\n")
    block = metadata.front_matter(lines)
    has = metadata.read(lines[1 : block[1] - 1]) if block else {}
    if block and (has or block[1] == 2):
        if page.day and not has.keys() & {"date", "created"} and not metadata.date_of(page.path):
            own.append(f"date: {page.day}")
        own = [line for line in own if line.partition(":")[0] not in has]
        return "\n".join([*lines[: block[1] - 1], *own, *lines[block[1] - 1 :]]).encode()
    if page.day and not metadata.date_of(page.path):
        own.append(f"date: {page.day}")
    return "\n".join(["---", *own, "---", *lines]).encode()
