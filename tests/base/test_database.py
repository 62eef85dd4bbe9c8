"""Opening SQLite: side files, links, and locks that another connection of the process holds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from commonplace.base.database import FULL, connect, refusal
from commonplace.base.root import Root, Unsafe

WRITE = """
import apsw, sys
connection = apsw.Connection(sys.argv[1])
try:
    connection.execute("BEGIN IMMEDIATE")
except apsw.BusyError:
    print("busy")
else:
    print("free")
"""


def test_opening_a_file_again_keeps_the_locks_of_this_process(tmp_path: Path) -> None:
    first = connect(Root(tmp_path), "a.sqlite", make=True)
    first.execute("CREATE TABLE t(x); BEGIN IMMEDIATE; INSERT INTO t VALUES(1)")
    connect(Root(tmp_path), "a.sqlite", make=True).close()
    other = subprocess.run(
        [sys.executable, "-c", WRITE, str(tmp_path / "a.sqlite")], capture_output=True, text=True, check=True
    )
    assert other.stdout.strip() == "busy"
    first.close()


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-journal"])
def test_a_link_in_the_place_of_a_file_is_refused(tmp_path: Path, suffix: str) -> None:
    connect(Root(tmp_path), "a.sqlite", make=True).close()
    (tmp_path / f"a.sqlite{suffix}").unlink(missing_ok=True)
    (tmp_path / f"a.sqlite{suffix}").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Unsafe):
        connect(Root(tmp_path), "a.sqlite", make=True)
    assert not (tmp_path / "elsewhere").exists()


def test_triggers_and_views_of_a_file_are_not_run(tmp_path: Path) -> None:
    made = apsw.Connection(str(tmp_path / "a.sqlite"))
    made.execute("CREATE TABLE t(x); CREATE VIEW v AS SELECT 1")
    made.execute("CREATE TRIGGER planted AFTER INSERT ON t BEGIN INSERT INTO t VALUES('planted'); END")
    made.close()
    opened = connect(Root(tmp_path), "a.sqlite")
    opened.execute("INSERT INTO t VALUES('own')")
    assert list(opened.execute("SELECT x FROM t")) == [("own",)]
    with pytest.raises(apsw.Error):
        opened.execute("SELECT * FROM v")
    opened.close()


LIMITED = """
import resource, sys
from pathlib import Path
from commonplace.base.database import Database
from commonplace.base.errors import CommonplaceError
from commonplace.index.sqlite.index import SqliteIndex
folder = Path(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

def fill_index():
    index = SqliteIndex(str(folder / "index.sqlite"), {})
    for number in range(9):
        index.meta[str(number)] = "x" * 50_000

def fill_database():
    database = Database(folder / "d.sqlite", "CREATE TABLE IF NOT EXISTS t(x)")
    for number in range(9):
        with database.transaction() as connection:
            connection.execute("INSERT INTO t VALUES(?)", ("x" * 50_000,))

for fill in (fill_index, fill_database):
    try:
        fill()
    except CommonplaceError as error:
        print(error)
"""


def test_a_write_that_the_system_refuses_comes_with_a_remedy(tmp_path: Path) -> None:
    """A limit on the size of files, which SQLite calls a disk I/O error, as it calls a quota."""
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, tmp_path], capture_output=True, text=True, check=False
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 2, done.stderr
    assert all("disk I/O error; look at the disk and its permissions" in line for line in lines)


def test_a_full_disk_is_called_so() -> None:
    error = apsw.IOError("disk I/O error")
    error.extendedresult = apsw.SQLITE_IOERR_WRITE
    assert refusal(error) == "disk I/O error; look at the disk and its permissions"
    error.extendedresult = apsw.SQLITE_IOERR_SHMSIZE
    assert refusal(error) == refusal(apsw.FullError("full")) == FULL
    assert refusal(apsw.BusyError("busy")) == ""
