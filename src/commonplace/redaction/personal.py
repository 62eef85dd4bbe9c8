"""E-mail addresses, phone numbers (international, North American, Chinese), numbers of Chinese residents.

Digits alone say little: versions, hashes, timestamps and prices have as many. So a number counts by its plus
sign, its grouping, the ranges that Chinese mobile numbers are given from, or a word such as "phone" before
it. Every repetition is bounded, so the time stays linear in the text.
"""

from __future__ import annotations

import string
from collections.abc import Iterator

from commonplace.redaction.shapes import Span, compiled, form

_LOCAL = string.ascii_letters + string.digits + "._%+-"
_ODD_LOCAL = _LOCAL + "!#$&'*/=?^`{|}~"  # allowed (RFC 5322), and found before addresses as well: to=ann@…
_LOCAL_MAX = 64
_FILES = frozenset("png jpg jpeg gif svg webp avif ico js mjs cjs jsx tsx json css scss html".split())
_LEAST, _MOST = 9, 15  # digits of an international number, the sign left out (E.164 has 15)


def find(text: str) -> Iterator[Span]:
    """Find addresses and numbers: start, end and kind of each."""
    if any(sign in text for sign in ("@", "%40", "\\u0040", "&#64;", "＠")):
        yield from _emails(text)
    if compiled(r"\d[^\n\d]{0,24}\d[^\n\d]{0,24}\d").search(text):
        yield from _phones(text)


def _emails(text: str) -> Iterator[Span]:
    """Find e-mail addresses: what may stand before their sign, which is found first."""
    for sign in form("domain").finditer(text):
        head = text[max(0, sign.start() - _LOCAL_MAX) : sign.start()]
        length = _length(head)
        is_remote = head[len(head) - length :] == "git" and text.startswith((":", "/"), sign.end())
        if length and not is_remote and sign["top"].lower() not in _FILES:
            yield sign.start() - length, sign.end(), "email"


def _phones(text: str) -> Iterator[Span]:
    """Find numbers by their form, if they have as many digits as one may have, and by the word before."""
    for kind in ("plus", "zeros", "mobile", "area", "groups"):
        for number in form(f"phone {kind}").finditer(text):
            if _LEAST <= sum(map(str.isdigit, number[0].lstrip("0"))) <= _MOST:
                yield number.start(), number.end(), "phone"
    for number in form("phone named").finditer(text):
        yield *number.span("number"), "phone"
    for number in form("resident").finditer(text) if "身份" in text else ():
        digits = [10 if one in "Xx" else int(one) for one in number["number"] if one not in " -"]
        if sum(digit << place for place, digit in enumerate(reversed(digits))) % 11 == 1:
            yield *number.span("number"), "id-number"


def _length(head: str) -> int:
    """How many characters before the sign belong to the address."""
    for allowed in (_LOCAL, _ODD_LOCAL):
        if length := len(head) - len(head.rstrip(allowed)):
            return length
    if head.endswith('"'):
        opening = head.rfind('"', 0, -1)
        return len(head) - opening if opening >= 0 and "\n" not in head[opening:] else 0
    return 0
