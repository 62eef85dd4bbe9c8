"""Full text for engines without FTS5: its tokens, its expressions as a tree of phrases, positions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache

from commonplace.base import fork
from commonplace.base.expressions import lazy
from commonplace.base.tuples import NamedTuple
from commonplace.language import lexicon

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    import re
    from typing import Any

K1, B, LEAST_IDF = 1.2, 0.75, 1e-6  # of BM25, as FTS5 has them
COLUMNS = ("body", "header")
_TOKEN = lazy(r'"((?:[^"]|"")*)"\s*(\*?)|(AND|OR|[()])')
_lock = fork.renewed(threading.Lock())


class Phrase(NamedTuple):
    """Tokens in a row, of which the last may be a beginning, and the expression that it was read from."""

    tokens: tuple[str, ...]
    begins: bool
    expression: str


class Tree(NamedTuple):
    """AND or OR of the places of phrases and of further trees."""

    sign: str
    parts: tuple[Tree | int, ...]


class Expression(NamedTuple):
    """An expression that has been read: its phrases in their order, and how they are joined."""

    phrases: tuple[Phrase, ...]
    tree: Tree | int


@cache
def _tokenizer() -> Callable[..., Any]:
    from commonplace.base import database

    name, *options = lexicon.TOKENIZER.split()
    return database.memory().fts5_tokenizer(name, options)


def tokens(text: str) -> list[str]:
    """Return the tokens of a text exactly as FTS5 has them; `lexicon.index_text` comes before."""
    import apsw

    with _lock:  # the tokenizer keeps a buffer
        found: list[str] = _tokenizer()(
            text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False
        )
    return found


@lru_cache(256)
def parse(expression: str) -> Expression:
    """Read an expression, see `index.base`; OR binds loosest."""
    reader = _QueryReader(expression)
    tree = reader.either()
    return Expression(tuple(reader.phrases), tree)


class _QueryReader:
    def __init__(self, expression: str) -> None:
        self.left: list[re.Match[str]] = list(_TOKEN.finditer(expression))
        self.phrases: list[Phrase] = []

    def take(self, sign: str) -> bool:
        """Tell if the next token is this one, and go past it."""
        taken = bool(self.left) and self.left[0][3] == sign
        del self.left[:taken]
        return taken

    def either(self) -> Tree | int:
        return self.joined("OR", lambda: self.joined("AND", self.single))

    def joined(self, sign: str, read: Callable[[], Tree | int]) -> Tree | int:
        parts = [read()]
        while self.take(sign):
            parts.append(read())
        return parts[0] if len(parts) == 1 else Tree(sign, tuple(parts))

    def single(self) -> Tree | int:
        if self.take("("):
            inner = self.either()
            self.take(")")
            return inner
        found = self.left.pop(0)
        words = tuple(tokens(found[1].replace('""', '"')))
        self.phrases.append(Phrase(words, bool(found[2]), f'"{found[1]}"{found[2]}'))
        return len(self.phrases) - 1


def count(phrase: Phrase, texts: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Count how often a phrase stands in the tokens of each column."""
    return {column: _count(phrase, texts[column]) for column in COLUMNS}


def _count(phrase: Phrase, text: Sequence[str]) -> int:
    words, size = phrase.tokens, len(phrase.tokens)
    if size == 1 and not phrase.begins:
        return text.count(words[0])
    if not words:
        return 0
    exact = words[:-1] if phrase.begins else words
    return sum(
        tuple(text[at : at + len(exact)]) == exact
        and (not phrase.begins or text[at + size - 1].startswith(words[-1]))
        for at in range(len(text) - size + 1)
    )


def positions(body: str, header: str) -> tuple[dict[str, list[int]], int]:
    """Return where each token stands, and how many there are; the header's have numbers below zero."""
    found: dict[str, list[int]] = {}
    columns = tokens(body), tokens(header)
    for first, column in zip((0, -(1 << 30)), columns, strict=True):
        for at, word in enumerate(column, first):
            found.setdefault(word, []).append(at)
    return found, sum(map(len, columns))
