"""The daily notes of a month that is old become one note: their lines verbatim, their files in the archive.

A month is rolled up when all of it is older than asked for. `memory/YYYY-MM.md` then holds each daily note as
it is under a heading of the first level that begins with its day, without the blank lines around headings,
so that it is smaller than what it replaces. The files go, byte for byte, to `archive/YYYY/`, which is not
searched, and stay there until they are confirmed (`upkeep.archive`).

The heading leads to the original: that of `# 2026-01-13` is `archive/2026/2026-01-13.md`; where it lies
elsewhere (a slug, a folder, a second file) the heading names it (`from=`). The day of the heading is the day
of all below it (`markdown.document.parse`).
"""

from __future__ import annotations

import os
import stat
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import partial
from itertools import pairwise
from posixpath import basename, dirname, splitext
from typing import TYPE_CHECKING

from commonplace.base import paths
from commonplace.base.errors import CommonplaceError, NoteUnreadable
from commonplace.base.tuples import NamedTuple
from commonplace.changes import diffs, transaction
from commonplace.markdown import comments, fences, links, metadata, statements, structure
from commonplace.markdown.document import Document, parse
from commonplace.notes import scan
from commonplace.redaction.redact import private_parts, strip_private
from commonplace.types.changes import About, Change, Run
from commonplace.types.data import cite
from commonplace.upkeep import moves
from commonplace.upkeep.moves import Moved
from commonplace.upkeep.schedule import due

if TYPE_CHECKING:
    from commonplace.changes.transaction import Read
    from commonplace.memory import Memory
    from commonplace.types import Note

ARCHIVE = "archive"
_ATTEMPTS = 3  # of a month whose notes are being written to
_NO_MARKUP = str.maketrans("<>", "  ")
_PLAIN_KEYS = frozenset({"title", "date", "created"})
# What an import says of a whole note (`upkeep.intake`): entries and headings say who wrote them, and the rest
# is about the file, whose bytes are in the archive.
_IMPORT_KEYS = frozenset({"imported_from", "imported", "original", "by"})
_MOST_TAGS = 20  # private parts inside each other that are closed at the end of a note
Origin = tuple[str, int]  # the path of a note, and a line of it, from 1
Line = tuple[str, Origin | None]  # a line of a month, and where it comes from
_OLDER_MARK = " <!-- cp: from="  # what earlier versions said of every entry


class NotRolledUp(CommonplaceError):
    """A month that cannot be rolled up, and why; nothing of it was changed."""

    def __init__(self, month: str, reason: str) -> None:
        super().__init__(f"{month}: {reason}; its notes stay as they are")
        self.month = month


@dataclass(frozen=True, slots=True)
class Month:
    """A month that was rolled up, or would be: `run` is None for a dry run.

    `refused` says why it was not. `unread` are other notes that could not be read, with the reason:
    references in them still name the daily notes.
    """

    month: str
    path: str
    notes: tuple[str, ...]
    diff: str = ""
    run: Run | None = None
    refused: str = ""
    unread: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class RolledUp:
    """What became of the months that were old enough, oldest first."""

    months: tuple[Month, ...]
    warnings: tuple[str, ...] = ()


class Daily(NamedTuple):
    """A daily note on its way into a month: `text` has plain newlines, `archived` is where its bytes go."""

    path: str
    day: str
    archived: str
    text: str


@dataclass(slots=True)
class _Plan:
    changes: list[Change] = field(default_factory=list)
    modes: dict[str, int] = field(default_factory=dict)  # permissions of the files in the archive
    unread: dict[str, str] = field(default_factory=dict)  # notes that are left as they are, and why


def rollup(
    memory: Memory, *, older_than_days: int | None = None, now: datetime | None = None, dry_run: bool = False
) -> RolledUp:
    """Roll up every month all of which is older than `older_than_days` (`rollup.older_than_days`).

    Each is a run of its own. A month that cannot be rolled up says why, and the others are. Raises Running
    where another process consolidates, NoteUnreadable.
    """
    now = now or datetime.now().astimezone()
    days = memory.settings.rollup.older_than_days if older_than_days is None else older_than_days
    cutoff = now.date() - timedelta(days)
    with nullcontext() if dry_run else due.held(memory.workspace):
        if not dry_run:
            transaction.recover(memory.workspace)
        why = None if dry_run else f"daily notes older than {days} days"
        months = [_roll_up(memory, *month, why, now) for month in _months(memory, cutoff)]
    warnings = _unread(months)
    if any(month.run for month in months):
        warnings += _synced(memory, warnings)
    return RolledUp(tuple(months), tuple(warnings))


