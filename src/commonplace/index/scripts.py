"""Which scripts the passages are in, against those that the model serves, and what would serve more."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from commonplace.base.errors import IndexUnavailable
from commonplace.base.messages import message
from commonplace.base.tuples import NamedTuple
from commonplace.index.base import Index
from commonplace.language.scripts import CJK, HAN, LATIN, MOST, OTHER, script_of, serves

if TYPE_CHECKING:
    from commonplace.index.store import Store

SAMPLE = 2000  # passages, spread evenly over the notes: the share is then right to some 2 in 100
NAMES: Mapping[str, str] = {
    LATIN: message("script.latin", "Latin letters"),
    HAN: message("script.han", "Chinese"),
    CJK: message("script.cjk", "Japanese or Korean"),
    OTHER: message("script.other", "another script"),
}
# The same for whoever is to write in them.
LANGUAGES: Mapping[str, str] = {
    LATIN: "English or another language in Latin letters",
    HAN: "Chinese",
    CJK: "Japanese or Korean",
    OTHER: "a language in another script",
}
LEAST = 0.01  # the least share of passages without a vector that is reported
FEW, SHARE_NAMED = 200, 0.05  # passages looked at, and the share from which a script is one of the notes
Shares = Mapping[str, float]  # of the passages with letters in each script, 0..1; empty without any


class Advice(NamedTuple):
    """A warning that the model does not serve all of the text, and a provider whose model does.

    `most` says that it serves less than half.
    """

    told: str
    provider: str
    most: bool


def shares(index: Index, sample: int = SAMPLE) -> Shares:
    """Look at a sample of the passages. Raises IndexUnavailable."""
    last = index.statistics().last_passage
    wanted = range(1, last + 1, max(1, last // sample))
    scripts = [script_of(candidate.text) for candidate in index.passages(wanted)]
    total = sum(map(scripts.count, NAMES))
    return {name: scripts.count(name) / total for name in NAMES} if total else {}


def named(store: Store) -> tuple[str, ...]:
    """Name the languages of the notes for a writer who is to match them; empty if unknown."""
    found: Shares = {}
    with suppress(IndexUnavailable):  # the search itself says so
        store.settle()
        if store.empty:
            store.freshen()
        found = shares(store.index, FEW)
    return tuple(LANGUAGES[name] for name, share in found.items() if share >= SHARE_NAMED)


def advise(found: Shares, served: Collection[str]) -> Advice | None:
    """Return a warning if a share of the text is in scripts that a model does not serve, or None."""
    amounts = {name: share for name, share in found.items() if not serves(served, name)}
    missed = sum(amounts.values())
    if missed < LEAST:
        return None
    largest = max(amounts, key=lambda name: amounts[name])
    foreign = "{share:.0%} of the passages have no vector: their script is not served ({script})"
    told = message("scripts.foreign", foreign, share=missed, script=NAMES[largest])
    return Advice(told, "builtin" if largest in (LATIN, HAN) else "fastembed", missed > MOST)
