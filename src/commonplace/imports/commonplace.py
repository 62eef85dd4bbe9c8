"""commonplace: an export of its own, JSON with the notes of a workspace (`upkeep/export.py`)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from commonplace.base import paths
from commonplace.base.errors import NoteUnreadable
from commonplace.base.root import is_hidden, open_named
from commonplace.imports import files
from commonplace.storage import receipts
from commonplace.types import FileFailure, Page, Part
from commonplace.upkeep.export import FORMAT, VERSION

KIND = "commonplace"
_MARK = re.compile(rb'\A(?:\xef\xbb\xbf)?\s*\{\s*"format"\s*:\s*"' + FORMAT.encode() + rb'"')
_LONG_TERM = (paths.MEMORY_FILE, f"{paths.MEMORY_FOLDER}/{paths.MEMORY_FILE}")
_NO_NOTE = "is no note with a path and a text"
_ELSEWHERE = (
    "the export was not made by you on this machine, or was changed since: its notes are marked by: agent"
)
_HEAD = 1 << 10
_LARGEST = 256 << 20


def recognises(path: Path) -> bool:
    """Return True if a file begins as an export does."""
    if path.suffix.lower() != ".json" or not files.is_file(path):
        return False
    with open_named(path) as file:
        return bool(_MARK.match(file.read(_HEAD)))


def read(path: Path) -> Iterator[Part]:
    """Yield the notes. Raises NoteUnreadable for another format or the export of a newer program."""
    shown = paths.shown(path)
    with open_named(path) as file:
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise NoteUnreadable(shown, f"is larger than {_LARGEST >> 20} MiB")
    try:
        held = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise NoteUnreadable(shown, "is no whole export; export it again") from error
    if not isinstance(held, dict) or held.get("format") != FORMAT or not isinstance(held.get("notes"), list):
        raise NoteUnreadable(shown, "is no export: `format` or `notes` is missing")
    if held.get("version") != VERSION:
        raise NoteUnreadable(shown, "is of another version of this program; update it, then import again")
    if not (own := receipts.is_own_export(data)):
        yield _ELSEWHERE
    names = [note.get("path") for note in held["notes"] if isinstance(note, dict)]
    both = all(name in names for name in _LONG_TERM)
    for number, note in enumerate(held["notes"], 1):
        page = _page(path, note, both, own)
        yield FileFailure(f"{shown}, number {number:,}", page) if isinstance(page, str) else page


def _page(path: Path, note: object, both: bool, is_own: bool) -> Page | str:
    """Return a note of an export, placed below memory/; the reason if it cannot be a note.

    Where an export holds `both` files that may be long-term memory, the one in memory/ is a note.
    """
    if not isinstance(note, dict):
        return _NO_NOTE
    name, text, day = note.get("path"), note.get("text"), note.get("date")
    if not isinstance(name, str) or not isinstance(text, str) or not name.lower().endswith(".md"):
        return _NO_NOTE
    parts = name.split("/")
    if (
        not all(parts)
        or "\0" in name
        or "\\" in name
        or any(part in (".", "..") for part in parts)
        or is_hidden(name)
    ):
        return "has a path that no note in a workspace can have"
    is_curated = name == _LONG_TERM[0] or (name == _LONG_TERM[1] and not both)
    below = name if is_curated or parts[0] == paths.MEMORY_FOLDER else f"{paths.MEMORY_FOLDER}/{name}"
    target = paths.MEMORY_FILE if is_curated else below
    stem = below.removeprefix(f"{paths.MEMORY_FOLDER}/")[: -len(".md")]
    instead = f"{paths.MEMORY_FOLDER}/{stem}-{KIND}.md"
    if name in _LONG_TERM and not is_curated:
        target = instead = f"{paths.MEMORY_FOLDER}/{stem}-{KIND}-2.md"
    data = text.encode("utf-8", "replace")
    if not data.endswith(b"\n"):
        data += b"\n"
    day = day if isinstance(day, str) else ""
    return Page(name, target, data, instead, f"{path}#{name}", is_curated, day, is_own)