def _synced(memory: Memory, known: Sequence[str]) -> list[str]:
    """Bring the index up to the files; return what failed, which the next search tries again.

    Notes that are `known` to be unreadable are not named again.
    """
    try:
        report = memory.sync()
    except CommonplaceError as error:
        return [f"the index is not up to date: {error}"]
    named = {line.partition(": ")[0] for line in known}
    lines = [*report.warnings, *(f"{failed.path}: {failed.reason}" for failed in report.failed)]
    return [line for line in lines if line.partition(": ")[0] not in named]


def own_notes(memory: Memory) -> list[str]:
    """The paths of the workspace's own notes, transcripts and links aside."""
    from commonplace.memory import sources

    root = os.path.realpath(memory.workspace.root)
    return [
        state.path
        for state in scan.scan(sources(memory)[:1])
        if state.path.lower().endswith(".md") and os.path.realpath(state.absolute) == f"{root}/{state.path}"
    ]


def _months(memory: Memory, cutoff: date) -> list[tuple[str, list[tuple[str, str]]]]:
    """The months that end before a day, with their daily notes in their order: path and day."""
    months: dict[str, list[tuple[str, str]]] = {}
    for path in own_notes(memory):
        day = metadata.date_of(path) if metadata.kind_of(path) == "daily" else None
        if day and (date.fromisoformat(f"{day[:7]}-01") + timedelta(31)).replace(day=1) <= cutoff:
            months.setdefault(day[:7], []).append((path, day))
    return [
        (month, sorted(notes, key=lambda note: (note[1], len(note[0]), note[0])))
        for month, notes in sorted(months.items())
    ]


def _roll_up(
    memory: Memory, month: str, notes: Sequence[tuple[str, str]], why: str | None, now: datetime
) -> Month:
    """Roll up a month for the reason `why`; without one, only say what would be changed."""
    path = f"{paths.MEMORY_FOLDER}/{month}.md"
    names = tuple(name for name, _ in notes)
    plan = _Plan()

    def compose(read: Read) -> Sequence[Change]:
        nonlocal plan
        plan = _Plan()
        _compose(memory, month, path, notes, read, plan)
        return plan.changes

    run, refused = None, ""
    for _ in range(_ATTEMPTS):
        try:
            if why is None:
                compose(partial(transaction.read, memory.workspace))
            else:
                about = About("rollup", f"rollup {month}", why)
                settings = memory.settings.history
                run = transaction.rewrite(memory.workspace, compose, about, now=now, settings=settings)
                _keep_closed(memory.workspace, plan.modes, path)
            return Month(
                month, path, names, diffs.of_changes(plan.changes), run, "", tuple(plan.unread.items())
            )
        except transaction.FileChanged as error:
            refused = str(error)
        except (NotRolledUp, NoteUnreadable) as error:
            return Month(month, path, names, refused=str(error))
    return Month(month, path, names, refused=refused)


def _unread(months: Sequence[Month]) -> list[str]:
    """Say once of each note that could not be read what that means; months that are refused say their own."""
    refused = {path for month in months if month.refused for path in month.notes}
    unread = {path: why for month in months for path, why in month.unread if path not in refused}
    message = "{}: {}; its references to what was rolled up stay as they are; let it be read (chmod u+r)"
    return [message.format(paths.shown(path), why) for path, why in unread.items()]


def _keep_closed(workspace: paths.Workspace, modes: Mapping[str, int], path: str) -> None:
    """Let nobody read what was moved who could not read it before, the monthly note included."""
    for name, mode in [*modes.items(), *((path, mode) for mode in modes.values())]:
        with suppress(OSError), workspace.files.open(name, links=True) as file:
            now = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if now & mode != now and sys.platform != "win32":
                os.fchmod(file.fileno(), now & mode)


