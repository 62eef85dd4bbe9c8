"""Texts into requests: how many tokens a text may have, where it is cut, what goes together.

No provider's tokenizer is at hand, so tokens are estimated: a third of the UTF-8 bytes. English prose has a
little less, Chinese about as much, code and figures up to twice as much; the server refuses a text that
exceeds a limit all the same, and `halve` makes it shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from commonplace.markdown import comments
from commonplace.providers.http import outgoing
from commonplace.providers.refusals import TooLarge
from commonplace.providers.services import Limits

BYTES_PER_TOKEN = 3
RULE = "cut-1"  # part of the fingerprint of every model behind it: change it with any change to `cut`
_SEARCHED = 0.2  # of what is kept, from its end: how far a boundary is looked for
# Never begin with what belongs to the character before: marks, joiners, selectors.
_CLINGS = (("\u0300", "\u036f"), ("\u200d", "\u200d"), ("\ufe00", "\ufe0f"), ("\U0001f3fb", "\U0001f3ff"))
_Result = TypeVar("_Result")


def tokens(text: str) -> int:
    """Estimate the tokens of a text."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return -(-size // BYTES_PER_TOKEN)


def clean(text: str) -> str:
    """Return a text as it may leave: without private parts, secrets and comments, and fit for JSON."""
    text = comments.without(outgoing(text))
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def cut(text: str, max_tokens: int) -> str:
    """Return as much of a text as has so many tokens, cut after a sentence, a word or a character.

    Only the last fifth of what fits is given up for a better place. At least one character stays.
    """
    if tokens(text) <= max_tokens:
        return text
    fitting = text.encode("utf-8", "replace")[: max(max_tokens, 1) * BYTES_PER_TOKEN]
    end = max(1, len(fitting.decode("utf-8", "ignore")))

    def clings(at: int) -> bool:
        return text[at - 1] == "\u200d" or any(first <= text[at] <= last for first, last in _CLINGS)

    while 1 < end < len(text) and clings(end):
        end -= 1
    start = end - int(end * _SEARCHED)

    def ends_sentence(at: int) -> bool:
        return text[at] in "。！？…\n" or (text[at] in ".!?" and at < end and text[at + 1].isspace())

    for is_boundary in (ends_sentence, lambda at: text[at].isspace()):
        places = range(min(end, len(text) - 1), start - 1, -1)
        last = next((at for at in places if is_boundary(at)), None)
        if last is not None and (shorter := text[: min(last + 1, end)].rstrip()):
            return shorter
    return text[:end]


def halve(text: str) -> str:
    """Return about the first half of a text, for a server that finds it too long; "" if it is tiny."""
    size = tokens(text)
    return cut(text, size // 2) if size >= 8 else ""


def pack(sizes: Iterable[int], limits: Limits) -> Iterator[range]:
    """Yield which texts go into each request, in order: as many as fit by number and by tokens.

    `sizes` are the tokens of each text; one that is larger than a request goes alone.
    """
    start, held, place = 0, 0, -1
    for place, size in enumerate(sizes):
        if place > start and (place - start >= limits.inputs or held + size > limits.tokens):
            yield range(start, place)
            start, held = place, 0
        held += size
    if place >= start:
        yield range(start, place + 1)


def ask_in_parts(
    ask: Callable[[Sequence[str]], list[_Result]],
    texts: Sequence[str],
    shorten: Callable[[str], str] = lambda text: "",
) -> list[_Result]:
    """Call `ask` with texts and return a result for each; texts that are too long go in two halves.

    A single text is shortened instead. Raises TooLarge where `shorten` returns an empty text.
    """
    try:
        return ask(texts)
    except TooLarge:
        if len(texts) > 1:
            middle = len(texts) // 2
            first, second = texts[:middle], texts[middle:]
            return ask_in_parts(ask, first, shorten) + ask_in_parts(ask, second, shorten)
        shorter = shorten(texts[0])
        if not shorter:
            raise
        return ask_in_parts(ask, [shorter], shorten)
