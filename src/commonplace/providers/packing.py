"""Texts into requests: how many tokens a text has, where it is cut, what goes together.

No provider's tokenizer is at hand, so tokens are estimated: a third of the UTF-8 bytes. English prose has a
little less, Chinese about as much, code and figures up to twice as much; the server refuses a text that
exceeds a limit all the same, and `halve` makes it shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from commonplace.markdown import comments
from commonplace.providers.attempts import TooLarge
from commonplace.redaction.redact import public

RULE = "cut-1"  # part of the fingerprint of every model behind it: a new one embeds everything anew
BYTES_PER_TOKEN, _SEARCHED = 3, 0.8  # the latter share of what fits is kept at least
_Result = TypeVar("_Result")


def tokens(text: str) -> int:
    """Estimate the tokens of a text."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return -(-size // BYTES_PER_TOKEN)


def clean(text: str) -> str:
    """Return a text as it may leave: without private parts, secrets and comments, and fit for JSON."""
    text = comments.without(public(text))
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def cut(text: str, max_tokens: int) -> str:
    """Return as much of a text as has so many tokens, up to the end of a word; at least one character.

    Only the last fifth of what fits is searched for a space.
    """
    if tokens(text) <= max_tokens:
        return text
    fitting = text.encode("utf-8", "replace")[: max(max_tokens, 1) * BYTES_PER_TOKEN]
    most = max(1, len(fitting.decode("utf-8", "ignore")))
    end = next((at for at in range(most, int(most * _SEARCHED), -1) if text[at].isspace()), most)
    return text[:end].rstrip() or text[:most]


def halve(text: str) -> str:
    """Return about the first half of a text, for a server that finds it too long; "" if it is tiny."""
    size = tokens(text)
    return cut(text, size // 2) if size >= 8 else ""


def pack(sizes: Iterable[int], inputs: int, most: int) -> Iterator[range]:
    """Yield which texts go into each request, in order: at most so many `inputs`, and `most` tokens.

    `sizes` are the tokens of each text; one that is larger than a request goes alone.
    """
    start, held, place = 0, 0, -1
    for place, size in enumerate(sizes):
        if place > start and (place - start >= inputs or held + size > most):
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