# --- the changes of a month -------------------------------------------------------------------------------


def _compose(
    memory: Memory, month: str, path: str, notes: Sequence[tuple[str, str]], read: Read, plan: _Plan
) -> None:
    """Plan a month from its notes as they are now. Raises NotRolledUp, NoteUnreadable."""
    before = read(path)
    document = Document.read(before or b"", path).checked()
    existing = document.text
    dailies = _without_clashes(list(_moving(memory, notes, path, read, plan)), existing)
    lines, places, again = compose(path, dailies, existing)
    text = _written(lines, path, existing)
    trouble = _left_open(path, existing, dailies) or _lost(path, dailies, existing, text, again)
    if trouble:
        raise NotRolledUp(month, trouble)
    moved = _moved(path, dailies, lines, places, existing)
    origins = {number: moved[origin[0]] for number, (_, origin) in enumerate(lines, 1) if origin}
    try:
        data = document.with_text(moves.follow(text, path, moved, origins)).data
    except UnicodeEncodeError as error:
        raise NotRolledUp(month, "its notes hold bytes that the monthly note cannot") from error
    if data != document.data:
        plan.changes.append(Change(path, before, data))
    for other in sorted({*own_notes(memory)} - moved.keys() - {path}):
        _lead_on(other, moved, read, plan)
    plan.changes += [Change(daily.path, read(daily.path), None) for daily in dailies]


def _moving(
    memory: Memory, notes: Sequence[tuple[str, str]], month: str, read: Read, plan: _Plan
) -> Iterator[Daily]:
    """Plan the way of daily notes into the archive, each to a place that nothing has yet."""
    for name, day in notes:
        if (data := read(name)) is None:
            continue
        stem = f"{ARCHIVE}/{day[:4]}/{name.partition('/')[2].removesuffix('.md')}"
        archived, number = f"{stem}.md", 2
        while read(archived) is not None:
            archived, number = f"{stem}-{number}.md", number + 1
        text = Document.read(data, name).checked().text.replace("\r\n", "\n").replace("\r", "\n")
        plan.changes.append(Change(archived, None, data))
        with suppress(OSError):
            plan.modes[archived] = stat.S_IMODE(memory.workspace.files.stat(name).st_mode)
        yield Daily(name, day, archived, moves.rebased(text, name, month))


def _lead_on(path: str, moved: Mapping[str, Moved], read: Read, plan: _Plan) -> None:
    """Plan how a note changes that refers to what was moved; one that cannot be read is left as it is."""
    try:
        data = read(path) or b""
    except NoteUnreadable as error:
        plan.unread[path] = error.reason
        return
    with suppress(NoteUnreadable, UnicodeEncodeError):
        text = Document.read(data, path).checked().text
        after = moves.follow(text, path, moved)
        if after != text:
            plan.changes.append(Change(path, data, Document.read(data).with_text(after).data))


def _left_open(path: str, existing: str, dailies: Sequence[Daily]) -> str:
    """Return what stays open and would hide the days behind it; empty where all is well."""
    lines: list[Line] = [(line, None) for line in existing.replace("\r\n", "\n").split("\n")]
    if _sealed(lines) != lines:
        return f"{path} leaves a code fence or a private part open; close it"
    for name, text in [(path, existing), *((daily.path, daily.text) for daily in dailies)]:
        if comments.left_open(text.splitlines(), parse(text, name).fences):
            return f"{name} leaves a comment open, which would hide days; close it"
    return ""


def _without_clashes(dailies: Sequence[Daily], existing: str) -> list[Daily]:
    """The notes with labels of their own where one would define a link reference (`[1]: …`) of another."""
    texts = [existing, *(daily.text for daily in dailies)]
    used = [links.labels(text) for text in texts]
    defined = [
        {label.casefold(): target for label, target in links.definitions(text).items()} for text in texts
    ]

    def clashes(at: int, label: str) -> bool:
        """Whether another note uses a label without a target, or had another target for it before."""
        targets = {n: defined[n].get(label.casefold()) for n in range(len(texts)) if label in used[n]}
        target = targets.pop(at, None)
        return any(other is None or (other != target and n < at) for n, other in targets.items())

    changed = []
    for at, daily in enumerate(dailies, 1):
        labels = [label for label in links.definitions(daily.text) if clashes(at, label)]
        text = links.relabelled(daily.text, {label: f"{label}-{daily.day}" for label in labels})
        changed.append(daily._replace(text=text))
    return changed


