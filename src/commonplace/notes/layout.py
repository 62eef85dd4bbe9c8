"""Where notes lie and what entries hold: MEMORY.md, daily notes, `remember`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.base import clock, paths
from commonplace.base import tokens as estimates
from commonplace.base.errors import CommonplaceError, ConfigError, NoteUnreadable
from commonplace.base.messages import Message, message
from commonplace.base.root import LIMIT
from commonplace.markdown import comments, struck
from commonplace.markdown.document import Document, decode, parse
from commonplace.markdown.statements import bullet, commented, read
from commonplace.markdown.structure import unclosed
from commonplace.notes import appends
from commonplace.redaction.recalled import strip_recalled
from commonplace.redaction.redact import redact as redact_secrets
from commonplace.redaction.redact import redact_personal, strip_private, unclosed_line
from commonplace.storage import overwritten
from commonplace.types import Written, progress

if TYPE_CHECKING:
    from commonplace.types import Entry, Provenance

DEFAULT_SECTION = "Notes"
_ROOM = 1 << 20  # bytes for an entry
MEMORY_TITLE = "# Memory"
NOTHING = message("text.empty", "nothing to remember: the text is empty (private parts are never kept)")
FOREIGN = frozenset({"tool", "untrusted"})  # writers whose texts lose personal data as well


def init(root: Path) -> list[Path]:
    """Create the missing files of a workspace; return their paths.

    Raises NoteUnreadable, OutsideRoots, and ConfigError in the clone that this program runs from.
    """
    paths.check_open(root)
    workspace = paths.Workspace(root)
    files, made = workspace.files, list[Path]()
    try:
        if not workspace.memory_dir.is_dir():
            files.make_folder(workspace.memory_dir)
            made.append(workspace.memory_dir)
        if not os.path.lexists(workspace.memory_file):
            files.create(workspace.memory_file, f"{MEMORY_TITLE}\n".encode())
            made.append(workspace.memory_file)
    except OSError as error:
        raise NoteUnreadable(paths.shown(error.filename or root), paths.reason(error)) from error
    paths.prepare_state(workspace)
    return made


def remember(
    workspace: paths.Workspace,
    text: str,
    *,
    now: datetime,
    section: str | None = None,
    heading: str | None = None,
    long_term: bool = False,
    redact: bool = True,
    times: bool = True,
    provenance: Provenance | None = None,
    tentative: bool = False,
    on: date | None = None,
    record: Callable[[str, str, appends.Sides], str] | None = None,
) -> Written:
    """Append an entry to today's note, or to a section of MEMORY.md if `long_term`.

    Private parts are dropped and secrets redacted before anything is written; `provenance` is written as a
    comment, as is `tentative`, and with it recalled blocks are left out. `record` is given the note, the text
    and the lines around the entry; it returns the run that `undo` takes back. `on` is the day of the note;
    an entry of another day has no hour. Raises ConfigError for an empty text or a heading of the wrong kind,
    OutsideRoots where the note is a link that leaves the workspace, NoteUnreadable.
    """
    _check_heading(section, heading, long_term, on)
    check_closed(text, "text")
    provenance = dated(provenance, now)
    body, kinds = own_words(text, provenance, redact)
    if not body.strip():
        raise ConfigError("text", NOTHING)
    if long_term:
        note, opening, under, hour = workspace.memory_file, MEMORY_TITLE, section or DEFAULT_SECTION, None
    else:
        day = on or now.date()
        note, opening, under = workspace.daily(day), f"# {day:%Y-%m-%d}", heading or ""
        hour = f"{now:%H:%M}" if times and day == now.date() else None
    title, title_kinds = _title(under, provenance, redact)
    entry = _entry(body, hour, provenance, tentative=tentative)
    paths.contain(note, [workspace.root], missing_ok=True)
    _check_size(note)
    progress.check()
    (start, end), sides = appends.append(workspace, note, entry, title=opening, heading=title or None)
    shown = note.relative_to(workspace.root).as_posix()
    run = record(shown, body, sides) if record else ""
    warnings = (*overwritten.notices(workspace), *_hidden(workspace, shown, start))
    return Written(shown, start, end, tuple(dict.fromkeys(kinds + title_kinds)), warnings=warnings, run=run)


def _hidden(workspace: paths.Workspace, path: str, line: int) -> list[str]:
    """Warn where an entry stands behind something that was never closed, and is not read as text there."""
    with suppress(OSError):
        document = Document.read(workspace.files.read(path, links=True), path)
        above = "\n".join(document.bare[: line - 1])
        kind, closing, opener = "a private part", "</private>", unclosed_line(above)
        if not opener and ("```" in above or "~~~" in above) and (fence := document.fence(line)):
            kind, closing, opener = "a code block", document.bare[fence[0] - 1].strip()[:3], fence[0]
        if opener:
            what = f"{kind} opens at {paths.shown(path)}:{opener} and is not closed"
            remedy = f"write {closing} where it ends, or take line {opener} out"
            return [f"the entry is not read as text: {what}; {remedy}"]
    return []


def long_term_tokens(workspace: paths.Workspace) -> int:
    """Return about how many tokens MEMORY.md has for a reader: no comments, blank lines or struck text.

    0 where it is missing or cannot be read.
    """
    path = workspace.memory_file.relative_to(workspace.root)
    try:
        note = parse(decode(paths.read_contained(path, [workspace.root])), path.as_posix())
    except CommonplaceError:
        return 0
    note = struck.rest(note, struck.of_note(note))
    return estimates.about("\n".join(line.strip() for line in note.lines if line.strip()))


def outgrown(workspace: paths.Workspace, budget: int) -> Message | None:
    """Say that MEMORY.md has more tokens than a session begins with; None where it does not."""
    size = long_term_tokens(workspace)
    if not budget or size <= budget:
        return None
    told = (
        "MEMORY.md has about {size:,} tokens; a session begins with {budget:,} of them, newest and most used "
        "first (prompt.long_term): move what not every session needs to notes below memory/"
    )
    return message("long_term.outgrown", told, size=size, budget=budget)


def capture(workspace: paths.Workspace, entries: Sequence[Entry], *, times: bool = True) -> list[Written]:
    """Append entries to the notes of their days, or MEMORY.md, one write a note; return where each stands.

    They are redacted again. Empty entries are left out, and an entry that its note has already, to the
    character, is not written again. Raises OutsideRoots, NoteUnreadable;
    the days before the one that fails are written.
    """

    notes: dict[tuple[Path, str], list[int]] = {}
    ready = [_ready(entry, times) for entry in entries]
    for number, entry in enumerate(entries):
        if ready[number][0][0]:
            day = clock.local(entry.at).date()
            place = workspace.memory_file if entry.long_term else workspace.daily(day)
            title = MEMORY_TITLE if entry.long_term else f"# {day:%Y-%m-%d}"
            notes.setdefault((place, title), []).append(number)
    written: dict[int, Written] = {}
    for (note, title), numbers in sorted(notes.items()):
        paths.contain(note, [workspace.root], missing_ok=True)
        places = appends.append_all(workspace, note, [ready[number][0] for number in numbers], title=title)
        shown = note.relative_to(workspace.root).as_posix()
        for number, lines in zip(numbers, places, strict=True):
            written[number] = Written(shown, *lines, ready[number][1])
    return [written[number] for number in sorted(written)]


def _ready(entry: Entry, times: bool) -> tuple[appends.Placed, tuple[str, ...]]:
    """Return an entry as its note will have it (maybe empty), its heading, and the kinds of redactions."""
    at = clock.local(entry.at)
    heading = entry.heading or (DEFAULT_SECTION if entry.long_term else "")
    hour = f"{at:%H:%M}" if times and not entry.long_term else None
    return placed(entry.text, heading, dated(entry.provenance, at), hour, tentative=entry.tentative)


def placed(
    text: str, heading: str, provenance: Provenance | None, hour: str | None, *, tentative: bool = False
) -> tuple[appends.Placed, tuple[str, ...]]:
    """Return an entry as its note will have it, empty if it is all private, and the kinds of redactions."""
    body, kinds = own_words(text, provenance, True)
    title, title_kinds = _title(heading, provenance, True)
    lines = _entry(body, hour, provenance, tentative=tentative) if body.strip() else ""
    return (lines, title or None), tuple(dict.fromkeys(kinds + title_kinds))


def _entry(body: str, hour: str | None, provenance: Provenance | None, *, tentative: bool) -> str:
    lines = bullet(body, hour)
    entry = marked(commented(lines, "<!-- tentative -->") if tentative else lines, provenance)
    if tentative and any(
        one.said.get("status") != "tentative"
        for one in read(Document.read(entry.encode("utf-8", "replace"), "entry.md").note)
    ):
        raise ConfigError("text", message("text.guess", "must begin with words, and without a status"))
    return entry


def dated(provenance: Provenance | None, at: datetime) -> Provenance | None:
    """Say when, where a writer did not: by the clock of this machine, as the day and the hour of an entry."""
    if provenance is None or provenance.at:
        return provenance
    return replace(provenance, at=clock.local(at).isoformat(timespec="seconds"))


def check_closed(text: str, name: str) -> None:
    """Refuse a text that opens a private part and never closes it. Raises ConfigError."""
    if not strip_private(f"{text}\nx").endswith("x"):
        lost = "opens <private> and never closes it, so all behind it would be lost; write </private> as well"
        raise ConfigError(name, message("text.unclosed", lost))


def own_words(text: str, provenance: Provenance | None, redact: bool) -> tuple[str, tuple[str, ...]]:
    """A text fit to be written, and what was redacted.

    Texts by others than the owner lose recalled text and comments that speak for another writer; texts
    from tools also lose personal data.
    """
    if provenance is None or provenance.by == "owner":
        return _clean(text, redact)
    foreign = provenance.by in FOREIGN
    body, kinds = _clean(strip_recalled(text), redact, personal=foreign)
    return comments.disarmed(body, entirely=foreign), kinds


def marked(entry: str, provenance: Provenance | None) -> str:
    """Put who wrote an entry at the end of its first line, as a comment."""
    if provenance is None:
        return entry
    return commented(entry, comments.of_provenance(provenance))


def _title(text: str, provenance: Provenance | None, redact: bool) -> tuple[str, tuple[str, ...]]:
    """A heading on one line, which reads back as it is written, and what was redacted from it.

    A comment in it would speak of all that is below, the owner's entries too: only the owner writes one.
    """
    text, kinds = own_words(text, provenance, redact)
    if provenance is not None and provenance.by != "owner":
        text = comments.disarmed(text, entirely=True)
    text = " ".join(text.split()).lstrip("# ")
    while (bare := unclosed(text)) != text:
        text = bare
    return text, kinds


def _check_size(note: Path) -> None:
    """Refuse a note that is too large to be read, so that what is added is found. Raises NoteUnreadable."""
    with suppress(OSError):
        if os.stat(note).st_size > LIMIT - _ROOM:
            told = f"holds more than {(LIMIT - _ROOM) >> 20} MiB, so nothing new in it would be read"
            raise NoteUnreadable(paths.shown(note), f"{told}; move a part of it into another note")


def _check_heading(section: str | None, heading: str | None, long_term: bool, on: date | None) -> None:
    if section and not long_term:
        raise ConfigError("section", "goes with long-term memory; a daily note takes a heading")
    if heading and long_term:
        raise ConfigError("heading", "goes with daily notes; long-term memory takes a section")
    if on and long_term:
        raise ConfigError("on", "goes with daily notes; long-term memory has no day")


def _clean(text: str, redact: bool, *, personal: bool = False) -> tuple[str, tuple[str, ...]]:
    """Drop what must not be stored: private parts, secrets, and characters that no note may hold.

    With `personal` e-mail addresses and phone numbers go as well.
    """
    text = text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    public = strip_private(text)
    if public != text:  # the blank lines it leaves have no place in an entry
        public = re.sub(r"\n(?:[ \t]*\n)+", "\n\n", public)
    if not redact:
        return public, ()
    public, kinds = redact_secrets(public)
    if personal:
        public, more = redact_personal(public)
        kinds += more
    return public, kinds
