"""What a full-text token is, in two languages, for text and for questions.

FTS5's own tokenizer folds and stems Latin words; tokenising everything in Python would cost more than the
whole build, so text is rewritten only where that is not enough:

* runs of CJK become overlapping bigrams followed by their last character (北京大学 → 北京 京大 大学 学), so
  that every character starts a token and any substring is a phrase of tokens;
* camelCase words are followed by their parts.

Punctuation separates tokens, so `gpt-4.1`, `src/store.ts` and `user@example.com` are phrases of their parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

TOKENIZER = "porter unicode61 remove_diacritics 2"
VERSION = "lexicon-1"  # part of the index's identity: change it when the same text would give other tokens

CJK = (
    "\u2e80-\u2eff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uac00-\ud7af\U00020000-\U0003134f"
)
# Expressions are compiled by the first text that needs them: a question in English would wait 3 ms for all.
CJK_RUN = f"[{CJK}]+"
_CAMEL = r"[A-Za-z][A-Za-z0-9]*[a-z0-9][A-Z][A-Za-z0-9]*"
_CAMEL_TAIL = r"(?<=[a-z0-9])[A-Z][A-Za-z0-9]*"
_CAMEL_PART = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+"
_ALPHANUMERIC = "".join(filter(str.isalnum, map(chr, range(128))))
_CAMEL_LENGTH = 60  # longer runs are encoded data
# Maps bytes to their class (l, U or a blank), so that "does any word change from lower to upper case" is
# one substring test: four times as fast as a regular expression.
_CASES = bytes(
    0x6C if chr(c).islower() or chr(c).isdigit() else 0x55 if chr(c).isupper() else 0x20 for c in range(128)
)
_CASES += b" " * 128
_FULL_WIDTH = "[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]"
_LATIN_WORD = r"[A-Za-z]+"
_WORD_CHARACTER = r"[^\W_]"


def index_text(text: str) -> str:
    """Rewrite text for the full-text index; most English text comes back as the same object."""
    if not text.isascii():
        text = fold_width(text)
        text = re.sub(CJK_RUN, _bigram_run, text)
    if b"lU" in text.encode("utf-8", "replace").translate(_CASES):
        parts = list(_parts_inside(text))
        if parts:
            text = f"{text} {' '.join(parts)}"
    return text


def _parts_inside(text: str) -> Iterator[str]:
    """Parts of every camelCase word of a text, in order."""
    done = 0
    for tail in re.finditer(_CAMEL_TAIL, text):
        if tail.start() >= done:
            before = text[max(0, tail.start() - _CAMEL_LENGTH) : tail.start()]
            head = before[len(before.rstrip(_ALPHANUMERIC)) :]
            yield from camel_parts(head + tail[0])
            done = tail.end()


def fold_width(text: str) -> str:
    """Fold full-width letters and digits to their ordinary forms; punctuation separates either way."""
    return text if text.isascii() else re.sub(_FULL_WIDTH, lambda wide: chr(ord(wide[0]) - 0xFEE0), text)


def cjk_runs(text: str) -> list[str]:
    """Every run of CJK in a text, in order."""
    return [] if text.isascii() else re.findall(CJK_RUN, text)


def bigrams(run: str) -> list[str]:
    """Overlapping pairs of a CJK run; a single character stays alone."""
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


def camel_parts(word: str) -> Iterator[str]:
    """Parts of a camelCase word with more than one character, or none for an ordinary word."""
    if len(word) <= _CAMEL_LENGTH and not word.islower() and re.fullmatch(_CAMEL, word):
        yield from (part for part in re.findall(_CAMEL_PART, word) if len(part) > 1)


def quote(phrase: str) -> str:
    """A phrase as an FTS5 string: whatever it holds, it is matched literally."""
    return '"' + phrase.replace('"', '""').replace("\0", " ") + '"'


def any_of(phrases: Iterable[str]) -> str:
    """An FTS5 expression that matches any of these phrases."""
    return " OR ".join(expression(phrase) for phrase in phrases)


def expression(phrase: str) -> str:
    """One phrase as FTS5 writes it, in index tokens.

    A run of CJK that ends it may go on in the text, where its last character then starts a token: one
    character alone matches as a prefix, of more the last is left to the bigrams.
    """
    if phrase.isascii():
        return quote(phrase)
    runs = list(re.finditer(CJK_RUN, phrase))
    if not runs or re.search(_WORD_CHARACTER, phrase[runs[-1].end() :]):
        return quote(re.sub(CJK_RUN, _bigram_run, phrase))
    before, last = re.sub(CJK_RUN, _bigram_run, phrase[: runs[-1].start()]), bigrams(runs[-1][0])
    return quote(f"{before} {' '.join(last)}".lstrip()) + ("*" if len(last[0]) == 1 else "")


def cjk_share(text: str) -> float:
    """Share of CJK in a text, 0..1: its characters against them and the Latin words together."""
    if text.isascii():
        return 0.0
    wide = sum(map(len, cjk_runs(text)))
    return wide / (wide + len(re.findall(_LATIN_WORD, text))) if wide else 0.0


def _bigram_run(found: re.Match[str]) -> str:
    run = found[0]
    return f" {' '.join([a + b for a, b in pairwise(run)])} {run[-1]} "
