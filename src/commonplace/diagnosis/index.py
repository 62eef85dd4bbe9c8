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
from commonplace.base.signature import KEY_FILE
from commonplace.chunking.settings import DEFAULT
from commonplace.diagnosis.examination import Case, guarded, listed
from commonplace.diagnosis.examination import size as as_size
from commonplace.index import changes
from commonplace.index import scripts as index_scripts
from commonplace.index.reading import content_of
from commonplace.index.sqlite import consistency, schema
from commonplace.index.sqlite.index import SqliteIndex
from commonplace.notes.scan import scan, sources
from commonplace.render import count
from commonplace.types import Finding

if TYPE_CHECKING:
    from commonplace.providers.embedding.base import Embedder


SYNC = "commonplace sync"


def examine(case: Case) -> Iterator[Finding]:
    """Examine the index that a search would use; neither it nor anything beside it is written."""
    if case.workspace is None:
        yield Finding("index.file", "skipped", "no workspace, no index")
        return
    own, other = case.workspace.index, paths.fallback_index(case.place, case.environ)
    path = own if os.path.exists(own) else other
    if not path.exists():
        yield from _placed(case, own, other)
        return
    before = snapshot.marks(path)
    found = list(_opened(path, case))
    stands_in = any(schema.OTHER_KEY in finding.told for finding in found)
    yield from _placed(case, own, other, stands_in=stands_in)
    if snapshot.marks(path) != before and any(finding.state == "wrong" for finding in found):
        yield Finding(
            "index.file",
            "skipped",
            "the index was written while it was examined",
            "run `commonplace doctor` again in a moment",
        )
        return
    yield from found


def _placed(case: Case, own: Path, other: Path, *, stands_in: bool = False) -> Iterator[Finding]:
    writable = os.access(own.parent if own.parent.exists() else case.place, os.W_OK)
    if os.path.exists(own):  # false as well where the folder is another user's
        yield Finding("index.file", "ok", paths.shown(own))
    elif other.exists() and not writable:
        yield Finding("index.file", "ok", f"{paths.shown(other)}, since the workspace cannot be written to")
    elif not other.exists():
        yield Finding("index.file", "warning", "there is no index yet", SYNC)
    if other.exists() and writable and not stands_in:
        told = (
            f"an index of this workspace lies in your folder of caches as well ({paths.shown(other.parent)})"
        )
        remedy = f"delete {paths.shown(other.parent)}: the workspace can be written to again"
        yield Finding("index.elsewhere", "warning", told, remedy)


def _opened(path: Path, case: Case) -> Iterator[Finding]:
    try:
        with snapshot.standing(path) as copy:
            connection = schema.connect(copy, readonly=True)
            with closing(connection), schema.translated(copy):
                if not schema.exists(connection):
                    raise IndexUnavailable(copy, "empty")
            with closing(SqliteIndex(copy, changes.identity(DEFAULT), readonly=True)) as index:
                yield from _checked(index, case)
    except (CommonplaceError, OSError) as error:
        yield _unusable(path, error)


def _checked(index: SqliteIndex, case: Case) -> Iterator[Finding]:
    """Run the checks; of a damaged index, or one whose tables are not known, no more than that is told."""
    for name in _CHECKS:
        found = guarded(name, partial(_asked, name, index, case))
        yield from found
        damaged = name in ("index.integrity", "index.rows") and found[0].state == "wrong"
        is_ours = index.unfit not in (schema.FOREIGN, schema.OTHER_KEY)
        unknown = not is_ours or "schema" in (index.rebuild_reason or "")
        if damaged or (name == "index.identity" and unknown):
            return


def _asked(name: str, index: SqliteIndex, case: Case) -> Iterator[Finding]:
    """One check; where the file is too large to be checked as a whole, damage shows here first."""
    try:
        yield from _CHECKS[name](index, case)
    except IndexUnavailable as error:
        yield Finding(name, "wrong", f"the index does not answer ({error.reason})", anew(case))


