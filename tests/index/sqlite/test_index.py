"""What an open index remembers of its file: as fresh as the file, whoever changes it."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import pytest

from commonplace.chunking.settings import DEFAULT
from commonplace.index import rules
from commonplace.index.sqlite.index import SqliteIndex
from tests.index.contract import FILES, entry


@pytest.mark.parametrize("seed", range(8))
def test_the_manifest_follows_every_connection(tmp_path: Path, seed: int) -> None:
    rng, path = random.Random(seed), str(tmp_path / "index.sqlite")
    own, other = (SqliteIndex(path, rules.identity(DEFAULT)) for _ in range(2))
    for step in range(30):
        index, file = rng.choice((own, own, other)), entry(rng.choice(list(FILES)), mtime_ns=step + 1)
        match rng.randrange(5):
            case 0:
                index.update(gone=[file.state.key])
            case 1:
                index.update([file.state])
            case 2:
                index.meta["scan"] = bytes([step])
            case 3:
                with suppress(RuntimeError), index.transaction():
                    index.write([[file]])
                    raise RuntimeError
            case _:
                index.write([[file], [entry(rng.choice(list(FILES)), mtime_ns=step + 1)]])
        fresh = SqliteIndex(path, rules.identity(DEFAULT))
        assert own.manifest() == other.manifest() == fresh.manifest()
        fresh.close()
    own.close()
    other.close()


def test_what_an_index_notes_of_itself_changes_no_passage(tmp_path: Path) -> None:
    index = SqliteIndex(str(tmp_path / "index.sqlite"), rules.identity(DEFAULT))
    before = index.version
    index.meta["scan"] = b"one"
    index.meta["scan"] = b"two"
    del index.meta["scan"]
    assert index.version == before
    index.write([[entry(("docs", "plan.md"))]])
    assert index.version != before
    index.close()
