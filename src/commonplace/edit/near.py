"""What stands near some words: for the writer of a new statement, and for who corrects an old one."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, Literal

from commonplace.base.errors import CommonplaceError
from commonplace.config.settings import WORKSPACE_COLLECTION
from commonplace.edit import resolve
from commonplace.language import compare, similarity
from commonplace.markdown import statements
from commonplace.markdown.document import decode, parse
from commonplace.notes.scan import TRANSCRIPTS
from commonplace.search.request import Request
from commonplace.types.notes import Cited, Statement

if TYPE_CHECKING:
    from commonplace.base import paths
    from commonplace.search.answering import Answerer
    from commonplace.types import Hit, Written

MOST = 3
_LOOKED_AT, _LOOKED_AT_ELSEWHERE = 10, 20  # hits
_MOST_WORDS = 40
_NEAR = 0.5  # share of the words of the shorter one
_LARGEST = 200_000  # bytes of a note that is read


def standing(
    workspace: paths.Workspace, answerer: Answerer, text: str, written: Written, today: date
) -> tuple[Cited, ...]:
    """Return the statements of the own notes that share most words with what was written, nearest first.

    Whether they still hold is for the writer to say. What cannot be asked or read counts as saying nothing,
    since the entry is written in any case.
    """
    words = _without_figures(text)
    shares: dict[tuple[str, int], tuple[float, Statement]] = {}
    for hit in _hits(answerer, text, "lexical", _LOOKED_AT):
        if not _is_own(hit):
            continue
        try:
            data = workspace.files.read(hit.path, limit=_LARGEST)
        except OSError:
            continue
        for statement in statements.read(parse(decode(data), hit.path)):
            first = statement.first
            itself = statement.path == written.path and written.start_line <= first <= written.end_line
            outside = statement.last < hit.start_line or first > hit.end_line
            if itself or outside or not _stands(statement, today):
                continue
            others = _without_figures(statement.text)
            share = compare.weight(words & others) / max(1.0, min(map(compare.weight, (words, others))))
            if share >= _NEAR:
                shares[statement.path, first] = share, statement
    nearest = sorted(shares.values(), key=lambda pair: -pair[0])
    return tuple(resolve.cited([resolve.Match(statement) for _, statement in nearest], MOST))


def _stands(statement: Statement, today: date) -> bool:
    said = statement.said
    until = min(filter(None, (said.get("until"), said.get("valid-until"))), default="")
    past = bool(until) and until < today.isoformat()
    return not (statement.struck or past or "status" in said or "superseded-by" in said)


def elsewhere(answerer: Answerer, text: str, *, own: bool = False) -> list[Cited]:
    """Return passages of other sources that hold nearly all a text says; with `own` what is near anywhere.

    Other sources are collections and transcripts, which are never changed. Nothing where the index cannot be
    asked: this only adds to what is found in the notes.
    """
    hits = _hits(answerer, text, "hybrid" if own else "lexical", _LOOKED_AT_ELSEWHERE)
    if own:
        hits = hits[: resolve.MOST_NEAR]
    else:
        hits = [h for h in hits if not _is_own(h) and similarity.share(text, h.text) >= similarity.SAID]
    return [Cited(hit.citation, resolve.shortened(_nearest_line(hit.text, text))) for hit in hits]


def _nearest_line(passage: str, text: str) -> str:
    """The line of a passage that shares most words with a text, the first of several."""
    return max(passage.splitlines(), key=lambda line: similarity.share(text, line), default="")


def _hits(answerer: Answerer, text: str, mode: Literal["hybrid", "lexical"], count: int) -> list[Hit]:
    """What the index finds for the words of a text: no text of a note is a query, and no model is asked."""
    try:
        words = " ".join(re.findall(r"\w+", text)[:_MOST_WORDS])
        return list(answerer.answer(Request(words, count, mode, rerank="off", expand=False)).hits)
    except CommonplaceError:
        return []


def _is_own(hit: Hit) -> bool:
    return hit.collection == WORKSPACE_COLLECTION and not hit.path.endswith(TRANSCRIPTS)


def _without_figures(text: str) -> set[str]:
    return {stem for stem in similarity.stems(text) if not any(map(str.isdigit, stem))}
