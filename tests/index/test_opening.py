"""An index on a server in use: a memory over it, the server away, moved there and back."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.base.errors import ConfigError, MissingExtra
from commonplace.config.settings import Index
from commonplace.index import opening
from commonplace.providers.fake import FakeEmbedder
from commonplace.types import Selection
from tests.index.servers import milvus_url, postgres_url

__all__ = ["milvus_url", "postgres_url"]


class Counting(FakeEmbedder):
    embedded = 0

    def embed(self, texts, kind):  # type: ignore[no-untyped-def]
        self.embedded += len(texts) if kind == "passage" else 0
        return super().embed(texts, kind)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "MEMORY.md").write_text(
        "# Facts\n\n- The walnut desk is by the window.\n\n## Work\n\n- Deploys go out on Tuesdays.\n"
    )
    return tmp_path


def opened(folder: Path, url: str, embedder: FakeEmbedder | None = None) -> Memory:
    return Memory.open(folder, overrides={"index.url": url}, embedder=embedder or FakeEmbedder())


def texts(memory: Memory, question: str) -> str:
    return "\n".join(hit.text for hit in memory.search(question).hits)


@pytest.mark.parametrize("engine", ["postgres_url", "milvus_url"])
def test_a_memory_over_a_server_writes_finds_corrects_forgets_and_undoes(
    folder: Path, engine: str, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue(engine)
    with opened(folder, url) as memory:
        memory.sync()
        assert memory.status().index in (url, str(memory.workspace.index.with_name("milvus.sqlite")))
        assert "walnut desk" in texts(memory, "walnut")
        memory.remember("Ann repaired two chairs.")
        assert "Ann repaired" in texts(memory, "chairs")
        memory.correct("Deploys go out on Tuesdays.", "Deploys go out on Mondays.")
        assert "Mondays" in texts(memory, "deploys")
        memory.undo()
        assert "Tuesdays" in texts(memory, "deploys")
        memory.forget(Selection("note", memory.search("chairs").hits[0].path))
        assert "chairs" not in texts(memory, "chairs")
    assert not memory.workspace.index.exists()


def test_a_server_that_is_away_leaves_the_file_to_answer(folder: Path) -> None:
    with opened(folder, "postgresql://me@127.0.0.1:9/db") as memory:
        found = memory.search("walnut")
        assert [hit.path for hit in found.hits][:1] == ["MEMORY.md"]
        assert len([one for one in found.warnings if "does not answer" in one]) == 1
        assert memory.sync().warnings


def test_an_index_moves_to_a_server_and_back_without_embedding(folder: Path, postgres_url: str) -> None:
    model = Counting()
    with opened(folder, "", model) as local:
        local.sync()
        embedded = model.embedded
        with opened(folder, postgres_url, model) as remote:
            remote.store.begin_with(local.store)
            assert remote.sync().pending == 0
            assert "walnut" in texts(remote, "walnut")
            local.workspace.index.unlink()
            with opened(folder, "", model) as back:
                back.store.begin_with(remote.store)
                assert back.sync().pending == 0
                assert model.embedded == embedded
            remote.store.drop()
        with opened(folder, postgres_url, model) as again:
            assert not again.store.index.notes()


def test_an_address_that_is_none_of_ours_is_refused(folder: Path) -> None:
    with opened(folder, "redis://here") as memory, pytest.raises(ConfigError, match="postgresql"):
        memory.search("x")


@pytest.mark.parametrize("url", ["postgresql://me:pw@here/db", "postgresql://here/db?password=pw"])
def test_an_address_with_a_password_is_refused_and_not_shown(folder: Path, url: str) -> None:
    with opened(folder, url) as memory, pytest.raises(ConfigError, match="holds a password") as caught:
        memory.search("x")
    assert "pw" not in str(caught.value).replace("password", "")


def test_what_is_missing_is_named_with_its_command(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with (
        opened(folder, "postgresql://here/db") as memory,
        pytest.raises(MissingExtra, match=r"postgres|psycopg"),
    ):
        memory.search("x")


def test_two_folders_have_different_names_on_a_server(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / "MEMORY.md").write_text("# Other\n")
    places = [Memory.open(one).workspace for one in (folder, folder, other)]
    one, again, two = (opening.remote(place, Index(url="postgresql://here/db")) for place in places)
    assert one == again
    assert one != two
