"""Daily notes of an old month become one note: each day verbatim under its heading, the files in the archive.

A month is rolled up when all of it is older than asked for. `memory/YYYY-MM.md` then holds each daily note
under a heading of the first level that begins with its day (`markdown.document.parse` dates what is below
it). The files go, byte for byte, to `archive/YYYY/`, which is not searched, and stay there until their owner
confirms that they may go (`upkeep.archive`).
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import partial
from posixpath import basename, dirname, splitext
from typing import TYPE_CHECKING

from commonplace.base import paths
from commonplace.base.errors import CommonplaceError, NoteUnreadable
from commonplace.base.tuples import NamedTuple
from commonplace.language import compare
from commonplace.markdown import comments, fences, metadata, references, statements, structure
from commonplace.markdown.document import Document, parse
from commonplace.memory import Memory, sources
from commonplace.notes import scan
from commonplace.redaction.redact import private_parts, strip_private
from commonplace.storage import diffs, transaction
from commonplace.types import About, Change, Run, cite
from commonplace.upkeep.schedule import due

if TYPE_CHECKING:
    from commonplace.storage.transaction import Read
    from commonplace.types import Note

ARCHIVE = "archive"
_NO_MARKUP = str.maketrans("<>", "  ")
# Keys that an import writes about the file (`upkeep.intake`); the archived file keeps them.
_IMPORT_KEYS = frozenset({"imported_from", "imported", "original", "by"})
_DEFINITION = re.compile(r" {0,3}\[([^\]\n]+)\]:[ \t]*(\S.*)")  # of a link or a footnote
_LINK = r"(?:\]\(|\[\[|href=|^ {{0,3}}\[[^\]\n]+\]:)[^()\[\]\n]{{0,200}}(?:{})"
Line = tuple[str, int]  # a line of a month, and its number in the daily note, 0 if it has no such line


class NotRolledUp(CommonplaceError):
    """A month that cannot be rolled up, and the reason; its notes are unchanged."""

    def __init__(self, month: str, reason: str) -> None:
        super().__init__(f"{month}: {reason}; its notes stay as they are")
        self.month = month


@dataclass(frozen=True, slots=True)
class Month:
    """A month that was rolled up, or would be: `run` is None for a dry run, `refused` says why it was not."""

    month: str
    path: str
    notes: tuple[str, ...]
    diff: str = ""
    run: Run | None = None
    refused: str = ""


@dataclass(frozen=True, slots=True)
class RolledUp:
    """The months that were old enough, with their results, oldest first."""

    months: tuple[Month, ...]
    warnings: tuple[str, ...] = ()


class Daily(NamedTuple):
    """A daily note: its path, its day as YYYY-MM-DD, and its text with plain newlines."""

    path: str
    day: str
    text: str


@dataclass(slots=True)
class _Plan:
    changes: list[Change] = field(default_factory=list)
    mode: int = 0o777  # permissions that all daily notes share
    warnings: list[str] = field(default_factory=list)


def rollup(
    memory: Memory, *, older_than_days: int | None = None, now: datetime | None = None, dry_run: bool = False
) -> RolledUp:
    """Roll up every month all of which is older than `older_than_days` (`rollup.older_than_days`).

    Each month is a run of its own; one that cannot be rolled up is returned with the reason. Raises Running
    where another process consolidates, NoteUnreadable.
    """
    now = now or datetime.now().astimezone()
    days = memory.settings.rollup.older_than_days if older_than_days is None else older_than_days
    why = None if dry_run else f"daily notes older than {days} days"
    warnings: dict[str, None] = {}
    with nullcontext() if dry_run else due.held(memory.workspace):
        if not dry_run:
            transaction.recover(memory.workspace)
        cutoff = now.date() - timedelta(days)
        months = [_roll_up(memory, *month, why, now, warnings) for month in _months(memory, cutoff)]
    if any(month.run for month in months):
        try:
            report = memory.sync()
            told = [*report.warnings, *(f"{failed.path}: {failed.reason}" for failed in report.failed)]
            named = {line.partition(": ")[0] for line in warnings}
            warnings |= {line: None for line in told if line.partition(": ")[0] not in named}
        except CommonplaceError as error:
            warnings[f"the index is not up to date: {error}"] = None
    return RolledUp(tuple(months), tuple(warnings))


def _own_notes(memory: Memory) -> list[str]:
    """Return the paths of the workspace's own notes, without transcripts and links."""
    root = os.path.realpath(memory.workspace.root)
    return [
        state.path
        for state in scan.scan(sources(memory)[:1])
        if state.path.lower().endswith(".md") and os.path.realpath(state.absolute) == f"{root}/{state.path}"
    ]


