"""Daily notes of an old month become one note: each day verbatim under its heading.

A month is rolled up when all of it is older than asked for. `memory/YYYY-MM.md` then holds each daily note
under a heading of the first level that begins with its day (`markdown.document.parse` dates what is below
it). The daily notes go; the history of changes keeps their bytes, and an undo brings them back.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import partial
from posixpath import basename, dirname, splitext
from typing import TYPE_CHECKING

from commonplace.base import paths
from commonplace.base.errors import CommonplaceError, NoteUnreadable
from commonplace.base.tuples import NamedTuple
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

_NO_MARKUP = str.maketrans("<>", "  ")


class NotRolledUp(CommonplaceError):
    """A month that cannot be rolled up, and the reason; its notes are unchanged."""

    def __init__(self, month: str, reason: str) -> None:
        super().__init__(f"{month}: {reason}; its notes stay as they are")


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


class DayLines(NamedTuple):
    """The place of a day in the note of its month: the lines of its heading and its end.

    `moved` is added to a line number of the daily note to get the line in the month; `body` are its lines.
    """

    heading: int
    last: int
    body: range
    moved: int


@dataclass(slots=True)
class _MonthPlan:
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
    warnings: list[str] = []
    with nullcontext() if dry_run else due.held(memory.workspace):
        if not dry_run:
            transaction.recover(memory.workspace)
        cutoff = now.date() - timedelta(days)
        months = [_roll_up(memory, *month, why, now, warnings) for month in _months(memory, cutoff)]
    return RolledUp(tuple(months), tuple(dict.fromkeys(warnings)))


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
    warnings: list[str],
) -> Month:
    """Roll up a month for the reason `why`; without one, only return what would be changed."""
    path = f"{paths.MEMORY_FOLDER}/{month}.md"
    names = tuple(name for name, _ in notes)
    plan = _MonthPlan()

    def composed(read: Read) -> Sequence[Change]:
        nonlocal plan
        plan = _MonthPlan()
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
    warnings += plan.warnings
    return Month(month, path, names, diffs.of_changes(plan.changes), run)


def _restrict(workspace: paths.Workspace, path: str, mode: int) -> None:
    """Take the permissions from a note that `mode` lacks: a closed day stays closed in an open month."""
    with suppress(OSError), workspace.files.open(path, links=True) as file:
        now = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        if now & mode != now:
            os.fchmod(file.fileno(), now & mode)


# --- the changes of a month -------------------------------------------------------------------------------


def _compose(
    memory: Memory, month: str, path: str, notes: Sequence[tuple[str, str]], read: Read, plan: _MonthPlan
) -> None:
    """Plan a month from its notes as they are now. Raises NotRolledUp, NoteUnreadable."""
    before = read(path)
    document = Document.read(before or b"", path).checked()
    dailies = [daily for name, day in notes if (daily := _daily(memory.workspace, name, day, read, plan))]
    if not dailies:
        return
    text, places = compose(document.text, dailies)
    if why := trouble([Daily(path, "", document.text), *dailies], text):
        raise NotRolledUp(month, why)
    maps = {daily.path: partial(_line, path, places[daily.path], daily.text.split("\n")) for daily in dailies}
    whole = {name: cite(path, place.heading, place.last) for name, place in places.items()}
    for other in [path, *sorted({*_own_notes(memory)} - maps.keys() - {path})]:
        try:
            note = document if other == path else Document.read(read(other) or b"", other).checked()
        except NoteUnreadable as error:
            stay = "its references to what was rolled up stay as they are; let it be read (chmod u+r)"
            plan.warnings.append(f"{paths.shown(other)}: {error.reason}; {stay}")
            continue
        after = references.shifted(text if other == path else note.text, maps, whole)
        if after == note.text:
            continue
        try:
            data = note.with_text(after).data
        except UnicodeEncodeError as error:
            raise NotRolledUp(month, f"{other} cannot hold the bytes of its notes") from error
        plan.changes.append(Change(other, read(other), data, plan.mode))
    plan.changes += [Change(daily.path, read(daily.path), None) for daily in dailies]


def _daily(workspace: paths.Workspace, name: str, day: str, read: Read, plan: _MonthPlan) -> Daily | None:
    """Read a daily note; None where it is gone."""
    if (data := read(name)) is None:
        return None
    plan.mode &= stat.S_IMODE(workspace.files.stat(name).st_mode)
    text = Document.read(data, name).checked().text
    return Daily(name, day, text.replace("\r\n", "\n").replace("\r", "\n"))


def compose(existing: str, dailies: Sequence[Daily]) -> tuple[str, dict[str, DayLines]]:
    """Return the text of a month, which begins with the `existing` one, and the places of its daily notes."""
    end = "\r\n" if "\r\n" in existing else "\n"
    kept = existing + end * (not existing.endswith("\n")) if existing.strip() else ""
    above = kept.count("\n")
    added: list[str] = []
    places: dict[str, DayLines] = {}
    for daily in dailies:
        head, body, first = _section(daily)
        if not (start := _standing(existing, [*head, *body])):
            added += [""] if kept or added else []
            start = above + len(added) + 1
            added += [*head, *body]
        last = start + len(head) + len(body) - 1
        places[daily.path] = DayLines(start, last, range(first, first + len(body)), start + len(head) - first)
    return kept + "".join(line + end for line in added), places


def _standing(existing: str, section: Sequence[str]) -> int:
    """Return the line where a month has a section already, 0 if it has not.

    An editor may save a daily note once more after its rollup.
    """
    lines = existing.replace("\r\n", "\n")
    before, found, _ = f"\n{lines}\n".partition("\n".join(["", *section, ""]))
    return before.count("\n") + 1 if found else 0


def _line(path: str, place: DayLines, raw: Sequence[str], number: int) -> str | None:
    """Return the reference to a line of a daily note in its month; None for a blank or missing line."""
    if not (0 < number <= len(raw) and raw[number - 1].strip()):
        return None
    return f"{path}#L{number + place.moved if number in place.body else place.heading}"


# --- the section of a day ---------------------------------------------------------------------------------


def _section(daily: Daily) -> tuple[list[str], list[str], int]:
    """Return what stands above a daily note in its month, its body, and the body's first line in the note.

    Above it: the heading of the day, the front matter as a block of code, a blank line.
    """
    note = parse(daily.text, daily.path)
    raw = daily.text.split("\n")[: len(note.lines)]
    title, first = _title(note, raw)
    body = _deeper(note, raw, title)
    last = len(body)
    while first <= last and not body[first - 1].strip():
        first += 1
    while first <= last and not body[last - 1].strip():
        last -= 1
    head = [_heading(daily, note, raw, title)]
    front = raw[1 : note.front_matter[1] - 1] if note.front_matter else []
    if any(line.strip() for line in front):
        head += ["", "```yaml", *front, "```"]
    return [*head, *[""] * (first <= last)], body[first - 1 : last], first


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


def _deeper(note: Note, raw: Sequence[str], title: int) -> list[str]:
    """Return the lines with headings one level deeper where a note has another of the first level.

    Only the heading of a day is of the first level in a month.
    """
    lines = [*raw]
    if all(heading.level > 1 or heading.line == title for heading in note.headings):
        return lines
    for heading in note.headings:
        text = raw[heading.line - 1].strip()
        if not _is_marked(note, heading.line):
            text = f"{'#' * heading.level} {text}"
            lines[heading.line] = ""  # the line below it, which underlined it
        lines[heading.line - 1] = f"{'#' * (heading.level < 6)}{text}"
    return lines


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
    return " ".join(["#", title, *_remarks(note.metadata)])


def _remarks(front: Mapping[str, object]) -> Iterator[str]:
    """Yield what front matter says of a whole note, as comments."""
    for key, value in comments.of_front_matter(front).items():
        flag = key if key == comments.PINNED else value if key == "status" else ""
        further = comments.PROVENANCE if key == "by" else ()
        wrote = {"agent": front.get("imported_from"), **front}
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
    for path, _, one in notes:
        if fences.unclosed(one.split("\n")) or not strip_private(f"{one}\nx").endswith("x"):
            return f"{path} leaves a code fence or a private part open; close it"
        if one.rfind("<!--") > one.rfind("-->"):
            return f"{path} leaves a comment open, which would hide days; close it"
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
