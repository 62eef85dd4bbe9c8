"""The notes themselves: readable, UTF-8, no secrets left in them, no two names that differ in case alone."""

from __future__ import annotations

import os
import time
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from commonplace.diagnosis.case import Case
from commonplace.diagnosis.checks import listed
from commonplace.notes.parse import decode
from commonplace.notes.redact import redact, strip_private
from commonplace.notes.scan import FileState, scan, sources
from commonplace.render import count
from commonplace.types import Finding

READ_S = 2.5  # how long notes are read
LARGEST = 4 << 20  # bytes of a note in which secrets are looked for


class Reading(NamedTuple):
    """What is wrong with the text of notes: paths, and places as `path:line`."""

    unreadable: list[str]
    not_utf8: list[str]
    secrets: list[str]
    read: int
    of: int


def text(case: Case) -> Iterator[Finding]:
    """Read the notes, as many as there is time for, newest first; secrets are told by their place alone."""
    if case.root is None:
        return
    states = scan(sources(os.fspath(case.root), case.settings))
    found = read([state for state in states if not state.format], READ_S)
    if found.unreadable:
        told = f"{count(len(found.unreadable), 'note')} cannot be read: {listed(found.unreadable)}"
        yield Finding("notes.readable", "wrong", told, "chmod u+r the files")
    if found.not_utf8:
        told = f"{count(len(found.not_utf8), 'note')} not in UTF-8: {listed(found.not_utf8)}"
        yield Finding("notes.encoding", "warning", told, "save them as UTF-8")
    if found.secrets:
        told = f"{count(len(found.secrets), 'line')} with what looks like a secret: {listed(found.secrets)}"
        remedy = "change the secrets, and take them out of the notes; answers show [REDACTED] in their place"
        yield Finding("notes.secrets", "warning", told, remedy)
    if found.read < found.of:
        told = f"{found.read:,} of {found.of:,} notes were read in the {READ_S:g} s that this may take"
        yield Finding("notes.readable", "skipped", told)
    elif not (found.unreadable or found.not_utf8 or found.secrets):
        told = f"{count(found.of, 'note')} read: all in UTF-8, no secret seen"
        yield Finding("notes.readable", "ok", told)


def read(states: Sequence[FileState], limit_s: float) -> Reading:
    """Read files, newest first, until the time is over."""
    until = time.monotonic() + limit_s
    unreadable: list[str] = []
    not_utf8: list[str] = []
    secrets: list[str] = []
    done = 0
    for state in sorted(states, key=lambda state: state.mtime_ns, reverse=True):
        if time.monotonic() > until:
            break
        done += 1
        try:
            with state.open() as file:
                data = file.read(LARGEST)
        except OSError:
            unreadable.append(state.path)
            continue
        if not _is_utf8(data):
            not_utf8.append(state.path)
        secrets += [f"{state.path}:{line}" for line in secret_lines(decode(data))]
    return Reading(unreadable, not_utf8, secrets, done, len(states))


def secret_lines(note: str) -> list[int]:
    """Return the numbers of the lines that redaction would change; private parts are nobody's business."""
    note = strip_private(note)
    redacted, kinds = redact(note)
    if not kinds:
        return []
    pairs = zip(note.splitlines(), redacted.splitlines(), strict=False)
    return [number for number, (before, after) in enumerate(pairs, 1) if before != after]


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return len(data) == LARGEST and error.start > LARGEST - 4  # cut in the middle of a character
    return True


def names(case: Case) -> Iterator[Finding]:
    """See that no two names differ in case or composition alone, which some systems take for the same."""
    if case.root is None:
        return
    states = scan(sources(os.fspath(case.root), case.settings))
    if found := conflicts([f"{state.absolute}" for state in states]):
        own = os.fspath(case.root) + os.sep
        pairs = [" and ".join(name.removeprefix(own) for name in same) for same in found]
        told = f"names that differ in case alone: {listed(pairs)}"
        remedy = "rename one of each: on macOS and Windows they are one file"
        yield Finding("notes.names", "warning", told, remedy)
    else:
        yield Finding("notes.names", "ok", "no two names differ in case alone")


def conflicts(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the names that a file system without case, or with one form of Unicode, takes for the same."""
    by_plain: dict[str, list[str]] = {}
    for name in names:
        by_plain.setdefault(unicodedata.normalize("NFC", name).casefold(), []).append(name)
    return sorted(tuple(sorted(same)) for same in by_plain.values() if len(same) > 1)
