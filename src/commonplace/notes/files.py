"""Notes on disk: locked, atomic reads-and-writes that keep a file's encoding, newlines and mode."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from commonplace import atomic, paths
from commonplace.atomic import LOCK_WAIT_S, LockTimeout, locked
from commonplace.errors import NoteUnreadable
from commonplace.notes import front_matter, headings
from commonplace.notes.redact import private_parts

__all__ = [
    "LOCK_WAIT_S", "LockTimeout", "append", "append_all", "decode", "encode", "insert_entry", "locked",
    "replace",
]  # fmt: skip
Lines = tuple[int, int]  # first and last line of an entry, 1-based

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_LIST_LINE = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s|(?: {2}|\t)\s*\S")


def replace(
    path: Path,
    compose: Callable[[str], str],
    *,
    lock: Path,
    timeout_s: float = LOCK_WAIT_S,
    workspace: paths.Workspace | None = None,
) -> None:
    """Read a note, compose its next text and write it as a whole, under the lock.

    With a workspace the note does not leave it, and what editors overwrite of it is found (`notes.writes`).

    The text comes without its byte order mark but with its newlines as they are; bytes that are not valid
    come back as they were. A missing note reads as empty. Raises NoteUnreadable, LockTimeout.
    """

    def compose_bytes(data: bytes) -> bytes:
        return encode(data, compose(decode(path, data)))

    if workspace is None:
        atomic.replace(path, compose_bytes, lock=lock, timeout_s=timeout_s)
    else:
        from commonplace.notes import writes

        atomic.replace(
            path, compose_bytes, lock=lock, timeout_s=timeout_s,
            within=workspace.root, guard=lambda: writes.guard(workspace, path),
        )  # fmt: skip


def decode(path: Path, data: bytes) -> str:
    """Decode the bytes of a note to the text that `replace` composes upon. Raises NoteUnreadable."""
    mark, encoding, errors = _codec(data)
    try:
        return data[len(mark) :].decode(encoding, errors)
    except UnicodeDecodeError as error:
        raise NoteUnreadable(paths.shown(path), f"neither UTF-8 nor {encoding}") from error


def encode(before: bytes, text: str) -> bytes:
    """Encode a text that was composed upon the bytes of a note, as those are: mark, encoding, damage."""
    mark, encoding, errors = _codec(before)
    return mark + text.encode(encoding, errors)


def append(
    path: Path,
    entry: str,
    *,
    lock: Path,
    heading: str | None = None,
    title: str | None = None,
    timeout_s: float = LOCK_WAIT_S,
    workspace: paths.Workspace | None = None,
) -> tuple[int, int]:
    """Append an entry to a note, under a heading if one is given; return its first and last line, 1-based.

    `title` opens a note that is new or blank. Raises NoteUnreadable, LockTimeout.
    """
    lines = (0, 0)

    def compose(text: str) -> str:
        nonlocal lines
        if title and not text.strip():
            text = f"{title}\n"
        text, *lines_found = insert_entry(text, entry, heading)
        lines = (lines_found[0], lines_found[1])
        return text

    replace(path, compose, lock=lock, timeout_s=timeout_s, workspace=workspace)
    return lines


def append_all(
    path: Path,
    entries: Sequence[tuple[str, str | None]],
    *,
    lock: Path,
    title: str | None = None,
    timeout_s: float = LOCK_WAIT_S,
    workspace: paths.Workspace | None = None,
) -> list[Lines]:
    """Append entries, each under its heading if it has one, in one write; return the lines of each.

    What stands there already, character for character, is not written again: who died between writing and
    saying so may come with the same entries once more. Raises as `append` does.
    """
    found: list[Lines] = []

    def compose(text: str) -> str:
        nonlocal found
        text, found = insert_all(text, entries, title)
        return text

    replace(path, compose, lock=lock, timeout_s=timeout_s, workspace=workspace)
    return found


def insert_all(
    text: str, entries: Sequence[tuple[str, str | None]], title: str | None = None
) -> tuple[str, list[Lines]]:
    """Insert entries that are not there yet, those of a heading together; return the text and their lines."""
    if title and not text.strip():
        text = f"{title}\n"
    places = _standing(text, entries)
    groups: dict[str | None, list[str]] = {}
    for entry, heading in dict.fromkeys(entries):
        if (entry, heading) not in places:
            groups.setdefault(heading, []).append(entry)
    for heading, group in groups.items():
        before = text.count("\n")
        text, first, _, at = _insert(text, "\n".join(group), heading)
        more = text.count("\n") - before
        places = {key: (a + more, b + more) if a > at else (a, b) for key, (a, b) in places.items()}
        for entry in group:
            last = first + entry.count("\n")
            places[entry, heading] = first, last
            first = last + 1
    return text, [places[entry] for entry in entries]


def _standing(text: str, entries: Sequence[tuple[str, str | None]]) -> dict[tuple[str, str | None], Lines]:
    """Which entries a text holds already, and where."""
    lines = text.replace("\r\n", "\n").split("\n")
    starts: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        if line.startswith("-"):
            starts.setdefault(line, []).append(number)
    found: dict[tuple[str, str | None], Lines] = {}
    for key in dict.fromkeys(entries):
        wanted = key[0].split("\n")
        for start in starts.get(wanted[0], ()):
            end = start + len(wanted)
            if lines[start:end] == wanted and not "".join(lines[end : end + 1]).startswith("  "):
                found[key] = start + 1, end
                break
    return found


def insert_entry(text: str, entry: str, heading: str | None = None) -> tuple[str, int, int]:
    """Insert an entry at the end of a heading's section, before its first sub-heading; return text and lines.

    A heading that is missing is made, at level 2, at the end. Without one the entry goes to the end of what
    stands under the title alone. What was there stays byte for byte; the entry takes on the newlines of the
    text.
    """
    return _insert(text, entry, heading)[:3]


def _insert(text: str, entry: str, heading: str | None) -> tuple[str, int, int, int]:
    """What `insert_entry` returns, and how many lines stand before what was inserted."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    added = entry.split("\n")
    section = _section(lines, heading) if heading else _lead(lines)
    if section is None:
        section = 0, len(lines)
        added = [f"## {heading}", "", *added]
    at = _end_of_content(lines, *section)
    if at and not (_LIST_LINE.match(lines[at - 1]) and _LIST_LINE.match(added[0])):
        added.insert(0, "")
    last = at + len(added)
    if at < len(lines) and lines[at].strip():
        added.append("")
    if "\r\n" in text:
        added = [f"{line}\r" for line in added]
        if at == len(lines) and not text.endswith("\n"):
            lines[-1] += "\r"
    lines[at:at] = added
    return "\n".join(lines) + "\n", last - entry.count("\n"), last, at


