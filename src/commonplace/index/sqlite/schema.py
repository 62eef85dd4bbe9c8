"""The index's tables, and the mechanics of one SQLite file: opening, pragmas, transactions, errors.

Invariants: passages and sections of a note have consecutive ids, named by the note's ranges; the text of a
passage is stored once (the full-text tables are contentless); a vector is stored once per embedded text and
shared by all passages with that text, the signs of its words in a table of their own: a scan reads vectors
alone. `annotations` and `shown` are JSON or NULL, see `markdown.comments` and `markdown.shown`; `speakers`,
`wide` and `script` are the traits that ranking reads; `day` is the day since which a passage holds. A struck
passage has the day until which it held in `until`, empty where it is not known, and a full text of its own:
questions without the past count it as gone. `quarters` of a note are its estimated tokens times four.
`touched` is the log of passages whose vectors changed, for readers that hold them in memory; 0 stands for
all passages.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

import apsw

from commonplace.base import database as base
from commonplace.base.errors import IndexUnavailable
from commonplace.base.expressions import lazy
from commonplace.base.messages import message
from commonplace.base.paths import root_of
from commonplace.base.root import Unsafe
from commonplace.index import rules
from commonplace.language import lexicon

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any

VERSION = "schema-9"
# Why an index cannot be used as it is, as IndexUnavailable says it.
DAMAGED = message("index.is_damaged", "damaged")
UNWRITABLE = message("index.unwritable", "cannot be written here")
FOREIGN = message("index.from_elsewhere", "came from elsewhere")
BROKEN = "damaged: its tables are not as they were made"  # SQLite reads the file; the vectors are of use
BUSY_TIMEOUT_MS = 5000
_PRAGMAS = ("temp_store=memory", "cache_size=-32768")
# The index is derived: after a power cut an older state of it will do, a torn one would not.
_WRITING_PRAGMAS = ("journal_mode=wal", "synchronous=normal", "wal_autocheckpoint=4000")
# Every question looks for triggers; in most memories the index over them is empty.
WITH_TRIGGER = """instr(annotations, '"trigger":') > 0"""
# Filters ask who wrote what; in a memory without captured entries this index is empty as well.
WITH_WRITER = """instr(annotations, '"by":') > 0"""
# Nearly all passages stand; every question asks whether there are others, so the index over those is small.
STRUCK = "until IS NOT NULL"
WITH_DAY = "day IS NOT NULL"

TABLES = f"""
CREATE TABLE meta(key TEXT PRIMARY KEY, value NOT NULL);
CREATE TABLE notes(
    id INTEGER PRIMARY KEY, collection TEXT NOT NULL, path TEXT NOT NULL, title TEXT NOT NULL, date TEXT,
    kind TEXT NOT NULL, hash TEXT NOT NULL, mtime_ns INTEGER NOT NULL,
    size INTEGER NOT NULL, lines INTEGER NOT NULL, metadata TEXT, quarters INTEGER NOT NULL,
    first_section INTEGER NOT NULL, last_section INTEGER NOT NULL,
    first_passage INTEGER NOT NULL, last_passage INTEGER NOT NULL,
    UNIQUE(collection, path));
CREATE INDEX notes_by_hash ON notes(hash);
CREATE TABLE sections(
    id INTEGER PRIMARY KEY, note_id INTEGER NOT NULL, headings TEXT NOT NULL,
    start_line INTEGER NOT NULL, end_line INTEGER NOT NULL, turns REAL NOT NULL);
CREATE TABLE passages(
    id INTEGER PRIMARY KEY, note_id INTEGER NOT NULL, section_id INTEGER NOT NULL,
    start_line INTEGER NOT NULL, end_line INTEGER NOT NULL, text TEXT NOT NULL, annotations TEXT,
    vector_id INTEGER, day TEXT, until TEXT,
    speakers TEXT NOT NULL, wide REAL NOT NULL, script TEXT NOT NULL, shown TEXT);
