"""Entries that ask to be told when a phrase stands in the question: found without a model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from commonplace import language
from commonplace.index import facts
from commonplace.index.base import Index, Scope
from commonplace.language import lexicon
from commonplace.redaction.redact import MARK

_SEPARATORS = r"[,;，、；]"


def find(index: Index, question: str, covered: Scope) -> set[int]:
    """The passages that have a trigger in the question, among those that it covers."""
    known = facts.annotated(index, "trigger")
    if not known:
        return set()
    asked = _folded(question)
    found = {passage for passage, said in known if any(_holds(asked, p) for p in phrases(said))}
    return facts.within(index, found, covered) if found else found


def phrases(said: str) -> Iterable[str]:
    """The phrases of a passage's triggers, folded."""
    for phrase in re.split(_SEPARATORS, json.loads(said)["trigger"]):
        folded = _folded(phrase)
        if folded and MARK not in phrase:  # to ask for a secret is to ask for nothing
            yield folded


def _folded(text: str) -> str:
    return " ".join(language.compose(text).casefold().split())


def _holds(text: str, phrase: str) -> bool:
    """Whether a phrase stands in a text: as whole words where it begins and ends in Latin, CJK anywhere."""
    at = text.find(phrase)
    while at >= 0:
        before, behind = text[at - 1 : at], text[at + len(phrase) : at + len(phrase) + 1]
        if not (_joined(before, phrase[0]) or _joined(phrase[-1], behind)):
            return True
        at = text.find(phrase, at + 1)
    return False


def _joined(one: str, other: str) -> bool:
    """Whether two neighbouring characters belong to one word."""
    return _in_word(one) and _in_word(other)


def _in_word(character: str) -> bool:
    return (character.isalnum() or character == "_") and not re.match(lexicon.CJK_RUN, character)
