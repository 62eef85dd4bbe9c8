"""Full-text tokens in two languages, for text and for questions.

FTS5's own tokenizer folds and stems Latin words; tokenising everything in Python would cost more than the
whole build, so text is rewritten only where that is not enough:

* runs of CJK, Thai, Lao, Burmese and Khmer become overlapping bigrams followed by their last character
  (北京大学 → 北京 京大 大学 学), so that every character starts a token and any substring is a phrase
  of tokens, and traditional characters become simplified ones (`characters`);
* marks within words of Indic and other scripts become characters that FTS5 takes for letters;
* camelCase words and words that end in digits are followed by their parts;
* what may be a telephone number is followed by its digits in one word, and by the last of them (`digits`).

Punctuation separates tokens, so `gpt-4.1`, `src/store.ts` and `user@example.com` are phrases of their parts.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, chain
from operator import add

from commonplace import language
from commonplace.base.expressions import lazy
from commonplace.language import rules

_BETWEEN = "\0"  # texts that are rewritten together; no expression here matches it
TOKENIZER = "porter unicode61 remove_diacritics 2"
VERSION = "lexicon-5"  # part of the index's identity: change it when the same text would give other tokens

CJK = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\uff66-\uff9f\U00020000-\U0003134f"
)
# Expressions are compiled by the first text that needs them: a question in English would wait 3 ms for all.
CJK_RUN = f"[{CJK}]+"
_CJK_RUN = lazy(CJK_RUN)
# A run of any script without blanks: Thai, Lao, Burmese and Khmer too.
RUN = lazy(f"[{CJK}\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+")
# Vowel signs and other marks within words, and letters between them, from Syriac to Sundanese. FTS5 takes
# a mark for the end of a word: the index has a character for private use in the place of each.
MARKS = (
    "\u0711-\u07f3\u0816-\u082d\u0859-\u085b\u0898-\u08e1\u08e3-\u0963\u0981-\u09e3\u09fe-\u0a75\u0a81-\u0ae3"
    "\u0afa-\u0b63\u0b82-\u0bd7\u0c00-\u0c63\u0c81-\u0c83\u0cbc-\u0d4d\u0d57-\u0d63\u0d81-\u0df3\u0e31-\u0e3a"
    "\u0e47-\u0e4e\u0eb1-\u0ecd\u0f18-\u0f19\u0f35\u0f37\u0f39\u0f3e-\u0f84\u0f86-\u0fbc\u0fc6\u102b-\u103e"
    "\u1056-\u109d\u135d-\u135f\u1712-\u1734\u1752-\u17d3\u17dd\u180b-\u180d\u180f-\u193b\u1a17-\u1a1b"
    "\u1a55-\u1a7f\u1b00-\u1b44\u1b6b-\u1b73\u1b80-\u1bf3\u1c24-\u1c37"
)
_MARK = lazy(f"[{MARKS}]")
_PRIVATE = 0xD900  # how far the first character for private use lies from the first code of MARKS, at least
# Seams in a word: getUser, HTTPServer, iPhone15; but not in plurals of acronyms (PDFs), nor in v1.
_SEAM = r"[A-Z0-9](?:(?<=[a-z0-9][A-Z])|(?<=[A-Z]{2})(?=[a-z]{2})|(?<=[A-Za-z]{2}[0-9]))"
_TAIL = lazy(f"(?:{_SEAM})[A-Za-z0-9]*")
_ALPHANUMERIC = "".join(filter(str.isalnum, map(chr, range(128))))
_WHOLE_WORD = r"[^\W_]+(?:['’.:/_@#-]+[^\W_]+)*"
_WORD_LENGTH = 60  # longer runs are encoded data,
_MOST_CHANGES = 5  # and so are words that change between letters and digits more often
# Maps bytes to flags, such that two expressions over a whole text as one number tell whether any word may
# have parts: four times as fast as a regular expression. Bit 0 is set in lower case and digits, bit 1 in
# letters; upper case asks the byte before it for the one (bit 4), digits for the other (bit 5). Bits 6 and 7
# ask for two capitals in a row before bit 0.
_LOWER, _UPPER, _DIGIT = 0b00000011, 0b11010010, 0b00100001
_FLAGS = bytes(
    _LOWER if chr(c).islower() else _UPPER if chr(c).isupper() else _DIGIT if chr(c).isdigit() else 0
    for c in range(128)
) + bytes(128)
_LATIN = bytes(c if chr(c).isascii() and chr(c).isalpha() else 0x20 for c in range(256))
_ENDINGS = rules.listed("en", "endings")
# Two ways to write a telephone number share its last digits, whatever stands before: +31 (0)6, 06, 0031 6.
# Seven are the local number of most places; numbers of other owners share them once in ten million.
NUMBER_LEAST, NUMBER_MOST, NUMBER_ENDING = 7, 15, 7
NUMBER = r"(?<![A-Za-z0-9])[0-9]++(?![A-Za-z])(?:(?: ?[-.()]{1,2} ?|[ /])[0-9]++(?![A-Za-z])|(?!))*+"
_NUMBER = lazy(NUMBER)
# Further separators of digits in a number, besides blanks, hyphens and points.
_BLANKS, _DASHES = (
    "\u00a0\u2000-\u200a\u202f\u205f\u3000",
    "\u00b7\u2010-\u2015\u2022\u2212\u2219\u22c5\u30fb\ufe63\uff0d",
)
_JOINED = lazy(f"[0-9)][{_BLANKS}{_DASHES}]")
_MAY_BE_NUMBER = lazy(r"[0-9][-0-9 ().\/]{5,}[0-9]")
_TO_NUMBERS = bytes(ord("0") if c in b"-0123456789 ().\\/" else 1 for c in range(256))
_DATE = (
    r"\b(?:(?:19|20)\d\d([-./])\d\d?\1\d\d?|\d\d?([-./])\d\d?\2(?:19|20)\d\d|(?:19|20)\d\d-(?:19|20)\d\d"
    r"|(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01]))\b"
)


def index_text(text: str) -> str:
    """Rewrite a text for the full-text index; most English text comes back as the same object."""
    return index_texts([text])[0]


def index_texts(texts: Sequence[str]) -> Sequence[str]:
    """Rewrite texts as `index_text` does, all at once: each expression runs over them joined."""
    written = [text.replace(_BETWEEN, " ") for text in texts]
    plain = list(written)  # before Chinese is rewritten
    if wide := [at for at, text in enumerate(written) if not text.isascii()]:
        composed = figures(language.compose(_BETWEEN.join([written[at] for at in wide])))
        rewritten = _with_marks(RUN.sub(_bigram_run, composed)).split(_BETWEEN)
        for at, text, new in zip(wide, composed.split(_BETWEEN), rewritten, strict=True):
            plain[at], written[at] = text, new
    joined = _BETWEEN.join(plain)
    data = joined.encode("utf-8", "replace")
    parts = [*_parts_inside(joined)] if _may_have_parts(data) else []
    runs = _MAY_BE_NUMBER.finditer(joined) if b"0" * NUMBER_LEAST in data.translate(_TO_NUMBERS) else ()
    numbers = [n for run in runs for n in _NUMBER.finditer(joined, run.start(), run.end() + 1)]
    if not (parts or numbers):
        return written
    starts = list(accumulate((len(text) + 1 for text in plain), initial=0))
    further: list[list[str]] = [[] for _ in plain]
    told = dict.fromkeys((bisect_right(starts, n.start()), word) for n in numbers for word in digits(n[0]))
    for at, word in chain(((bisect_right(starts, start), word) for start, word in parts), told):
        further[at - 1].append(word)
    return [f"{text} {' '.join(more)}" if more else text for text, more in zip(written, further, strict=True)]


def figures(text: str) -> str:
    """Return a text with ordinary blanks and hyphens between digits, whichever it has there."""
    if text.isascii() or not _JOINED.search(text):
        return text
    return re.sub(
        f"(?<=[0-9)])(?:[{_BLANKS}]|([{_DASHES}]))(?=[0-9(])", lambda dash: "-" if dash[1] else " ", text
    )


def digits(figures: str) -> Iterator[str]:
    """Yield the digits of a telephone number, without `(0)`, and the last ones; not of dates and decimals."""
    for part in re.sub(_DATE, "\n", figures.replace("(0)", "")).split("\n"):
        joined = re.sub("[^0-9]", "", part)
        if NUMBER_LEAST <= len(joined) <= NUMBER_MOST and not re.fullmatch(r"[0-9]+\.[0-9]+", part):
            yield joined
            yield joined[-NUMBER_ENDING:]


def _may_have_parts(data: bytes) -> bool:
    flags = int.from_bytes(data.translate(_FLAGS), "big")
    return bool(flags >> 8 & flags >> 4 or flags >> 22 & flags >> 15 & flags)


def _parts_inside(text: str) -> Iterator[tuple[int, str]]:
    """Parts of every word of a text that has some, in order, each with the place of a seam of its word."""
    for tail in _TAIL.finditer(text):
        start = tail.start()
        before = text[max(0, start - _WORD_LENGTH) : start]
        head = before[len(before.rstrip(_ALPHANUMERIC)) :]
        for part in word_parts(head + tail[0]):
            yield start, part


def cjk_runs(text: str) -> list[str]:
    """Every run of CJK in a text, in order."""
    return _CJK_RUN.findall(text) if language.has_wide(text) else []


def runs(text: str) -> list[str]:
    """Every run of a script without blanks in a text, in order."""
    return [] if text.isascii() else RUN.findall(text)


def bigrams(run: str) -> list[str]:
    """Overlapping pairs of a CJK run; a single character stays alone."""
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


@lru_cache(4096)
def word_parts(word: str) -> Sequence[str]:
    """Return the parts of a word as the index has them; empty for an ordinary word."""
    return [part for parts in splits(word) for part in parts if len(part) > 1 or part.isdigit()]


def splits(word: str) -> list[list[str]]:
    """The ways to part a word: at digits (iPhone 15), and where upper case begins as well (i Phone 15)."""
    if len(word) > _WORD_LENGTH or not re.search(_SEAM, word):
        return []
    kinds = re.findall("[A-Za-z]+|[0-9]+", word)
    if len(kinds) > _MOST_CHANGES:
        return []
    cases = re.findall("[A-Z]+(?![a-z]{2})|[A-Z]?[a-z]+|[0-9]+", word)
    at_digits = [kinds] if len(kinds) > 1 and re.search("[A-Za-z]{2}[0-9]", word) else []
    return [*at_digits, *([cases] if cases != kinds else [])]


def stem(word: str) -> str:
    """Return an English word without its commonest endings; other words stay as they are."""
    if word.isascii() and word.isalpha():
        for ending in _ENDINGS:
            if word.endswith(ending) and len(word) > len(ending) + 2:
                return word[: -len(ending)]
    return word


def quote(phrase: str) -> str:
    """A phrase as an FTS5 string: whatever it holds, it is matched literally."""
    return '"' + phrase.replace('"', '""').replace("\0", " ") + '"'


def any_of(terms: Iterable[str]) -> str:
    """An FTS5 expression that matches any of these terms."""
    return " OR ".join(map(sought, terms))


def sought(term: str) -> str:
    """A term as FTS5 writes it: a phrase, or a beginning if it ends in `*`."""
    return beginning(term[:-1]) if term.endswith("*") else expression(term)


def beginning(stem: str) -> str:
    """A prefix query for a stem, as FTS5 writes it."""
    return expression(stem).removesuffix("*") + " *"


def expression(phrase: str) -> str:
    """One phrase as FTS5 writes it, in index tokens.

    A run of CJK that ends it may go on in the text, where its last character then starts a token: one
    character alone matches as a prefix, of more the last is left to the bigrams.
    """
    if phrase.isascii():
        return quote(phrase)
    phrase = language.compose(phrase)
    found = list(RUN.finditer(phrase))
    if not found or re.search(r"[^\W_]", phrase[found[-1].end() :]):
        return quote(_with_marks(RUN.sub(_bigram_run, phrase)))
    before, last = RUN.sub(_bigram_run, phrase[: found[-1].start()]), bigrams(found[-1][0])
    told = _with_marks(f"{before} {' '.join(last)}".lstrip())
    return quote(told) + ("*" if len(last[0]) == 1 else "")


def counted(text: str) -> tuple[int, int]:
    """Count the CJK characters of a text, and its other words; `src/a.py` and `don't` count once."""
    wide = sum(map(len, cjk_runs(text)))
    return wide, len(re.findall(_WHOLE_WORD, re.sub(CJK_RUN, " ", text) if wide else text))


def cjk_share(text: str) -> float:
    """Share of CJK in a text, 0..1: its characters against them and the Latin words together."""
    if text.isascii():
        return 0.0
    wide = sum(map(len, cjk_runs(text)))
    return wide / (wide + len(text.encode("ascii", "replace").translate(_LATIN).split())) if wide else 0.0


def _bigram_run(match: re.Match[str]) -> str:
    run = match[0]
    return f" {' '.join(map(add, run, run[1:]))} {run[-1]} "


def _with_marks(text: str) -> str:
    """Write marks as characters that FTS5 keeps within words; a letter and its mark are in NFC before."""
    if not _MARK.search(text):
        return text
    return _MARK.sub(lambda mark: chr(ord(mark[0]) + _PRIVATE), language.composed(text))
