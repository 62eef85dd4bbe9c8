"""The index as it stands: whole, made by this version and model, and as new as the notes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.base import paths, snapshot
from commonplace.base.errors import CommonplaceError, IndexUnavailable
from commonplace.base.locks import is_held
from commonplace.base.messages import message
from commonplace.chunking.settings import DEFAULT
from commonplace.diagnosis.examination import Case, barred
from commonplace.diagnosis.stores import damage
from commonplace.index import changes, reading, rules
from commonplace.index import scripts as index_scripts
from commonplace.index.reading import content_of
from commonplace.index.sqlite.index import SqliteIndex
from commonplace.notes.scan import look, sources, states
from commonplace.types import Finding

if TYPE_CHECKING:
    from commonplace.providers.embedding.base import Embedder

SYNC = "commonplace sync"
COMPARED = 500  # files whose content is compared; more than that have changed
_ATTEMPTS = 3  # what looks damaged may have been written meanwhile


def examine(case: Case) -> Iterator[Finding]:
    """Examine the index that a search would use; write no file."""
    if case.workspace is None:
        return
    path = case.workspace.index
    if case.settings.index.url:
        told = "the index is on a server: `commonplace status` asks it"
        yield Finding("index.file", "skipped", message("index.on_server", told))
        return
    if not path.exists() or (path.is_file() and not path.stat().st_size):
        yield Finding("index.file", "warning", message("index.none", "there is no index yet"), SYNC)
        return
    if path.is_file() and not os.access(path, os.R_OK):
        yield barred("index.file", path)
        return
    for _ in range(_ATTEMPTS):
        before, found = snapshot.marks(path), list(_opened(path, case))
        if snapshot.marks(path) == before or all(finding.state != "wrong" for finding in found):
            yield from found
            return
    told = message("index.moving", "the index was written while it was examined")
    again = message("doctor.again", "run `commonplace doctor` again in a moment")
    yield Finding("index.file", "skipped", told, again)


def _opened(path: Path, case: Case) -> Iterator[Finding]:
    """Examine a copy at rest; the first damage ends it."""
    shown = paths.shown(path)
    delete = message("index.make_anew", f"delete {{place}}*, then `{SYNC}`: it is made anew from the notes",
                     place=shown)  # fmt: skip
    try:
        with snapshot.standing(path) as copy:
            if what := damage(copy, "meta"):
                told = message("store.wrong", "{file} {what}", file=shown, what=what)
                yield Finding("index.file", "wrong", told, delete)
                return
            with closing(SqliteIndex(copy, rules.identity(DEFAULT), readonly=True)) as index:
                yield from _compared(index, case, delete)
    except (CommonplaceError, OSError) as error:
        reason = getattr(error, "reason", str(error))
        if reason == snapshot.BUSY:
            told = message("index.moving", "the index was written while it was examined")
            later = message("doctor.later", "run `commonplace doctor` again later")
            yield Finding("index.file", "skipped", told, later)
            return
        told = message("index.unopened", "the index cannot be opened ({reason})", reason=reason)
        yield Finding("index.file", "wrong", told, delete)


def _compared(index: SqliteIndex, case: Case, delete: str) -> Iterator[Finding]:
    """Compare the index with this version, with itself, with the model of the settings and the notes."""
    if index.rebuild_reason:
        other = "the index was made by another version ({reason}); it is rebuilt at the next sync"
        told: str = message("index.other_version", other, reason=index.rebuild_reason)
        yield Finding("index.identity", "warning", told, SYNC)
        if "schema" in index.rebuild_reason:
            return
    try:
        if wrong := [f"{number:,} {told}" for told, number in index.disagreements().items()]:
            yield Finding("index.rows", "wrong", "; ".join(wrong), delete)
            return
        yield from _vectors(index, case)
        yield from _fresh(index, case)
        for told in reading.lines(reading.noted(index)):
            yield Finding("notes.noted", "warning", told, "")
    except IndexUnavailable as error:  # a large file is not checked whole: damage shows here first
        told = message("index.silent", "the index does not answer ({reason})", reason=error.reason)
        yield Finding("index.rows", "wrong", told, delete)


def _vectors(index: SqliteIndex, case: Case) -> Iterator[Finding]:
    """See that every passage has a vector, of the model of the settings, which reads most of the text."""
    active = active_model(case)
    if active is None:
        return
    held, noted = index.statistics(), index.meta.get("model")
    if held.pending:
        lack, counts = "{n:,} of {of:,} passages have no vector", {"n": held.pending, "of": held.passages}
        yield Finding("index.vectors", "warning", message("vectors.missing", lack, **counts), sync(case))
    if noted is not None and held.vectors and noted != active.fingerprint:
        other = "its vectors are another model's than {model}'s, and answer until the next sync"
        told = message("vectors.other_model", other, model=active.name)
        yield Finding("index.model", "warning", told, SYNC)
    advice = index_scripts.advise(index_scripts.shares(index), active.scripts)
    if advice and advice.most:
        told = message("scripts.model", "{told}: {model}", told=advice.told, model=active.name)
        yield Finding("index.scripts", "warning", told, f"commonplace models use {advice.provider}")


def active_model(case: Case) -> Embedder | None:
    """Return the first model of the settings that can be used, which is the one that a search asks."""
    from commonplace.providers import opening

    with suppress(CommonplaceError):  # reported by the check of providers
        if case.settings.embedding.provider != "none":
            return next((m for m in opening.models(case.settings.embedding) if not isinstance(m, str)), None)
    return None


def _fresh(index: SqliteIndex, case: Case) -> Iterator[Finding]:
    """Compare the files with the index: by size and time, then by content."""
    listings, manifest = look(sources(os.fspath(case.place), case.settings)), index.manifest()
    kept = [state for one in changes.kept(listings, manifest) for state in one.states]
    difference = changes.compare([*states(listings), *kept], manifest)
    changed = [s for s in difference.suspect[:COMPARED] if content_of(s) != manifest[s.key].hash]
    further = max(0, len(difference.suspect) - COMPARED)
    stale = len(difference.fresh) + len(difference.gone) + len(changed) + further
    if stale:
        counts = {"n": stale, "new": len(difference.fresh), "gone": len(difference.gone)}
        since = "{n:file} changed since the last sync ({new:,} new, {gone:,} gone)"
        yield Finding("index.fresh", "warning", message("index.stale", since, **counts), sync(case))


def sync(case: Case) -> str:
    """Return the remedy for an index behind the notes: a sync, or to wait for the one that runs."""
    workspace = case.workspace
    locks = [paths.lock_file(workspace, name) for name in ("sync", "vectors-sync")] if workspace else []
    running = message("sync.wait", "a sync is running; look again when it has ended")
    return running if any(map(is_held, locks)) else SYNC
