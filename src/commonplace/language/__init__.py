"""Which characters are the same to a search: traditional and simplified, full-width and half-width.

Both sides of a comparison are folded, one character to one, so that places in a folded text are places in
the text. The table of Chinese characters (`variants.txt`, see NOTICE) is read when the first text holds any.
"""

from __future__ import annotations

import os
import re
from functools import cache

from commonplace.base.expressions import lazy
from commonplace.base.root import Root
from commonplace.base.tuples import NamedTuple

# Characters that the table may change, or that may have to be composed, are outside these ranges. Negated
# they compile in a third of the time.
_WIDE = lazy("[^\x00-\u10ff\u1200-\u2e7f\U00010000-\U0001ffff]")
_LETTERS = "\uff10-\uff19\uff21-\uff3a\uff41-\uff5a"
# Of punctuation only the signs of identifiers, operators and filters; what ends a sentence stays.
_SIGNS = "＂＃％＆＊＋－．／＝＠＼＿～"
_PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
_CASES = str.maketrans("ſıİ\N{KELVIN SIGN}", "siIK")
_FULL_WIDTH = 0xFEE0  # how far a full-width form lies from its ordinary one
_HALF_WIDTH_KANA = range(0xFF66, 0xFFA0)
_KANA = (
    "ヲァィゥェォャュョッーアイウエオカキクケコサシスセソタチツテト"
    "ナニヌネノハヒフヘホマミムメモヤユヨラリルレロワン\u3099\u309a"
)
_APART = "\u1100-\u11ff\u3099\u309a"
# Soft hyphens, joiners, marks of direction, the mark of a file's byte order.
UNSEEN = "\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff"
_UNSEEN = lazy(f"[{UNSEEN}]")
# The input of `letters`: special letters, marks and ligatures of several scripts.
_TO_COMPOSE = lazy(
    f"[{_APART}{UNSEEN}łŁøØđĐðÐħĦŧŦıßẞþÞĳĲæÆœŒёЁ\u0300-\u036f\u0386-\u03ce\u0591-\u05c7\u0610-\u061a\u0622-\u0626\u0640"
    "\u064b-\u065f\u0670\u06c0-\u06d3\u06d6-\u06ed\u1f00-\u1fff\ufb00-\ufb06\U0001d400-\U0001d7ff"
    "\u2460-\u249b\u24ea-\u24ff\u2776-\u2793\u3220-\u3229\u3251-\u325f\u3280-\u3289\u32b1-\u32bf\u3371-\u33df]"
)
_FOLDER = os.path.dirname(__file__)


class _Table(NamedTuple):
    """The folded form of each code point, and the characters that need the slow path."""

    folded: dict[int, int]
    marked: frozenset[str]


def has_wide(text: str) -> bool:
    """Tell whether a text may hold CJK, or variants of other characters."""
    return not text.isascii() and _WIDE.search(text) is not None


def fold(text: str) -> str:
    """Fold variants of Chinese characters, full-width letters and half-width kana; the length stays.

    Most text without them is returned as the same object.
    """
    if not has_wide(text):
        return text
    table = _table()
    return text if table.marked.isdisjoint(text) else text.translate(table.folded)


def simplify(text: str) -> str:
    """Fold as `fold` does, but leave every simplified character as people write it; the length stays.

    `fold` joins 划 with 画, which finds more and tells a dictionary less.
    """
    return text.translate(_simplified()) if has_wide(text) else text


def compose(text: str) -> str:
    """Fold a text and its letters, and join what is written in parts (Hangul); the length may change."""
    if text.isascii():
        return text
    folded = fold(text)
    if not _TO_COMPOSE.search(folded):
        return folded
    from commonplace.language import letters

    return letters.fold(_UNSEEN.sub("", folded))


def composed(text: str) -> str:
    """Return a text in NFC: a letter with a mark is one character, however a file system writes it."""
    if text.isascii():
        return text
    from unicodedata import normalize

    return normalize("NFC", text)


def caseless(text: str) -> str:
    """Return a text as names, tags and headings are compared: in NFC, in any case."""
    return composed(text).casefold()


def seen(text: str) -> str:
    """Return a text in NFC without invisible characters."""
    return text if text.isascii() else _UNSEEN.sub("", composed(text))


def fold_width(text: str) -> str:
    """Fold full-width letters and digits to their ordinary forms; the length stays."""
    return text if text.isascii() else re.sub(f"[{_LETTERS}]", _ordinary, text)


def fold_cases(text: str) -> str:
    """Write s, i and k for the four letters that expressions in any case take for them; the length stays.

    Lower case leaves them what they are (ſ, ı), or longer (İ): no table has such a key.
    """
    return text if text.isascii() else text.translate(_CASES)


def fold_signs(text: str) -> str:
    """Fold full-width signs that identifiers and operators are made of; the length stays."""
    return text if text.isascii() else re.sub(f"[{_SIGNS}]", _ordinary, text)


def fold_punctuation(text: str) -> str:
    """Fold all full-width signs to their ordinary forms; the length stays."""
    for sign in _PUNCTUATION if has_wide(text) else ():
        text = text.replace(chr(ord(sign) + _FULL_WIDTH), sign)  # several times faster than `translate`
    return text


def _ordinary(match: re.Match[str]) -> str:
    return chr(ord(match[0]) - _FULL_WIDTH)


@cache
def _table() -> _Table:
    """Read the table: two lines of the same length, characters and what they are folded to."""
    written, meant = Root(_FOLDER).read("variants.txt").decode("utf-8").splitlines()
    folded = str.maketrans(written, meant)
    for first, last in ("０９", "ＡＺ", "ａｚ"):
        folded |= {code: code - _FULL_WIDTH for code in _codes(first, last)}
    folded |= str.maketrans("".join(map(chr, _HALF_WIDTH_KANA)), _KANA)
    apart = map(chr, (*_codes("\u1100", "\u11ff"), 0x3099, 0x309A))
    return _Table(folded, frozenset([*map(chr, folded), *apart]))


@cache
def _simplified() -> dict[int, int]:
    """The table without what would change a simplified character, those of GB 2312."""
    folded = _table().folded
    written = "".join(map(chr, folded)).encode("gb2312", "ignore").decode("gb2312")
    simple = {ord(character) for character in written if "\u4e00" <= character <= "\u9fff"} - set(
        map(ord, "著乾藉")
    )
    parted = {ord(before): ord(after) for before, after in zip("劃鏈讎", "划链仇", strict=True)}
    return {code: meant for code, meant in folded.items() if code not in simple} | parted


def _codes(first: str, last: str) -> range:
    return range(ord(first), ord(last) + 1)
