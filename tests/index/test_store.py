"""The index kept usable and fresh: what a search re-reads, and what it does when that cannot be."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from commonplace import Memory
from commonplace.base import errors
from commonplace.base.errors import IndexUnavailable, ProviderError
from commonplace.base.locks import LockTimeout, locked
from commonplace.base.paths import Workspace
from commonplace.chunking.settings import DEFAULT, ChunkSettings
from commonplace.index import store
from commonplace.index.sqlite import schema
from commonplace.index.sqlite.opening import unusable
from commonplace.index.store import Store
from commonplace.memory import Lab
from commonplace.notes.scan import CollectionFiles, look
from commonplace.providers.fake import FakeEmbedder
from commonplace.search import pipeline

FAKE = {"embedding.provider": "fake"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "memory").mkdir()
    write(tmp_path, "a.md", "the walnut desk")
    return tmp_path


@pytest.fixture
def kept(root: Path) -> Iterator[Store]:
    made = open_store(root)
    made.sync(lambda vectors: None)
    yield made
    made.close()


def write(root: Path, name: str, text: str) -> None:
    file = root / "memory" / name
    file.write_text(f"# {name}\n\n{text}\n", "utf-8")
    os.utime(file, ns=(1, file.stat().st_mtime_ns - 10_000_000_000))  # long before it is read


def open_store(root: Path, chunks: ChunkSettings = DEFAULT) -> Store:
    path = Workspace(root).index
    sources = [CollectionFiles("memory", str(root), ("memory/**/*.md",))]
    return Store(str(path), str(path) + ".sync.lock", sources, chunks)


def finds(kept: Store, word: str) -> bool:
    return bool(kept.index.match(f'"{word}"', 5))


def hold(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Let what a comparison finds hold for an hour; what is returned grows with each comparison."""
    monkeypatch.setattr(store, "SLOW_SCAN_S", -1.0)
    monkeypatch.setattr(store, "SCAN_HOLDS", 1e12)
    monkeypatch.setattr(store, "SCAN_HOLDS_S", 3600.0)
    looked: list[object] = []
    monkeypatch.setattr(store, "look", lambda sources: looked.append(sources) or look(sources))
    return looked


def test_a_cheap_change_is_read_at_once(kept: Store, root: Path) -> None:
    write(root, "b.md", "a brass lamp")
    (root / "memory" / "a.md").unlink()
    assert kept.freshen() == 0
    assert finds(kept, "lamp")
    assert not finds(kept, "walnut")


