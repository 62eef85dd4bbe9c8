"""The index with Milvus passes the contract, over the wire to milvus-lite or to a real cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from commonplace.base.errors import IndexUnavailable
from commonplace.chunking.settings import DEFAULT
from commonplace.config.credentials import NO_KEY
from commonplace.index import rules
from commonplace.index.base import ALL, Index
from commonplace.index.milvus.index import MilvusIndex
from tests.index.contract import FILES, Contract, entry
from tests.index.servers import NAMES, milvus_url

__all__ = ["milvus_url"]
IDENTITY = rules.identity(DEFAULT)
Make = Callable[..., MilvusIndex]


@pytest.fixture
def make(milvus_url: str) -> Iterator[Make]:
    made: list[MilvusIndex] = []

    def opened(workspace: str = "", url: str = milvus_url, path: str = ":memory:") -> MilvusIndex:
        made.append(MilvusIndex(url, IDENTITY, workspace or next(NAMES), NO_KEY, path))
        return made[-1]

    yield opened
    for index in made:
        index.close()


class TestMilvus(Contract):
    @pytest.fixture(autouse=True)
    def _server(self, make: Make) -> None:
        self.opened = make

    def make(self) -> Index:
        return self.opened()


def test_workspaces_see_nothing_of_each_other(make: Make) -> None:
    one, other = make(), make()
    one.write([[entry(key) for key in FILES]])
    assert (other.select(ALL, struck=True), other.match('"lamp"', 9), other.notes()) == ([], [], [])
    other.write([[entry(key) for key in FILES]])
    other.update(gone=list(FILES))
    assert len(one.match('"lamp"', 9)) == 2


def test_a_server_that_is_away_is_said_in_one_line(make: Make) -> None:
    with pytest.raises(IndexUnavailable, match="does not answer") as caught:
        make(url="milvus://127.0.0.1:9")
    assert "\n" not in str(caught.value)


def test_rows_of_a_transaction_that_failed_are_not_found(make: Make) -> None:
    index = make()

    def fail() -> None:
        with index.transaction(anew=True):
            index.write([[entry(key) for key in FILES]])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert index.match('"lamp"', 9) == []


def test_what_another_process_made_anew_is_found(make: Make, tmp_path: Path) -> None:
    one = make(name := next(NAMES), path=str(tmp_path / "index.sqlite"))
    other = make(name, path=str(tmp_path / "index.sqlite"))
    one.write([[entry(key) for key in FILES]])
    with other.transaction(anew=True):
        other.write([[entry(("memory", "MEMORY.md"))]])
    assert [len(index.match('"desk" OR "lamp"', 9)) for index in (one, other)] == [1, 1]


def test_deleted_files_leave_the_server(make: Make) -> None:
    index, keys = make(), list(FILES)
    index.write([[entry(key) for key in keys]])
    assert index.server.query("id >= 0", ["count(*)"])[0]["count(*)"] == 6
    index.update(gone=keys[:1])
    with index.transaction():
        index.update(gone=keys[1:2])
    assert index.server.query("id >= 0", ["count(*)"])[0]["count(*)"] == 2
    with index.transaction(anew=True):
        pass
    assert index.server.query("id >= 0", ["count(*)"])[0]["count(*)"] == 0
