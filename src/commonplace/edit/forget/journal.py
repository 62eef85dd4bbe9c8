"""Intents of forgettings, saved until they are done, and the content of previews.

Each forgetting has a file in `erasing/` of the state. Of a preview the words
of each note and entry that waits are compared, wherever they stand by now. Transcripts, records and caches
grow while a preview is read, often by talking about it; what says the same in them goes as well.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path

from commonplace.base import paths, records
from commonplace.base.errors import ConfigError, NoteUnreadable, PreviewOutdated
from commonplace.edit.forget import targets as intents
from commonplace.edit.forget.notes import Composed, Context
from commonplace.edit.forget.targets import Page, Shown, Targets
from commonplace.types.changes import Erased, Erasure

ENDING, _TEMPORARY = ".json", ".tmp"
SPOOL = "spool"  # stands for all of its files, whose names change with who claims them


def pending(workspace: paths.Workspace) -> list[Path]:
    """Return the forgettings that were begun and are not done, oldest first."""
    with suppress(OSError):
        names = workspace.kept.names(workspace.erasing)
        return [workspace.erasing / name for name in names if name.endswith(ENDING)]
    return []


def add(workspace: paths.Workspace, targets: Targets) -> Path:
    """Write down what is to be forgotten, before anything is. Raises NoteUnreadable, OutsideRoots."""
    paths.prepare_state(workspace)
    path = workspace.erasing / f"{datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(3)}{ENDING}"
    write(path, targets)
    workspace.kept.sync(workspace.state)
    return path


def write(path: Path, targets: Targets) -> None:
    """Put an intent in its place as a whole. Raises NoteUnreadable."""
    with records.translated(path):
        paths.root_of(path).exchange(path, records.encode(asdict(targets)), alone=True)


def read(path: Path) -> Targets:
    """Return what an intent says. Raises NoteUnreadable for a damaged one."""
    try:
        return intents.decode(records.read(paths.root_of(path), path))
    except (OSError, ValueError, TypeError, KeyError) as error:
        reason = "cannot be read; delete it, and forget what it was once more"
        raise NoteUnreadable(paths.shown(path), reason) from error


def describe(workspace: paths.Workspace) -> list[str]:
    """Return what was begun and is not done in the words of the request; a damaged intent by its name."""
    lines: list[str] = []
    for path in pending(workspace):
        try:
            lines += read(path).described
        except NoteUnreadable:
            lines.append(paths.shown(path))
    return lines


def end(path: Path) -> list[Erased]:
    """Remove an intent: what it says is forgotten. Raises NoteUnreadable."""
    records.remove(paths.root_of(path), path)
    return []


def tidy(workspace: paths.Workspace) -> None:
    """Remove half-written intents, and the folder with the last intent."""
    files = workspace.kept
    with suppress(OSError):
        for name in files.names(workspace.erasing):
            if name.endswith(_TEMPORARY):
                files.remove(workspace.erasing / name)
        files.rmdir(workspace.erasing)


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
        page = Page.read(context.read(block.path) or b"", block.path)
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
