"""The words of a message: what a person wrote to an agent, as a question without a query language.

A message is not a query: operators, filters, exclusions and demands in it are words. Pasted output does not
drown the question: it is left out of a message with enough words of its own, and of a long one the questions
come first, then the last sentence, the first, and the others backwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from commonplace import language
from commonplace.base.expressions import lazy
from commonplace.language import rules
from commonplace.redaction.redact import public
from commonplace.search import query

LONGEST = 200_000  # characters that are read, half from either end: what lies between is pasted
MOST = 1000  # characters of the words; about what a model reads of a question
ENOUGH = 2  # terms of its own with which a message does without its pasted text
MOST_PASTED = 300  # characters of that where it does
_OPENING = 3  # words of a sentence of which one asks: *so what is*, *ok, where do*
_BLOCK = 5  # lines one after the other without the end of a sentence
_PROSE = 0.75  # share of letters and blanks from which a line may be written by a person
_BLANK = str.maketrans("()*", "   ")
_FENCE = ("```", "~~~")
_PASTED = (">", "$ ", "\t", "    ", "+++", "---", "@@")
_ENDS = frozenset(".!?…:;。！？：；")
_QUESTION = ("?", "？")
_SENTENCE = lazy(r"(?:[^\n.!?…。！？]|[.!?…](?!\s))+[.!?…。！？]*")
_MARKS = lazy(r'["“”„«»「」『』]')
_DASH = lazy(r"(?<!\S)-+(?=\w)")
_OPERATOR = lazy(r"(?<!\S)(?:AND|OR|NOT)(?!\S)")
_SIGN = lazy(r"(?<!\S)(-?[^\W\d][\w-]*+(?:>=|<=|[:：><=]))(?=\S)(?!//|[:\\])")


def words(message: str, most: int = MOST) -> str:
    """Return the words of a message, about `most` characters, in which `query.parse` finds words alone."""
    return _DASH.sub("", plain(_MARKS.sub(" ", asked(message, most))))


def plain(text: str) -> str:
    """Return a question in which phrases and exclusions are all that is left of the query language."""
    text = language.fold_signs(query.clean(public(text))).translate(_BLANK)
    text = _OPERATOR.sub(lambda operator: operator[0].lower(), " ".join(text.split()))
    return _SIGN.sub(r"\1 ", text)


def asked(message: str, most: int = MOST) -> str:
    """Return what a message asks, about `most` characters: its own words, with pasted ones if it has few."""
    message = public(message)  # whole: single words do not show which of them are secret
    if len(message) > LONGEST:
        message = f"{message[: LONGEST // 2]}\n{message[-LONGEST // 2 :]}"
    rows = message.splitlines()
    if len(rows) <= 1 and len(message) <= most:
        return message
    own, pasted = _apart(rows)
    text = _most(_SENTENCE.findall("\n".join(own)), most)
    if len(query.terms(text)) < ENOUGH:
        text = f"{text} {_most(pasted, min(most, MOST_PASTED))}".strip()
    return text


def focused(message: str) -> Iterator[str]:
    """Yield parts of a message to ask for, one after the other, if the whole has no answer.

    Its questions, with the other sentences if they say little (*is this safe?*). Without a question
    what a person wrote of it, or its first sentence.
    """
    own, pasted = _apart(public(message)[:LONGEST].splitlines())
    sentences = list(filter(str.strip, _SENTENCE.findall("\n".join(own))))
    questions = [one for one in sentences if asks(one)]
    others = [one for one in sentences if one not in questions]
    for part in [questions, [*others, *pasted]] if questions else [others, others[:1]]:
        text = _most(part, MOST if part is questions else MOST_PASTED)
        said = len(query.terms(text))
        if said >= (1 if part is questions else ENOUGH) and len(part) < len(sentences) + len(pasted):
            yield text
        if said >= ENOUGH:
            return


def asks(message: str) -> bool:
    """Tell whether a message asks something: by a question mark, or a question word that opens a sentence."""
    marked = any(mark in message for mark in _QUESTION)
    openings = (one.split()[:_OPENING] for one in _SENTENCE.findall(message[:LONGEST]))
    return marked or any(rules.holds(language.fold(" ".join(one)), "asks") for one in openings)


def _apart(rows: Sequence[str]) -> tuple[list[str], list[str]]:
    """The lines that a person wrote, and those pasted: code, quotations, data, blocks without a sentence."""
    in_block = {at for block in _blocks(rows) for at in block if 0 < at < len(rows) - 1}
    own: list[str] = []
    pasted: list[str] = []
    fenced = False
    for at, row in enumerate(rows):
        is_fence = row.lstrip().startswith(_FENCE)
        fenced ^= is_fence
        written = sum(map(str.isalpha, row)) + sum(map(str.isspace, row))
        is_prose = written >= _PROSE * len(row) or row.rstrip().endswith(_QUESTION)
        is_pasted = fenced or row.startswith(_PASTED) or at in in_block or not is_prose
        if not is_fence:
            (pasted if is_pasted else own).append(row)
    return own, pasted


def _blocks(rows: Sequence[str]) -> Iterator[range]:
    """Runs of at least `_BLOCK` lines without a blank line and without the end of a sentence."""
    first = 0
    for at, row in enumerate([*rows, ""]):
        if not row.strip() or row.rstrip()[-1] in _ENDS:
            if at - first >= _BLOCK:
                yield range(first, at)
            first = at + 1


def _most(parts: Sequence[str], most: int) -> str:
    """Join parts of a text: of a long one first the questions, the last part, the first, then backwards."""
    parts = list(filter(None, (" ".join(part.split()) for part in parts)))
    if sum(map(len, parts)) + len(parts) > most:
        questions = [part for part in parts if part.endswith(_QUESTION)]
        parts = list(dict.fromkeys([*questions, *parts[-1:], *parts[:1], *reversed(parts)]))
    return " ".join(parts)[:most]