@pytest.mark.parametrize("limit", ["CHEAP_FILES", "CHEAP_BYTES"])
def test_a_dear_change_is_counted(
    kept: Store, root: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(store, limit, 1)
    write(root, "b.md", "a brass lamp")
    write(root, "c.md", "a brass lamp again")
    assert (kept.freshen(), kept.stale()) == (2, 2)
    assert not finds(kept, "lamp")
    assert finds(kept, "walnut")
    kept.sync(lambda vectors: None)
    assert kept.freshen() == 0


def test_a_file_written_while_it_was_read_is_not_stale_for_ever(kept: Store, root: Path) -> None:
    (root / "memory" / "b.md").write_text("# B\n\na brass lamp\n", "utf-8")
    kept.freshen()
    assert kept.stale() == 0
    assert finds(kept, "lamp")


def test_an_index_of_other_settings_answers_until_it_is_rebuilt(
    kept: Store, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "CHEAP_FILES", 0)
    other = open_store(root, ChunkSettings(target=80))
    assert other.freshen() == 1
    assert finds(other, "walnut")
    assert other.sync(lambda vectors: None).rebuilt == "chunking changed"
    assert other.freshen() == 0
    other.close()


def test_a_rebuild_by_another_process_is_noticed(
    kept: Store, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "CHEAP_FILES", 0)
    other, syncing = open_store(root, ChunkSettings(target=80)), open_store(root, ChunkSettings(target=80))
    assert other.freshen() == 1
    assert syncing.sync(lambda vectors: None).rebuilt == "chunking changed"
    syncing.close()
    assert other.freshen() == 0
    assert finds(other, "walnut")
    other.close()


def test_a_deleted_index_is_made_again_whatever_held(
    kept: Store, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold(monkeypatch)
    kept.freshen()
    for file in Workspace(root).index.parent.glob("index.sqlite*"):
        file.unlink()
    assert kept.freshen() == 0
    assert finds(kept, "walnut")


def test_what_is_written_is_read_while_a_comparison_holds(
    kept: Store, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = hold(monkeypatch)
    kept.freshen()
    write(root, "a.md", "a quince tree")
    kept.freshen()
    assert not finds(kept, "quince")
    kept.written()
    assert kept.freshen() == 0
    assert (finds(kept, "quince"), len(looked)) == (True, 2)
    write(root, "new.md", "a medlar")
    kept.written()
    kept.freshen()
    assert finds(kept, "medlar")
    kept.freshen()
    assert len(looked) == 3


def test_what_is_written_during_a_comparison_is_read_at_the_next(
    kept: Store, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold(monkeypatch)
    kept.freshen()
    kept.written()

    def looking(sources: Any) -> Any:
        found = look(sources)
        write(root, "a.md", "a quince tree")
        kept.written()  # by another thread
        return found

    monkeypatch.setattr(store, "look", looking)
    kept.freshen()
    assert not finds(kept, "quince")
    monkeypatch.setattr(store, "look", look)
    kept.freshen()
    assert finds(kept, "quince")


def test_while_another_process_syncs_what_is_indexed_answers(
    kept: Store, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "SYNC_WAIT_S", 0.05)
    write(root, "b.md", "a brass lamp")
    with locked(f"{Workspace(root).index}.sync.lock"):
        assert kept.freshen() == 1
        assert finds(kept, "walnut")
        with pytest.raises(LockTimeout):
            kept.sync(lambda vectors: None)
    assert kept.freshen() == 0


def test_a_lock_that_cannot_be_opened_stops_no_search(kept: Store, root: Path) -> None:
    for file in Workspace(root).index.parent.glob("*.lock"):
        file.unlink()
    os.mkdir(f"{Workspace(root).index}.sync.lock")
    write(root, "b.md", "a brass lamp")
    assert kept.freshen() == 1
    assert finds(kept, "walnut")


class Failing(FakeEmbedder):
    def embed(self, texts, kind):
        raise ProviderError("fake", "no memory left")


def test_a_model_that_fails_in_passing_stops_no_search(kept: Store, root: Path) -> None:
    kept.catch_up(Failing())
    assert kept.index.vectors.pending() == 1
    kept.catch_up(FakeEmbedder())
    assert kept.index.vectors.pending() == 0


def test_a_search_embeds_no_more_than_a_few(kept: Store, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "CHEAP_PASSAGES", 2)
    for number in range(3):
        write(root, f"n{number}.md", "a brass lamp")
    kept.freshen()
    assert not kept.few_pending
    monkeypatch.setattr(store, "CHEAP_PASSAGES", 4)
    assert kept.few_pending
    assert kept.catch_up(FakeEmbedder())
    assert not kept.few_pending  # there are none left


def test_a_first_question_of_a_small_memory_is_answered_by_meaning_too(root: Path) -> None:
    with Memory.open(root, overrides=FAKE) as memory:
        found = memory.search("walnut desk")
        assert (found.level, found.warnings) == (0, ())
        assert memory.status().level == 0


def test_a_rebuild_in_passing_keeps_the_vectors(root: Path) -> None:
    for number in range(40):  # more than a search embeds
        write(root, f"n{number}.md", f"brass lamp number {number}")
    with Memory.open(root, overrides=FAKE) as memory:
        memory.sync()
        vectors = memory.status().vectors
    cut_otherwise = ChunkSettings(target=80)
    with Memory.open(root, overrides=FAKE, lab=Lab(chunks=cut_otherwise)) as memory:
        found = memory.search("walnut desk")
        assert (found.level, found.stale, found.warnings) == (0, 0, ())
        assert "meaning" in {factor.name for factor in found.hits[0].factors}
        assert memory.status().vectors == vectors
        report = memory.sync()
        assert (report.rebuilt, report.embedded, report.reused) == (None, 0, 0)


def test_a_rebuild_forgets_the_vectors_of_text_that_is_gone(root: Path) -> None:
    write(root, "b.md", "alpha beta\n\n" + "gamma delta " * 30)
    with Memory.open(root, overrides=FAKE) as memory:
        memory.sync()
    with Memory.open(root, overrides=FAKE, lab=Lab(chunks=ChunkSettings(target=40))) as memory:
        report = memory.sync()
        status = memory.status()
        assert report.rebuilt
        assert report.reused >= 1
        assert report.embedded + report.reused == status.passages == status.vectors


def test_an_index_that_can_be_had_again_is_used_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "BUSY_TIMEOUT_MS", 50)
    with Memory.open(root, overrides=FAKE) as memory:
        memory.sync()
    with Memory.open(root, overrides=FAKE) as memory:
        with holding(root, "PRAGMA locking_mode=exclusive; BEGIN EXCLUSIVE"):
            assert memory.search("walnut").level == 3
            memory.store.settle(0)
            assert memory.search("walnut").level == 3  # still locked: the files go on answering
        memory.store.settle(0)
        found = memory.search("walnut")
        assert (found.level, found.warnings) == (0, ())


def test_a_sync_looks_at_once_whether_the_index_can_be_had_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "BUSY_TIMEOUT_MS", 50)
    with Memory.open(root, overrides=FAKE) as memory:
        memory.sync()
    with Memory.open(root, overrides=FAKE) as memory:
        with holding(root, "PRAGMA locking_mode=exclusive; BEGIN EXCLUSIVE"):
            assert memory.search("walnut").level == 3
            with pytest.raises(IndexUnavailable, match="locked"):
                memory.sync()
        assert memory.sync().unchanged == 1
        assert memory.search("walnut").level == 0


def test_a_second_writer_waits_and_then_says_so(
    kept: Store, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.close()
    monkeypatch.setattr(schema, "BUSY_TIMEOUT_MS", 50)
    with holding(root, "BEGIN IMMEDIATE"):
        write(root, "b.md", "a brass lamp")
        assert kept.freshen() == 1
        assert finds(kept, "walnut")
        with pytest.raises(IndexUnavailable, match="locked by another process"):
            kept.sync(lambda vectors: None)
        other = open_store(root, ChunkSettings(target=80))  # which wants a rebuild
        assert other.freshen() == 2
        assert finds(other, "walnut")
        with pytest.raises(IndexUnavailable, match="locked by another process"):
            other.sync(lambda vectors: None)
        other.close()
    assert kept.freshen() == 0


@contextmanager
def holding(root: Path, statement: str) -> Iterator[None]:
    """Another process with a transaction open on the index."""
    program = (
        "import apsw, sys\nc = apsw.Connection(sys.argv[1])\nc.execute(sys.argv[2]).fetchall()\n"
        "print('held', flush=True)\nsys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(Workspace(root).index), statement]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        yield
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("reason", ["damaged", "locked by another process", "disk I/O error"])
@pytest.mark.parametrize("sync_on_search", [True, False])
def test_an_index_that_fails_in_use_costs_no_answer(
    root: Path, monkeypatch: pytest.MonkeyPatch, reason: str, sync_on_search: bool
) -> None:
    search, failed = pipeline.search, []

    def fail_once(index, *rest):
        if not failed:
            failed.append(True)
            raise IndexUnavailable(index.path, reason)
        return search(index, *rest)

    with Memory.open(root, overrides={**FAKE, "index.sync_on_search": sync_on_search}) as memory:
        memory.sync()
        monkeypatch.setattr(pipeline, "search", fail_once)
        result = memory.search("walnut desk")
        assert result.hits[0].path == "memory/a.md"
        assert result.warnings
        assert result.level == (0 if reason == "damaged" else 3)  # three passages are embedded anew


def test_level_3_reads_the_files_whatever_the_settings(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where a folder should be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    settings = {**FAKE, "index.sync_on_search": False}
    with Memory.open(root, overrides=settings, lab=Lab(blocked / "index.sqlite")) as memory:
        result = memory.search("walnut desk")
    assert (result.level, len(result.hits)) == (3, 1)


def test_nothing_of_an_index_lies_among_the_notes(root: Path, private_home: Path) -> None:
    with Memory.open(root, overrides=FAKE) as memory:
        report = memory.sync()
        assert (report.added, report.embedded) == (1, 1)
        assert memory.search("walnut desk").level == 0
        assert memory.status().index.startswith(str(private_home / "cache"))
    with Memory.open(root, overrides=FAKE) as memory:
        assert memory.sync().unchanged == 1
    assert [path.name for path in root.iterdir()] == ["memory"]


def test_a_full_disk_while_embedding_keeps_the_answer(root: Path) -> None:
    with Memory.open(root, overrides=FAKE) as memory:
        memory.sync()
        connection = memory.store.index.connection
        connection.execute(f"PRAGMA max_page_count={connection.execute('PRAGMA page_count').get}").fetchall()
        for number in range(20):
            write(root, f"{number}.md", f"walnut number{number} " * 400)
        with pytest.raises(errors.IndexUnavailable, match="disk is full"):
            memory.store.sync(lambda _: memory._current.choose())
        result = memory.search("walnut desk")
        assert (result.level, result.stale, result.hits[0].path) == (0, 20, "memory/a.md")


def test_a_sync_that_has_no_index_says_why_alone(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was searched, which a search would have to say."""
    full = lambda path, identity, like=None: unusable(identity, "the disk is full")  # noqa: E731
    monkeypatch.setattr("commonplace.index.store.open_index", full)
    with Memory.open(root, overrides=FAKE) as memory:
        with pytest.raises(errors.IndexUnavailable) as caught:
            memory.sync()
        assert caught.value.reason == "the disk is full"
        assert "the files themselves were searched" in memory.search("walnut desk").warnings[0]
