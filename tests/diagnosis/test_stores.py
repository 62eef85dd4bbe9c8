"""Ledger and caches: none yet, whole, damaged, being written."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.base import snapshot
from commonplace.base.paths import Workspace, user_cache_dir
from commonplace.diagnosis import examination, stores
from commonplace.providers.cache import VectorCache
from commonplace.providers.costs import Ledger
from commonplace.storage import journal as runs
from commonplace.storage import keyvalue, transaction
from commonplace.types.changes import About, Change
from tests import applying
from tests.diagnosis.conftest import Present, by_check


@pytest.fixture
def ledger(indexed: Path) -> Path:
    opened = Ledger.of(Workspace(indexed))
    opened.record("test", "openai", "gpt-4.1-mini", 10)
    opened.close()
    return Workspace(indexed).ledger


def test_none_yet(case: Present) -> None:
    assert list(stores.databases(case())) == []


def test_a_ledger_that_is_whole(case: Present, ledger: Path) -> None:
    assert list(stores.databases(case())) == []


def test_a_ledger_that_was_only_begun(case: Present, ledger: Path) -> None:
    ledger.write_bytes(b"")
    assert list(stores.databases(case())) == []


def test_a_ledger_that_is_not(case: Present, ledger: Path) -> None:
    ledger.write_bytes(b"no database, " * 500)
    found = by_check(stores.databases(case()))["stores.ledger"]
    assert found.state == "wrong"
    assert str(ledger) in found.remedy


def test_a_ledger_in_use(case: Present, ledger: Path, indexed: Path) -> None:
    opened = Ledger.of(Workspace(indexed))
    opened.record("test", "openai", "gpt-4.1-mini", 10)
    assert Path(f"{ledger}-wal").exists()
    assert list(stores.databases(case())) == []
    opened.close()


def test_a_record_of_use(case: Present, indexed: Path) -> None:
    store = Workspace(indexed).usage
    with Memory.open(indexed) as memory:
        memory.search("deploy")
    assert list(stores.databases(case())) == []
    for log in store.parent.glob(f"{store.name}-*"):
        log.unlink()  # it holds every page
    store.write_bytes(b"no database, " * 500)
    found = by_check(stores.databases(case()))["stores.usage"]
    assert (found.state, "usage --clear" in found.remedy) == ("warning", True)


def test_caches(case: Present) -> None:
    path = user_cache_dir() / "vectors.sqlite"
    cache = VectorCache(str(path), 100)
    cache.keep("model", {b"key": b"\x01\x02"})
    cache.close()
    assert list(stores.databases(case())) == []
    path.write_bytes(os.urandom(5000))
    found = by_check(stores.databases(case()))["stores.vectors"]
    assert (found.state, found.remedy) == ("warning", f"delete {path}*")


def test_what_is_never_left_alone_is_not_called_damaged(
    case: Present, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.write_bytes(b"half of a page")
    counter = iter(range(1000))
    monkeypatch.setattr(snapshot, "marks", lambda path: next(counter))
    assert list(stores.databases(case())) == []


# --- generated changes ----------------------------------------------------------------------------------


def told(root: Path) -> dict[str, tuple[str, str, str]]:
    found = stores.history(examination.present(str(root)))
    return {one.check: (one.state, one.told, one.remedy) for one in found}


def test_changes_that_are_whole_are_fine_and_the_rest_comes_with_a_remedy(tmp_path: Path) -> None:
    assert told(tmp_path) == {}
    workspace = Workspace(tmp_path)
    made = []
    for n in range(3):
        before = transaction.read(workspace, "MEMORY.md")
        run = applying.apply(workspace, [Change("MEMORY.md", before, b"%d\n" % n)], About("write", "x"))
        assert run is not None
        made.append(run)
    state, fine, _ = told(tmp_path)["stores.history"]
    assert (state, fine.partition(";")[0]) == ("ok", "3 generated changes can be read")
    left = tuple(replace(file, left="was changed") for file in made[1].files)
    runs.put(workspace, replace(made[1], state="partial", files=left))
    runs.put(workspace, replace(made[2], state="begun"))
    found = told(tmp_path)
    assert {status for status, _, _ in found.values()} == {"warning"}
    assert made[2].id in found["stores.history"][1]
    assert "commonplace sync" in found["stores.history"][2]
    assert made[1].id in found["stores.history_partial"][1]
    transaction.recover(workspace)
    assert "stores.history" not in told(tmp_path)


def test_a_consolidation_that_failed(case: Present) -> None:
    given = case()
    assert given.workspace is not None
    assert list(stores.consolidation(given)) == []
    failed = {"at": "2026-02-12T03:00:00", "tried": "2026-02-13T03:00:00", "result": "no model"}
    keyvalue.write(given.workspace, "consolidated", "", failed)
    (found,) = stores.consolidation(given)
    assert (found.state, found.told) == ("warning", "the consolidation of 2026-02-13 03:00 failed: no model")
