"""Word lists and expressions of each language, one TOML file a language.

A list is a name and words between three quotation marks, at the top of the file; tables are below them.
Lists of expressions are between three apostrophes, with _ for a blank. A text is read by the rules of the
languages in it alone (`spoken`): `sam` is a weekday in French and a name in English.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from commonplace.base.root import Root
from commonplace.language import fold_cases

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any

Languages = tuple[str, ...]
_FOLDER = Path(__file__).parent
# Each has a file here, and a module for its dates (`dates_en`); this is the only list of languages.
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
    """Return the words of a list in their order; empty where a language has no such list."""
    return _lists(language).get(name, ())


@cache
def _by_writing(languages: Languages = LANGUAGES) -> tuple[Languages, Languages]:
    """Those of some languages that write blanks between words, and the others."""
    spaced = tuple(language for language in languages if "blanks" in listed(language, "writing"))
    return spaced, tuple(language for language in languages if language not in spaced)


def spoken(text: str) -> Languages:
    """Return the languages of a text: of those with blanks the likeliest, of the others all but for ASCII."""
    spaced, others = _by_writing()
    if len(spaced) > 1:
        found = set(re.findall(r"[^\W\d_]+", fold_cases(text).lower()))
        spaced = (max(spaced, key=lambda language: len(found & _common(language))),)
    return spaced if text.isascii() else spaced + others


@cache
def _common(language: str) -> frozenset[str]:
    """Words by which a language is recognized."""
    return words("stopwords", (language,)) | words("months", (language,)) | words("week", (language,))


@cache
def expression(name: str, languages: Languages) -> str:
    """Return an expression for any entry of a list; empty where no language has such a list."""
    return "|".join(word for language in languages for word in listed(language, name)).replace("_", " ")


def lines(name: str) -> tuple[str, ...]:
    """Return the lines of a file beside the rules, without blank ones."""
    return tuple(filter(None, Root(_FOLDER).read(name).decode("utf-8").split("\n")))


@cache
def pattern(name: str, languages: Languages) -> re.Pattern[str]:
    """Compile a list of expressions for lower-case texts; whole words in languages with blanks.

    A pattern that ignores case takes several times as long to match, and twice as long to compile.
    """
    spaced, other = (expression(name, some) for some in _by_writing(languages))
    return re.compile("|".join(filter(None, [spaced and rf"\b(?:{spaced})\b", other])) or "(?!)")


def holds(text: str, name: str) -> bool:
    """Tell whether a text has an expression of a list, in any case."""
    return pattern(name, spoken(text)).search(fold_cases(text).lower()) is not None


@cache
def words(name: str, languages: Languages = LANGUAGES) -> frozenset[str]:
    """Return the words of a list in some languages."""
    return frozenset(word for language in languages for word in listed(language, name))


@cache
def numbers(name: str, languages: Languages) -> Mapping[str, int]:
    """Return the numbers of months or weekdays, from 1, by their names."""
    return {word: at for language in languages for at, word in enumerate(listed(language, name), 1)}


@cache
def short_numbers(name: str, languages: Languages = LANGUAGES) -> Mapping[str, int]:
    """Return the same by their first letters: three, or as many as tell them apart in a language."""
    shorts: dict[str, int] = {}
    for language in languages:
        names = listed(language, name)
        for number, word in enumerate(names, 1):
            starts = (word[:size] for size in range(3, len(word)))
            short = next((at for at in starts if sum(one.startswith(at) for one in names) == 1), word)
            shorts[short] = number
    return shorts


@cache
def load(language: str) -> Mapping[str, Any]:
    """Read a file of rules whole, with its tables."""
    import tomllib

    return {"turns": {}, "instructions": {"patterns": []}} | tomllib.loads(_text(language))