def _moved(
    path: str,
    dailies: Sequence[Daily],
    lines: Sequence[Line],
    places: Mapping[Origin, int],
    existing: str,
) -> dict[str, Moved]:
    """Where every line of the daily notes is now, and those of the monthly note, which come first."""
    names = _names(parse("\n".join(text for text, _ in lines), path))

    def led(note: str, archived: str, text: str) -> Moved:
        raw = text.split("\n")

        def line(number: int) -> str | None:
            if place := places.get((note, number)):
                return f"{path}#L{place}"
            return f"{archived}#L{number}" if 0 < number <= len(raw) and raw[number - 1].strip() else None

        headings = {
            anchor: names[place]
            for line, (anchor, _) in _names(parse(text, note)).items()
            if (place := places.get((note, line))) in names
        }
        at = places.get((note, 0))
        if not at or note == path:
            return Moved(note, archived, line, archived, headings)
        last = max(place for (own, _), place in places.items() if own == note)
        heading = {"": names[at]} if at in names else {}
        return Moved(note, path, line, cite(path, at, last), headings | heading)

    moved = {path: led(path, path, existing)} if existing else {}
    return moved | {daily.path: led(daily.path, daily.archived, daily.text) for daily in dailies}


def _names(note: Note) -> dict[int, tuple[str, str]]:
    """By the lines of headings their anchors, as forges number them, and what a wiki link calls each.

    A wiki link leads to the first heading of a name; to another one through the heading of its day.
    """
    names: dict[int, tuple[str, str]] = {}
    taken: set[str] = set()
    day = ""
    anchors = links.anchors(heading.text for heading in note.headings)
    for heading, anchor in zip(note.headings, anchors, strict=True):
        day = heading.text if heading.level == 1 else day
        slug = links.slug(heading.text)
        within = f"{day}#{heading.text}" if slug in taken and day else heading.text
        names[heading.line] = anchor, within
        taken.add(slug)
    return names


# --- the note of the month --------------------------------------------------------------------------------


def compose(
    path: str, dailies: Sequence[Daily], existing: str = ""
) -> tuple[list[Line], dict[Origin, int], set[Origin]]:
    """Return the lines of the note of a month, where lines stand in it, and which of them are not added.

    None of the lines that it holds already is touched. What an editor wrote again of a day after its month
    was rolled up is not added again, as far as it begins as what stands there. Line 0 of a daily note is the
    heading that it has in the month.
    """
    before = existing.removesuffix("\n").split("\n") if existing else []
    lines: list[Line] = [(line.removesuffix("\r"), (path, number)) for number, line in enumerate(before, 1)]
    again: dict[Origin, Origin] = {}  # lines that stand there already, and where
    for daily in dailies:
        days = list(_days(path, lines))
        section, known = _news(daily, _standing(path, lines, days, daily.day))
        again |= known
        heading = comments.without(section[0][0]).strip()
        is_new = _says(heading, daily.day) and not any(text.startswith(heading) for text, _ in lines)
        if section[1:] or is_new:
            at = next((day.first for day in days if day.level == 1 and day.day > daily.day), len(lines))
            lines[at:at] = section
    places = _places(lines)
    return lines, places | {old: places[new] for old, new in again.items()}, set(again)


def _says(heading: str, day: str) -> bool:
    """Whether the heading of a day says more than the day."""
    return heading.removeprefix("#").strip() != day


def _places(lines: Sequence[Line]) -> dict[Origin, int]:
    """Where the lines of notes stand in a month; the first of a note is its heading, line 0."""
    places: dict[Origin, int] = {}
    for number, (_, origin) in enumerate(lines, 1):
        if origin:
            places[origin] = number
            places.setdefault((origin[0], 0), number)
    return places