CREATE INDEX passages_by_vector ON passages(vector_id);
CREATE INDEX passages_with_trigger ON passages(annotations) WHERE {WITH_TRIGGER};
CREATE INDEX passages_with_writer ON passages(annotations) WHERE {WITH_WRITER};
CREATE INDEX passages_struck ON passages(until) WHERE {STRUCK};
CREATE INDEX passages_with_day ON passages(day) WHERE {WITH_DAY};
CREATE TABLE IF NOT EXISTS vectors(id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, vector BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS words(key BLOB PRIMARY KEY, signs BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS touched(seq INTEGER PRIMARY KEY AUTOINCREMENT, passage INTEGER NOT NULL);
CREATE VIRTUAL TABLE passages_fts USING fts5(
    body, header, content='', contentless_delete=1, tokenize="{lexicon.TOKENIZER}");
INSERT INTO passages_fts(passages_fts, rank) VALUES('hashsize', {16 << 20});
CREATE VIRTUAL TABLE struck_fts USING fts5(
    body, header, content='', contentless_delete=1, tokenize="{lexicon.TOKENIZER}");
"""
ANEW = ("meta", "notes", "sections", "passages", "passages_fts", "struck_fts")  # dropped in a rebuild
# Errors of SQLite about missing or foreign tables and columns, or views instead of tables.
_UNLIKE = lazy(
    "no such (table|column)|has no column named|has [0-9]+ columns? but|vtable constructor failed"
    "|access to view|it is a view|use DROP VIEW"
)


def connect(path: str, *, readonly: bool = False) -> apsw.Connection:
    """Open an index file, or `:memory:`, and set its pragmas.

    Raises IndexUnavailable if it cannot be opened or is not a database; `reason` is FOREIGN where a link or
    another special file replaces it or its log.
    """
    # Nobody can write to a file that is read-only, so no lock is needed; -shm could not be made either.
    query = "immutable=1" if readonly else ""
    with translated(path):
        if path == ":memory:":
            connection = base.memory()
        else:
            connection = base.connect(root_of(path), path, make=not readonly, readonly=readonly, query=query)
        try:
            connection.set_busy_timeout(BUSY_TIMEOUT_MS)
            # One statement a call: apsw stops at the first one that returns a row.
            for pragma in _PRAGMAS if readonly else (*_PRAGMAS, *_WRITING_PRAGMAS):
                connection.execute(f"PRAGMA {pragma}").fetchall()
        except BaseException:
            connection.close()
            raise
    return connection


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Turn SQLite's errors into ours; the damaged kind says so in `reason`."""
    try:
        yield
    except apsw.Error as error:
        raise IndexUnavailable(path, _reason(path, error)) from error
    except Unsafe as error:
        raise IndexUnavailable(path, FOREIGN) from error
    except OSError as error:
        raise IndexUnavailable(path, base.shortage(error) or UNWRITABLE) from error
    except UnicodeEncodeError as error:  # a folder's name may be any bytes, SQLite's file names are UTF-8
        raise IndexUnavailable(path, UNWRITABLE) from error
    except (UnicodeDecodeError, json.JSONDecodeError) as error:  # we wrote neither
        raise IndexUnavailable(path, DAMAGED) from error


def _reason(path: str, error: apsw.Error) -> str:
    if isinstance(error, apsw.NotADBError | apsw.CorruptError):
        return DAMAGED
    if isinstance(error, apsw.ConstraintError | apsw.MismatchError):
        return BROKEN
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return "locked by another process"
    if refused := base.refusal(error):
        return refused
    if isinstance(error, apsw.ReadOnlyError | apsw.CantOpenError | apsw.PermissionsError):
        return UNWRITABLE
    return str(error) or type(error).__name__


def is_damage(reason: str) -> bool:
    """Tell if an index that fails for this reason must be begun anew."""
    return reason in (DAMAGED, BROKEN, FOREIGN) or _UNLIKE.search(reason) is not None


def exists(connection: apsw.Connection) -> bool:
    """Tell if the tables have been created."""
    tables = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('meta', 'passages')"
    return bool(connection.execute(tables).get == 2)


def is_whole(connection: apsw.Connection) -> bool:
    """Return whether all tables are those of this version, column by column."""
    own, names = TABLES.replace("IF NOT EXISTS ", ""), (*ANEW, "vectors", "words", "touched")
    marks = ", ".join("?" * len(names))
    found = connection.execute(f"SELECT sql FROM sqlite_schema WHERE name IN ({marks})", names)
    return sum(sql in own for (sql,) in found) == len(names)


def is_empty(connection: apsw.Connection) -> bool:
    """Tell if a file is empty, so that tables may be created in it."""
    return not connection.execute("SELECT count(*) FROM sqlite_schema").get


def create(connection: apsw.Connection, identity: Mapping[str, str]) -> None:
    """Create the tables, in the place of those that stood there but for the vectors; needs a transaction."""
    marks = ", ".join("?" * len(rules.KEPT_META))
    kept: list[tuple[Any, ...]] = []
    if exists(connection):
        kept = connection.execute(
            f"SELECT key, value FROM meta WHERE key IN ({marks})", rules.KEPT_META
        ).fetchall()
    for name in ANEW:
        connection.execute(f"DROP TABLE IF EXISTS {name}")
    connection.execute(TABLES)
    connection.execute("INSERT INTO touched(passage) VALUES(0)")
    connection.executemany("INSERT INTO meta VALUES(?, ?)", [*identity.items(), *kept])


def read_meta(connection: apsw.Connection) -> dict[str, str]:
    """Return the texts of the meta table without the scan, which is bytes; empty for a foreign table."""
    with suppress(apsw.SQLError):
        return dict(connection.execute("SELECT key, value FROM meta WHERE typeof(value) = 'text'"))
    return {}


@contextmanager
def transaction(connection: apsw.Connection) -> Iterator[None]:
    """A write transaction: committed at the end, rolled back on any error, joined when one is open."""
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        rollback(connection)
        raise


def rollback(connection: apsw.Connection) -> None:
    """Undo the open transaction, if SQLite has not done so by itself."""
    with suppress(apsw.Error):
        connection.execute("ROLLBACK")


def remove_files(path: str) -> None:
    """Delete an index and its side files; of a link the link alone. Raises OSError."""
    root = root_of(path)
    for suffix in ("", *base.SIDE_FILES):
        root.unlink(path + suffix, missing_ok=True)
