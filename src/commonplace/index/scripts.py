"""Which scripts the passages are in, against those that the model serves, and what would serve more."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from commonplace.base.errors import IndexUnavailable
from commonplace.index.base import Index
from commonplace.index.vectors import FOREIGN_SHARE, is_foreign
from commonplace.language import lexicon

if TYPE_CHECKING:
    from commonplace.index.store import Store

SAMPLE = 2000  # passages, spread evenly over the notes: the share is then right to some 2 in 100
LATIN = "latin"
CJK = "cjk"
OTHER = "other"
NAMES: Mapping[str, str] = {
    LATIN: "Latin letters",
    CJK: "Chinese, Japanese or Korean",
    OTHER: "another script",
}
# The provider whose default model serves each script.
PROVIDERS: Mapping[str, str] = {LATIN: "builtin", CJK: "fastembed", OTHER: "fastembed"}
# The same for whoever is to write in them.
LANGUAGES: Mapping[str, str] = {
    LATIN: "English or another language in Latin letters",
    CJK: "Chinese (or Japanese, or Korean)",
    OTHER: "a language in another script",
}
FEW, SHARE_NAMED = 200, 0.05  # passages looked at, and the share from which a script is one of the notes
_LETTER = re.compile(r"[^\W\d_]")
_LATIN_LETTER = re.compile("[A-Za-z\u00aa\u00ba\u00c0-\u024f\u1e00-\u1eff]")


class Shares(NamedTuple):
    """How many passages were looked at, and which share of them is in what script, 0..1."""

    passages: int
    latin: float = 0.0
    cjk: float = 0.0
    other: float = 0.0


class Advice(NamedTuple):
    """What to tell somebody whose model does not serve most of the text, and the provider that mends it."""

    told: str
    provider: str


def shares(index: Index, sample: int = SAMPLE) -> Shares:
    """Look at a sample of the passages; those without letters are not counted. Raises IndexUnavailable."""
    last = index.statistics().last_passage
    wanted = range(1, last + 1, max(1, last // sample))
    scripts = [script_of(candidate.text) for candidate in index.passages(wanted)]
    counts = {name: scripts.count(name) for name in NAMES}
    total = sum(counts.values())
    return Shares(total, *(counts[name] / total for name in (LATIN, CJK, OTHER))) if total else Shares(0)


def named(store: Store) -> tuple[str, ...]:
    """Name the scripts that the notes are in, for whoever is to write like them; none where none is known."""
    found = Shares(0)
    with suppress(IndexUnavailable):  # the search itself says so
        store.settle()
        if store.empty:
            store.freshen()
        found = shares(store.index, FEW)
    return tuple(LANGUAGES[name] for name in NAMES if getattr(found, name) >= SHARE_NAMED)


def script_of(text: str) -> str:
    """Return the script that most of a text is in; an empty text for one without letters."""
    if is_foreign(text):
        return CJK
    letters = len(_LETTER.findall(text))
    if not letters:
        return ""
    further = letters - len(_LATIN_LETTER.findall(text)) - sum(map(len, lexicon.cjk_runs(text)))
    return OTHER if further > letters / 2 else LATIN


def serves(served: Collection[str], script: str) -> bool:
    """Whether a model serves a script; one that knows both that are named knows the others as well."""
    return script in served or (script == OTHER and {LATIN, CJK} <= set(served))


def advise(found: Shares, served: Collection[str]) -> Advice | None:
    """Say when most of the text is in scripts that a model does not serve; None while it serves enough."""
    amounts = {name: getattr(found, name) for name in NAMES if not serves(served, name)}
    missed = sum(amounts.values())
    if missed <= FOREIGN_SHARE:
        return None
    largest = max(amounts, key=lambda name: amounts[name])
    told = f"{missed:.0%} of the passages are in a script that the model does not serve ({NAMES[largest]})"
    return Advice(told, PROVIDERS[largest])
