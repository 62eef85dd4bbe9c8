"""The bare cost of what a memory does: the same files, the same text, nothing of ours in between."""

from __future__ import annotations

import hashlib
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec

from commonplace import installation
from commonplace.base.root import Root
from commonplace.index.lexicon import TOKENIZER

if TYPE_CHECKING:
    import apsw

# As the index has it: the text once, a full-text table that does not repeat it, the same tokenizer.
TABLES = f"""
PRAGMA journal_mode=wal; PRAGMA synchronous=normal; PRAGMA temp_store=memory;
CREATE TABLE texts(id INTEGER PRIMARY KEY, body TEXT NOT NULL);
CREATE VIRTUAL TABLE words USING fts5(body, content='', contentless_delete=1, tokenize="{TOKENIZER}");
"""
HITS = 10
_P = ParamSpec("_P")


def timed(work: Callable[_P, object], *args: _P.args, **kwargs: _P.kwargs) -> float:
    """Seconds that `work` takes."""
    started = time.perf_counter()
    work(*args, **kwargs)
    return time.perf_counter() - started


def walk(root: Path) -> Iterator[str]:
    """Yield the Markdown files below a folder, each with one `stat`, as any check for changes must."""
    pending = [os.fspath(root)]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if not entry.name.startswith("."):
                        pending.append(entry.path)
                elif entry.name.endswith(".md") and entry.stat(follow_symlinks=False).st_size >= 0:
                    yield entry.path


def read_and_hash(files: Sequence[str]) -> list[str]:
    """Read, hash and decode files; return their texts."""
    texts = []
    for name in files:
        with open(name, "rb") as file:
            data = file.read()
        hashlib.blake2b(data, digest_size=16).digest()
        texts.append(data.decode("utf-8", "replace"))
    return texts


def fill(database: Path, texts: Sequence[str]) -> float:
    """Store texts and index their words, one statement each; return seconds."""
    connection = connect(database)
    connection.execute(TABLES).fetchall()  # the driver stops at each statement that gives a row
    started = time.perf_counter()
    connection.execute("BEGIN")
    connection.executemany("INSERT INTO texts(body) VALUES(?)", [(text,) for text in texts])
    connection.execute("INSERT INTO words(rowid, body) SELECT id, body FROM texts")
    connection.execute("COMMIT")
    spent = time.perf_counter() - started
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return spent


def connect(database: Path) -> apsw.Connection:
    """Open a database with the same driver as the index."""
    from commonplace.base import connection

    return connection.connect(Root(database.parent), database, make=True)


def match(connection: apsw.Connection, table: str, expression: str) -> list[tuple[int, float]]:
    """Return the best rows of a full-text table for an FTS5 expression, with their BM25."""
    sql = f"SELECT rowid, rank FROM {table} WHERE {table} MATCH ? ORDER BY rank LIMIT ?"
    return [(int(row), float(rank)) for row, rank in connection.execute(sql, (expression, HITS))]


def product(count: int, dimensions: int) -> Callable[[], object]:
    """Return one product of a (count, dimensions) float32 matrix with a vector, ready to be timed."""
    import numpy as np

    random = np.random.default_rng(0)
    matrix = random.standard_normal((max(count, 1), dimensions), dtype=np.float32)
    vector = random.standard_normal(dimensions, dtype=np.float32)
    return lambda: matrix @ vector


def start_python(environment: Mapping[str, str]) -> float:
    """Seconds that an interpreter takes to do nothing."""
    return timed(subprocess.run, installation.python("-c", "pass"), env=environment, check=True)
