"""What of the notes that a question finds may be meant to go: the lines that hold its words, best first.

A search finds passages, for a word in one line of them or in the heading above. What is offered are single
statements, rows, lines of code and headings, and only those in which a word of the question stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from commonplace.base.database import memory
from commonplace.edit.forget import selection
from commonplace.edit.forget.targets import Page
from commonplace.language import lexicon
from commonplace.markdown.structure import atx
from commonplace.search import query, query_document
from commonplace.transcripts.session import ENDING, FOLDER
from commonplace.types import Hit, cite

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
    shown: str
    heading: bool = False
    of: str = ""
    lines: tuple[str, ...] = ()


def offers(question: str, hits: Sequence[Hit], read: Read) -> list[Offer]:
    """Return what of the notes of hits holds words of a question: most of them first, then the best hit."""
    parts = [part for path in dict.fromkeys(hit.path for hit in hits) for part in _parts(path, hits, read)]
    counts = _count(question, [part.text for part in parts])
    pairs = [pair for pair in zip(counts, parts, strict=True) if pair[0]]
    pairs.sort(key=lambda pair: (-pair[0], pair[1].rank, pair[1].heading))
    best: dict[str, Offer] = {}
    for _, part in pairs:
        best.setdefault(part.citation, Offer(part.citation, part.of + part.shown, part.lines))
    return list(best.values())


def _parts(path: str, hits: Sequence[Hit], read: Read) -> Iterator[_Part]:
    """All that a note is made of; of a transcript the hits, since nothing less than all of it goes."""
    ranked = [(rank, hit) for rank, hit in enumerate(hits) if hit.path == path]
    if path.startswith(f"{FOLDER}/") and path.endswith(ENDING):
        for rank, hit in ranked:
            yield _Part(path, hit.text, rank, hit.text, of="(the whole session) ")
        return
    page = Page.read(read(path) or b"", path)
    for first, last, text in sorted(_units(page)):
        over = (rank for rank, hit in ranked if first <= hit.end_line and last >= hit.start_line)
        # All that goes where these lines do, if nothing between them stays.
        start, end, going = first, last, selection.going(page, first, last)
        if len(going) == going[-1] - going[0] + 1:
            start, end = going[0], going[-1]
        shown = text
        if (public := page.shown(first, last)) != page.written(first, last):
            shown = " ".join(public.split()) or "(private)"
        yield _Part(
            cite(page.path, start, end), text, next(over, len(hits)), shown, first in page.titles,
            lines=tuple(page.bare[start - 1 : end]),
        )  # fmt: skip


def _units(page: Page) -> Iterator[tuple[int, int, str]]:
    """First line, last line and text of statements, and of every line that is part of none."""
    stated: set[int] = set()
    for statement in page.stated:
        own = range(statement.first, statement.last + 1)
        stated |= {number for number in own if page.fence(number) is None}
        yield statement.first, statement.last, statement.text
    for number, line in enumerate(page.bare, 1):
        if number not in stated and line.strip() and not page.is_mark(number):
            underlined = number in page.titles and atx(line) is None
            yield number, number + underlined, line.strip()


def _count(question: str, texts: Sequence[str]) -> list[int]:
    """How many words of a question each text holds, cut and stemmed as the index does it."""
    if question.lstrip()[:6].lower().startswith(query.DOCUMENT):
        expressions = [lexicon.sought(word) for word in query_document.words(question)]
    else:  # of what must be found, all of it together once more
        asked = query.parse(question)
        words = [lexicon.sought(term) for term in query.terms(asked.words)]
        words += map(lexicon.beginning, asked.prefixes)
        words += [lexicon.any_of(asked.spellings)] if asked.spellings else []
        expressions = [*dict.fromkeys(words), *([asked.required] if asked.required else [])]
    counts = [0] * len(texts)
    connection = memory()
    try:
        connection.execute(f'CREATE VIRTUAL TABLE texts USING fts5(body, tokenize="{lexicon.TOKENIZER}")')
        encodable = (text.encode("utf-8", "replace").decode() for text in texts)
        rows = ((place, lexicon.index_text(text)) for place, text in enumerate(encodable))
        connection.executemany("INSERT INTO texts(rowid, body) VALUES(?, ?)", rows)
        for expression in expressions:
            for place in connection.execute("SELECT rowid FROM texts WHERE texts MATCH ?", (expression,)):
                counts[place[0]] += 1
    finally:
        connection.close()
    return counts
