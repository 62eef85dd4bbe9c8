"""A note with marks in place of hidden text, and back: a rewrite keeps all hidden text.

A private part becomes `<private>…</private>`, a line with a secret the line that is shown of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain, filterfalse, islice

from commonplace.base.messages import message
from commonplace.base.tuples import NamedTuple
from commonplace.redaction.redact import MARK, private_parts, redact, strip_private

PRIVATE = "<private>…</private>"
_PART = message("mark.private", "a private part")
_LINE = message("mark.secret", "a line with a secret")
_REST = message("mark.rest", "the text behind a <private> without </private>")
_SPARE = range(0xE000, 0xF8FF)  # characters for private use


class Masked(NamedTuple):
    """A text as it may be shown, and in their order the private parts and the lines that it hides.

    Of a line with a secret there is the line as shown and the lines that it stands for.
    """

    text: str
    private: tuple[str, ...] = ()
    secret: tuple[tuple[str, str], ...] = ()


class MarkLost(ValueError):
    """A mark is missing in a rewritten text, or has moved before another."""


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
    # Of a secret of several lines the first has the mark; the rest belong to it.
    shown: list[str] = []
    secret: list[tuple[str, str]] = []
    inside = False
    for line, other, goes_on in zip(lines, redacted, _going_on(lines, redacted), strict=True):
        if inside and goes_on:
            secret[-1] = (secret[-1][0], f"{secret[-1][1]}\n{line}")
            continue
        # Undecodable bytes are shown as a mark.
        seen = other if other.isascii() else re.sub("[\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", other)
        if line != seen:
            secret.append((seen, line))
        inside = line != other
        shown.append(seen)
    return Masked("\n".join(shown), tuple(private), tuple(secret))


def _going_on(lines: Sequence[str], redacted: Sequence[str]) -> list[bool]:
    """Tell which lines may continue a secret: gone without a mark, or blank before such a line."""
    found: list[bool] = []
    below = False
    for line, other in zip(reversed(lines), reversed(redacted), strict=True):
        if line or other:
            below = line != other and MARK not in other
        found.append(below)
    return found[::-1]


def unmask(text: str, masked: Masked, *, redacted: bool = True) -> str:
    """Put what was hidden back into a rewritten text, without the private parts and secrets of new lines.

    Raises MarkLost where a mark of `masked` is missing or stands before one that it stood behind, and where a
    private part would take more than new lines.
    """
    shown = [line for line, _ in masked.secret]
    hidden = [lines for _, lines in masked.secret]
    used = set(text).union(*masked.private, *hidden)
    private, secret = islice(filterfalse(used.__contains__, map(chr, _SPARE)), 2)
    known, lines = set(shown), text.split("\n")
    if [line for line in lines if line in known] != shown:
        raise MarkLost(_LINE)
    text = "\n".join([secret if line in known else line for line in lines])
    text = text.replace(PRIVATE, private)
    public = strip_private(text)
    old = set(masked.text.replace(PRIVATE, private).split("\n"))
    both = zip(text.split("\n"), public.split("\n"), strict=True)
    if not strip_private(f"{text}\nx").endswith("x") or any(a != b and a in old for a, b in both):
        raise MarkLost(_REST)
    if redacted:  # old lines are left as they were
        both = zip(public.split("\n"), redact(public)[0].split("\n"), strict=True)
        public = "\n".join([a if a in old else b for a, b in both])
    text = public
    hidden = [line.replace(PRIVATE, private) for line in hidden]
    return _filled(_filled(text, secret, hidden, _LINE), private, masked.private, _PART)


def _filled(text: str, mark: str, hidden: Sequence[str], what: str) -> str:
    """Put what was hidden in place of its marks, one for each. Raises MarkLost where one is missing."""
    pieces = text.split(mark)
    if len(pieces) != len(hidden) + 1:
        raise MarkLost(what)
    return "".join(chain.from_iterable(zip(pieces, [*hidden, ""], strict=True)))
