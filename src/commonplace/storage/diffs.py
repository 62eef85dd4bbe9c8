"""Comparison of files: hunks, revert of a change in a later text, places of its lines, unified diffs.

In a diff, as in a read, private parts are blank and secrets redacted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Sequence
from difflib import SequenceMatcher, get_close_matches, unified_diff
from itertools import islice, product

from commonplace.base.tuples import NamedTuple
from commonplace.render import screen
from commonplace.types.changes import Change

CONTEXT = 3  # lines on either side of a hunk: shown in a diff, and compared to locate it
LARGEST = 1_000_000  # bytes of one side; a larger file is not shown
_LEAD = "-*+#>0123456789: "  # bullet and time
_NAMED = 3  # hunks named in a message; more are counted
_BOMS = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"), (b"\xef\xbb\xbf", "utf-8"))
_NO_NEWLINE = "\\ No newline at end of file"
_NO_END = "\udcff"  # marks a last line without line end; decoded text never contains it
Line = bytes | None  # None: the beginning or the end of a file


class Hunk(NamedTuple):
    """Lines `first` to `last` (half-open, from 0) of one text, and the lines of another that replace them."""

    first: int
    last: int
    other_first: int
    other_last: int


class Overlap(ValueError):
    """A change cannot be reverted in a later text; the message gives the reason and the lines."""


def split(data: bytes) -> list[bytes]:
    """Split a file into lines with their ends."""
    return data.splitlines(keepends=True)


def counted(before: bytes, after: bytes) -> tuple[int, int]:
    """Count the lines that are added and removed from one text to another."""
    differing = hunks(split(before), split(after))
    return sum(h.other_last - h.other_first for h in differing), sum(h.last - h.first for h in differing)


def hunks(one: Sequence[Hashable], other: Sequence[Hashable]) -> list[Hunk]:
    """Return the hunks that differ between two texts, in order."""
    shorter = min(len(one), len(other))
    start = next((n for n in range(shorter) if one[n] != other[n]), shorter)
    rest = shorter - start
    end = next((n for n in range(rest) if one[-1 - n] != other[-1 - n]), rest)
    matcher = SequenceMatcher(None, one[start : len(one) - end], other[start : len(other) - end])
    return [
        Hunk(*(place + start for place in places)) for tag, *places in matcher.get_opcodes() if tag != "equal"
    ]


def revert(before: bytes, after: bytes, now: bytes) -> bytes:
    """Revert the change from `before` to `after` in `now`, a later text; all else stays byte for byte.

    Every hunk of the change must be unchanged, without lines inserted into it, and its context must be
    unique. The end of the last line is merged separately. Raises Overlap, also for UTF-16.
    """
    if any(text.startswith((b"\xff\xfe", b"\xfe\xff")) for text in (before, after, now)):
        raise Overlap("it is UTF-16, which is not taken apart")
    old, made, current = (split(_ended(text)) for text in (before, after, now))
    since = hunks(made, current)
    texts = (_Text(made), _Text(current))
    mine = hunks(made, old)
    if touched := _touched(mine, since):
        raise Overlap(f"{lines(touched)}, where it had changed something")
    result, done = [], 0
    for own in mine:
        before_it = [later for later in since if later.last <= own.first]
        place = own.first + sum(h.other_last - h.other_first - (h.last - h.first) for h in before_it)
        if not _is_unmistakable(own, place, *texts):
            raise Overlap(f"what it changed cannot be told from what stands around line {place + 1}")
        result += [*current[done:place], *old[own.other_first : own.other_last]]
        done = place + own.last - own.first
    reverted = b"".join([*result, *current[done:]])
    has_end = [text == _ended(text) for text in (before, after, now)]
    keeps_end = has_end[0] if has_end[1] == has_end[2] else has_end[2]
    return reverted if keeps_end else reverted.removesuffix(b"\n").removesuffix(b"\r")


def _ended(text: bytes) -> bytes:
    """Return a text with an end on its last line."""
    end = b"\r\n" if b"\r\n" in text else b"\n"
    return text + end if text and not text.endswith((b"\n", b"\r")) else text


def places(base: Sequence[str], other: Sequence[str]) -> list[int]:
    """Return where a line put before each line of `base`, and one at its end, would stand in `other`.

    Inside of a changed part it stands behind that; beside lines that were inserted there, after them.
    """
    found, shift = list[int](), 0
    for hunk in hunks(base, other):
        found += [place + shift for place in range(len(found), hunk.first + (hunk.first < hunk.last))]
        found += [hunk.other_last] * (hunk.last - len(found))
        shift = hunk.other_last - hunk.last
    return found + [place + shift for place in range(len(found), len(base) + 1)]


def lines(changed: Sequence[Hunk]) -> str:
    """Return the line numbers (from 1) of hunks in the other text, for a message."""
    named = []
    for _, _, first, last in changed[:_NAMED]:
        if last - first > 1:
            named.append(f"lines {first + 1} to {last}")
        else:  # the deleted lines were before this line
            named.append(f"line {first + 1}" if last > first else f"before line {first + 1}")
    more = f" and {len(changed) - _NAMED} more places" if len(changed) > _NAMED else ""
    return f"{', '.join(named)}{more}"


def _touched(mine: Sequence[Hunk], since: Sequence[Hunk]) -> list[Hunk]:
    """Return the later hunks that overlap with earlier ones; an insertion next to changed lines does not."""

    def meet(own: Hunk, later: Hunk) -> bool:
        if own.first == own.last:
            return later.first <= own.first <= later.last
        if later.first == later.last:
            return own.first < later.first < own.last
        return max(own.first, later.first) < min(own.last, later.last)

    return [later for later in since if any(meet(own, later) for own in mine)]


class _Text:
    """The lines of a text between None for its beginning and its end, and the indexes of each line."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        self.lines: list[Line] = [None, *lines, None]
        self.places: dict[Line, list[int]] = {}
        for place, line in enumerate(self.lines):
            self.places.setdefault(line, []).append(place)

    def has_once(self, window: Sequence[Line]) -> bool:
        """Tell whether a sequence of lines occurs exactly once."""
        rarest = min(range(len(window)), key=lambda n: len(self.places.get(window[n], ())))
        starts = (place - rarest for place in self.places.get(window[rarest], ()))
        return sum(self.lines[max(0, s) : s + len(window)] == list(window) for s in starts) == 1


