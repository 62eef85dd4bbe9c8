"""Texts into requests: how many tokens a text may have, where it is cut, what goes together. Pure.

No provider's tokenizer is at hand, so tokens are estimated: a third of the UTF-8 bytes. English prose has a
little less, Chinese about as much, code and figures up to twice as much; who exceeds a limit all the same is
told so by the server, and `halve` makes it shorter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

BYTES_PER_TOKEN = 3
RULE = "cut-1"  # part of the fingerprint of every model behind it: change it with any change to `cut`
_SEARCHED = 0.2  # of what is kept, from its end: how far a boundary is looked for
_SENTENCE = re.compile(r"[.!?](?=\s)|[。！？…]|\n")
_SPACE = re.compile(r"\s")
# Never begin with what belongs to the character before: combining marks, variation selectors, joiners.
_CLINGS = re.compile("[\u0300-\u036f\u200d\ufe00-\ufe0f\U0001f3fb-\U0001f3ff]")


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request of a provider may hold, and how many may be under way.

    `input_tokens` bounds one text, `inputs` and `tokens` all texts of a request; `tokens` stays well below
    what the provider allows, because they are estimated.
    """

    inputs: int
    tokens: int
    input_tokens: int
    concurrency: int = 4


def tokens(text: str) -> int:
    """Estimate the tokens of a text."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return -(-size // BYTES_PER_TOKEN)


def clean(text: str) -> str:
    """Return a text that JSON can hold: half a surrogate pair is none."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def cut(text: str, max_tokens: int) -> str:
    """Return as much of a text as has so many tokens, cut after a sentence, a word or a character.

    Only the last fifth of what could be kept is given up for a better place. At least one character stays.
    """
    if tokens(text) <= max_tokens:
        return text
    kept = text.encode("utf-8", "replace")[: max(max_tokens, 1) * BYTES_PER_TOKEN].decode("utf-8", "ignore")
    kept = kept or text[:1]
    end = len(kept)  # without a last character that the next one would change
    while 1 < end < len(text) and (_CLINGS.match(text[end]) or text[end - 1] == "\u200d"):
        end -= 1
    kept = kept[:end]
    start = len(kept) - int(len(kept) * _SEARCHED)
    for boundary in (_SENTENCE, _SPACE):
        places = [found.end() for found in boundary.finditer(text[: len(kept) + 1], start)]
        if places and (shorter := text[: min(places[-1], len(kept))].rstrip()):
            return shorter
    return kept


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


def parts(inputs: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Split the texts of a request that is too large into two requests."""
    middle = len(inputs) // 2
    return inputs[:middle], inputs[middle:]
