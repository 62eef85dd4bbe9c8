"""The index as it stands: which file, whose, whole, consistent, and as new as the notes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.base import paths, snapshot
from commonplace.base.errors import CommonplaceError, IndexUnavailable
from commonplace.base.locks import is_held
from commonplace.base.messages import message
from commonplace.chunking.settings import DEFAULT
from commonplace.diagnosis.examination import Case, guarded, listed
from commonplace.index import changes, reading, rules
from commonplace.index import scripts as index_scripts
from commonplace.index.reading import content_of
from commonplace.index.sqlite import schema
from commonplace.index.sqlite.index import SqliteIndex
from commonplace.notes.scan import look, sources, states
from commonplace.types import Finding

if TYPE_CHECKING:
    from commonplace.providers.embedding.base import Embedder


SYNC = "commonplace sync"


def examine(case: Case) -> Iterator[Finding]:
    """Examine the index that a search would use; write no file."""
    if case.workspace is None:
        yield Finding("index.file", "skipped", message("index.no_workspace", "no workspace, no index"))
        return
    path = case.workspace.index
    if case.settings.index.url:
        told = "the index is on a server: `commonplace status` asks it"
        yield Finding("index.file", "skipped", message("index.on_server", told))
        return
    if not path.exists():
        yield Finding("index.file", "warning", message("index.none", "there is no index yet"), SYNC)
        return
    before = snapshot.marks(path)
    found = list(_opened(path, case))
    yield Finding("index.file", "ok", paths.shown(path))
    if snapshot.marks(path) != before and any(finding.state == "wrong" for finding in found):
        yield Finding(
            "index.file",
            "skipped",
            message("index.moving", "the index was written while it was examined"),
            message("doctor.again", "run `commonplace doctor` again in a moment"),
        )
        return
    yield from found


def _opened(path: Path, case: Case) -> Iterator[Finding]:
    try:
        with snapshot.standing(path) as copy:
            connection = schema.connect(copy, readonly=True)
            with closing(connection), schema.translated(copy):
                if not schema.exists(connection):
                    raise IndexUnavailable(copy, "empty")
            with closing(SqliteIndex(copy, rules.identity(DEFAULT), readonly=True)) as index:
                yield from _checked(index, case)
    except (CommonplaceError, OSError) as error:
        yield _unusable(path, error)


def _checked(index: SqliteIndex, case: Case) -> Iterator[Finding]:
    """Run the checks; stop after the finding that the index is damaged or its schema unknown."""
    for name in _CHECKS:
        found = guarded(name, partial(_asked, name, index, case))
        yield from found
        damaged = name in ("index.integrity", "index.rows") and found[0].state == "wrong"
        unknown = "schema" in (index.rebuild_reason or "")
        if damaged or (name == "index.identity" and unknown):
            return


def _asked(name: str, index: SqliteIndex, case: Case) -> Iterator[Finding]:
    """One check; where the file is too large to be checked as a whole, damage shows here first."""
    try:
        yield from _CHECKS[name](index, case)
    except IndexUnavailable as error:
        told = message("index.silent", "the index does not answer ({reason})", reason=error.reason)
        yield Finding(name, "wrong", told, anew(case))


def _unusable(path: Path, error: Exception) -> Finding:
    reason = getattr(error, "reason", str(error))
    if reason == snapshot.BUSY:
        told = message("index.busy", "the index is {reason}", reason=reason)
        later = message("doctor.later", "run `commonplace doctor` again later")
        return Finding("index.opens", "skipped", told, later)
    if reason == "empty":
        return Finding("index.opens", "warning", message("index.empty", "the file holds no index yet"), SYNC)
    if not os.access(path, os.R_OK):
        told = message("index.unreadable", "the index cannot be read")
        return Finding("index.opens", "wrong", told, f"chmod u+rw {paths.shown(path)}")
    told = message("index.unopened", "the index cannot be opened ({reason})", reason=reason)
    remedy = message("index.sync_anew", f"{SYNC}: it is made anew from the notes")
    return Finding("index.opens", "wrong", told, remedy)


# --- what it says of itself ---------------------------------------------------------------------------

COMPARED = 500  # files whose content is compared; more than that have changed


def identity(index: SqliteIndex, case: Case) -> Iterator[Finding]:
    """See that the index was made as this version would make it."""
    if index.rebuild_reason:
        other = "the index was made by another version ({reason}); it is rebuilt at the next sync"
        told = message("index.other_version", other, reason=index.rebuild_reason)
        yield Finding("index.identity", "warning", told, SYNC)
    else:
        yield Finding("index.identity", "ok", message("index.own_version", "made as this version makes it"))


def integrity(index: SqliteIndex, case: Case) -> Iterator[Finding]:
    """Let SQLite check the file, full text included."""
    found = snapshot.check(index.connection)
    if found is None:
        over = "the file is too large to be checked within {limit}"
        large = message("index.large", over, limit=f"{snapshot.CHECK_S:.0f} s")
        yield Finding("index.integrity", "skipped", large)
    elif found:
        told = message("index.damaged", "the file is damaged: {what}", what=listed(found))
        yield Finding("index.integrity", "wrong", told, anew(case))
    else:
        whole = message("index.whole", "SQLite finds the file and its full text whole")
        yield Finding("index.integrity", "ok", whole)


def anew(case: Case) -> str:
    """Return how to rebuild the index; that loses no data."""
    place = paths.shown(case.workspace.index) if case.workspace else "the index"
    delete = f"delete {{place}}*, then `{SYNC}`: it is made anew from the notes"
    return message("index.make_anew", delete, place=place)


def sync(case: Case) -> str:
    """Return what brings the index up to the notes."""
    workspace = case.workspace
    locks = [paths.lock_file(workspace, name) for name in ("sync", "vectors-sync")] if workspace else []
    is_running = any(map(is_held, locks))
    running = message("sync.wait", "a sync is running; look again when it has ended")
    return running if is_running else SYNC


def rows(index: SqliteIndex, case: Case) -> Iterator[Finding]:
    """See that the tables agree."""
    if wrong := [f"{number:,} {told}" for told, number in index.disagreements().items()]:
        yield Finding("index.rows", "wrong", "; ".join(wrong), anew(case))
    else:
        held = index.statistics()
        yield Finding(
            "index.rows",
            "ok",
            message(
                "index.agrees",
                "{notes:note}, {passages:passage}, and all of it agrees",
                notes=held.notes,
                passages=held.passages,
            ),
        )


def vectors(index: SqliteIndex, case: Case) -> Iterator[Finding]:
    """See that every passage has a vector."""
    if case.settings.embedding.provider == "none":
        unwanted = message("vectors.unwanted", "no vectors are wanted (embedding.provider = none)")
        yield Finding("index.vectors", "skipped", unwanted)
        return
    held = index.statistics()
    if held.pending:
        yield Finding(
            "index.vectors",
            "warning",
            message(
                "vectors.missing",
                "{n:,} of {of:,} passages have no vector",
                n=held.pending,
                of=held.passages,
            ),
            sync(case),
        )
    else:
        yield Finding(
            "index.vectors",
            "ok",
            message(
                "vectors.fine", "{n:vector}; every passage that the model serves has one", n=held.vectors
            ),
        )


def model(index: SqliteIndex, case: Case) -> Iterator[Finding]:
    """See that the vectors are those of the model that the settings name."""
    noted, active = index.meta.get("model"), active_model(case)
    if active is None or noted is None or not index.statistics().vectors:
        return
    if noted == active.fingerprint:
        told = message("vectors.model", "its vectors are those of {model}", model=active.name)
        yield Finding("index.model", "ok", told)
    else:
        yield Finding(
            "index.model",
            "warning",
            message(
                "vectors.other_model",
                "its vectors are another model's than {model}'s, and answer until the next sync",
                model=active.name,
            ),
            SYNC,
        )


def active_model(case: Case) -> Embedder | None:
    """Return the first model of the settings that can be used, which is the one that a search asks."""
    from commonplace.providers import opening

    if case.settings.embedding.provider == "none":
        return None
    with suppress(CommonplaceError):  # the providers' own check tells
        return next((m for m in opening.models(case.settings.embedding) if not isinstance(m, str)), None)
    return None


def fresh(index: SqliteIndex, case: Case) -> Iterator[Finding]:
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
        told = message("index.stale", since, **counts)
        yield Finding("index.fresh", "warning", told, sync(case))
    else:
        yield Finding("index.fresh", "ok", message("index.fresh", "as new as the notes"))


def notices(index: SqliteIndex, case: Case) -> Iterator[Finding]:
    """Tell what the last sync noted of files: encoding, front matter, names, damage, what is not read."""
    for told in reading.lines(reading.noted(index)):
        yield Finding("notes.noted", "warning", told, "")


def scripts(index: SqliteIndex, case: Case) -> Iterator[Finding]:
    """See that the model serves the scripts that most of the text is in, and say how much it does not."""
    active = active_model(case)
    if active is None:
        return
    found = index_scripts.shares(index)
    advice = index_scripts.advise(found, active.scripts)
    if advice and advice.most:
        use = f"commonplace models use {advice.provider}"
        told = message("scripts.model", "{told}: {model}", told=advice.told, model=active.name)
        yield Finding("index.scripts", "warning", told, use)
    elif found:
        shares = [
            message("script.share", "{share:.0%} {script}", share=share, script=script)
            for name, script in index_scripts.NAMES.items()
            if (share := found[name]) >= 0.005
        ]
        most = "{model} serves most of the text ({shares})"
        serves = message("scripts.served", most, model=active.name, shares=shares)
        if advice:
            serves = message("scripts.most", "{served}; {told}", served=serves, told=advice.told)
        yield Finding("index.scripts", "ok", serves)


_CHECKS: dict[str, Callable[[SqliteIndex, Case], Iterator[Finding]]] = {
    "index.identity": identity,
    "index.integrity": integrity,
    "index.rows": rows,
    "index.vectors": vectors,
    "index.model": model,
    "index.fresh": fresh,
    "notes.noted": notices,
    "index.scripts": scripts,
}
