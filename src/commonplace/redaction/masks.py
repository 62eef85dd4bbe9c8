"""A note with marks in place of what nobody is shown, and back: who rewrites it loses nothing unseen.

A private part becomes `<private>…</private>`, a line with a secret the line that is shown of it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from commonplace.redaction.redact import MARK, private_parts, redact, strip_private

PRIVATE = "<private>…</private>"
_SPARE = range(0xE000, 0xF8FF)  # characters that stand for nothing


class Masked(NamedTuple):
    """A text as it may be shown, and in their order the private parts and the lines that it hides.

    Of a line with a secret there is the line as shown and the lines that it stands for.
    """

    text: str
    private: tuple[str, ...] = ()
    secret: tuple[tuple[str, str], ...] = ()


class MarkLost(ValueError):
    """A mark is missing in a rewritten text, or stands in another order."""


def mask(text: str) -> Masked:
    """Put marks in place of private parts and secrets."""
    parts: list[str] = []
    private: list[str] = []
    done = 0
    for start, end, _ in private_parts(text):
        parts += (text[done:start], PRIVATE)
        private.append(text[start:end])
        done = end
    public = "".join([*parts, text[done:]])
    lines = public.split("\n")
    redacted = redact(public)[0].split("\n")
    # Whether each line may be one more of a secret: gone without a mark, or blank before such a one.
    belongs: list[bool] = []
    following = False
    for line, other in zip(reversed(lines), reversed(redacted), strict=True):
        if line or other:
            following = line != other and MARK not in other
        belongs.append(following)
    # Of a secret of several lines the first has the mark; the rest belong to it.
    shown: list[str] = []
    secret: list[tuple[str, str]] = []
    inside = False
    for line, other, more in zip(lines, redacted, reversed(belongs), strict=True):
        if inside and more:
            secret[-1] = (secret[-1][0], f"{secret[-1][1]}\n{line}")
            continue
        # What was no character in its file is shown as a mark.
        seen = other if other.isascii() else re.sub("[\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", other)
        if line != seen:
            secret.append((seen, line))
        inside = line != other
        shown.append(seen)
    return Masked("\n".join(shown), tuple(private), tuple(secret))


def unmask(text: str, masked: Masked, *, redacted: bool = True) -> str:
    """Put what was hidden back into a rewritten text, after dropping its own private parts and secrets.

    Raises MarkLost where a mark of `masked` is missing or stands before one that it stood behind.
    """
    everything = "".join([text, *masked.private, *(hidden for _, hidden in masked.secret)])
    spare = (chr(code) for code in _SPARE if chr(code) not in everything)
    private, secret = next(spare), next(spare)
    lines = text.split("\n")
    shown = [line for line, _ in masked.secret]
    places = [number for number, line in enumerate(lines) if line in set(shown)]
    if [lines[number] for number in places] != shown:
        raise MarkLost("a line with a secret")
    for number in places:
        lines[number] = secret
    text = strip_private("\n".join(lines).replace(PRIVATE, private))
    text = redact(text)[0] if redacted else text
    for _, hidden in masked.secret:
        text = text.replace(secret, hidden.replace(PRIVATE, private), 1)
    pieces = text.split(private)
    if len(pieces) != len(masked.private) + 1:
        raise MarkLost("a private part")
    filled = (piece + hidden for piece, hidden in zip(pieces, masked.private, strict=False))
    return "".join([*filled, pieces[-1]])
