"""Conflict copies of sync programs (two machines changed a note), recognised by names and texts."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress

from commonplace.base.expressions import lazy

# Text between the name of the note and its ending. The first ones only copies have; names with the others are
# copies only if the note of that name exists.
_MARKS = (
    lazy(r"\.sync-conflict-\d{8}-\d{6}(?:-[A-Z0-9]{7})?\Z"),  # Syncthing
    lazy(r" \([^()/]*conflicted copy[^()/]*\)\Z"),  # Dropbox, Nextcloud
    lazy(r" \(Conflicted copy [^()/]*\)\Z"),  # Obsidian
    lazy(r"_conflict-\d{8}-\d{6}\Z"),  # ownCloud
    lazy(r" \((?:SFConflict|Case Conflict)[^()/]*\)\Z"),  # Seafile, Dropbox
)
_NUMBERED = (
    lazy(r" [2-9]\Z"),  # iCloud
    lazy(r" \([1-9]\)\Z"),  # Google Drive
    lazy(r"-[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)+\Z"),  # OneDrive: the name of the machine
)
_OF_A_DAY = lazy(r"(?:.*/)?\d{4}-\d\d-\d\d\.md")  # whose entries of a morning may have nothing in common


def original(path: str, known: Collection[str] = ()) -> str:
    """Return the path of the note of a conflict copy; empty for other files.

    Names that any note may have count only where the other note is `known`.
    """
    stem, _, ending = path.rpartition(".")
    for mark in _MARKS if "onflict" in stem else ():
        if match := mark.search(stem):
            return f"{stem[: match.start()]}.{ending}"
    if not known:
        return ""
    found = (mark.search(stem) for mark in _NUMBERED)
    names = (f"{stem[: match.start()]}.{ending}" for match in found if match)
    return next((name for name in names if name in known), "")


def are_among(known: Collection[str]) -> bool:
    """Tell whether some paths may hold a conflict copy."""
    return any(original(path, known) for path in known)


def copies(known: Collection[str], read: Callable[[str], str]) -> dict[str, str]:
    """Return the copies among some notes, each with the note that it is a copy of; `read` gives the texts."""
    pairs = ((path, of) for path in sorted(known) if (of := original(path, known)))
    return {p: of for p, of in pairs if original(p) or _OF_A_DAY.fullmatch(of) or _alike(p, of, read)}


def _alike(copy: str, note: str, read: Callable[[str], str]) -> bool:
    """Tell whether two notes share half of the lines of the shorter one, struck or not."""
    with suppress(OSError):
        lines = [_said(read(path)) for path in (copy, note)]
        return 2 * len(lines[0] & lines[1]) >= max(1, min(map(len, lines)))
    return False


def _said(text: str) -> set[str]:
    """The lines of a note but for what a template gives: front matter and headings."""
    lines = text.split("\n---", 1)[-1].splitlines() if text.startswith("---") else text.splitlines()
    bare = (line.partition("<!--")[0].replace("~~", "").strip() for line in lines)
    return {line for line in bare if line.strip("-") and line[0] != "#"}
