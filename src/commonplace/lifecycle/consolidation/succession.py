"""Whether a statement may take the place of another, or ends it: who is told so strikes what stood there.

A model may think that two statements speak of one thing, and then a fact of Ada replaces one of Lin. So the
words must show it. A replacement contradicts what it replaces; or it has the same words but for one choice
("prefers tea", "prefers coffee") or for who is in charge; or it tells of a change ("moved to", 改到) of what
the other speaks of. Each sentence of what is replaced must be said again or replaced. An end must name what
ends. In doubt both stand: that is a line too many, the other would be one lost.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from commonplace import characters
from commonplace.index import lexicon
from commonplace.lifecycle.consolidation import sameness
from commonplace.revision import claims, contradictions, likeness, sentences, values
from commonplace.revision.claims import words
from commonplace.search import wording

_LONGEST_CHOICE = 4  # words of what is chosen; a CJK character counts half
_SHARED = 1.5  # words that what changed or ended must share with what it was
_TOLD = re.compile(
    r"\b(?:"
    + words(
        "moved switched changed migrated replaced? now anymore any_more instead raised lowered reduced",
        "increased decreased upgraded downgraded postponed rescheduled pushed_back brought_forward renamed",
        "took_over taken_over handed_over stepped_down became relocated rather_than no_longer from_now_on",
    )
    + r")\b|[改换搬迁]|"
    + words("调[到至为] 不再 如今 现在 推迟 提前 升级 涨到 降到 接手 接替 转[给到学为] 变成 起"),
    re.IGNORECASE,
)
# What somebody or something has one of at a time, so that another one takes its place.
_CHOICE = re.compile(
    r"\b(?:prefers?|favou?rs?|drives?|wants?|chose|chooses?|picks?|favou?rite [\w ]{1,20} is|called|named"
    r"|(?:lives?|works?|sits|sleeps|runs?|hosted|based|located|stored|kept|deployed|written|built|owned|led|managed"
    r"|maintained|approved|handled|meets?|leaves?|goes|reports|studies|banks|insured|held|booked|parked)"
    r" (?:in|at|on|by|from|to|with|for|under))(?: (?:a|an|the|to))?$"
    r"|(?:[更只最]喜欢[用喝吃]?|偏好|习惯用?|住在?|开一?辆?|选|叫|存[在放]|放在|部署在|由|就读于?)$",
    re.IGNORECASE,
)
_IN_CHARGE = re.compile(
    r"^(?P<who>[^,;]{1,40}?) (?:now )?(?:owns?|leads?|maintains?|manages?|runs|heads?|chairs?|handles?|hosts?"
    r"|(?:is|are) (?:responsible for|in charge of)|takes? care of|(?:took|takes) over) (?P<what>[^,;]+)$"
    r"|^(?P<wer>[^，、；]{1,12}?)(?:现在)?(?:负责|维护|管理|主管|主持|带领|接手)(?P<was>[^，、；]+)$",
    re.IGNORECASE,
)
# "I like drinking tea" is denied by "I do not like tea".
_MEANS = re.compile(r"(?<=喜欢)[喝吃用]|\b(?:drinking|eating|using) (?=\w)")
_BUT_NAMES = re.compile(r"\b(?:now|currently|still|the|our|my)\b|现在|目前|如今|我们的?")
_ITEM = re.compile(rf"[{lexicon.CJK}]|[^\W_](?:[\w'’.@/:#+-]*\w)?")


def replaces(text: str, other: str) -> bool:
    """Whether all that another text says is said by this one, or gives way to it."""
    if likeness.stems(text).isdisjoint(likeness.stems(other)):
        return False
    new, old = _sentences(text), _sentences(other)
    return bool(new and old) and all(any(_gives_way(one, told) for told in new) for one in old)


def ends(text: str, other: str) -> bool:
    """Whether a text that says that something is over speaks of what the other says."""
    old = _sentences(other)
    return len(old) == 1 and any(_speaks_of(told, old[0], half=True) for told in _sentences(text))


@lru_cache(4096)
def _sentences(text: str) -> tuple[str, ...]:
    folded = characters.fold(text).replace("’", "'")
    return tuple(folded[start:end].rstrip(" .!。！") for start, end in sentences.spans(folded))


def _gives_way(old: str, new: str) -> bool:
    return (
        sameness.says(new, old)
        or contradictions.contradict(_MEANS.sub("", new), _MEANS.sub("", old))
        or _is_another_choice(new, old)
        or _changes_hands(new, old)
        or (_TOLD.search(new) is not None and _speaks_of(new, old))
    )


def _is_another_choice(new: str, old: str) -> bool:
    """Whether two sentences are the same but for one choice, of those that one has one of at a time."""
    if not (claims.of(new) and claims.of(old)):
        return False  # what happened once, what is asked, guessed or conditional
    one, two = _row(new), _row(old)
    start = _alike(one, two)
    end = _alike(one[start:][::-1], two[start:][::-1])
    chosen = [row[start : len(row) - end] for row in (one, two)]
    if not start or not all(0 < wording.weight(part) <= _LONGEST_CHOICE for part in chosen):
        return False
    if len({wording.is_wide(item) for part in chosen for item in part}) > 1 or _valued(chosen):
        return False  # a name and a clause, or values, which contradict each other or do not
    at = _places(new)[start]
    return _CHOICE.search(new[:at].rstrip()) is not None


def _changes_hands(new: str, old: str) -> bool:
    """Whether two sentences name one thing, and somebody else in charge of it."""
    one, two = _IN_CHARGE.match(new), _IN_CHARGE.match(old)
    if not one or not two:
        return False
    return _row(one["what"] or one["was"]) == _row(two["what"] or two["was"])


def _speaks_of(new: str, old: str, *, half: bool = False) -> bool:
    """Whether a sentence has the subject of another, and more of its words or the same kinds of values."""
    subject, shared = _subject(old), likeness.stems(new) & likeness.stems(old)
    if not subject & shared or _of_somebody(new, old) or _numbered(new) != _numbered(old):
        return False
    enough = wording.weight(shared) >= _SHARED
    said, told = values.read(new), values.read(old)
    if half:
        return enough and wording.weight(shared) >= wording.weight(likeness.stems(told.rest)) / 2
    return enough or bool(said.values.keys() & told.values.keys() - {"named"})


# --- the parts of a sentence --------------------------------------------------------------------------------


@lru_cache(4096)
def _row(text: str) -> tuple[str, ...]:
    """The words of a sentence in their order, and CJK by characters, but for idle ones."""
    return tuple(_ITEM.findall(_BUT_NAMES.sub(" ", text)))


def _places(text: str) -> list[int]:
    """Where each of the words of `_row` begins in a sentence, and where it ends."""
    blanked = _BUT_NAMES.sub(lambda found: " " * len(found[0]), text)
    return [*(item.start() for item in _ITEM.finditer(blanked)), len(text)]


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words two rows begin with alike."""
    count = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        count += 1
    return count


def _valued(chosen: Sequence[Sequence[str]]) -> bool:
    """Whether values are chosen: a day and a place are no choice, and two values are no words."""
    kinds = [values.read(" ".join(part)).values.keys() for part in chosen]
    return all(kinds) or any(kind - {"number"} for kind in kinds)


def _subject(text: str) -> frozenset[str]:
    """What a sentence begins with: its first word that says something, or the first two CJK characters."""
    said = [token for token in wording.read(_BUT_NAMES.sub(" ", text)).tokens if likeness.stems(token)]
    return frozenset(map(likeness.stem, said[: 2 if said and wording.is_wide(said[0]) else 1]))


def _of_somebody(new: str, old: str) -> bool:
    """Whether a sentence speaks of what belongs to the other's subject ("Mira's sister", 米拉的姐姐)."""
    head = re.match(rf"(?:[^\W\d_]+|[{lexicon.CJK}]+?)(?='s\b|的)", new)
    return head is not None and not re.match(rf"{re.escape(head[0])}(?:'s\b|的)", old)


def _numbered(text: str) -> frozenset[str]:
    return values.read(text).values.get("named", frozenset())
