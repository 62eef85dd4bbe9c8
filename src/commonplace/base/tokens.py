"""How many tokens a text is, about: no model's tokenizer is at hand, and the reader may be any model."""

from __future__ import annotations

# Measured with the tokenizers of common models: about four Latin characters a token, and one token for each
# character of CJK and what stands behind it in Unicode; the estimate errs on the side of too many.
_WIDE = "\u2e80"


def about(text: str) -> int:
    """About how many tokens a text is: a quarter of its Latin characters, each of its CJK ones."""
    return (quarters(text) + 3) // 4


def quarters(text: str) -> int:
    """The same in quarters of a token, which can be added up over pieces of a text."""
    wide = 0 if text.isascii() else sum(map(_WIDE.__le__, text))
    return len(text) + 3 * wide
