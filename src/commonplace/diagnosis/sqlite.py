"""What SQLite can do here: full text, JSON, the vector extension, and files that several processes share."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import apsw

from commonplace import installation, paths
from commonplace.base.connection import memory
from commonplace.diagnosis.case import Case
from commonplace.diagnosis.snapshot import written_as
from commonplace.diagnosis.versions import as_numbers
from commonplace.index import lexicon, vectors
from commonplace.types import Finding

# Whose locks and shared memory SQLite cannot trust (https://sqlite.org/wal.html, "Disadvantages").
NETWORK = frozenset(
    "nfs nfs4 cifs smb smb2 smb3 smbfs afs ceph glusterfs lustre 9p ncpfs davfs fuse.sshfs fuse.rclone"
    " fuse.s3fs fuse.glusterfs fuse.davfs2 vboxsf fuse.vmhgfs-fuse drvfs".split()
)
MOUNTS = Path("/proc/self/mounts")
# Full text without content that can be deleted from (3.43), checked by `PRAGMA integrity_check` (3.44).
LEAST = (3, 44)
WAL_FORMAT = 2  # bytes 18 and 19 of the file: https://sqlite.org/fileformat.html
_FTS = (
    "CREATE VIRTUAL TABLE t USING fts5(x, content='', contentless_delete=1,"
    f' tokenize="{lexicon.TOKENIZER}")'
)


class Mount(NamedTuple):
    """A mounted file system: where, and of which type."""

    folder: str
    kind: str


def features(case: Case) -> Iterator[Finding]:
    """See that SQLite has full text as the index uses it, and JSON."""
    told = f"SQLite {apsw.sqlite_lib_version()} in apsw {apsw.apsw_version()}"
    if as_numbers(apsw.sqlite_lib_version()) < LEAST:
        older = f"{told} is older than {'.'.join(map(str, LEAST))}"
        yield Finding("sqlite.version", "wrong", older, installation.add(["apsw"], again=True))
    else:
        yield Finding("sqlite.version", "ok", told)
    trials = {
        "FTS5": (f"{_FTS}; INSERT INTO t(rowid, x) VALUES(1, 'walnut desks'); SELECT 1 FROM t('desk')", 1),
        "JSON": ("SELECT sum(value) FROM json_each('[1, 2]')", 3),
    }
    for name, (sql, expected) in trials.items():
        yield _trial(name, sql, expected)


def _trial(name: str, sql: str, expected: object) -> Finding:
    connection = memory()
    try:
        found = connection.execute(sql).get
    except apsw.Error as error:
        found = error
    finally:
        connection.close()
    if found == expected:
        return Finding(f"sqlite.{name.lower()}", "ok", f"{name} works")
    told = f"{name} does not work ({found})"
    return Finding(f"sqlite.{name.lower()}", "wrong", told, installation.reinstall())


def extension(case: Case) -> Iterator[Finding]:
    """See that the vector extension loads and computes; without it vectors are searched by numpy, level 1."""
    connection = memory()
    try:
        told = _distance(connection)
    finally:
        connection.close()
    if not told:
        yield Finding("sqlite.extension", "ok", "the vector extension loads and computes (level 0)")
        return
    told = f"the vector extension {told}; numpy answers in its place (level 1), the first search slower"
    yield Finding("sqlite.extension", "warning", told, installation.add(["sqlite-vec"], again=True))


def _distance(connection: apsw.Connection) -> str:
    """Load the extension and compute the cosine distance of two vectors at right angles; say what fails."""
    path = vectors.extension_path()
    if path is None:
        return "is not installed"
    try:
        connection.enable_load_extension(True)
        connection.load_extension(path)
        sql = "SELECT vec_distance_cosine(vec_int8(?), vec_int8(?))"
        found = connection.execute(sql, (struct.pack("2b", 100, 0), struct.pack("2b", 0, 100))).get
    except (apsw.Error, AttributeError) as error:  # a SQLite built without extensions lacks the method
        return f"cannot be loaded ({error})"
    return "" if abs(found - 1.0) < 1e-6 else f"computes a wrong distance ({found})"


def file_system(case: Case) -> Iterator[Finding]:
    """See that the index lies where several processes may share it, and is kept in the form for that."""
    workspace = case.workspace
    if workspace is None:
        return
    kind = kind_of(workspace.derived if workspace.derived.exists() else workspace.root, mounts())
    if kind in NETWORK:
        told = f"the workspace lies on a network file system ({kind}), where SQLite's locks may not hold"
        remedy = "keep the workspace on a local disk, or let one machine alone use it"
        yield Finding("sqlite.files", "warning", told, remedy)
    else:
        told = (
            f"the file system ({kind}) is a local one" if kind else "the type of the file system is not known"
        )
        yield Finding("sqlite.files", "ok" if kind else "skipped", told)
    if (found := written_as(workspace.index)) not in (0, WAL_FORMAT):
        told = "the index is not in WAL mode: a search waits while it is written"
        yield Finding("sqlite.wal", "warning", told, "commonplace sync")
    elif found:
        yield Finding("sqlite.wal", "ok", "the index is in WAL mode: searches do not wait for writers")


def kind_of(folder: Path, mounted: Sequence[Mount]) -> str:
    """Return the type of the file system that a folder lies on, as far as it is known."""
    real = os.path.realpath(folder)
    over = [mount for mount in mounted if paths.is_within(real, mount.folder)]
    # Of two mounts on one folder the later one is seen.
    return max(enumerate(over), key=lambda pair: (len(pair[1].folder), pair[0]))[1].kind if over else ""


def mounts(table: Path = MOUNTS) -> list[Mount]:
    """Return what is mounted, where the system tells."""
    try:
        lines = table.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return []
    rows = [line.split(" ") for line in lines]
    return [Mount(_unescaped(row[1]), row[2]) for row in rows if len(row) > 2]


def _unescaped(folder: str) -> str:
    """Undo what the table of mounts does to blanks: `\\040`."""
    for code, sign in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        folder = folder.replace(code, sign)
    return folder