def _unusable(path: Path, error: Exception) -> Finding:
    reason = getattr(error, "reason", str(error))
    if reason == snapshot.BUSY:
        return Finding(
            "index.opens", "skipped", f"the index is {reason}", "run `commonplace doctor` again later"
        )
    if reason == "empty":
        return Finding("index.opens", "warning", "the file holds no index yet", SYNC)
    if not os.access(path, os.R_OK):
        told, remedy = "the index cannot be read", f"chmod u+rw {paths.shown(path)}"
    else:
        told, remedy = f"the index cannot be opened ({reason})", f"{SYNC}: it is made anew from the notes"
    return Finding("index.opens", "wrong", told, remedy)


# --- what it says of itself ---------------------------------------------------------------------------

COMPARED = 500  # files whose content is compared; more than that have changed
GROWN, GROWN_BYTES = 20, 100_000_000  # an index this many times its text, and this large, is told
FREE_SHARE = 0.5


def identity(index: SqliteIndex, case: Case) -> Iterator[Finding]:
    """See that the index was made as this version would make it."""
    if index.unfit == schema.FOREIGN:
        yield Finding(
            "index.identity",
            "warning",
            "the index came from elsewhere: nothing of it is answered, and the next search builds it anew",
            SYNC,
        )
    elif index.unfit == schema.OTHER_KEY:
        yield Finding(
            "index.identity",
            "warning",
            f"the index {schema.OTHER_KEY}: nothing of it is answered, and yours is kept in your cache",
            f"add the line of that home's {KEY_FILE} to yours, or `{SYNC}` makes it anew, once",
        )
    elif index.rebuild_reason:
        told = (
            f"the index was made by another version ({index.rebuild_reason}); it is rebuilt at the next sync"
        )
        yield Finding("index.identity", "warning", told, SYNC)
    else:
        yield Finding("index.identity", "ok", "made as this version makes it")


def integrity(index: SqliteIndex, case: Case) -> Iterator[Finding]:
    """Let SQLite check the file, full text included."""
    found = snapshot.check(index.connection)
    limit = f"{snapshot.CHECK_S:.0f} s"
    if found.complaints:
        yield Finding(
            "index.integrity",
            "wrong",
            f"the file is damaged: {listed(found.complaints)}",
            anew(case),
        )
    elif found.check == "integrity_check":
        yield Finding("index.integrity", "ok", "SQLite finds the file and its full text whole")
    elif found.check:
        yield Finding(
            "index.integrity",
            "ok",
            f"SQLite finds the file whole at a glance; a closer look takes more than {limit}",
        )
    else:
        yield Finding("index.integrity", "skipped", f"the file is too large to be checked within {limit}")


def anew(case: Case) -> str:
    """Return how an index is made anew; nothing is lost by that."""
    place = paths.shown(case.workspace.index) if case.workspace else "the index"
    return f"delete {place}*, then `{SYNC}`: it is made anew from the notes"


def sync(case: Case) -> str:
    """Return what brings the index up to the notes."""
    is_running = case.workspace is not None and is_held(paths.lock_file(case.workspace, "sync"))
    return "a sync is running; look again when it has ended" if is_running else SYNC


def rows(index: SqliteIndex, case: Case) -> Iterator[Finding]:
    """See that the tables agree."""
    if wrong := [f"{number:,} {told}" for told, number in consistency.disagreements(index).items()]:
        yield Finding("index.rows", "wrong", "; ".join(wrong), anew(case))
    else:
        held = index.statistics()
        yield Finding(
            "index.rows",
            "ok",
            f"{count(held.notes, 'note')}, {count(held.passages, 'passage')}, and all of it agrees",
        )