def _months(memory: Memory, cutoff: date) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the months that end before a day, each with paths and days of its daily notes in order."""
    months: dict[str, list[tuple[str, str]]] = {}
    for path in _own_notes(memory):
        day = metadata.date_of(path) if metadata.kind_of(path) == "daily" else None
        if day and (date.fromisoformat(f"{day[:7]}-01") + timedelta(31)).replace(day=1) <= cutoff:
            months.setdefault(day[:7], []).append((path, day))
    return [
        (month, sorted(notes, key=lambda note: (note[1], len(note[0]), note[0])))
        for month, notes in sorted(months.items())
    ]


def _roll_up(
    memory: Memory,
    month: str,
    notes: Sequence[tuple[str, str]],
    why: str | None,
    now: datetime,
    warnings: dict[str, None],
) -> Month:
    """Roll up a month for the reason `why`; without one, only return what would be changed."""
    path = f"{paths.MEMORY_FOLDER}/{month}.md"
    names = tuple(name for name, _ in notes)
    plan = _Plan()

    def composed(read: Read) -> Sequence[Change]:
        nonlocal plan
        plan = _Plan()
        _compose(memory, month, path, notes, read, plan)
        return plan.changes

    run = None
    try:
        if why is None:
            composed(partial(transaction.read, memory.workspace))
        else:
            about, settings = About("rollup", f"rollup {month}", why), memory.settings.history
            run = transaction.rewrite(memory.workspace, composed, about, now=now, settings=settings)
            _restrict(memory.workspace, path, plan.mode)
    except (NotRolledUp, NoteUnreadable) as error:
        return Month(month, path, names, refused=str(error))
    warnings |= dict.fromkeys(plan.warnings)
    return Month(month, path, names, diffs.of_changes(plan.changes), run)


def _restrict(workspace: paths.Workspace, path: str, mode: int) -> None:
    """Take the permissions from a note that `mode` lacks: a closed day stays closed in an open month."""
    with suppress(OSError), workspace.files.open(path, links=True) as file:
        now = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        if now & mode != now:
            os.fchmod(file.fileno(), now & mode)


# --- the changes of a month -------------------------------------------------------------------------------


def _compose(
    memory: Memory, month: str, path: str, notes: Sequence[tuple[str, str]], read: Read, plan: _Plan
) -> None:
    """Plan a month from its notes as they are now. Raises NotRolledUp, NoteUnreadable."""
    before = read(path)
    document = Document.read(before or b"", path).checked()
    archived = [_archived(memory.workspace, name, day, read, plan) for name, day in notes]
    dailies = [daily for daily in archived if daily is not None]
    if not dailies:
        return
    text, places = compose(path, document.text, dailies)
    if why := trouble([Daily(path, "", document.text), *dailies], text):
        raise NotRolledUp(month, why)
    maps = {daily.path: partial(_line, path, places[daily.path], daily.text.split("\n")) for daily in dailies}
    whole = {name: cite(path, min(found.values()), max(found.values())) for name, found in places.items()}
    linked = []
    for other in [path, *sorted({*_own_notes(memory)} - maps.keys() - {path})]:
        try:
            note = document if other == path else Document.read(read(other) or b"", other).checked()
        except NoteUnreadable as error:
            stay = "its references to what was rolled up stay as they are; let it be read (chmod u+r)"
            plan.warnings.append(f"{paths.shown(other)}: {error.reason}; {stay}")
            continue
        after = references.shifted(text if other == path else note.text, maps, whole)
        linked += [paths.shown(other)] if links_to(after, maps) else []
        if after == note.text:
            continue
        try:
            data = note.with_text(after).data
        except UnicodeEncodeError as error:
            raise NotRolledUp(month, f"{other} cannot hold the bytes of its notes") from error
        plan.changes.append(Change(other, read(other), data, plan.mode))
    if linked:
        lead = f"links to its daily notes stay as you wrote them; lead them to {path}"
        plan.warnings.append(f"{month}: in {', '.join(linked)} {lead}")
    plan.changes += [Change(daily.path, read(daily.path), None) for daily in dailies]


def links_to(text: str, names: Iterable[str]) -> bool:
    """Tell whether a text has a link (Markdown, HTML, wiki) to one of some notes, by their file names."""
    stems = "|".join(re.escape(splitext(basename(name))[0]) for name in names)
    return re.search(_LINK.format(stems), text, re.MULTILINE) is not None


def _archived(workspace: paths.Workspace, name: str, day: str, read: Read, plan: _Plan) -> Daily | None:
    """Plan to copy a daily note to a free place in the archive, and return it; None where it is gone."""
    if (data := read(name)) is None:
        return None
    stem = f"{ARCHIVE}/{day[:4]}/{name.partition('/')[2].removesuffix('.md')}"
    place, number = f"{stem}.md", 2
    while read(place) is not None:
        place, number = f"{stem}-{number}.md", number + 1
    mode = stat.S_IMODE(workspace.files.stat(name).st_mode)
    plan.mode &= mode
    plan.changes.append(Change(place, None, data, mode))
    text = Document.read(data, name).checked().text.replace("\r\n", "\n").replace("\r", "\n")
    return Daily(name, day, text)


def compose(path: str, existing: str, dailies: Sequence[Daily]) -> tuple[str, dict[str, dict[int, int]]]:
    """Return the text of a month, and by daily note the month's lines of its lines; 0 is its heading.

    The existing text stays, at the top. A daily note that an editor wrote again is left out if the month has
    all its lines below that day already.
    """
    end = "\r\n" if "\r\n" in existing else "\n"
    kept = existing + end * (not existing.endswith("\n")) if existing.strip() else ""
    added: list[str] = []
    places: dict[str, dict[int, int]] = {}
    for daily in dailies:
        section = _section(daily)
        if first := _standing(path, existing, section):
            places[daily.path] = {0: first}
            continue
        added += [""] if kept or added else []
        first = kept.count("\n") + len(added) + 1
        places[daily.path] = {0: first} | {n: first + at for at, (_, n) in enumerate(section) if n}
        added += [line for line, _ in section]
    return kept + "".join(line + end for line in added), places


def _line(path: str, places: Mapping[int, int], raw: Sequence[str], number: int) -> str | None:
    """Return the reference to a line of a daily note in its month; None for a blank or missing line."""
    is_stated = 0 < number <= len(raw) and raw[number - 1].strip()
    return f"{path}#L{places.get(number, places[0])}" if is_stated else None


def _standing(path: str, existing: str, section: Sequence[Line]) -> int:
    """Return the line of the heading below which a month has all of a section already; 0 if missing."""
    tops = [heading for heading in parse(existing, path).headings if heading.level == 1]
    rows = existing.split("\n")
    wanted = {wording for line, _ in section if (wording := wording_of(line))}
    ends = [*(top.line for top in tops), len(rows) + 1][1:]
    for top, end in zip(tops, ends, strict=True):
        if wanted <= set(map(wording_of, rows[top.line - 1 : end - 1])):
            return top.line
    return 0


def wording_of(line: str) -> tuple[str, ...]:
    """Return the tokens of a line without its comments, struck or not."""
    return compare.read(comments.without(line).replace("~~", "")).tokens


# --- the section of a day ---------------------------------------------------------------------------------


def _section(daily: Daily) -> list[Line]:
    """Return the lines of a daily note in the month: the heading of the day first."""
    note = parse(daily.text, daily.path)
    raw = daily.text.split("\n")[: len(note.lines)]
    title, first = _title(note, raw)
    changed, left_out = _deeper(note, raw, title)
    body = [(changed.get(n, raw[n - 1]), n) for n in range(first, len(raw) + 1) if n not in left_out]
    while body and not body[0][0].strip():
        del body[0]
    while body and not body[-1][0].strip():
        del body[-1]
    head: list[Line] = [(_heading(daily, note, raw, title), title)]
    known = _IMPORT_KEYS if "imported_from" in note.metadata else frozenset()
    front = range(2, note.front_matter[1]) if note.front_matter else ()
    said = [(raw[n - 1], n) for n in front if raw[n - 1].partition(":")[0] not in known]
    if any(line.strip() for line, _ in said):
        head += [("", 0), ("```yaml", 0), *said, ("```", 0)]
    return [*head, ("", 0), *body] if body else head


def said_in(archived: str, text: str) -> list[str]:
    """Return the lines by which a month holds an original, its heading only where the note has a title."""
    daily = Daily(f"{paths.MEMORY_FOLDER}/{basename(archived)}", metadata.date_of(archived) or "", text)
    note = parse(text, daily.path)
    lines = [line for line, _ in _section(daily) if line.strip()]
    titled = _title(note, text.split("\n"))[0] or note.metadata.get("title")
    return lines if titled else lines[1:]


def _title(note: Note, raw: Sequence[str]) -> tuple[int, int]:
    """Return the line of the title, 0 if missing, and the first line below it and the front matter."""
    first = note.front_matter[1] + 1 if note.front_matter else 1
    title = next((heading.line for heading in note.headings[:1] if heading.level == 1), 0)
    if not title or any(line.strip() for line in raw[first - 1 : title - 1]):
        return 0, first  # what has text above it heads what is below it alone
    return title, title + (1 if _is_marked(note, title) else 2)


def _is_marked(note: Note, line: int) -> bool:
    """Tell whether a heading is one by its marks (`##`), and not by the line below it."""
    return structure.atx(note.lines[line - 1]) is not None


def _deeper(note: Note, raw: Sequence[str], title: int) -> tuple[dict[int, str], set[int]]:
    """Return headings one level deeper, and underlines to drop, where a note has another of the first level.

    Only the heading of a day is of the first level in a month.
    """
    lines: dict[int, str] = {}
    if all(heading.level > 1 or heading.line == title for heading in note.headings):
        return {}, set()
    for heading in note.headings:
        text = raw[heading.line - 1].strip()
        if not _is_marked(note, heading.line):
            text = f"{'#' * heading.level} {text}"
        lines[heading.line] = f"{'#' * (heading.level < 6)}{text}"
    return lines, {line + 1 for line in lines if not _is_marked(note, line)}


def _heading(daily: Daily, note: Note, raw: Sequence[str], line: int) -> str:
    """Return the title of a daily note as the heading of its day, with the remarks of its front matter."""
    title = raw[line - 1].strip() if line else ""
    if line and _is_marked(note, line):
        title = title.removeprefix("#").strip()
    if not title:
        slug = splitext(basename(daily.path))[0].removeprefix(daily.day).strip("-_ ")
        names = (str(note.metadata.get("title") or ""), slug, dirname(daily.path).partition("/")[2])
        title = next(filter(None, (" ".join(name.translate(_NO_MARKUP).split()) for name in names)), "")
    if not title.startswith(daily.day):
        title = f"{daily.day} {title}".strip()
    return " ".join(["#", title, *_remarks(note)])


def _remarks(note: Note) -> Iterator[str]:
    """Yield what front matter says of a whole note, as comments."""
    for key, value in comments.of_front_matter(note.metadata).items():
        flag = key if key == comments.PINNED else value if key == "status" else ""
        further = comments.PROVENANCE if key == "by" else ()
        wrote = {"agent": note.metadata.get("imported_from"), **note.metadata}
        values = [(key, value), *((name, str(wrote.get(name) or "")) for name in further)]
        remarks = [f"{name}: {_plain(text)}" for name, text in values if text]
        yield f"<!-- {flag or '; '.join(remarks)} -->"


def _plain(value: str) -> str:
    """Return a value without what would end its comment, or the value."""
    return " ".join(value.translate(_NO_MARKUP).replace(";", " ").replace("--", " ").split())


# --- whether a month holds what its days held -------------------------------------------------------------


def trouble(notes: Sequence[Daily], text: str) -> str:
    """Return why notes cannot be joined as `text`; empty if they can.

    The first one is the month as it was. The text is read back: it must state what each note does.
    """
    stated = set(_stated(notes[0].path, text))
    targets: dict[str, str] = {}
    for path, _, one in notes:
        note = parse(one, path)
        if fences.unclosed(one.split("\n")) or not strip_private(f"{one}\nx").endswith("x"):
            return f"{path} leaves a code fence or a private part open; close it"
        if one.rfind("<!--") > one.rfind("-->"):
            return f"{path} leaves a comment open, which would hide days; close it"
        code = structure.lines_of(*note.fences)
        for number, line in enumerate(note.lines, 1):
            found = None if number in code else _DEFINITION.match(line)
            if found and targets.setdefault(found[1].casefold(), found[2]) != found[2]:
                return f"{path} defines [{found[1]}] otherwise than a note before it; rename one of them"
        if missing := set(_stated(path, one)) - stated:
            words = next(iter(missing))[0].partition("\n")[0][:80]
            return f"{words or 'a private part'} of {path} would not stand in it as it did"
    return ""


def _stated(path: str, text: str) -> Iterator[tuple[str, bool, str, bool]]:
    """Yield what a note states, whether it is struck, its status, and whether it is pinned.

    A private part comes as the status of an empty statement.
    """
    for one in statements.read(parse(text, path)):
        yield one.text, one.struck, one.said.get("status", ""), statements.is_pinned(one.said)
    for start, end, _ in private_parts(text):
        yield "", False, text[start:end].replace("\r", ""), False
