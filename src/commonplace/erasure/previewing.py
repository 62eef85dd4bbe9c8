"""What a preview showed, so that only that goes: the words of each note, wherever they stand by now.

Notes and entries that wait are compared. Transcripts, records and caches grow while a preview is read, often
by talking about it; what says the same in them goes as well.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable
from dataclasses import replace

from commonplace.erasure import wanted as intents
from commonplace.erasure.composing import Composed
from commonplace.erasure.ground import Ground
from commonplace.erasure.pages import Page
from commonplace.erasure.wanted import Shown, Wanted
from commonplace.errors import ConfigError, PreviewOutdated
from commonplace.types.erasure import Erased, Erasure

SPOOL = ".commonplace/spool"  # stands for all of its files, whose names change with who claims them


def basis(wanted: Wanted, places: Iterable[Erased]) -> bytes:
    """Return what a preview is of, with what it showed."""
    return json.dumps(intents.encode(replace(wanted, shown=tuple(_shown(places))))).encode()


def read(preview: Erasure) -> Wanted:
    """Return what a preview is of. Raises ConfigError for what is no preview."""
    if not preview.basis:
        raise ConfigError("forget", "this is no preview; take what forget(..., dry_run=True) returns")
    try:
        return intents.decode(json.loads(preview.basis))
    except (ValueError, TypeError, KeyError) as error:
        raise ConfigError("forget", "what the preview was of cannot be read; preview it once more") from error


def check(
    ground: Ground,
    wanted: Wanted,
    composed: Composed,
    waiting: Iterable[Erased],
    blocked: Collection[str] = (),
) -> None:
    """See that what would go is what was shown. Raises PreviewOutdated.

    `waiting` are the entries of the spool that would go; `blocked` notes, which stay, do not count.
    """
    before = dict(wanted.shown or ())
    now = dict(_shown([*composed.places, *waiting]))
    other = {path for path in before.keys() | now.keys() if before.get(path) != now.get(path)}
    for block in wanted.blocks:
        page = Page(block.path, ground.read(block.path) or b"")
        if len(page.places(block.lines)) != block.times:  # which of them is meant is not known
            other.add(block.path)
    if other := other.difference(blocked):
        raise PreviewOutdated(sorted(other))


def _shown(places: Iterable[Erased]) -> Iterable[Shown]:
    words: dict[str, list[str]] = {}
    for place in places:
        if place.where in ("notes", "spool"):
            words.setdefault(place.path if place.where == "notes" else SPOOL, []).append(place.text)
    for path, texts in sorted(words.items()):
        told = json.dumps(sorted(texts)).encode("ascii")
        yield Shown(path, hashlib.sha256(told).hexdigest())
