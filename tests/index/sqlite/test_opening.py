"""An answer always comes: damaged, unwritable, blocked and locked index files."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.base.errors import IndexUnavailable
from commonplace.base.paths import Workspace
from commonplace.chunking.settings import DEFAULT
from commonplace.index import rules, sync
from commonplace.index.sqlite import schema
from commonplace.index.sqlite.index import SqliteIndex
from commonplace.index.sqlite.opening import open_index
from commonplace.index.vectors import Vectors
from commonplace.notes.scan import CollectionFiles, scan
from commonplace.providers.fake import FakeEmbedder

PAGE = 4096
IDENTITY = rules.identity(DEFAULT)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    """A workspace, and the bytes of its index."""
    root = tmp_path_factory.mktemp("opening")
    (root / "memory").mkdir()
    for note in range(30):
        lines = "\n\n".join(
            f"- desk{note} walnut {line} 数据库迁移 drawer {note * line}" for line in range(15)
        )
        (root / "memory" / f"{note}.md").write_text(f"# Note {note}\n\n{lines}\n", "utf-8")
    with Memory.open(root, overrides={"embedding.provider": "fake"}) as memory:
        memory.sync()
    return root, Workspace(root).index.read_bytes()


def noise(rng: random.Random, data: bytearray) -> bytearray:
    for _ in range(rng.randrange(1, 30)):
        start = rng.randrange(len(data) // PAGE) * PAGE
        data[start : start + PAGE] = rng.randbytes(PAGE)
    return data


def zeros(rng: random.Random, data: bytearray) -> bytearray:
    for _ in range(rng.randrange(1, 30)):
        start = rng.randrange(len(data) // PAGE) * PAGE
        data[start : start + PAGE] = bytes(PAGE)
    return data


def rot(rng: random.Random, data: bytearray) -> bytearray:
    for _ in range(rng.randrange(1, 400)):
        data[rng.randrange(100, len(data))] = rng.randrange(256)
    return data


def cut(rng: random.Random, data: bytearray) -> bytearray:
    return data[: rng.randrange(len(data))]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("damage", [noise, zeros, rot, cut])
def test_a_damaged_index_answers_from_the_notes(
    whole: tuple[Path, bytes], damage: Callable[[random.Random, bytearray], bytearray], seed: int
) -> None:
    root, data = whole
    path = Workspace(root).index
    path.parent.mkdir(parents=True)
    path.write_bytes(damage(random.Random(seed), bytearray(data)))
    with Memory.open(root, overrides={"embedding.provider": "fake"}) as memory:
        assert "desk7 " in memory.search("desk7 walnut").hits[0].text
        assert memory.status().notes == 30
        memory.sync()
        assert "desk7 " in memory.search("desk7 walnut").hits[0].text


def test_a_file_that_is_no_database_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    path.write_bytes(b"# Notes\n\nnot a database\n" * 500)
    (tmp_path / "index.sqlite-wal").write_bytes(b"left over")
    opened = open_index(str(path), IDENTITY)
    assert opened.warnings == ("the index was damaged and has been rebuilt",)
    assert opened.index.path == str(path)
    assert opened.index.statistics().notes == 0


def test_an_empty_file_becomes_an_index(tmp_path: Path) -> None:
    (tmp_path / "index.sqlite").write_bytes(b"")
    opened = open_index(str(tmp_path / "index.sqlite"), IDENTITY)
    assert opened.warnings == ()
    assert not opened.in_memory


@pytest.fixture
def unwritable(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Make a path refuse to be opened for writing; tests may run as root, whom modes do not stop."""
    connect = schema.connect

    def refuse(path: str) -> None:
        def opening(name: str, *, readonly: bool = False) -> object:
            if name == path and not readonly:
                raise IndexUnavailable(name, "cannot be written here")
            return connect(name, readonly=readonly)

        monkeypatch.setattr(schema, "connect", opening)

    return refuse


def test_an_index_that_cannot_be_written_is_used_as_it_stands(
    tmp_path: Path, unwritable: Callable[[str], None]
) -> None:
    path = str(tmp_path / "in dex%?#.sqlite")  # characters that mean something in a URI
    SqliteIndex(path, IDENTITY).close()
    unwritable(path)
    opened = open_index(path, IDENTITY)
    assert opened.index.readonly
    assert opened.warnings == ("the index cannot be written here and is used as it stands",)
    with pytest.raises(IndexUnavailable):
        opened.index.meta["anything"] = "new"


def test_where_nothing_can_be_had_memory_serves(tmp_path: Path) -> None:
    (tmp_path / "blocked").write_text("a file, not a folder")
    opened = open_index(str(tmp_path / "blocked" / "index.sqlite"), IDENTITY)
    assert opened.in_memory
    assert "the files themselves were searched" in opened.warnings[0]


def test_an_unwritable_index_still_tells_what_it_holds(
    tmp_path: Path, unwritable: Callable[[str], None]
) -> None:
    notes, path = tmp_path / "notes", str(tmp_path / "index.sqlite")
    notes.mkdir()
    (notes / "a.md").write_text("# A\n\nthe walnut desk\n", "utf-8")
    made = SqliteIndex(path, IDENTITY)
    sync.sync_text(made, scan([CollectionFiles("memory", str(notes))]), DEFAULT)
    sync.sync_vectors(Vectors(made), FakeEmbedder())
    made.close()
    unwritable(path)
    index = open_index(path, IDENTITY).index
    assert index.match('"walnut"', 5)
    ask, level = index.vectors.ready()
    assert level == 0
    assert ask(FakeEmbedder().embed(["walnut desk"], "query")[0], 5)
