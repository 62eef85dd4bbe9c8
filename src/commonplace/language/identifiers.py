"""Identifiers in a question: whole, and in the other ways in which a text may write the same one.

The index holds words between separators, and the parts of words that have some. A question can therefore
ask for `getUserName` as `get user name` (which finds get_user_name), and for +86 138-1234-5678 by the last of
its digits, which the index holds of every way to write that number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from commonplace import language
from commonplace.language import lexicon

# Begun at the start of a word and never given back: 8,000 letters in a row would take a second otherwise.
_IDENTIFIER = r"(?<![A-Za-z0-9])[A-Za-z0-9]++(?:[._/\\\-@:#+?=&%~]++[A-Za-z0-9]++)+"
_SIGNS = frozenset("/\\@_:#=&%~")  # what no prose has between two letters
_SEPARATORS = _SIGNS | frozenset(".-+?")
_WORD = r"[A-Za-z0-9]++"
_DIGITS = frozenset("0123456789")
_NO_SMALL = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ") | _DIGITS
_ALPHANUMERIC = _NO_SMALL | frozenset("abcdefghijklmnopqrstuvwxyz")
# Digits of a hash: as Git shortens it, surely whole, SHA-256; and of its usual abbreviations.
HASH_LEAST, HASH_LONG, HASH_MOST = 7, 16, 64
_SHORT_HASHES = range(HASH_LEAST, 13)


def wholes(plain: str) -> Iterator[str]:
    """Yield identifiers that are surely some, as the phrases of their words, in lower case."""
    return (_phrase(identifier) for identifier in re.findall(_IDENTIFIER, plain) if _is_sure(identifier))


def spellings(text: str) -> list[str]:
    """Return other ways to write what a question names: phrases, and beginnings that end in `*`."""
    ways = _WAYS if language.has_wide(text) else _WAYS[:-1]
    known = ((pattern, spell) for signs, pattern, spell in ways if not signs.isdisjoint(text))
    matches = ((spell, match) for pattern, spell in known for match in re.finditer(pattern, text))
    return list(dict.fromkeys(spelling.lower() for spell, match in matches for spelling in spell(match)))


def telephone(text: str) -> tuple[str, ...]:
    """Return the index words of a telephone number; empty for a longer text."""
    if _DIGITS.isdisjoint(text):
        return ()
    match = re.fullmatch(rf"\s*[+(]*({lexicon.NUMBER})\s*", text)
    return tuple(dict.fromkeys(lexicon.digits(match[1]))) if match else ()


def _is_sure(identifier: str) -> bool:
    return any(c.isdigit() or c in _SIGNS for c in identifier)


def _phrase(identifier: str) -> str:
    return " ".join(re.findall(_WORD, identifier)).lower()


def _parts(match: re.Match[str]) -> Iterator[str]:
    for parts in lexicon.splits(match[0]):
        kept = [part for part in parts if len(part) > 1 or part.isdigit()]
        if len(kept) > 1:
            yield " ".join(kept)


def _hashes(match: re.Match[str]) -> Iterator[str]:
    word = match[0].lower()
    if HASH_LEAST <= len(word) <= HASH_MOST and not word.isalpha() and set(word) <= set("0123456789abcdef"):
        yield f"{word}*"
        if len(word) >= HASH_LONG:
            yield from (word[:length] for length in _SHORT_HASHES)


_Spell = Callable[[re.Match[str]], Iterable[str]]
# Each with characters of which a text must hold one: most expressions are never compiled.
_WAYS: tuple[tuple[frozenset[str], str, _Spell], ...] = (
    # The words of os.path.join and well-known side by side, and the parts of getUserName.
    (_SEPARATORS, _IDENTIFIER, lambda match: () if _is_sure(match[0]) else (_phrase(match[0]),)),
    (_NO_SMALL, _WORD, _parts),
    # get_user_name and wi-fi in one word; the C of C++ and C#, which alone would be too short.
    (frozenset("_-"), r"(?<![A-Za-z0-9])[A-Za-z]++(?:[_\-][A-Za-z]++)++(?![A-Za-z0-9])",
     lambda match: (match[0].replace("_", "").replace("-", ""),)),
    (frozenset("+#"), r"(?<![A-Za-z0-9])([A-Za-z])(?:\+\+|#)(?![A-Za-z0-9])", lambda match: (match[1],)),
    # gpt-4.1 as gpt4.1 and the other way round, `10 am` as 10am.
    (_DIGITS, r"(?<![A-Za-z0-9])([A-Za-z]{2,40}+)([ _\-]?)([0-9]{1,12}+(?:\.[0-9]{1,12}+)*+)(?![A-Za-z0-9])",
     lambda match: (f"{match[1]}{'' if match[2] else ' '}{match[3].replace('.', ' ')}",)),
    (_DIGITS, r"(?<![A-Za-z0-9.])([0-9]{1,12}+)([ \-]?)([A-Za-z]{1,20}+)(?![A-Za-z0-9])",
     lambda match: (f"{match[1]}{'' if match[2] else ' '}{match[3]}",)),
    # v1.2.3 without its v, 1.2.3 with one.
    (_DIGITS, r"(?<![A-Za-z0-9.])([vV]?)([0-9]{1,12}+(?:\.[0-9]{1,12}+)++)(?![A-Za-z0-9])",
     lambda match: (("" if match[1] else "v") + match[2].replace(".", " "),)),
    # The beginning of a hash as any hash that begins so, a whole one as its usual abbreviations.
    (_DIGITS, _WORD, _hashes),
    # The digits of a telephone number without separators, and the last of them.
    (_DIGITS, lexicon.NUMBER, lambda match: lexicon.digits(match[0])),
    # 1,200 as 1200, and the other way round.
    (_DIGITS, r"(?<![A-Za-z0-9,])[0-9]{1,3}(?:,[0-9]{3})+(?![A-Za-z0-9,])",
     lambda match: (match[0].replace(",", ""),)),
    (_DIGITS, r"(?<![A-Za-z0-9.,])[0-9]{4,12}(?![A-Za-z0-9])",
     lambda match: (f"{int(match[0]):,}".replace(",", " "),)),
    # One letter or a number together with the character that says of what: A股, T恤, 5岁, 第3章.
    (_ALPHANUMERIC, rf"(?<![A-Za-z0-9.])(?:[A-Za-z]|[0-9]{{1,6}}+)[{lexicon.CJK}]",
     lambda match: (match[0],)),
)  # fmt: skip
