"""The backends that there are pass the contract of an index."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.chunking.settings import DEFAULT
from commonplace.index import rules
from commonplace.index.base import Index, VectorStore
from commonplace.index.sqlite.index import SqliteIndex
from tests.index.contract import Contract
from tests.index.in_memory import MemoryIndex


class TestSqlite(Contract):
    def make(self) -> Index:
        return SqliteIndex(":memory:", rules.identity(DEFAULT))


class TestSqliteFile(Contract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        self.folder = tmp_path_factory.mktemp("index")

    def make(self) -> Index:
        return SqliteIndex(str(Path(self.folder) / "index.sqlite"), rules.identity(DEFAULT))


class TestPlainPython(Contract):
    def make(self) -> Index:
        return MemoryIndex(rules.identity(DEFAULT))


def test_a_backend_has_few_methods() -> None:
    for protocol, most in ((Index, 12), (VectorStore, 12)):
        methods = [n for n, v in vars(protocol).items() if not n.startswith("_") and callable(v)]
        assert len(methods) <= most
