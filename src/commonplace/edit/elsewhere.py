"""What the index finds near some words: in collections and transcripts, which are never changed, or all."""

from __future__ import annotations

import re

from commonplace.base.errors import CommonplaceError
from commonplace.config.settings import WORKSPACE_COLLECTION
from commonplace.edit import resolve
from commonplace.language import similarity
from commonplace.notes.scan import TRANSCRIPTS
from commonplace.search.answering import Answerer
from commonplace.types.notes import Cited

_LOOKED_AT = 20  # hits
_MOST_WORDS = 40


def hits(answerer: Answerer, text: str, *, own: bool = False) -> list[Cited]:
    """Return passages of other sources that hold nearly all a text says; with `own` what is near anywhere.

    Nothing where the index cannot be asked: this only adds to what is found in the notes.
    """
    words = " ".join(re.findall(r"\w+", text)[:_MOST_WORDS])  # no text of a note is a query
    try:
        request = answerer.request(_LOOKED_AT, "hybrid" if own else "lexical", rerank="off", expand=False)
        found = answerer.answer(words, request).hits
    except CommonplaceError:
        return []
    if own:
        return [Cited(hit.citation, resolve.shortened(hit.text)) for hit in found[: resolve.MOST_NEAR]]
    return [
        Cited(hit.citation, resolve.shortened(hit.text))
        for hit in found
        if (hit.collection != WORKSPACE_COLLECTION or hit.path.endswith(TRANSCRIPTS))
        and similarity.share(text, hit.text) >= similarity.SAID
    ]