def _is_unmistakable(own: Hunk, place: int, made: _Text, current: _Text) -> bool:
    """Tell whether the lines of a hunk, with some context, occur exactly once in both texts."""
    # Least context first; an empty hunk needs context on both sides.
    several = range(1 if own.first == own.last else 0, CONTEXT + 1)
    for left, right in sorted(product(several, several), key=sum):
        first, last = own.first + 1 - left, own.last + 1 + right
        if first < 0 or last > len(made.lines):
            continue
        window = made.lines[first:last]
        there = current.lines[max(0, place + 1 - left) : place + 1 - left + len(window)]
        if there == window and made.has_once(window) and current.has_once(window):
            return True
    return False


def is_edited(line: str, added: Iterable[str]) -> bool:
    """Tell whether one of the added lines is like a line that is gone; of 50, by 50 characters."""
    others = [text[:50].lstrip(_LEAD) for text in islice(added, 50)]
    return bool(get_close_matches(line[:50].lstrip(_LEAD), others, 1))


# --- unified diffs --------------------------------------------------------------------------------------


def of_changes(changes: Sequence[Change]) -> str:
    """Return the diff of some changes, file by file; empty if no file changes."""
    return "\n".join(of_change(change) for change in changes if change.before != change.after)


def digest(changes: Sequence[Change]) -> str:
    """Return the SHA-256 (hex) of the paths and of the deleted and inserted lines of some changes.

    The position of a hunk and the lines around it do not count.
    """
    lines = hashlib.sha256()
    for change in sorted(changes, key=lambda change: change.path):
        if change.before == change.after:
            continue
        before, after = split(change.before or b""), split(change.after or b"")
        lines.update(repr((change.path, change.before is None, change.after is None)).encode())
        for hunk in hunks(before, after):
            sides = before[hunk.first : hunk.last], after[hunk.other_first : hunk.other_last]
            lines.update(repr(sides).encode())
    return lines.hexdigest()


def of_change(
    change: Change, *, context: int = CONTEXT, mask: Callable[[str], str] = lambda text: text
) -> str:
    """Return the diff of one file, or a line with the reason if there is no visible difference.

    `mask` blanks further parts of a text; it must keep the number of lines.
    """
    path, sides = screen.one_line(change.path), (change.before, change.after)
    try:
        old, new = (mask(_shown(side)) for side in sides)
    except ValueError as error:
        sizes = ("no file" if side is None else screen.size(len(side)) for side in sides)
        return f"# {path}: {error} ({', then '.join(sizes)})"
    names = name(change.before, f"a/{path}"), name(change.after, f"b/{path}")
    rows = unified_diff(_lines(old), _lines(new), *names, n=context, lineterm="")
    if diff := [screen.clean(row.replace(_NO_END, f"\n{_NO_NEWLINE}")) for row in rows]:
        return "\n".join(diff)
    note = "only what is not shown has changed (private parts, secrets, line ends)"
    if None in sides:
        note = "removed, empty" if change.after is None else "made empty"
    return f"# {path}: {note}"


def name(side: bytes | None, path: str) -> str:
    """Return the file name of one side in a diff header."""
    return "/dev/null" if side is None else path


def _shown(side: bytes | None) -> str:
    """Return the public text of a file, line for line. Raises ValueError if it is too large or binary."""
    from commonplace.redaction.redact import public

    data = side or b""
    if len(data) > LARGEST:
        raise ValueError("too large to be shown")
    encoding = next((encoding for mark, encoding in _BOMS if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding, "replace" if encoding == "utf-8" else "strict")
    except UnicodeDecodeError as error:
        raise ValueError("not a text") from error
    if "\0" in text:
        raise ValueError("not a text")
    return public(text.removeprefix("\ufeff"))


def _lines(text: str) -> list[str]:
    """Split a text into lines without their ends; mark a last line that had no end."""
    *rows, last = text.split("\n")
    return [*rows, last + _NO_END] if last else rows
