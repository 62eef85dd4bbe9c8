"""What of the notes that a question finds may be meant to go: the lines that hold its words, best first.

A search finds passages, for a word in one line of them or in the heading above. What is offered are single
statements, rows, lines of code and headings, and only those in which a word of the question stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from commonplace.base.connection import memory
from commonplace.erasure import selecting
from commonplace.erasure.files import SESSIONS
from commonplace.erasure.pages import Page
from commonplace.index import lexicon
from commonplace.notes.headings import atx
from commonplace.search import documents, query
from commonplace.types import Hit
from commonplace.types.results import cite

Read = Callable[[str], bytes | None]


class Offer(NamedTuple):
    """Something that can go by itself: what cites it, what it says, the lines of its note as they stand.

    What it says is as it may be shown: private parts are left out, secrets redacted.
    """

    citation: str
    text: str
    lines: tuple[str, ...] = ()


class _Part(NamedTuple):
    """Something that may be offered, and how good its hit was (0: the best).

    `of` is said before its text, where what goes is more than that; `shown` is its text as it may be shown.
    """

    citation: str
    text: str
    rank: int
    heading: bool = False
    of: str = ""
    lines: tuple[str, ...] = ()
    shown: str = ""


def offers(question: str, hits: Sequence[Hit], read: Read) -> list[Offer]:
    """Return what of the notes of hits holds words of a question: most of them first, then the best hit."""
    parts = [part for path in dict.fromkeys(hit.path for hit in hits) for part in _parts(path, hits, read)]
    held = _held(question, [part.text for part in parts])
    pairs = [pair for pair in zip(held, parts, strict=True) if pair[0]]
    pairs.sort(key=lambda pair: (-pair[0], pair[1].rank, pair[1].heading))
    found: dict[str, Offer] = {}
    for _, part in pairs:
        found.setdefault(part.citation, Offer(part.citation, part.of + part.shown, part.lines))
    return list(found.values())


def _parts(path: str, hits: Sequence[Hit], read: Read) -> Iterator[_Part]:
    """All that a note is made of; of a transcript what was found, since nothing less than all of it goes."""
    ranked = [(rank, hit) for rank, hit in enumerate(hits) if hit.path == path]
    if path.startswith(f"{SESSIONS}/") and path.endswith(".jsonl"):
        yield from (
            _Part(path, hit.text, rank, of="(the whole session) ", shown=hit.text) for rank, hit in ranked
        )
        return
    page = Page(path, read(path) or b"")
    titles = {heading.line for heading in page.note.headings}
    for first, last, text in sorted(_units(page, titles)):
        over = (rank for rank, hit in ranked if first <= hit.end_line and last >= hit.start_line)
        start, end = _all_that_goes(page, first, last)
        lines = tuple(page.bare(number) for number in range(start, end + 1))
        citation = cite(page.path, start, end)
        shown = _shown(page, first, last, text)
        yield _Part(citation, text, next(over, len(hits)), first in titles, lines=lines, shown=shown)


def _shown(page: Page, first: int, last: int, text: str) -> str:
    """The text of lines as it may be shown: their own, unless something of them is private or secret."""
    lines = page.shown(first, last)
    if lines == "\n".join(page.bare(number) for number in range(first, last + 1)):
        return text
    return " ".join(lines.split()) or "(private)"


def _units(page: Page, titles: set[int]) -> Iterator[tuple[int, int, str]]:
    """First line, last line and text of statements, and of every line that is part of none."""
    stated: set[int] = set()
    for statement in page.statements:
        own = range(statement.first, statement.last + 1)
        stated |= {number for number in own if page.fence(number) is None}
        yield statement.first, statement.last, statement.text
    for number in range(1, len(page.lines) + 1):
        line = page.bare(number)
        if number not in stated and line.strip() and not page.is_mark(number):
            underlined = number in titles and atx(line) is None
            yield number, number + underlined, line.strip()


def _all_that_goes(page: Page, first: int, last: int) -> tuple[int, int]:
    """The first and the last line of all that goes where some lines do, if nothing between them stays."""
    going = selecting.going(page, first, last)
    if len(going) == going[-1] - going[0] + 1:
        return going[0], going[-1]
    return first, last


def _held(question: str, texts: Sequence[str]) -> list[int]:
    """How much of a question each text holds, its words told apart and stemmed as the index does it."""
    counts = [0] * len(texts)
    connection = memory()
    try:
        connection.execute(f'CREATE VIRTUAL TABLE told USING fts5(body, tokenize="{lexicon.TOKENIZER}")')
        rows = ((place, lexicon.index_text(_encodable(text))) for place, text in enumerate(texts))
        connection.executemany("INSERT INTO told(rowid, body) VALUES(?, ?)", rows)
        for expression in _expressions(question):
            for place in connection.execute("SELECT rowid FROM told WHERE told MATCH ?", (expression,)):
                counts[place[0]] += 1
    finally:
        connection.close()
    return counts


def _expressions(question: str) -> list[str]:
    """Each word of a question as FTS5 looks for it; of what must be found, all of it together once more."""
    if question.lstrip()[:6].lower().startswith(query.DOCUMENT):
        return [lexicon.sought(word) for word in documents.words(question)]
    asked = query.parse(question)
    found = [lexicon.sought(term) for term in query.terms(asked.words)]
    found += map(lexicon.beginning, asked.prefixes)
    if asked.spellings:
        found.append(lexicon.any_of(asked.spellings))
    return [*dict.fromkeys(found), *([asked.required] if asked.required else [])]


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
