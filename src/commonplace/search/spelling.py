"""Names that are spelt otherwise than in the notes: Mohammed for Muhammad, Katherine for Catherine.

A name of the question that no note holds is taken for the nearest one that the candidates hold more than
once, and never in small letters: who speaks in them, or is written large inside a sentence. A name that only
opens sentences there (*Catherine keeps bees.*, but *Cello strings are dear.* too) is one where the question
writes it large as well. Of names that are equally near those of the owner's notes come before those of
reference. A warning says who is taken for whom.

A name that occurs once counts if it is long, both write it large, one letter differs and no other is near.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from commonplace.base.expressions import lazy

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from commonplace.index.base import Candidate

SHORTEST, LONG = 3, 7  # letters of a name, and of one in which two may differ
MOST = 16  # words of a question that are looked up
TIMES = 2  # occurrences that make a name, unless it is a speaker or long
PASSAGES = 100  # with such a name that are read: they show whether it is written small as well
LONGEST = 30  # letters of a name whose neighbours are looked up: some 1,600 then
_LETTERS = "abcdefghijklmnopqrstuvwxyz"  # the module `string` costs a start 1 ms
_LARGE = r"[A-Z][a-zà-öø-ÿ’'-]+\b"
_OPENING, _INSIDE = lazy(rf"\b{_LARGE}"), lazy(rf"(?<=[\w,;)’'] ){_LARGE}")
_WORD = lazy(r"[^\W\d_]+")


def likely(asked: str, missing: Collection[str], dates: Sequence[str] = ()) -> dict[str, bool]:
    """Return the words of a question that may be names missing in all notes, and if each is one for sure.

    They are written large, or the whole question is small. The first word is large in any case. Words of
    `dates`, the parts of the question that are dates, are left out.
    """
    dated = {word for text in dates for word in _WORD.findall(text)}
    words = list(dict.fromkeys(_WORD.findall(asked)))
    found = [
        word
        for word in words
        if word.lower() in missing and len(word) >= SHORTEST and (asked.islower() or word[0].isupper())
        if word not in dated
    ]
    return {word: word != words[0] and word[0].isupper() for word in found[:MOST]}


def neighbours(word: str) -> list[str]:
    """Return all words one letter away from a long one, in lower case; empty for a short one."""
    word = word.lower()
    if not LONG <= len(word) <= LONGEST:
        return []
    letters = sorted({*_LETTERS, *word})
    cuts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    one_less = (head + tail[1:] for head, tail in cuts if tail)
    swapped = (head + tail[1] + tail[0] + tail[2:] for head, tail in cuts if len(tail) > 1)
    changed = (head + letter + tail[1:] for head, tail in cuts if tail for letter in letters)
    one_more = (head + letter + tail for head, tail in cuts for letter in letters)
    return sorted({*one_less, *swapped, *changed, *one_more} - {word})


def meant(
    words: Mapping[str, bool], candidates: Sequence[Candidate], reference: Collection[int] = ()
) -> dict[str, str]:
    """Return what each word is taken for, where a name in the candidates is near enough.

    `reference` are those of them that are no notes of the owner. Who speaks is a name wherever it stands.
    """
    times, inside, own = Counter[str](), set[str](), set[str]()
    for one in candidates:
        speakers = {word.title() for word in _WORD.findall(one.traits.speakers)}
        large = _OPENING.findall(one.text)
        times.update([*large, *(TIMES * [*speakers])])
        inside.update(speakers, _INSIDE.findall(one.text))
        own.update(() if one.id in reference else (*large, *speakers))
    chosen: dict[str, str] = {}
    for word, is_name in words.items():
        near: list[tuple[int, bool, int, str]] = []
        for name, count in times.items():
            may_be_once = name in inside and word[0].isupper() and min(len(name), len(word)) >= LONG
            may_be = (name in inside or is_name) if count >= TIMES else may_be_once
            steps = distance(word.lower(), name.lower()) if may_be else LONGEST
            small = rf"\b{re.escape(name.lower())}\b"  # so written it is no name
            if steps <= 1 + (len(word) >= LONG) and not any(re.search(small, one.text) for one in candidates):
                near.append((steps, name not in own, -count, name))
        often = [name for _, _, count, name in sorted(near) if -count >= TIMES]
        once = [name for steps, *_, name in near if steps == 1] if len(near) == 1 else []
        if often or once:
            chosen[word] = (often or once)[0]
    return chosen


def renamed(text: str, names: Mapping[str, str]) -> str:
    """Return a text with the names that are meant."""
    return _WORD.sub(lambda word: names.get(word[0], word[0]), text)


def distance(one: str, other: str, most: int = 2) -> int:
    """Count the letters to put in, leave out, change or swap with the next (optimal string alignment).

    More than `most` is some number above it.
    """
    if abs(len(one) - len(other)) > most or sum((Counter(one) - Counter(other)).values()) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        current = [i]
        for j, b in enumerate(other, 1):
            cost = min(row[j] + 1, current[j - 1] + 1, row[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            current.append(cost)
        before, row = row, current
    return row[-1]
