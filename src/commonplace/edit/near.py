"""Which statements stand near one that is being written: whether they still hold is for the writer to say."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from commonplace.base.errors import CommonplaceError
from commonplace.config.settings import WORKSPACE_COLLECTION
from commonplace.language import compare, similarity
from commonplace.notes.scan import TRANSCRIPTS
from commonplace.types.notes import Cited, Statement

if TYPE_CHECKING:
    from commonplace.base import paths
    from commonplace.search.answering import Answerer
    from commonplace.types import Written

MOST = 3
_LOOKED_AT = 10  # hits
_NEAR = 0.5  # share of the words of the shorter one
_LARGEST = 200_000  # bytes of a note that is read


def standing(
    workspace: paths.Workspace, answerer: Answerer, text: str, written: Written, today: date
) -> tuple[Cited, ...]:
    """Return the statements of the own notes that share most words with what was written, nearest first.

    The index is asked as it finds words, without a model; what cannot be asked or read counts as saying
    nothing, since the entry is written in any case.
    """
    import re

    from commonplace.edit import resolve
    from commonplace.markdown import statements
    from commonplace.markdown.document import decode, parse

    found: dict[tuple[str, int], tuple[float, Statement]] = {}
    try:
        request = answerer.request(_LOOKED_AT, "lexical", rerank="off", expand=False)
        hits = answerer.answer(" ".join(re.findall(r"\w+", text)[:40]), request).hits
    except CommonplaceError:
        return ()
    for hit in hits:
        if hit.collection != WORKSPACE_COLLECTION or hit.path.endswith(TRANSCRIPTS):
            continue
        try:
            data = workspace.files.read(hit.path, limit=_LARGEST)
        except OSError:
            continue
        for one in statements.read(parse(decode(data), hit.path)):
            itself = one.path == written.path and written.start_line <= one.first <= written.end_line
            outside = one.last < hit.start_line or one.first > hit.end_line
            if itself or outside or not _stands(one, today):
                continue
            if (share := _share(text, one.text)) >= _NEAR:
                found[one.path, one.first] = share, one
    nearest = sorted(found.values(), key=lambda pair: -pair[0])
    return tuple(resolve.cited([resolve.Match(one) for _, one in nearest], MOST))


def _share(text: str, other: str) -> float:
    """How much of the shorter of two texts the other says as well, 0..1, whatever their figures."""
    one, two = (
        {stem for stem in similarity.stems(said) if not any(map(str.isdigit, stem))} for said in (text, other)
    )
    return compare.weight(one & two) / max(1.0, min(compare.weight(one), compare.weight(two)))


def _stands(statement: Statement, today: date) -> bool:
    said = statement.said
    until = min(filter(None, (said.get("until"), said.get("valid-until"))), default="")
    past = bool(until) and until < today.isoformat()
    return not (statement.struck or past or "status" in said or "superseded-by" in said)
