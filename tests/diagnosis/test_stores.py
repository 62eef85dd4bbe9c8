"""Ledger and caches: none yet, whole, damaged, being written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.base import snapshot
from commonplace.base.paths import Workspace, user_cache_dir
from commonplace.diagnosis import stores
from commonplace.providers.cache import VectorCache
from commonplace.providers.costs import Ledger
from tests.diagnosis.conftest import Present, by_check, states


@pytest.fixture
def ledger(indexed: Path) -> Path:
    opened = Ledger.of(Workspace(indexed))
    opened.record("test", "openai", "gpt-4.1-mini", 10)
    opened.close()
    return Workspace(indexed).ledger


def test_none_yet(case: Present) -> None:
    assert states(stores.ledger(case())) == {"stores.ledger": "ok"}
    assert list(stores.caches(case())) == []


def test_a_ledger_that_is_whole(case: Present, ledger: Path) -> None:
    assert states(stores.ledger(case())) == {"stores.ledger": "ok"}


def test_a_ledger_that_was_only_begun(case: Present, ledger: Path) -> None:
    ledger.write_bytes(b"")
    assert by_check(stores.ledger(case()))["stores.ledger"].state == "ok"


def test_a_ledger_that_is_not(case: Present, ledger: Path) -> None:
    ledger.write_bytes(b"no database, " * 500)
    found = by_check(stores.ledger(case()))["stores.ledger"]
    assert found.state == "wrong"
    assert str(ledger) in found.remedy


def test_a_ledger_in_use(case: Present, ledger: Path, indexed: Path) -> None:
    opened = Ledger.of(Workspace(indexed))
    opened.record("test", "openai", "gpt-4.1-mini", 10)
    assert Path(f"{ledger}-wal").exists()
    assert states(stores.ledger(case())) == {"stores.ledger": "ok"}
    opened.close()


def test_a_record_of_use(case: Present, indexed: Path) -> None:
    store = Workspace(indexed).usage
    assert by_check(stores.usage(case()))["stores.usage"].told == "no record of use yet"
    with Memory.open(indexed) as memory:
        memory.search("deploy")
    found = by_check(stores.usage(case()))["stores.usage"]
    assert (found.state, found.told.partition(" (")[0]) == ("ok", "the record of use can be read")
    for log in store.parent.glob(f"{store.name}-*"):
        log.unlink()  # it holds every page
    store.write_bytes(b"no database, " * 500)
    found = by_check(stores.usage(case()))["stores.usage"]
    assert (found.state, "usage --clear" in found.remedy) == ("warning", True)


def test_a_record_of_use_that_is_off(case: Present, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_USAGE_RECORD", "false")
    assert by_check(stores.usage(case()))["stores.usage"].told.endswith("; usage.record is false")


def test_caches(case: Present) -> None:
    path = user_cache_dir() / "vectors.sqlite"
    cache = VectorCache(str(path), 100)
    cache.keep("model", {b"key": b"\x01\x02"})
    cache.close()
    assert states(stores.caches(case())) == {"stores.vectors": "ok"}
    path.write_bytes(os.urandom(5000))
    found = by_check(stores.caches(case()))["stores.vectors"]
    assert (found.state, found.remedy) == ("warning", f"delete {path}*")


def test_what_is_never_left_alone_is_not_called_damaged(
    case: Present, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.write_bytes(b"half of a page")
    counter = iter(range(1000))
    monkeypatch.setattr(snapshot, "marks", lambda path: next(counter))
    assert states(stores.ledger(case())) == {"stores.ledger": "ok"}