class _Day(NamedTuple):
    """The section of a day in a month: the places of its heading and after its end, its level, its day."""

    first: int
    end: int
    level: int
    day: str


def _standing(path: str, lines: Sequence[Line], days: Sequence[_Day], day: str) -> dict[str, Origin]:
    """What the month held already below the headings of a day, as it is and as the daily note had it."""
    standing: dict[str, Origin] = {}
    for section in (section for section in days if section.day == day):
        for text, origin in lines[section.first + 1 : section.end]:
            if origin and origin[0] == path and text.strip():
                head, mark, rest = text.rpartition(_OLDER_MARK)
                is_marked = mark and rest.find("-->") == len(rest) - 3
                standing |= {text: origin, head if is_marked else text: origin}
    return standing


def _news(daily: Daily, standing: Mapping[str, Origin]) -> tuple[list[Line], dict[Origin, Origin]]:
    """The section of a daily note without what stands there already, and where each line of that stands."""
    note, section = _section(daily)
    if not standing:
        return section, {}
    number = _first_new(note, section, standing)
    known = {origin: standing[text] for text, origin in section[1:number] if origin and text in standing}
    if number == len(section):
        known[daily.path, 0] = next(iter(standing.values()))
    return [section[0], *section[number:]], known


def _first_new(note: Note, section: Sequence[Line], standing: Collection[str]) -> int:
    """The first line of a section that does not stand there yet.

    It is a heading, or begins a statement that is under none: what is added is understood by itself.
    """
    number = 1
    while number < len(section) and section[number][0] in {"", *standing}:
        number += 1
    starts = {statement.first for statement in statements.read(note) if not statement.headings[1:]}
    starts |= {heading.line for heading in note.headings if heading.level <= 2}
    while 1 < number < len(section) and (section[number][1] or ("", 0))[1] not in starts:
        number -= 1
    return number


def _days(path: str, lines: Sequence[Line]) -> Iterator[_Day]:
    """The sections of days, of this form and of the older one, below a title."""
    headings = parse("\n".join(text for text, _ in lines), path).headings
    for number, heading in enumerate(headings):
        if heading.level <= 2 and metadata.date_of(heading.text[:10]) == heading.text[:10]:
            behind = (other.line - 1 for other in headings[number + 1 :] if other.level <= heading.level)
            yield _Day(heading.line - 1, next(behind, len(lines)), heading.level, heading.text[:10])


def _section(daily: Daily) -> tuple[Note, list[Line]]:
    """A daily note, and its lines in the month: the heading of the day first."""
    note = parse(daily.text, daily.path)
    raw = daily.text.split("\n")[: len(note.lines)]
    title, first = _title(note, raw)
    lines: list[Line] = [
        (_heading(daily, note, raw, title), (daily.path, title)),
        *_settings(daily, note, raw, title),
    ]
    body = range(first, len(raw) + 1)
    deeper = _deeper(note, raw, title)
    # A heading that is written in one line needs no line below it.
    underlines = {line + 1 for line in deeper if not _is_marked(note, line)}
    left_out = {*_separators(daily.text, note, raw, body), *underlines}
    lines += [(deeper.get(n, raw[n - 1]), (daily.path, n)) for n in body if n not in left_out]
    return note, _sealed(lines)


def rolled_up(archived: str, text: str) -> list[str]:
    """Return the lines of an original as its month has them, the heading where it says more than the day."""
    path, day = f"{paths.MEMORY_FOLDER}/{basename(archived)}", metadata.date_of(archived) or ""
    lines = [line for line, _ in _section(Daily(path, day, archived, text))[1] if line.strip()]
    return lines if _says(lines[0], day) else lines[1:]


def _title(note: Note, raw: Sequence[str]) -> tuple[int, int]:
    """The line of the title, 0 for none, and the first line below it and front matter."""
    first = note.front_matter[1] + 1 if note.front_matter else 1
    title = next((heading.line for heading in note.headings[:1] if heading.level == 1), 0)
    if not title or any(line.strip() for line in raw[first - 1 : title - 1]):
        return 0, first  # what has text above it heads what is below it alone
    return title, title + (1 if _is_marked(note, title) else 2)


