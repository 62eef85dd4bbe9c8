"""What an index says of itself, and whether it agrees: identity, rows, vectors, freshness, size, scripts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from commonplace.base.signature import KEY_FILE
from commonplace.diagnosis import snapshot
from commonplace.diagnosis.case import Case
from commonplace.diagnosis.checks import listed
from commonplace.diagnosis.checks import size as as_size
from commonplace.errors import CommonplaceError
from commonplace.index import changes
from commonplace.index import scripts as index_scripts
from commonplace.index.reading import content_of
from commonplace.index.schema import FOREIGN, OTHER_KEY
from commonplace.index.sqlite import SqliteIndex
from commonplace.index.vectors import UNSERVED
from commonplace.notes.scan import scan, sources
from commonplace.render import count
from commonplace.types import Finding

if TYPE_CHECKING:
    from commonplace.embedding.base import Embedder

SYNC = "commonplace sync"
COMPARED = 500  # files whose content is compared; more than that have changed
GROWN, GROWN_BYTES = 20, 100_000_000  # an index this many times its text, and this large, is told
FREE_SHARE = 0.5
_ROWS = {
    "passages belong to no note": "SELECT count(*) FROM passages WHERE note_id NOT IN (SELECT id FROM notes)",
    "sections belong to no note": "SELECT count(*) FROM sections WHERE note_id NOT IN (SELECT id FROM notes)",
    "notes lack passages": "SELECT count(*) FROM notes n WHERE last_passage - first_passage + 1 <> (SELECT"
    " count(*) FROM passages p WHERE p.id BETWEEN n.first_passage AND n.last_passage AND p.note_id = n.id)",
    "passages are missing from the full text": "SELECT count(*) FROM passages WHERE id NOT IN"
    " (SELECT id FROM passages_fts_docsize UNION ALL SELECT id FROM struck_fts_docsize)",
    "entries of the full text have no passage": "SELECT count(*) FROM (SELECT id, 0 AS struck FROM"
    " passages_fts_docsize UNION ALL SELECT id, 1 FROM struck_fts_docsize) AS t"
    " WHERE NOT EXISTS (SELECT 1 FROM passages p WHERE p.id = t.id AND (p.until IS NOT NULL) = t.struck)",
    "passages have a vector that is missing": f"SELECT count(*) FROM passages WHERE vector_id > {UNSERVED}"
    " AND vector_id NOT IN (SELECT id FROM vectors)",
}


def identity(index: SqliteIndex, case: Case) -> Iterator[Finding]:
    """See that the index was made as this version would make it."""
    if index.unfit == FOREIGN:
        told = "the index came from elsewhere: nothing of it is answered, and the next search builds it anew"
        yield Finding("index.identity", "warning", told, SYNC)
    elif index.unfit == OTHER_KEY:
        told = f"the index {OTHER_KEY}: nothing of it is answered, and yours is kept in your cache"
        remedy = f"add the line of that home's {KEY_FILE} to yours, or `{SYNC}` makes it anew, once"
        yield Finding("index.identity", "warning", told, remedy)
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
        told = f"the file is damaged: {listed(found.complaints)}"
        yield Finding("index.integrity", "wrong", told, anew(case))
    elif found.check == "integrity_check":
        yield Finding("index.integrity", "ok", "SQLite finds the file and its full text whole")
    elif found.check:
        told = f"SQLite finds the file whole at a glance; a closer look takes more than {limit}"
        yield Finding("index.integrity", "ok", told)
    else:
        yield Finding("index.integrity", "skipped", f"the file is too large to be checked within {limit}")


def anew(case: Case) -> str:
    """Return how an index is made anew; nothing is lost by that."""
    from commonplace import paths

    place = paths.shown(case.workspace.index) if case.workspace else "the index"
    return f"delete {place}*, then `{SYNC}`: it is made anew from the notes"


def rows(index: SqliteIndex, case: Case) -> Iterator[Finding]:
    """See that the tables agree."""
    counts = {told: index.connection.execute(sql).get for told, sql in _ROWS.items()}
    if wrong := [f"{count:,} {told}" for told, count in counts.items() if count]:
        yield Finding("index.rows", "wrong", "; ".join(wrong), anew(case))
    else:
        held = index.counts()
        told = f"{count(held['notes'], 'note')}, {count(held['passages'], 'passage')}, and all of it agrees"
        yield Finding("index.rows", "ok", told)


def vectors(index: SqliteIndex, case: Case) -> Iterator[Finding]:
    """See that every passage has a vector, that all are of one length, and none is left over."""
    if case.settings.embedding.provider == "none":
        yield Finding("index.vectors", "skipped", "no vectors are wanted (embedding.provider = none)")
        return
    lengths = [row[0] for row in index.connection.execute("SELECT DISTINCT length(vector) FROM vectors")]
    if len(lengths) > 1 and index.meta("staging") is None:
        told = f"vectors of several lengths: {', '.join(map(str, sorted(lengths)))} bytes"
        yield Finding("index.vectors", "wrong", told, anew(case))
    held = index.counts()
    if held["pending"]:
        told = f"{held['pending']:,} of {held['passages']:,} passages have no vector"
        yield Finding("index.vectors", "warning", told, SYNC)
    elif len(lengths) < 2:
        told = f"{count(held['vectors'], 'vector')}; every passage that the model serves has one"
        yield Finding("index.vectors", "ok", told)
    if index.meta("staging") is None and (left := _left_over(index)):
        told = f"{count(left, 'vector')} without a passage"
        yield Finding("index.orphans", "warning", told, f"{SYNC} takes them away when notes change")


def _left_over(index: SqliteIndex) -> int:
    used = f"SELECT vector_id FROM passages WHERE vector_id > {UNSERVED}"
    return int(index.connection.execute(f"SELECT count(*) FROM vectors WHERE id NOT IN ({used})").get)


def model(index: SqliteIndex, case: Case) -> Iterator[Finding]:
    """See that the vectors are those of the model that the settings name."""
    noted, active = index.meta("model"), active_model(case)
    if active is None or noted is None or not index.counts()["vectors"]:
        return
    if noted == active.fingerprint:
        yield Finding("index.model", "ok", f"its vectors are those of {active.name}")
    else:
        told = f"its vectors are another model's than {active.name}'s, and answer until the next sync"
        yield Finding("index.model", "warning", told, SYNC)


def active_model(case: Case) -> Embedder | None:
    """Return the first model of the settings that can be used, which is the one that a search asks."""
    from commonplace.embedding import configured

    if case.settings.embedding.provider == "none":
        return None
    with suppress(CommonplaceError):  # the providers' own check tells
        return next((m for m in configured.models(case.settings.embedding) if not isinstance(m, str)), None)
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
        yield Finding("index.fresh", "warning", told, SYNC)
    else:
        yield Finding("index.fresh", "ok", "as new as the notes")


def size(index: SqliteIndex, case: Case) -> Iterator[Finding]:
    """Compare the size of the index with that of the text."""
    connection = index.connection
    pages, free, page = (
        int(connection.pragma(name)) for name in ("page_count", "freelist_count", "page_size")
    )
    whole, text = pages * page, int(connection.execute("SELECT coalesce(sum(size), 0) FROM notes").get)
    told = f"{as_size(whole)} for {as_size(text)} of notes"
    if whole > GROWN_BYTES and (free > FREE_SHARE * pages or whole > GROWN * max(text, 1)):
        yield Finding("index.size", "warning", f"{told}, {free / pages:.0%} of it empty", anew(case))
    else:
        yield Finding("index.size", "ok", told)


def scripts(index: SqliteIndex, case: Case) -> Iterator[Finding]:
    """See that the model serves the scripts that most of the text is in."""
    active = active_model(case)
    if active is None:
        return
    found = index_scripts.shares(index)
    advice = index_scripts.advise(found, active.scripts)
    if advice:
        yield Finding("index.scripts", "warning", f"{advice.told}: {active.name}", advice.command)
    elif found.passages:
        named = {"Latin": found.latin, "CJK": found.cjk, "others": found.other}
        told = ", ".join(f"{share:.0%} {name}" for name, share in named.items() if share >= 0.005)
        yield Finding("index.scripts", "ok", f"{active.name} serves most of the text ({told})")
