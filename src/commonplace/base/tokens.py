"""How many tokens a text is, about: no model's tokenizer is at hand, and the reader may be any model."""

from __future__ import annotations

# Measured with the tokenizers of common models: about four Latin characters a token, and one token for each
# character of CJK and what stands behind it in Unicode (from U+2E80 on); it errs on the side of too many.
_WIDE_LEADS = bytes(range(0xE3, 0xF5))  # first bytes of UTF-8 from U+3000 on
_RADICALS = [bytes((0xE2, second)) for second in range(0xBA, 0xC0)]  # U+2E80 to U+2FFF


def about(text: str) -> int:
    """About how many tokens a text is: a quarter of its Latin characters, each of its CJK ones."""
    return (quarters(text) + 3) // 4


def quarters(text: str) -> int:
    """The same in quarters of a token, which can be added up over pieces of a text."""
    return len(text) + 3 * wide(text)


def wide(text: str) -> int:
    """How many of its characters are tokens of their own."""
    if text.isascii():
        return 0
    data = text.encode("utf-8", "surrogatepass")
    return len(data) - len(data.translate(None, _WIDE_LEADS)) + sum(map(data.count, _RADICALS))
