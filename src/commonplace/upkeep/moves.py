"""References, links and wiki links to notes that were moved, in the other notes: pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from posixpath import basename, dirname, join, normpath, relpath, splitext
from urllib.parse import unquote

from commonplace.markdown import links, references
from commonplace.markdown.links import Link

Line = Callable[[int], str | None]  # where a line, from 1, is now; None where it is gone


@dataclass(frozen=True, slots=True)
class Moved:
    """A note that was moved: where it is now, and where each of its lines is.

    `whole` is the reference that stands for all of it. `headings` has by the anchors of its headings the
    anchor that each has now, and what a wiki link calls it; by "" those of the heading of all of it.
    """

    path: str
    now: str
    line: Line
    whole: str = ""
    headings: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def place(self, link: Link) -> tuple[str, str]:
        """Return the path that a link to it leads to now, and what follows the path."""
        written = f"{self.path}{link.place}"
        if link.place and (line := references.reference(written, {self.path: self.line})) != written:
            path, sign, rest = (line or self.now).partition("#")
            return path, sign + rest
        if known := self.headings.get(links.slug(unquote(link.place))):
            return self.now, f"#{known[link.is_wiki]}"
        return self.now, link.place


def follow(
    text: str, own: str, moved: Mapping[str, Moved], origins: Mapping[int, Moved] | None = None
) -> str:
    """Return the text of the note at `own` with what refers to moved notes led to where they are now.

    Private parts stay as they are. What refers to a whole note leads to its heading, or to its new file.
    `origins` has by lines of the text the notes that links without a path mean there.
    """
    near = [note for note in moved.values() if splitext(basename(note.path))[0] in text]
    lines = {note.path: note.line for note in near}
    text = references.shifted(text, lines, {note.path: note.whole for note in near if note.whole})

    def lead(link: Link) -> tuple[str, str] | None:
        note, start = _target(link, own, moved) if link.path else ((origins or {}).get(link.line), "")
        if note is None:
            return None
        path, place = note.place(link)
        is_as_before = (path, place) == (note.path, link.place)
        return None if is_as_before else _written(link, own, start, path, place)

    return links.changed(text, lead) if near or origins else text


def _written(link: Link, own: str, start: str, path: str, place: str) -> tuple[str, str]:
    """How a link of the note at `own` names a path and a place; from the folder `start`, as it did before."""
    is_heading = place and references.REFERENCE.fullmatch(f"{path}{place}") is None
    if path == own and not link.query and (is_heading or not link.path):
        return "", place  # within the note
    if link.is_wiki:
        stem = path.removesuffix(".md")
        return stem if "/" in link.path else basename(stem), place
    return f"/{path}" if start == "/" else relpath(path, start or "."), place


def _target(link: Link, own: str, moved: Mapping[str, Moved]) -> tuple[Moved | None, str]:
    """The moved note that a link leads to, and the folder from which its path leads there."""
    if link.is_wiki:
        stem = link.path.removesuffix(".md")
        names = ((note, splitext(note.path)[0]) for note in moved.values())
        return next((note for note, name in names if stem in (name, basename(name))), None), ""
    if link.path.startswith("/"):
        return moved.get(normpath(link.path[1:])), "/"
    near = moved.get(normpath(join(dirname(own), link.path)))
    return (near, dirname(own)) if near else (moved.get(normpath(link.path)), "")


def rebased(text: str, old: str, new: str) -> str:
    """Return a text whose relative links led from the folder of `old`, for the folder of `new`."""

    def rebase(link: Link) -> tuple[str, str] | None:
        if link.is_wiki or link.path.startswith("/") or not ("/" in link.path or "." in link.path):
            return None
        return relpath(normpath(join(dirname(old), link.path)), dirname(new) or "."), link.place

    return text if dirname(old) == dirname(new) else links.changed(text, rebase)
