"""A text as a reader sees it: full width folded to half, characters without width dropped, places kept.

A token with a zero-width space inside, or in full width as Chinese and Japanese keyboards type it, reads as
the token itself. So what looks for secrets looks at this view as well.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from itertools import chain

from commonplace.base.tuples import NamedTuple
from commonplace.redaction.shapes import compiled

# Soft hyphen, joiners, marks of direction, variation selectors, tags: Unicode's default ignorables.
DROPPED = (
    "[\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]+"
)
# The same and letters and digits in full width, in UTF-8: a byte is found ten times as fast as a set of
# characters, and an expression that begins with one skips from one to the next.
_TELLING = (
    (b"\xef", rb"\xef(?:\xbc[\x90-\x99\xa1-\xba]|\xbd[\x81-\x9a]|\xbb\xbf|\xb8[\x80-\x8f])"),
    (b"\xe2", rb"\xe2(?:\x80[\x8b-\x8f\xaa-\xae]|\x81[\xa0-\xaf])"),
    (b"\xc2", rb"\xc2[\xad]"),
    (b"\xcd", rb"\xcd[\x8f]"),
    (b"\xd8", rb"\xd8[\x9c]"),
    (b"\xe1", rb"\xe1\xa0[\x8b-\x8f]"),
    (b"\xf3", rb"\xf3\xa0"),
)
_KEPT = "，；！？（）"  # they end clauses in Chinese text, and the detectors know them
_MARKS = "[！？](?=[A-Za-z0-9])"  # but these stand inside of addresses and passwords as well
WIDTH = 0xFEE0
_HALF = {code: code - WIDTH for code in range(0xFF01, 0xFF5F) if chr(code) not in _KEPT}


class Folded(NamedTuple):
    """The view of some lines of a text, and where its pieces begin in it and in the text."""

    text: str
    starts: list[int]
    origins: list[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the range in the original of a part of the view (not empty)."""
        pieces = [(place, bisect_right(self.starts, place) - 1) for place in (start, end - 1)]
        first, last = (self.origins[piece] + place - self.starts[piece] for place, piece in pieces)
        return first, last + 1


def fold(text: str) -> Folded | None:
    """Return the view of the lines of a text that do not read as they stand, or None where all do.

    The lines between two of them belong to it.
    """
    if text.isascii():
        return None
    raw = text.encode("utf-8", "surrogatepass")
    places = [
        place
        for lead, expression in _TELLING
        if lead in raw
        for match in compiled(expression).finditer(raw)
        for place in match.span()
    ]
    if not places:
        return None
    # Where the first such line starts and the last one ends: in bytes, then in characters.
    start, end = raw.rfind(b"\n", 0, min(places)) + 1, raw.find(b"\n", max(places))
    first = len(raw[:start].decode("utf-8", "surrogatepass"))
    last = first + len(raw[start : end if end >= 0 else len(raw)].decode("utf-8", "surrogatepass"))
    return _without(text, compiled(DROPPED).finditer(text, first, last), first, last)


def rendered(text: str) -> Folded:
    """Return the view of a text without its comments too, as HTML shows it."""
    end = text.rfind("-->") + 3  # behind it, every opening would be followed to the end of the text
    end = end if end > 2 else 0
    hidden = compiled(rf"(?s){DROPPED}|<!--.*?-->").finditer(text, 0, end)
    return _without(text, chain(hidden, compiled(DROPPED).finditer(text, end)), 0, len(text))


def _without(text: str, hidden: Iterable[re.Match[str]], first: int, last: int) -> Folded:
    """The view of a stretch of a text without what is hidden in it."""
    pieces: list[str] = []
    starts, origins = [0], [first]
    done, length = first, 0
    for gap in hidden:
        pieces.append(text[done : gap.start()])
        length += gap.start() - done
        done = gap.end()
        starts.append(length)
        origins.append(done)
    pieces.append(text[done:last])
    view = "".join(pieces).translate(_HALF)
    return Folded(compiled(_MARKS).sub(lambda mark: chr(ord(mark[0]) - WIDTH), view), starts, origins)


def visible(text: str) -> str:
    """Return a text with an escape for each invisible character, and for lone surrogates.

    For a person who has to see every character. Other controls are left to `render.screen`.
    """
    return text if text.isascii() and "\r" not in text else "".join(map(_visible, text))


def _visible(character: str) -> str:
    if character in "\xa0\u3000" or (character < "\xa0" and character != "\r"):
        return character  # blanks of ordinary text, ASCII, and what a terminal would obey
    # And letters that are blank: fillers of Hangul, vowels of Khmer, no dots of Braille.
    hidden = compiled(f"{DROPPED}|[\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0]")
    if character.isprintable() and not hidden.match(character):
        return character
    code = ord(character)
    return "\\r" if character == "\r" else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