def _settings(daily: Daily, note: Note, raw: Sequence[str], title: int) -> list[Line]:
    """The front matter of a note as a block of code, if the heading of the day does not say all of it."""
    if not note.front_matter:
        return []
    heading = _heading(daily, note, raw, title)
    known = _IMPORT_KEYS if "imported_from" in note.metadata else frozenset()
    numbers = [n for n in range(2, note.front_matter[1]) if raw[n - 1].partition(":")[0] not in known]
    lines = [raw[n - 1] for n in numbers if raw[n - 1].strip()]
    if all(key in _PLAIN_KEYS and value in heading for key, value in map(_setting, lines)):
        return []
    block: list[Line] = [(raw[n - 1], (daily.path, n)) for n in numbers]
    return [("```yaml", None), *block, ("```", None)]


def _setting(line: str) -> tuple[str, str]:
    """Key and value of a line of front matter."""
    key, _, value = line.partition(":")
    return key.strip(), " ".join(value.split()).strip("\"'")


def _is_marked(note: Note, line: int) -> bool:
    """Whether a heading is one by its marks (`##`), and not by the line below it."""
    return structure.atx(note.lines[line - 1]) is not None


def _deeper(note: Note, raw: Sequence[str], title: int) -> dict[int, str]:
    """The headings of a note one level deeper where one beside its title is of the first: only a day is."""
    lines: dict[int, str] = {}
    if all(heading.level > 1 or heading.line == title for heading in note.headings):
        return lines
    for heading in note.headings:
        text = raw[heading.line - 1].strip()
        if not _is_marked(note, heading.line):
            text = f"{'#' * heading.level} {text}"
        lines[heading.line] = f"{'#' * (heading.level < 6)}{text}"
    return lines


def _heading(daily: Daily, note: Note, raw: Sequence[str], line: int) -> str:
    """The title of a daily note as the heading of its day, with what front matter says of all of it."""
    title = raw[line - 1].strip() if line else ""
    if line and _is_marked(note, line):
        title = title.removeprefix("#").strip()
    if not title:
        slug = splitext(basename(daily.path))[0].removeprefix(daily.day).strip("-_ ")
        names = (str(note.metadata.get("title") or ""), slug, dirname(daily.path).partition("/")[2])
        title = next(filter(None, (" ".join(name.translate(_NO_MARKUP).split()) for name in names)), "")
    if not title.startswith(daily.day):
        title = f"{daily.day} {title}".strip()
    remarks = list(_said_of_all(note))
    if daily.archived != original(daily.day):
        reference = f"{daily.archived}#L1-L{max(1, len(note.lines))}"
        remarks.append(comments.of_marks(from_=comments.of_sources([reference])))
    return " ".join(["#", title, *remarks])


def _said_of_all(note: Note) -> Iterator[str]:
    """What front matter says of a whole note, as comments."""
    for key, value in comments.of_front_matter(note.metadata).items():
        flag = key if key == comments.PINNED else value if key == "status" else ""
        further = comments.PROVENANCE if key == "by" else ()
        wrote = {"agent": note.metadata.get("imported_from"), **note.metadata}
        values = [(key, value), *((name, str(wrote.get(name) or "")) for name in further)]
        remarks = [f"{name}: {_plain(text)}" for name, text in values if text]
        yield f"<!-- {flag or '; '.join(remarks)} -->"


def _plain(value: str) -> str:
    """A value without what would end its comment, or the value."""
    return " ".join(value.translate(_NO_MARKUP).replace(";", " ").replace("--", " ").split())


def original(day: str) -> str:
    """Where the original of a day lies, unless the heading of the day names another place."""
    return f"{ARCHIVE}/{day[:4]}/{day}.md"


