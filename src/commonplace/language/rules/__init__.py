"""What is known of a language and is no program: its lists of words, one file a language.

A list is a name and words between three quotation marks, at the top of the file; tables stand below them.
Lists of expressions stand between three apostrophes, with _ for a blank.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from commonplace.base.root import Root
from commonplace.language import fold_cases

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any

_FOLDER = Path(__file__).parent
# Each has a file here, and a module for how its dates are written (`dates_en`); nothing else names them all.
LANGUAGES = tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


@cache
def _text(language: str) -> str:
    return Root(_FOLDER).read(f"{language}.toml").decode("utf-8")


@cache
def _lists(language: str) -> Mapping[str, tuple[str, ...]]:
    # This part of TOML is read here: `tomllib` takes 8 ms to import, and every search needs some words.
    rows = re.findall(r"""^(\w+) = ("{3}|'{3})(.*?)\2""", _text(language), re.MULTILINE | re.DOTALL)
    return {name: tuple(words.split()) for name, _, words in rows}


def listed(language: str, name: str) -> tuple[str, ...]:
    """Return the words of a list in their order; none where a language has no such list."""
    return _lists(language).get(name, ())


def has_blanks(language: str) -> bool:
    """Tell whether a language sets its words apart."""
    return "blanks" in listed(language, "writing")


def expression(name: str, languages: Iterable[str] = LANGUAGES) -> str:
    """Return what matches any expression of a list, in all languages; empty where none has such a list."""
    return "|".join(word for language in languages for word in listed(language, name)).replace("_", " ")


def lines(name: str) -> tuple[str, ...]:
    """Return the lines of a file beside the rules, without blank ones."""
    return tuple(filter(None, Root(_FOLDER).read(name).decode("utf-8").split("\n")))


@cache
def pattern(name: str) -> re.Pattern[str]:
    """Compile a list of expressions in all languages, for texts in small letters; of languages with blanks
    whole words. To match any case takes several times as long, and to compile for it twice.
    """
    spaced = expression(name, filter(has_blanks, LANGUAGES))
    other = expression(name, (language for language in LANGUAGES if not has_blanks(language)))
    return re.compile("|".join(filter(None, [spaced and rf"\b(?:{spaced})\b", other])))


def holds(text: str, name: str) -> bool:
    """Tell whether a text holds an expression of a list, in any case."""
    return pattern(name).search(fold_cases(text).lower()) is not None


@cache
def words(name: str) -> frozenset[str]:
    """Return the words of a list in all languages; of an array of `load` where there is no list."""
    known = [listed(language, name) for language in LANGUAGES]
    if not any(known):
        known = [load(language).get(name, ()) for language in LANGUAGES]
    return frozenset(word for some in known for word in some)


@cache
def numbers(name: str) -> Mapping[str, int]:
    """Return the numbers of months or weekdays, from 1, by their names in all languages."""
    return {word: at for language in LANGUAGES for at, word in enumerate(listed(language, name), 1)}


@cache
def short_numbers(name: str) -> Mapping[str, int]:
    """Return the same by their first letters: three, or as many as tell them apart in a language."""
    shorts: dict[str, int] = {}
    for language in LANGUAGES:
        names = listed(language, name)
        for number, word in enumerate(names, 1):
            others = [other for other in names if other != word]
            sizes = range(3, len(word) + 1)
            unique = (word[:size] for size in sizes if not any(o.startswith(word[:size]) for o in others))
            shorts[next(unique, word)] = number
    return shorts


@cache
def load(language: str) -> Mapping[str, Any]:
    """Read a file of rules whole, with its tables."""
    import tomllib

    return {"turns": {}, "instructions": {"patterns": []}} | tomllib.loads(_text(language))
