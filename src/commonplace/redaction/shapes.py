"""Secrets found by their shape: the rows of `detectors`, JSON web tokens, private keys, addresses.

An index build looks at every note, and nearly all hold no secret. Every token has a long run of the
characters that tokens are made of, with a digit or a capital in it, and prose has few such runs: they are
found by substring search, 16 characters at a time. Only around them one expression looks for the prefixes
of all rows, and only behind a prefix its own rows are tried. Time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from commonplace.redaction.detectors import ADDRESSES, FORMS, INSIDE, SHAPES, Shape

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import AnyStr

Span = tuple[int, int, str]

_RUN = b"a" * 16
_TO_RUNS = bytes(
    ord("a") if chr(b).isascii() and (chr(b).isalnum() or b in b"_-+/") else ord(" ") for b in range(256)
)
_TO_DIGITS = bytes(
    ord("0") if chr(b).isdigit() and b < 128 else ord("-") if b in b" -" else b for b in range(256)
)
_REACH = 48  # characters before a run in which its prefix may stand: dp.st.production.…
_BEHIND = 240  # characters behind a mark inside a token
_LEAST_KINDS = 3  # different characters of a token: xxxxxxxxxxxxxxxx is a placeholder
_EXAMPLE = "EXAMPLE"  # what the keys of documents end in
_LONGEST_WORD = 28
_LETTERS_LEAST = 10  # different letters of a token of one case
_JUDGED = 200  # characters of a token that say whether it is made up
# Header and payload of a JSON web token are both JSON objects, so both start with `eyJ`: {" in base64.
_JWT_HEAD_MAX, _JWT_HEAD_LEAST = 1000, 13
_JWT_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-="

# A token that ends where its line does may go on in the next one.
_BROKEN = (
    r"(?a)(?:\r?\n[ \t>]{0,8}(?=[\w.-]{0,200}\d)(?=[\w.-]{0,200}[A-Z])(?=[\w.-]{0,200}[a-z])"
    r"%s{20,}(?=[ \t]*+(?:\r?\n|\Z))|(?!)){1,20}+"
)
_MARKS = "(?a)" + "|".join(re.escape(row.mark) for row in INSIDE)
_ADDRESSES = "(?a)://(?:" + "|".join(rest for _, rest in ADDRESSES) + ")"
_RESTS = {"jwt": _BROKEN % r"[\w.=-]", "api-key": _BROKEN % r"[\w-]"}


@cache
def compiled(expression: AnyStr) -> re.Pattern[AnyStr]:
    """Compile an expression when a text needs it first: most texts need few."""
    return re.compile(expression)


@cache
def form(name: str) -> re.Pattern[str]:
    """Return an expression of `rules/forms.txt`, compiled."""
    return re.compile(FORMS[name])


def runs(flat: bytes) -> list[tuple[int, int]]:
    """Return where a text may hold tokens, in order; `flat` is the text with a byte for each character."""
    mapped = flat.translate(_TO_RUNS)
    places = []
    start = mapped.find(_RUN)
    while start >= 0:
        end = mapped.find(b" ", start + len(_RUN))
        end = end if end >= 0 else len(flat)
        if end - start >= _LONGEST_WORD or compiled(rb"[0-9A-Z]").search(flat, start, end):
            places.append((start, end))
        start = mapped.find(_RUN, end)
    return places


def may_hold_card(flat: bytes) -> bool:
    """Tell whether a text, with a byte for each character, may hold the number of a card."""
    digits = flat.translate(_TO_DIGITS)
    return b"0000" in digits and (b"0000-0000" in digits or b"0" * 13 in digits)


def tokens(text: str, places: Iterable[tuple[int, int]]) -> Iterator[Span]:
    """Find tokens by their prefixes in and before the runs of a text."""
    search = _prefixes().search
    at = 0
    for start, end in places:
        at = max(at, start - _REACH)
        while prefix := search(text, at, end):
            at = prefix.end()
            for length, expression, shape in _rows(prefix[0]):
                body = expression.match(text, prefix.start() + length)
                if not body or body[0].endswith(_EXAMPLE):
                    continue
                at = max(at, body.end())
                if shape.free or is_made_up(body[0]):
                    yield prefix.start(), body.end(), shape.kind
                    break


def is_made_up(body: str) -> bool:
    """Tell what was drawn at random from words and from the placeholders of documents."""
    body = body[:_JUDGED]
    if len(set(body)) < _LEAST_KINDS or form("placeholder").match(body):
        return False
    if any(map(str.isdigit, body)):
        return True
    # Of letters alone a quarter must be capitals: CamelCase has fewer, and MIXED_CASE only capitals. But no
    # word is as long as a token that has no hyphen in it.
    capitals = sum(map(str.isupper, body))
    mixed = len(body) <= 4 * capitals and any(map(str.islower, body))
    return mixed or (len(body) >= _LONGEST_WORD and body.isalpha() and len(set(body)) >= _LETTERS_LEAST)


@cache
def _rows(prefix: str) -> Sequence[tuple[int, re.Pattern[str], Shape]]:
    """Return the rows that a prefix begins, those of the longest prefix first."""
    rows = [
        (len(own), re.compile(shape.rest, re.ASCII), shape)
        for shape in SHAPES
        for own in shape.prefixes.split()
        if prefix.startswith(own)
    ]
    return sorted(rows, key=lambda row: -row[0])


@cache
def _prefixes() -> re.Pattern[str]:
    """Return one expression for the prefixes of all rows, as a tree: it looks at each character once."""

    def branches(prefixes: Sequence[str]) -> str:
        rests: dict[str, list[str]] = {}
        for prefix in filter(None, prefixes):
            rests.setdefault(prefix[0], []).append(prefix[1:])
        parts = [re.escape(letter) + branches(rest) for letter, rest in rests.items()]
        if not parts:
            return ""
        ends = "" in prefixes
        joined = parts[0] if len(parts) == 1 and not ends else f"(?:{'|'.join(parts)})"
        return joined + ("?" if ends else "")

    tree = branches([prefix for shape in SHAPES for prefix in shape.prefixes.split()])
    return re.compile(f"(?:(?<![A-Za-z0-9])|(?<=%[0-9A-Fa-f]{{2}})){tree}")


def marked(text: str, places: Iterable[tuple[int, int]]) -> Iterator[Span]:
    """Find tokens by what stands inside them, at the runs of a text."""
    search, rows = compiled(_MARKS).search, {row.mark: row for row in INSIDE}
    at = 0
    for start, end in places:
        at = max(at, start - _REACH)
        while mark := search(text, at, end + _REACH):
            at = mark.start() + 1
            row = rows[mark[0]]
            if found := re.compile(row.expression, re.ASCII).search(
                text, max(0, at - 1 - row.before), at + _BEHIND
            ):
                yield *found.span(found.lastindex or 0), row.kind
                at = max(at, found.end() - 1)


def web_tokens(text: str) -> Iterator[Span]:
    """Find JSON web tokens."""
    for tail in form("jwt-tail").finditer(text):
        before = text[max(0, tail.start() - _JWT_HEAD_MAX) : tail.start()]
        head = before[len(before.rstrip(_JWT_LETTERS)) :]
        begin = head.find("eyJ")
        if begin >= 0 and len(head) - begin >= _JWT_HEAD_LEAST:
            yield tail.start() - len(head) + begin, tail.end(), "jwt"


def unbroken(text: str, spans: Iterable[Span]) -> Iterator[Span]:
    """Add to tokens that lines break what stands of them in the next lines."""
    for start, end, kind in spans:
        if text[end : end + 1] in ("\r", "\n") and kind in _RESTS:
            more = compiled(_RESTS[kind]).match(text, end)
            end = more.end() if more else end
        yield start, end, kind


def private_keys(text: str) -> Iterator[Span]:
    """Find blocks with at least one line of key in them, closed or not, unlike prose about keys."""
    for begin in form("key-begins").finditer(text):
        end = begin.end()
        if closed := form("key-closed").match(text, end):
            end = closed.end()
        else:
            while (line := form("key-line").match(text, end)) and line.end() > end:
                end = line.end()
        if form("key-run").search(text, begin.end(), end):
            yield begin.start(), end, "private-key"
    for found in form("putty").finditer(text):
        yield *found.span(), "private-key"


def addresses(text: str) -> Iterator[Span]:
    """Find passwords and secret paths in addresses."""
    for found in compiled(_ADDRESSES).finditer(text):
        group = found.lastindex or 1
        yield *found.span(group), ADDRESSES[group - 1][0]