def _end_of_content(lines: Sequence[str], start: int, end: int) -> int:
    """Return the line after the last one between two that is not blank."""
    while end > start and not lines[end - 1].strip():
        end -= 1
    return end


def _lead(lines: Sequence[str]) -> tuple[int, int]:
    """Return where the lines under a note's title, before any other heading, start and end."""
    headings = list(islice(_headings(lines), 2))
    start = _body_start(lines)
    if headings and headings[0][2] == 1 and not any(line.strip() for line in lines[start : headings[0][0]]):
        start = headings.pop(0)[1]
    return start, headings[0][0] if headings else len(lines)


def _section(lines: Sequence[str], heading: str) -> tuple[int, int] | None:
    """Return where the content of a heading's section, before any other heading, starts and ends, or None."""
    wanted = " ".join(heading.split()).casefold()
    start: int | None = None
    for index, after, _, title in _headings(lines):
        if start is not None:
            return start, index
        if " ".join(title.split()).casefold() == wanted:
            start = after
    return (start, len(lines)) if start is not None else None


def _headings(lines: Sequence[str]) -> Iterator[tuple[int, int, int, str]]:
    """Yield first line, line after, level and text of every heading that starts its line.

    Indented ones belong to a list item, such as an entry of ours, and end no section. Those in a private
    part are as hidden as it is.
    """
    fence = ""
    hidden = _hidden(lines)
    start = _body_start(lines)
    free = start  # what stands before it is the text of no heading: a heading itself, or the end of a fence
    for index in range(start, len(lines)):
        if index in hidden:
            continue
        line = lines[index].rstrip("\r")
        found = _FENCE.match(line)
        if found and (fence or not (found[1][0] == "`" and "`" in found[2])):
            if not fence:
                fence = found[1]
            elif found[1].startswith(fence) and not found[2].strip():
                fence, free = "", index + 1
            continue
        if fence:
            continue
        above = lines[index - 1] if index > free and index - 1 not in hidden else ""
        if line.startswith("#") and (atx := headings.atx(line)):
            yield index, index + 1, *atx
            free = index + 1
        elif above[:1] != " " and (under := headings.setext(above, line)):
            yield index - 1, index + 1, *under
            free = index + 1


def _hidden(lines: Sequence[str]) -> set[int]:
    """The lines that begin inside a private part."""
    text = "\n".join(lines)
    found: set[int] = set()
    line = done = 0
    for start, end, _ in private_parts(text) if "<" in text else ():
        first = line + text.count("\n", done, start)
        line, done = first + text.count("\n", start, end), end
        found.update(range(first + 1, line + 1))
    return found


def _body_start(lines: Sequence[str]) -> int:
    """Return the line after the front matter, whose comments look like headings."""
    front = front_matter.span(lines)
    return front[1] if front else 0


def _codec(data: bytes) -> tuple[bytes, str, str]:
    """Return the byte order mark, the encoding, and how damage in it is kept."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return mark, encoding, "surrogateescape" if encoding == "utf-8" else "strict"
    return b"", "utf-8", "surrogateescape"
