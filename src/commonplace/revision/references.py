"""References between notes (`from=`, `to=`, `superseded-by`) kept at their lines when lines move: pure."""

from __future__ import annotations

import re
from collections.abc import Callable

from commonplace.errors import NoteNotFound
from commonplace.notes import comments, excerpt
from commonplace.notes.redact import private_parts

Moved = Callable[[int], str | None]

_CP = re.compile(r"(?P<before>(?<![ \t])[ \t]*+)<!--\s*+cp\s*+:(?:(?!<!--|-->).)*+-->", re.IGNORECASE)
_SUCCESSOR = re.compile(
    r"(?P<before>(?<![ \t])[ \t]*+<!--\s*+superseded-by\s*+:\s*+)(?P<value>(?:(?!<!--|-->).)*+)-->",
    re.IGNORECASE,
)
_NAMES = {"struck-by": "by", "struck-agent": "agent", "superseded-by": "to"}
_LINES_WITHIN = 10_000  # lines of a range that are looked at for one that is still there


def shifted(text: str, path: str, moved: Moved) -> str:
    """Return a note's text with the references into the note at `path` moved.

    `moved` gives for a line, from 1, the reference that stands for it now, or None where it is gone: the
    reference is then left out, and a comment that says nothing more with it. Whole notes, content hashes and
    private parts are not touched.
    """
    if "<!--" not in text:
        return text
    parts: list[str] = []
    done = 0
    for start, end, _ in private_parts(text):
        parts += (_moved_in(text[done:start], path, moved), text[start:end])
        done = end
    return "".join([*parts, _moved_in(text[done:], path, moved)])


def _moved_in(text: str, path: str, moved: Moved) -> str:
    def mark(found: re.Match[str]) -> str:
        said = comments.take([found[0]]).get(1, {})
        marks = {_NAMES.get(name, name): value for name, value in said.items()}
        told = dict(marks)
        if "to" in marks:
            told["to"] = reference(marks["to"], path, moved)
        if "from" in marks:
            kept = [reference(one, path, moved) for one in comments.sources(marks)]
            told["from"] = comments.of_sources(dict.fromkeys(filter(None, kept)))
        if told == marks:
            return found[0]
        return found["before"] + comments.of_marks(**told) if any(told.values()) else ""

    def successor(found: re.Match[str]) -> str:
        value = found["value"].rstrip()
        told = reference(value, path, moved)
        return f"{found['before']}{told}{found['value'][len(value) :]}-->" if told else ""

    return _SUCCESSOR.sub(successor, _CP.sub(mark, text))


def reference(told: str, path: str, moved: Moved) -> str:
    """Return a reference as it is to be written now; empty where nothing of it is left."""
    try:
        wanted = excerpt.parse_reference(told)
    except NoteNotFound:
        return told
    if wanted.docid or wanted.path != path or wanted.path == told.removeprefix("./"):
        return told
    last = wanted.last if wanted.last is not None else wanted.first
    lines = range(wanted.first, min(max(last, wanted.first), wanted.first + _LINES_WITHIN) + 1)
    first = next(filter(None, map(moved, lines)), "")
    end = next(filter(None, map(moved, reversed(lines))), "")
    return _joined(first, end)


def _joined(first: str, last: str) -> str:
    """One reference for two; only the first where they are not in order in one note."""
    if first == last:
        return first
    one, other = excerpt.parse_reference(first), excerpt.parse_reference(last)
    if one.path != other.path or other.first <= one.first:
        return first
    return f"{one.path}#L{one.first}-L{other.last or other.first}"