def _separators(text: str, note: Note, raw: Sequence[str], body: range) -> Iterator[int]:
    """Yield the blank lines that only set headings apart, and those at the ends of a note.

    None that stands in code or in a private part, or beside a comment, which is about the line above it.
    """
    whole = _together(text, note)
    marked, under = _heading_lines(note)
    start, end = body.start - 1, len(raw) + 1
    shown = [(number, raw[number - 1].lstrip()[:4]) for number in body if raw[number - 1].strip()]
    for (above, before), (below, after) in pairwise([(start, ""), *shown, (end, "")]):
        at_end = below == end or (above == start and above not in under)
        is_apart = (above in under or below in marked) and "<!--" not in (before, after)
        gap = range(above + 1, below)
        if whole.isdisjoint(gap) and (at_end or is_apart):
            yield from gap


def _heading_lines(note: Note) -> tuple[set[int], set[int]]:
    """The headings by their marks, and the last lines of all headings.

    A heading by its marks ends a paragraph; one that is underlined needs the blank line above it.
    """
    marked = {h.line for h in note.headings if _is_marked(note, h.line)}
    return marked, marked | {h.line + 1 for h in note.headings if h.line not in marked}


def _together(text: str, note: Note) -> set[int]:
    """The lines of code and of private parts, which stay as they are."""
    lines = {number for first, last in note.fences for number in range(first, last + 1)}
    line, done = 1, 0
    for start, end, _ in private_parts(text):
        first = line + text.count("\n", done, start)
        line, done = first + text.count("\n", start, end), end
        lines.update(range(first, line + 1))
    return lines


def _sealed(lines: list[Line]) -> list[Line]:
    """Close a fence and private parts that a note leaves open: they would swallow the next day."""
    text = "\n".join(line for line, _ in lines)
    closing: list[str] = []
    # As those see it who know no private parts: a fence in one is open to them as well.
    if fence := fences.left_open(text.split("\n")):
        closing.append(fence.lead + fence.mark)
    for _ in range(_MOST_TAGS):
        if strip_private("\n".join([text, *closing, "x"])).endswith("x"):
            break
        closing.append("</private>")
    return [*lines, *((line, None) for line in closing)]


def _written(lines: Sequence[Line], path: str, existing: str) -> str:
    """The note: what stood there with the ends of its lines, the rest with those that it has."""
    before = existing.removesuffix("\n").split("\n")
    end = "\r\n" if "\r\n" in existing else "\n"
    return "".join(
        f"{before[origin[1] - 1]}\n" if origin and origin[0] == path else f"{line}{end}"
        for line, origin in lines
    )


# --- whether a month holds what its days held -------------------------------------------------------------


def _lost(path: str, dailies: Sequence[Daily], existing: str, text: str, again: Collection[Origin]) -> str:
    """Return what a month's note lost, found out from the notes alone; empty where all is well."""
    existing, text = existing.replace("\r\n", "\n"), text.replace("\r\n", "\n")
    needed = Counter(_stated(path, existing))
    for daily in dailies:
        needed += Counter(_stated(daily.path, daily.text, again))
    if missing := needed - Counter(_stated(path, text)):
        return f"{next(iter(missing))[0].splitlines()[0][:80]!r} would not stand in it as it did"
    parts, standing = (
        Counter(_private([existing, *(daily.text for daily in dailies)])),
        Counter(_private([text])),
    )
    if any(not again or part not in standing for part in parts - standing):
        return "a private part would not stand in it as it did"
    rest = iter(text.split("\n"))
    if existing and not all(line in rest for line in existing.removesuffix("\n").split("\n")):
        return "a line that stood in it would be gone"
    return ""


def _stated(path: str, text: str, without: Collection[Origin] = ()) -> Iterator[tuple[str, bool, str, bool]]:
    """What a note states, whether it is struck, its status, whether it is pinned."""
    for statement in statements.read(parse(text, path)):
        if (path, statement.first) not in without:
            yield (
                statement.text,
                statement.struck,
                statement.said.get("status", ""),
                statements.is_pinned(statement.said),
            )


def _private(texts: Sequence[str]) -> Iterator[str]:
    """Private parts; one that is left open may be closed, with a fence in it, and lose blanks at its end."""
    for text in texts:
        for start, end, _ in private_parts(text):
            part = text[start:end].removesuffix("</private>").rstrip()
            last = part.rpartition("\n")[2]
            yield part.removesuffix(last).rstrip() if fences.mark_of(last) == last.strip() else part
