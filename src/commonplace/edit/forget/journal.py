"""Intents of forgettings, saved until they are done, and the content of previews.

Each forgetting has a row in `state.sqlite`. Of a preview the words of each note and entry that waits are
compared, wherever they stand by now. Transcripts, records and caches grow while a preview is read, often by
talking about it; what says the same in them goes as well.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import datetime

from commonplace.base import paths
from commonplace.base.errors import ConfigError, PreviewOutdated
from commonplace.edit.forget import targets as intents
from commonplace.edit.forget.notes import Composed, Context
from commonplace.edit.forget.targets import CutNote, Shown, Targets
from commonplace.storage import keyvalue, state
from commonplace.types.changes import Erased, Erasure

SPOOL = "spool"  # stands for all waiting entries
_KIND = "erasing"  # of `storage.keyvalue`


def pending(workspace: paths.Workspace) -> list[str]:
    """Return the ids of the forgettings that were begun and are not done, oldest first."""
    return [name for name, _ in keyvalue.each(workspace, _KIND)]


def add(workspace: paths.Workspace, targets: Targets) -> str:
    """Write down what is to be forgotten, before anything is; return its id. Raises NoteUnreadable."""
    name = f"{datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"
    write(workspace, name, targets)
    return name


def write(workspace: paths.Workspace, name: str, targets: Targets) -> None:
    """Insert or replace an intent. Raises NoteUnreadable."""
    keyvalue.write(workspace, _KIND, name, asdict(targets))


def read(workspace: paths.Workspace, name: str) -> Targets:
    """Return what an intent says; nothing if it is gone, or of another version."""
    with suppress(ValueError, TypeError, KeyError):
        return intents.decode(keyvalue.read(workspace, _KIND, name) or {})
    return Targets()


def describe(workspace: paths.Workspace) -> list[str]:
    """Return what was begun and is not done in the words of the request."""
    return [line for name in pending(workspace) for line in read(workspace, name).described]


def end(workspace: paths.Workspace, name: str) -> list[Erased]:
    """Remove an intent: what it says is forgotten. Raises NoteUnreadable."""
    keyvalue.write(workspace, _KIND, name, {})  # who is killed here compacts the file once more
    state.erase(workspace)
    keyvalue.remove(workspace, _KIND, [name])
    return []


# --- what a preview showed ------------------------------------------------------------------------------


def basis(targets: Targets, places: Iterable[Erased]) -> bytes:
    """Return what a preview is of, with what it showed."""
    return json.dumps(asdict(replace(targets, shown=tuple(_shown(places))))).encode()


def previewed(preview: Erasure) -> Targets:
    """Return the targets of a preview. Raises ConfigError without a preview."""
    if not preview.basis:
        raise ConfigError("forget", "this is no preview; take what forget(..., dry_run=True) returns")
    try:
        return intents.read(preview.basis)
    except (ValueError, TypeError, KeyError) as error:
        raise ConfigError("forget", "what the preview was of cannot be read; preview it once more") from error


def check(
    context: Context,
    targets: Targets,
    composed: Composed,
    waiting: Iterable[Erased],
    blocked: Collection[str] = (),
) -> None:
    """See that what would go is what was shown. Raises PreviewOutdated.

    `waiting` are the entries of the spool that would go; `blocked` notes, which stay, do not count.
    """
    before = dict(targets.shown or ())
    now = dict(_shown([*composed.places, *waiting]))
    differing = {path for path in before.keys() | now.keys() if before.get(path) != now.get(path)}
    for block in targets.blocks:
        page = CutNote.read(context.read(block.path) or b"", block.path)
        if len(page.places(block.lines)) != block.times:  # which of them is meant is not known
            differing.add(block.path)
    if differing := differing.difference(blocked):
        raise PreviewOutdated(sorted(differing))


def _shown(places: Iterable[Erased]) -> Iterable[Shown]:
    words: dict[str, list[str]] = {}
    for place in places:
        if place.where in ("notes", "spool"):
            words.setdefault(place.path if place.where == "notes" else SPOOL, []).append(place.text)
    for path, texts in sorted(words.items()):
        yield Shown(path, hashlib.sha256(json.dumps(sorted(texts)).encode("ascii")).hexdigest())
