"""The tables of secrets: what they look like and where they stand, from the providers' own documents.

For another kind, add a row to a file of `rules/` and a format to `tests/notes/planted.py`. Expressions are
ours; those of shapes are matched as ASCII. Every repetition but the last of a row has a bound, so that no
text makes a row slow. What follows the right prefix must also look made up: `shapes.is_made_up`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from commonplace.base.root import Root
from commonplace.base.tuples import NamedTuple

_FOLDER = Path(__file__).parent / "rules"
_PARTS: dict[str, str] = {}  # named expressions of all tables, by name in angles


def _read(name: str) -> Iterator[list[str]]:
    """Yield the rows of a table as columns; `<NAME>` stands for the expression that a line above names so."""
    for line in Root(_FOLDER).read(f"{name}.txt").decode("utf-8").splitlines():
        line = re.sub("<[A-Z0-9]+>", lambda part: _PARTS.get(part[0], part[0]), line)
        before, _, expression = line.partition(" = ")
        if before.isupper() and before.isalnum():
            _PARTS[f"<{before}>"] = expression
        elif line[0] != "#":
            yield line.split("\t")


class Shape(NamedTuple):
    """Tokens that begin with one of the `prefixes`, set apart by blanks, and go on as `rest` says."""

    kind: str
    prefixes: str
    rest: str
    free: bool = False  # whether it may be all capitals: only its shape is checked


class Inside(NamedTuple):
    """Tokens known by a `mark` inside, with at most `before` characters before it; a group is the secret."""

    kind: str
    mark: str
    before: int
    expression: str


class Told(NamedTuple):
    """A secret behind a `word`: its `name`, what `joins`, then the `value`, whose group is the secret."""

    kind: str
    word: str
    name: str
    joins: str
    value: str
    near: str = ""  # what must stand between 80 characters before the word and the value
    worded: bool = False  # whether it may be plain words, unless these say something of a password


SHAPES = tuple(Shape(kind, prefixes, rest, bool(free)) for kind, prefixes, rest, *free in _read("shapes"))
INSIDE = tuple(Inside(kind, mark, int(before), found) for kind, mark, before, found in _read("inside"))
# Expressions behind :// in an address; the group is the secret.
ADDRESSES = tuple((kind, expression) for kind, expression in _read("addresses"))
# Secrets in a fixed place behind a word: kind, word in lower case, expression of which the group is the
# secret, what stands before the word.
PLACES = tuple((kind, word, found, "".join(before)) for kind, word, found, *before in _read("places"))


# Lower-case words before a secret, and the kind of each.
WORDS = {
    "pass": "password",
    "pw": "password",
    "密码": "password",
    "密碼": "password",
    "口令": "password",
    "secret": "secret",
    "token": "token",
    "key": "key",
    "authorization": "",  # only with a place
    "令牌": "token",
    "密钥": "key",
    "密鑰": "key",
    "秘钥": "key",
    "私钥": "key",
}
WORD_LISTS = {name: tuple(words.split()) for name, words in _read("words")}
# The word for "password" elsewhere: the words of a language, and what stands for "is" behind them.
PASSWORD_WORDS = {language: (tuple(words.split()), verbs) for language, words, verbs in _read("passwords")}
_PARTS["<PASSWORDS>"] = "|".join(word for words, _ in PASSWORD_WORDS.values() for word in words)
TOLD = tuple(
    Told(kind, word, name, joins, value, "".join(more[:1]), bool(more[1:]))
    for kind, word, name, joins, value, *more in _read("told")
)
FORMS: dict[str, str] = dict(_read("forms"))  # expressions by name
