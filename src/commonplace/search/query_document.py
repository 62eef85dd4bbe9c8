"""Query documents: a question of several lines, each of which says how it is to be asked.

    lex: deploy rollback -staging in:work
    vec: how do we undo a release?
    hyde: To roll back, redeploy the previous tag from the release page.
    intent: production only

A text is one if its first line that is not blank begins so, with something behind it or below. A dialogue is
none, and never an error: where another line opens with another label, it is a text as any other; where the
first prefix is not in lower case (Lex is a name too), so is whatever would be a mistake in a document.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import cast

from commonplace.base.errors import ConfigError
from commonplace.base.tuples import NamedTuple
from commonplace.markdown import turns
from commonplace.search import query
from commonplace.search.query import TYPED, Kind, Line, Query, of_question

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from commonplace.search.query import IsOption

MOST_LINES = 16  # each is a full-text query or a vector of its own
INTENT = "intent"
_ROW = re.compile(r"\r\n?|\n")
_LINE = re.compile(rf"\s*({'|'.join(query.DOCUMENT)})[ \t]*[:：](.*)", re.IGNORECASE | re.ASCII | re.DOTALL)


class Document(NamedTuple):
    """A query document: what is searched, in order, and what is meant by it."""

    lines: tuple[tuple[Kind, str], ...]
    intent: str = ""


def parse(text: str) -> Document | None:
    """Read a query document, or return None for a text that is none. Raises ConfigError, naming the line."""
    if not text.lstrip()[: len(INTENT)].lower().startswith(query.DOCUMENT):
        return None
    rows = [(number, row) for number, row in enumerate(_ROW.split(text), 1) if row.strip()]
    first = _LINE.fullmatch(rows[0][1])
    if first is None or (len(rows) == 1 and not first[2].strip()):
        return None
    if any(_LINE.fullmatch(row) is None and turns.speaker(row) is not None for _, row in rows):
        return None
    try:
        return _document(rows)
    except ConfigError:
        if first[1].islower():
            raise
        return None


def _document(rows: Sequence[tuple[int, str]]) -> Document:
    lines: list[tuple[Kind, str]] = []
    intents: list[str] = []
    for number, row in rows:
        kind, text = _labelled(number, row)
        if kind == INTENT:
            intents.append(text)
        else:
            lines.append((cast("Kind", kind), text))
        if len(intents) > 1:
            raise ConfigError(f"line {number}", "a second intent:; say in one line what is meant")
        if len(lines) > MOST_LINES:
            raise ConfigError(f"line {number}", f"more than {MOST_LINES} lines to search; leave some out")
    if not lines:
        alone = "an intent: alone finds nothing; add a line with lex:, vec: or hyde:"
        raise ConfigError(f"line {rows[0][0]}", alone)
    return Document(tuple(lines), *intents)


def _labelled(number: int, row: str) -> tuple[str, str]:
    """The label of a line in lower case, and what stands behind it. Raises ConfigError for one without."""
    match = _LINE.fullmatch(row)
    if match is None:
        *most, last = (f"{prefix}:" for prefix in query.DOCUMENT)
        problem = f"each line of a query document begins with {', '.join(most)} or {last}"
        raise ConfigError(f"line {number}", problem)
    kind, text = match[1].lower(), match[2].strip()
    if not text:
        raise ConfigError(f"line {number}", f"nothing stands behind {kind}:")
    return kind, text


def read(
    document: Document,
    keys: Callable[[], frozenset[str]] = frozenset,
    is_option: IsOption = lambda word, beside: False,
) -> tuple[Query, tuple[Line, ...]]:
    """Parse the lines; the question comes as a whole too, with the filters of all of them.

    A line that holds nothing but filters and exclusions searches nothing. The lookups are those of
    `query.parse`.
    """
    parsed = [(kind, query.parse(text, keys, is_option)) for kind, text in document.lines]
    lines = tuple(
        Line(kind, one if kind == "lex" else plain(one.text))
        for kind, one in parsed
        if not _covers(kind, one) and one.text.strip()
    )
    filters = tuple(dict.fromkeys(item for _, one in parsed for item in one.filters))
    excluded = " OR ".join(filter(None, [one.excluded for kind, one in parsed if _covers(kind, one)]))
    unwanted = tuple(word for kind, one in parsed if kind == "lex" for word in one.unwanted)
    whole = _whole(lines)._replace(filters=filters, excluded=excluded or None, unwanted=unwanted)
    return whole, lines


def _covers(kind: Kind, one: Query) -> bool:
    """Whether a line says nothing but what all of the document covers; to vectors exclusions are words."""
    return one.lists and (kind == "lex" or bool(one.filters))


def _whole(lines: Sequence[Line]) -> Query:
    """What all lines ask. A passage is not what somebody asked: who says I in it is not whoever asks."""
    asked = [line.query for line in lines if line.kind != "hyde"] or [line.query for line in lines]
    return plain("\n".join(one.text for one in asked), " ".join(one.words for one in asked))


def read_any(
    text: str,
    keys: Callable[[], frozenset[str]] = frozenset,
    is_option: IsOption = lambda word, beside: False,
    *,
    as_lines: bool = False,
) -> tuple[Query, tuple[Line, ...]]:
    """Parse a query document, or any other text, which is made of lines if it is to be one of several.

    Raises ConfigError.
    """
    document = parse(text)
    if document is not None:
        return read(document, keys, is_option)
    asked = query.parse(text, keys, is_option)
    return asked, of_question(asked) if as_lines else ()


def plain(text: str, words: str | None = None) -> Query:
    """A text taken by its words: nothing in it is an operator, a demand or a filter."""
    words = " ".join(text.split()) if words is None else words
    return Query(text, words, tuple(query.terms(words)))


def line(kind: Kind, text: str, weight: float = TYPED) -> Line:
    """A line of a text that nobody typed, taken by its words."""
    return Line(kind, plain(query.clean(text)), weight)


def subject(text: str) -> tuple[str, str]:
    """What a text asks, in plain words without operators and filters, and what is meant by it."""
    document = parse(text)
    if document is None:
        return query.parse(text).words, ""
    return read(document)[0].words, document.intent


def words(text: str) -> tuple[str, ...]:
    """The words worth showing where they stand in a hit: those asked for, and those of what is meant."""
    document = parse(text)
    asked, lines = read(document) if document else (query.parse(text), ())
    each = [word for line in lines for word in line.query.marked]
    meant = query.terms(document.intent) if document and document.intent else ()
    return tuple(dict.fromkeys([*asked.marked, *each, *meant]))
