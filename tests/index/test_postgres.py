"""The index in PostgreSQL: the contract, statements for one workspace alone, errors with what helps."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from commonplace.base.errors import IndexUnavailable
from commonplace.chunking.settings import DEFAULT
from commonplace.config.credentials import NO_KEY
from commonplace.index import rules
from commonplace.index.base import ALL, Index
from commonplace.index.postgres import vectors
from commonplace.index.postgres.index import PostgresIndex
from commonplace.index.postgres.server import SCHEMA, TABLES, PostgresServer
from commonplace.index.vectors import carry
from tests.index.contract import FILES, Contract, entry
from tests.index.servers import NAMES, postgres_url

__all__ = ["postgres_url"]
IDENTITY = rules.identity(DEFAULT)
Make = Callable[..., PostgresIndex]


@pytest.fixture
def make(postgres_url: str) -> Iterator[Make]:
    made: list[PostgresIndex] = []

    def opened(workspace: str = "", url: str = postgres_url) -> PostgresIndex:
        made.append(PostgresIndex(url, IDENTITY, workspace or next(NAMES), NO_KEY))
        return made[-1]

    yield opened
    for index in made:
        index.close()


class TestPostgres(Contract):
    @pytest.fixture(autouse=True)
    def _server(self, make: Make) -> None:
        self.opened = make

    def make(self) -> Index:
        return self.opened()


def filled(index: PostgresIndex) -> PostgresIndex:
    index.write([[entry(key) for key in FILES]])
    return index


def test_no_statement_reaches_rows_of_another_workspace(make: Make) -> None:
    one, other = filled(make()), filled(make())
    one.vectors.add([b"a" * 16], np.eye(1, 4, dtype=np.float32), {b"a" * 16: b"signs"})
    other.vectors.add([b"a" * 16], np.eye(1, 4, dtype=np.float32), {b"a" * 16: b"signs"})

    def counts(index: PostgresIndex) -> list[int]:
        return [index.rows(f"SELECT count(*) FROM {table}")[0][0] for table in TABLES]

    before = counts(other)
    assert counts(one) == before
    assert all(before)
    assert len(one.rows("SELECT 1 FROM passages p JOIN notes n ON n.id = p.note_id")) == before[3]
    for table in TABLES:
        one.change(f"DELETE FROM {table} WHERE 1 = ?", [(1,)])
    one.rows("INSERT INTO meta(key, value) VALUES(:key, :value)", {"key": "a", "value": b"t"})
    one.rows("UPDATE meta SET value = :value WHERE key IN (SELECT key FROM meta)", {"value": b"tb"})
    assert (counts(one)[0], one.meta["a"]) == (1, "b")
    assert counts(other) == before
    assert "a" not in other.meta


def test_a_statement_that_cannot_be_confined_is_not_sent(make: Make) -> None:
    index = make()
    for sql in (
        "DELETE FROM postings",
        "UPDATE passages SET text = ''",
        "INSERT INTO meta SELECT 1, 'a', ''",
        "DELETE FROM notes USING sections s WHERE s.note_id = notes.id",
        "SELECT count(*) FROM notes n, passages p",
    ):
        with pytest.raises(AssertionError, match="more than one workspace"):
            index.rows(sql)


def test_every_table_begins_with_the_workspace(make: Make) -> None:
    """In its primary key and in each further index, so that no plan reads the rows of others."""
    index = make()
    keys = index.connection.execute(
        "SELECT tablename, indexdef FROM pg_indexes WHERE schemaname = %s AND tablename = ANY(%s)",
        (SCHEMA, list(TABLES)),
    ).fetchall()
    assert {table for table, _ in keys} == set(TABLES)
    assert all("(workspace," in definition or "hnsw" in definition for _, definition in keys)


def test_workspaces_see_nothing_of_each_other(make: Make) -> None:
    one, other = filled(make()), make()
    assert (other.select(ALL, struck=True), other.match('"lamp"', 9), other.notes()) == ([], [], [])
    filled(other)
    other.update(gone=list(FILES))
    assert len(one.notes()) == len(FILES)
    one.drop()
    assert not one.notes()
    assert "model" not in one.meta


def test_two_writers_of_a_workspace_get_different_ids(make: Make) -> None:
    one = make(name := next(NAMES))
    other = make(name)
    keys = list(FILES)
    for index, some in ((one, keys[:2]), (other, keys[2:])):
        index.write([[entry(key) for key in some]])
    assert one.manifest() == other.manifest()
    assert len(one.manifest()) == len(keys)
    assert len({note.id for note in one.notes()}) == len(keys)


def test_vectors_move_from_one_index_to_another(make: Make) -> None:
    one, other = make(), make()
    one.meta["model"] = "m"
    one.vectors.add([b"a" * 16, b"b" * 16], np.eye(2, 4, dtype=np.float32), {b"a" * 16: b"signs"})
    carry(one, other)
    assert other.meta["model"] == "m"
    ((keys, rows, words),), ((keys_, rows_, words_),) = one.vectors.kept(), other.vectors.kept()
    assert (keys, words) == (keys_, words_)
    assert np.array_equal(rows, rows_)


def test_many_vectors_are_found_by_the_index_of_pgvector(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    index = filled(make())
    store, passages = index.vectors, index.select(ALL, struck=True)
    rows = np.random.default_rng(1).normal(size=(len(passages), 8)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    keys = [bytes([n]) * 16 for n in passages]
    store.add(keys, rows)
    store.assign(zip(passages, keys, strict=True))
    exact = store.ready(struck=True)[0](rows[0], 9)
    monkeypatch.setattr(vectors, "EXACT", 2)
    store.prune()
    assert store.ready(struck=True)[0](rows[0], 9) == exact


def test_errors_say_in_one_line_what_helps(make: Make, postgres_url: str) -> None:
    for url, told in {
        "postgresql://me@127.0.0.1:9/db": "does not answer",
        re.sub("/postgres([?]|$)", r"/nowhere\1", postgres_url): "does not answer",
    }.items():
        with pytest.raises(IndexUnavailable, match=told) as caught:
            make(url=url)
        assert "\n" not in str(caught.value)
    server = make()
    server.connection.execute("DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN")
    guest = re.sub("//[^@/]*@", "//guest@", postgres_url)
    with pytest.raises(IndexUnavailable, match="grant"):
        make(url=guest)


def test_a_server_that_went_away_is_an_index_that_cannot_be_used(make: Make) -> None:
    index = make()
    index.connection.close()
    with pytest.raises(IndexUnavailable):
        index.notes()


def test_a_password_is_in_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "hunter2secret")
    with pytest.raises(IndexUnavailable) as caught:
        PostgresServer("postgresql://me@127.0.0.1:9/db", "w", NO_KEY)
    assert "hunter2" not in f"{caught.value!r} {caught.value.__context__!r}"


def test_a_text_with_a_nul_is_kept(make: Make, tmp_path: Path) -> None:
    index = make()
    key = ("docs", "plan.md")
    index.write([[entry(key, texts=[("a\0b walnut", {})])]])
    (row,) = index.passages(index.select(ALL))
    assert row.text == "a\ufffdb walnut"
