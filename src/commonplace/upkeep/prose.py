"""Texts of models and people, made fit for a note: their language, their length, their sentences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

from commonplace.language import compare, lexicon, stopwords
from commonplace.language.sentences import clauses, spans
from commonplace.markdown import comments, structure
from commonplace.redaction.redact import redact, strip_private

Language = Literal["en", "zh"]
# A message in Chinese may name many things in Latin letters, and one in English a Chinese word or two.
CHINESE_SHARE = 0.3
# A Chinese text may be mostly names of files and commands, and an English one may quote a title.
_CHINESE_ANSWER, _ENGLISH_ANSWER = 0.1, 0.5
# The share of what a text says that must come from what it is about: of words, and of pairs of CJK
# characters, fewer of which stay in a paraphrase. More would cost true sentences.
KNOWN, KNOWN_PAIRS = 0.2, 0.1
_WIDE = 0x2E7F  # the last code point before CJK


def language(texts: Iterable[str]) -> Language:
    """Tell what language most of several texts are in; English stands for all that is not Chinese."""
    chinese = [lexicon.cjk_share(text) >= CHINESE_SHARE for text in texts if text.strip()]
    return "zh" if chinese and 2 * sum(chinese) >= len(chinese) else "en"


def is_in(text: str, language: Language) -> bool:
    """Return True if a text can pass for a language."""
    share = lexicon.cjk_share(text)
    return share >= _CHINESE_ANSWER if language == "zh" else share < _ENGLISH_ANSWER


def words(text: str) -> int:
    """Count words: runs of letters and digits, and pairs of CJK characters (rounded up)."""
    wide, rest = lexicon.counted(text)
    return math.ceil(wide / 2) + rest


def sentences(text: str) -> list[str]:
    """Cut a text into its sentences, each with its mark."""
    return [text[start:end] for start, end in spans(text)]


def within(text: str, most: int) -> str:
    """Return as many whole sentences from the start as fit into so many words.

    A first sentence that does not fit is cut between two words and ends in an ellipsis.
    """
    if words(text) <= most:
        return text
    whole = sentences(text)
    return joined(whole[: _fitting(whole, most)]) or _shortened(text, most)


def _fitting(parts: Sequence[str], most: int) -> int:
    """How many of the first parts of a text fit into so many words."""
    wide = rest = 0
    for number, part in enumerate(parts):
        more_wide, more = lexicon.counted(part)
        wide, rest = wide + more_wide, rest + more
        if math.ceil(wide / 2) + rest > most:
            return number
    return len(parts)


def joined(parts: Iterable[str]) -> str:
    """Put sentences one behind the other, with a space where the script has any."""
    whole: list[str] = []
    for part in filter(None, parts):
        whole += (part,) if not whole or whole[-1][-1] in "。！？；，、" else (" ", part)
    return "".join(whole)


def ended(text: str) -> str:
    """Return a text that ends as a sentence does."""
    if not text or not text[-1].isalnum():
        return text
    return text + ("。" if ord(text[-1]) > _WIDE else ".")


def _shortened(text: str, most: int) -> str:
    parts = clauses(text)
    start = "".join(parts[: _fitting(parts, most)])
    part = start.rstrip()
    if not part:  # one word, or CJK without any mark
        part = start or text[: 2 * most]
        while len(part) > 1 and words(part) > most:
            part = part[:-1]
    return f"{part.rstrip(',;:，、：')}…"


def plain(text: str) -> str:
    """Return a text on one line, without marks of Markdown before it, secrets, private parts and comments.

    A comment could say of a note who wrote it or what it replaces, which is not for a model to say.
    """
    bare = comments.without(text, " ").replace("<!--", " ").replace("-->", " ")
    return structure.unmarked(" ".join(redact(strip_private(bare))[0].split()))


def is_about(text: str, known: frozenset[str]) -> bool:
    """Return True if enough terms of a text are known; see `terms`."""
    said = terms(text)
    shared = len(said & known)
    pairs = sum(1 for term in said if compare.is_wide(term[0]))
    return bool(shared) and shared >= KNOWN * (len(said) - pairs) + KNOWN_PAIRS * pairs


def news(texts: Sequence[str], note: str) -> list[str]:
    """Return those texts that neither a line of a note nor a text before them says already."""
    readings = [compare.read(line) for line in note.splitlines() if line.strip()]
    fresh = []
    for text in texts:
        reading = compare.read(text)
        if not any(compare.same(reading, earlier) for earlier in readings):
            fresh.append(text)
            readings.append(reading)
    return fresh


def terms(text: str) -> frozenset[str]:
    """Return the terms of a text: words without their endings, pairs of CJK characters."""
    said = set()
    before = ""
    for token in compare.read(text).tokens:
        wide = compare.is_wide(token)
        if wide and before and (before + token) not in stopwords.CHINESE:
            said.add(before + token)
        elif not wide and token[0].isalnum() and token not in stopwords.ENGLISH:
            said.add(lexicon.stem(token.removesuffix("'s")))
        before = token if wide else ""
    return frozenset(said)
