"""What is known of a language and is no program: its lists of words, one file a language.

A list is a name and words between three quotation marks, at the top of the file; tables stand below them.
Lists of expressions stand between three apostrophes, with _ for a blank.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from commonplace.base.root import Root

LANGUAGES = ("en", "zh")


@cache
def _text(language: str) -> str:
    return Root(Path(__file__).parent).read(f"{language}.toml").decode("utf-8")


@cache
def _lists(language: str) -> Mapping[str, tuple[str, ...]]:
    # This part of TOML is read here: `tomllib` takes 8 ms to import, and every search needs some words.
    rows = re.findall(r"""^(\w+) = ("{3}|'{3})(.*?)\2""", _text(language), re.MULTILINE | re.DOTALL)
    return {name: tuple(words.split()) for name, _, words in rows}


def listed(language: str, name: str) -> tuple[str, ...]:
    """Return the words of a list in their order; none where a language has no such list."""
    return _lists(language).get(name, ())


@cache
def pattern(name: str) -> re.Pattern[str]:
    """Compile a list of expressions in all languages, in any case; English ones match whole words."""
    english, chinese = ("|".join(listed(language, name)).replace("_", " ") for language in LANGUAGES)
    return re.compile("|".join(filter(None, [english and rf"\b(?:{english})\b", chinese])), re.IGNORECASE)


@cache
def words(name: str) -> frozenset[str]:
    """Return the words of a list in all languages; of an array of `load` where there is no list."""
    known = [listed(language, name) for language in LANGUAGES]
    if not any(known):
        known = [load(language)[name] for language in LANGUAGES]
    return frozenset(word for some in known for word in some)


@cache
def load(language: str) -> Mapping[str, Any]:
    """Read a file of rules whole, with its tables."""
    import tomllib

    return tomllib.loads(_text(language))
