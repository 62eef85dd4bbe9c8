"""E-mail addresses, phone numbers (international, North American, Chinese), numbers of Chinese residents.

Digits alone say little: versions, hashes, timestamps and prices have as many. So a number counts by its plus
sign, its grouping, the ranges that Chinese mobile numbers are given from, or a word such as "phone" before
it. Every repetition is bounded, so the time stays linear in the text.
"""

from __future__ import annotations

import string
from collections.abc import Iterator

from commonplace.redaction.shapes import Span, compiled

_LOCAL = string.ascii_letters + string.digits + "._%+-"
_ODD_LOCAL = _LOCAL + "!#$&'*/=?^`{|}~"  # allowed (RFC 5322), and found before addresses as well: to=ann@…
_LOCAL_MAX = 64
_DOMAIN = (
    r"(?P<at>@|%40|\\u0040|&#64;|＠)(?!\d{1,5}\.\d)"  # name@1.2.3 is a version
    r"(?:[^\W_](?:[^\W_]|-){0,62}\.){1,8}(?P<top>[A-Za-z]{2,24}|xn--[A-Za-z0-9-]{2,59})(?![A-Za-z0-9])"
)
_FILES = frozenset("png jpg jpeg gif svg webp avif ico js mjs cjs jsx tsx json css scss html".split())
_GAP = r"[ .\u00a0\u2011\u2013-]"
_BEFORE = r"(?<![A-Za-z0-9_+])(?<![0-9][.-])"
_BEHIND = r"(?![A-Za-z0-9_])(?![.-][0-9])"
_DATE = r"(?!(?:19|20)\d\d-?[01]\d-?[0-3]\d(?!\d))"
_IP = r"(?!\d{1,3}(?:\.\d{1,3}){3}(?![\d.]))"
_WORD = (
    r"(?:(?<![A-Za-z])(?:tele)?(?:phone|tel|mobile|cell|fax|whatsapp|sms)(?:[ _-]?(?:number|num|no|nr))?"
    r"|电话|電話|手机|手機|传真|固话|联系方式)(?:号码|號碼|号)?"
    r"[\"'\\]{0,3}[.:：=＝ \t是为]{1,4}[\"'\\]{0,3}"
)
_NUMBERS = (
    # +49 170 1234567, +1 (212) 555-1234
    rf"(?ai)(?<![\w+])\+{_DATE}{_IP}(?=[1-9])\d(?:\)?{_GAP}?\(?\d){{7,39}}(?![A-Za-z0-9_])",
    # 00 49 170 1234567: with gaps, for zeros stand before many numbers
    rf"(?ai){_BEFORE}00{_GAP}?[1-9]\d{{0,2}}(?:{_GAP}\(?\d{{2,10}}\)?){{1,6}}(?<=\d)(?![A-Za-z0-9_])",
    # 138 1234 5678, also with 86 before it
    rf"(?ai){_BEFORE}(?:(?:00)?86{_GAP}?)?1(?:3\d|4[014-9]|5[0-35-9]|6[2567]|7[0-8]|8\d|9[0-35-9])"
    rf"(?:{_GAP}?\d{{4}}){{2}}{_BEHIND}",
    # 010-12345678, 0755-1234567
    rf"(?ai){_BEFORE}\(?0(?:10|2\d|[3-9]\d{{2}})(?:\)|-|\) ){{1}}\d{{7,8}}{_BEHIND}",
    # 212-555-1234, (212) 555-1234, 1-800-555-1234, 400-810-1234
    rf"(?ai){_BEFORE}(?:1{_GAP})?(?:\([2-9]\d{{2}}\){_GAP}?|[2-9]\d{{2}}{_GAP})\d{{3}}{_GAP}\d{{4}}{_BEHIND}",
)
_NAMED = rf"(?ai){_WORD}(?P<number>\+?\(?\d(?:[ ()./\u00a0\u2011\u2013-]{{0,2}}\d){{6,14}})(?![A-Za-z0-9_])"
# The number of a Chinese resident (GB 11643): district, day of birth, serial, check digit.
_RESIDENT = (
    r"(?a)身份[证證](?:号码?|號碼?)?[ \t]?[是为為:：=＝]?[ \t]?"
    r"(?P<number>\d{6}[ -]?(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])[ -]?\d{3}[\dXx])"
    r"(?![A-Za-z0-9])"
)
_LEAST, _MOST = 9, 15  # digits of an international number, the sign left out (E.164 has 15)


def find(text: str) -> Iterator[Span]:
    """Find addresses and numbers: start, end and kind of each."""
    if any(sign in text for sign in ("@", "%40", "\\u0040", "&#64;", "＠")):
        yield from _emails(text)
    if compiled(r"\d[^\n\d]{0,24}\d[^\n\d]{0,24}\d").search(text):
        yield from _phones(text)


def _emails(text: str) -> Iterator[Span]:
    """Find e-mail addresses: what may stand before their sign, which is found first."""
    for sign in compiled(_DOMAIN).finditer(text):
        head = text[max(0, sign.start() - _LOCAL_MAX) : sign.start()]
        length = _length(head)
        is_remote = head[len(head) - length :] == "git" and text.startswith((":", "/"), sign.end())
        if length and not is_remote and sign["top"].lower() not in _FILES:
            yield sign.start() - length, sign.end(), "email"


def _phones(text: str) -> Iterator[Span]:
    """Find numbers by their form, if they have as many digits as one may have, and by the word before."""
    for expression in _NUMBERS:
        for number in compiled(expression).finditer(text):
            if _LEAST <= sum(map(str.isdigit, number[0].lstrip("0"))) <= _MOST:
                yield number.start(), number.end(), "phone"
    for number in compiled(_NAMED).finditer(text):
        yield *number.span("number"), "phone"
    for number in compiled(_RESIDENT).finditer(text) if "身份" in text else ():
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