def vectors(index: SqliteIndex, case: Case) -> Iterator[Finding]:
    """See that every passage has a vector, that all are of one length, and none is left over."""
    if case.settings.embedding.provider == "none":
        yield Finding("index.vectors", "skipped", "no vectors are wanted (embedding.provider = none)")
        return
    lengths, staging = consistency.vector_lengths(index), "staging" in index.meta
    if len(lengths) > 1 and not staging:
        yield Finding(
            "index.vectors",
            "wrong",
            f"vectors of several lengths: {', '.join(map(str, lengths))} bytes",
            anew(case),
        )
    held = index.statistics()
    if held.pending:
        yield Finding(
            "index.vectors",
            "warning",
            f"{held.pending:,} of {held.passages:,} passages have no vector",
            sync(case),
        )
    elif len(lengths) < 2:
        yield Finding(
            "index.vectors",
            "ok",
            f"{count(held.vectors, 'vector')}; every passage that the model serves has one",
        )
    if not staging and (left := consistency.unused_vectors(index)):
        yield Finding(
            "index.orphans",
            "warning",
            f"{count(left, 'vector')} without a passage",
            f"{SYNC} takes them away when notes change",
        )


def model(index: SqliteIndex, case: Case) -> Iterator[Finding]:
    """See that the vectors are those of the model that the settings name."""
    noted, active = index.meta.get("model"), active_model(case)
    if active is None or noted is None or not index.statistics().vectors:
        return
    if noted == active.fingerprint:
        yield Finding("index.model", "ok", f"its vectors are those of {active.name}")
    else:
        yield Finding(
            "index.model",
            "warning",
            f"its vectors are another model's than {active.name}'s, and answer until the next sync",
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
    difference = changes.compare(scan(sources(os.fspath(case.place), case.settings)), index.manifest())
    changed = [s for s in difference.suspect[:COMPARED] if content_of(s) != index.manifest()[s.key].hash]
    further = max(0, len(difference.suspect) - COMPARED)
    stale = len(difference.fresh) + len(difference.gone) + len(changed) + further
    if stale:
        told = f"{count(stale, 'file')} changed since the last sync ({len(difference.fresh):,} new,"
        told += f" {len(difference.gone):,} gone)"
        yield Finding("index.fresh", "warning", told, sync(case))
    else:
        yield Finding("index.fresh", "ok", "as new as the notes")


def size(index: SqliteIndex, case: Case) -> Iterator[Finding]:
    """Compare the size of the index with that of the text."""
    room = consistency.room(index)
    told = f"{as_size(room.stored)} for {as_size(room.text)} of notes"
    if room.stored > GROWN_BYTES and (room.free > FREE_SHARE or room.stored > GROWN * max(room.text, 1)):
        yield Finding("index.size", "warning", f"{told}, {room.free:.0%} of it empty", anew(case))
    else:
        yield Finding("index.size", "ok", told)


def scripts(index: SqliteIndex, case: Case) -> Iterator[Finding]:
    """See that the model serves the scripts that most of the text is in, and say how much it does not."""
    active = active_model(case)
    if active is None:
        return
    found = index_scripts.shares(index)
    advice = index_scripts.advise(found, active.scripts)
    if advice and advice.most:
        use = f"commonplace models use {advice.provider}"
        yield Finding("index.scripts", "warning", f"{advice.told}: {active.name}", use)
    elif found.passages:
        named = {"Latin": found.latin, "CJK": found.cjk, "others": found.other}
        told = ", ".join(f"{share:.0%} {name}" for name, share in named.items() if share >= 0.005)
        told = f"{active.name} serves most of the text ({told})"
        yield Finding("index.scripts", "ok", f"{told}; {advice.told}" if advice else told)


_CHECKS: dict[str, Callable[[SqliteIndex, Case], Iterator[Finding]]] = {
    "index.identity": identity,
    "index.integrity": integrity,
    "index.rows": rows,
    "index.vectors": vectors,
    "index.model": model,
    "index.fresh": fresh,
    "index.size": size,
    "index.scripts": scripts,
}
