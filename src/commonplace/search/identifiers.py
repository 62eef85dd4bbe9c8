"""Identifiers in a question: whole, and in the other ways in which a text may write the same one.

The index holds words between separators, and the parts of words that have some. A question can therefore
ask for `getUserName` as `get user name` (which finds get_user_name), and for 138-1234-5678 as 13812345678.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from commonplace.language import lexicon

# Begun at the start of a word and never given back: 8,000 letters in a row would take a second otherwise.
_IDENTIFIER = r"(?<![A-Za-z0-9])[A-Za-z0-9]++(?:[._/\\\-@:#+?=&%~]++[A-Za-z0-9]++)+"
_SIGNS = frozenset("/\\@_:#=&%~")  # what no prose has between two letters
_WORD = r"[A-Za-z0-9]++"
_LETTERS_JOINED = r"(?<![A-Za-z0-9])[A-Za-z]++(?:[_\-][A-Za-z]++)++(?![A-Za-z0-9])"
_NAME_NUMBER = (
    r"(?<![A-Za-z0-9])([A-Za-z]{2,40}+)([ _\-]?)([0-9]{1,12}+)((?:\.[0-9]{1,12}+)*+)(?![A-Za-z0-9])"
)
_NUMBER_UNIT = r"(?<![A-Za-z0-9.])([0-9]{1,12}+)([ \-]?)([A-Za-z]{1,20}+)(?![A-Za-z0-9])"
_VERSION = r"(?<![A-Za-z0-9.])([vV]?)([0-9]{1,12}+(?:\.[0-9]{1,12}+)++)(?![A-Za-z0-9])"
_HEXADECIMAL = frozenset("0123456789abcdef")
HASH_LEAST, HASH_LONG, HASH_MOST = (
    7,
    16,
    64,
)  # digits of a hash: as Git shortens it, surely whole, SHA-256
_SHORT_HASHES = range(HASH_LEAST, 13)
_TELEPHONE = r"(?<![A-Za-z0-9])\+?\(?[0-9][0-9 ().\-]{5,22}[0-9](?![A-Za-z0-9])"
# How people group the digits of a number by their count: local, two groups, North American, Chinese mobile.
_GROUPS = {7: (3, 4), 8: (4, 4), 10: (3, 3, 4), 11: (3, 4, 4)}
_THOUSANDS = r"(?<![A-Za-z0-9,])[0-9]{1,3}(?:,[0-9]{3})+(?![A-Za-z0-9,])"
_PLAIN_NUMBER = r"(?<![A-Za-z0-9.,])[0-9]{4,12}(?![A-Za-z0-9])"
_SIGNED_LETTER = r"(?<![A-Za-z0-9])([A-Za-z])(?:\+\+|#)(?![A-Za-z0-9])"
# One letter or a number, and the character that says of what: A股, T恤, 5岁, 第3章.
_MIXED = rf"(?<![A-Za-z0-9.])(?:[A-Za-z]|[0-9]{{1,6}}+)[{lexicon.CJK}]"


def wholes(plain: str) -> Iterator[str]:
    """Identifiers that are surely some, as the phrases of their words, in lower case."""
    for identifier in re.findall(_IDENTIFIER, plain):
        if _is_sure(identifier):
            yield _phrase(identifier)


def spellings(text: str) -> list[str]:
    """Other ways to write what a question names, once each: phrases, and beginnings that end in `*`."""
    ways = [_in_parts, _in_one, _names_with_numbers, _versions, _hashes, _telephones, _amounts, _mixed]
    return list(dict.fromkeys(spelling.lower() for way in ways for spelling in way(text)))


def _is_sure(identifier: str) -> bool:
    return any(c.isdigit() or c in _SIGNS for c in identifier)


def _phrase(identifier: str) -> str:
    return " ".join(re.findall(_WORD, identifier)).lower()


def _in_parts(text: str) -> Iterator[str]:
    """The words of os.path.join and well-known side by side, and the parts of getUserName."""
    for identifier in re.findall(_IDENTIFIER, text):
        if not _is_sure(identifier):
            yield _phrase(identifier)
    for word in re.findall(_WORD, text):
        for parts in lexicon.splits(word):
            kept = [part for part in parts if len(part) > 1 or part.isdigit()]
            if len(kept) > 1:
                yield " ".join(kept)


def _in_one(text: str) -> Iterator[str]:
    """get_user_name and wi-fi in one word; the C of C++ and C#, which alone would be too short."""
    for identifier in re.findall(_LETTERS_JOINED, text):
        yield re.sub(r"[_\-]", "", identifier)
    yield from re.findall(_SIGNED_LETTER, text)


def _names_with_numbers(text: str) -> Iterator[str]:
    """`gpt-4.1` as gpt4.1 and the other way round, `10 am` as 10am."""
    for name, separator, number, rest in re.findall(_NAME_NUMBER, text):
        yield f"{name}{'' if separator else ' '}{number}{rest.replace('.', ' ')}"
    for number, separator, unit in re.findall(_NUMBER_UNIT, text):
        yield f"{number}{'' if separator else ' '}{unit}"


def _versions(text: str) -> Iterator[str]:
    """`v1.2.3` without its v, `1.2.3` with one."""
    for mark, numbers in re.findall(_VERSION, text):
        yield ("" if mark else "v") + numbers.replace(".", " ")


def _hashes(text: str) -> Iterator[str]:
    """The beginning of a hash as any hash that begins so, a whole one as its usual abbreviations."""
    for word in re.findall(_WORD, text.lower()):
        if HASH_LEAST <= len(word) <= HASH_MOST and _is_hash(word):
            yield f"{word}*"
            if len(word) >= HASH_LONG:
                yield from (word[:length] for length in _SHORT_HASHES)


def _is_hash(word: str) -> bool:
    return _HEXADECIMAL.issuperset(word) and not word.isalpha()


def _telephones(text: str) -> Iterator[str]:
    """The digits of a telephone number without separators, and in the usual groups."""
    for number in re.findall(_TELEPHONE, text):
        digits = "".join(filter(str.isdigit, number))
        yield digits
        for local in dict.fromkeys((digits, digits.removeprefix("86"), digits.removeprefix("1"))):
            if groups := _GROUPS.get(len(local)):
                yield from (local, f"86{local}", f"1{local}", _grouped(local, groups))


def _grouped(digits: str, groups: tuple[int, ...]) -> str:
    ends = [sum(groups[: n + 1]) for n in range(len(groups))]
    return " ".join(digits[end - size : end] for end, size in zip(ends, groups, strict=True))


def _amounts(text: str) -> Iterator[str]:
    """1,200 as 1200, and the other way round."""
    for number in re.findall(_THOUSANDS, text):
        yield number.replace(",", "")
    for number in re.findall(_PLAIN_NUMBER, text):
        yield f"{int(number):,}".replace(",", " ")


def _mixed(text: str) -> Iterator[str]:
    """A letter or a number together with the Chinese character behind it."""
    if not text.isascii():
        yield from re.findall(_MIXED, text)
