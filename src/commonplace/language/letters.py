"""Letters that are the same to a search, whatever the marks on them.

FTS5 folds the accents of Latin letters. Here is the rest: letters that are no base letter with a mark (`ł`,
`æ`, `ß`), ligatures, Greek and `ё`, the vowel signs of Arabic and Hebrew.
"""

from __future__ import annotations

from functools import cache
from unicodedata import decomposition, normalize, numeric

_LETTERS = dict(zip("łŁøØđĐðÐħĦŧŦıςёЁ", "lLoOdDdDhHtTiσеЕ", strict=True)) | {
    "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ß": "ss", "ẞ": "SS", "þ": "th", "Þ": "TH",
    "ĳ": "ij", "Ĳ": "IJ",
}  # fmt: skip
# Vowel signs and other marks of Hebrew and Arabic.
_POINTS = "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670"
_POINTS += "\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed"
_MARKED = "\u0386-\u03ce\u0622-\u0626\u06c0\u06c2\u06d3\u1f00-\u1fff"  # Greek and Arabic with marks
_LIGATURES = "\ufb00-\ufb06\U0001d400-\U0001d7ff\u3371-\u33df"  # and letters of formulas, signs of units
_NUMBERED = "\u2460-\u249b\u24ea-\u24ff\u2776-\u2793\u3220-\u3229\u3251-\u325f\u3280-\u3289\u32b1-\u32bf"


def fold(text: str) -> str:
    """Fold letters; the length may change."""
    return normalize("NFC", text).translate(_table())


@cache
def _table() -> dict[int, str]:
    table = dict.fromkeys(_codes(_POINTS), "")
    for code in _codes(_MARKED):
        base = code
        while (parts := decomposition(chr(base)).split()) and not parts[0].startswith("<"):
            base = int(parts[0], 16)
        table[code] = _LETTERS.get(chr(base), chr(base))
    table |= {code: normalize("NFKC", chr(code)) for code in _codes(_LIGATURES)}
    # A number in a circle or brackets opens an item of a list, and is no part of the word behind it.
    table |= {code: f" {numeric(chr(code)):.0f} " for code in _codes(_NUMBERED)}
    return table | {ord(letter): plain for letter, plain in _LETTERS.items()}


def _codes(ranges: str) -> list[int]:
    """The code points of a class of characters, as an expression writes it."""
    codes: list[int] = []
    for place, character in enumerate(ranges):
        if character == "-":
            codes += range(ord(ranges[place - 1]) + 1, ord(ranges[place + 1]))
        else:
            codes.append(ord(character))
    return codes
