"""Vectors in the index: both ways of asking agree, storage keeps the cosines."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import apsw
import numpy as np
import pytest

from commonplace import Memory
from commonplace.base.errors import ProviderError
from commonplace.chunking.settings import DEFAULT
from commonplace.index import rules, sync
from commonplace.index.base import ALL, UNSERVED, In, Scope
from commonplace.index.sqlite import vectors as sqlite_vectors
from commonplace.index.sqlite.index import SqliteIndex
from commonplace.index.sqlite.vectors import SqliteVectors
from commonplace.index.vectors import Vectors
from commonplace.notes.scan import CollectionFiles, scan
from commonplace.providers.embedding.base import quantize, unit_rows, whole
from commonplace.providers.embedding.builtin import BuiltinEmbedder
from commonplace.providers.fake import FakeEmbedder


def of_collections(names: tuple[str, ...]) -> Scope:
    return Scope((In("collection", frozenset(names)),)) if names else ALL


@pytest.fixture
def index(tmp_path: Path) -> SqliteIndex:
    rng = np.random.default_rng(1)
    words = [f"word{n}" for n in range(60)]
    sources = []
    for name in ("memory", "docs"):
        folder = tmp_path / name
        folder.mkdir()
        for number in range(40):
            text = " ".join(rng.choice(words, 12))
            (folder / f"{number}.md").write_text(f"# N{number}\n\n{text}\n\n{text[::-1]}\n", "utf-8")
        sources.append(CollectionFiles(name, str(folder)))
    made = SqliteIndex(":memory:", rules.identity(DEFAULT))
    sync.sync_text(made, scan(sources), DEFAULT)
    sync.sync_vectors(Vectors(made), FakeEmbedder())
    return made


@pytest.mark.parametrize("collections", [(), ("docs",)])
def test_the_extension_and_the_matrix_agree(index: SqliteIndex, collections: tuple[str, ...]) -> None:
    asked = FakeEmbedder().embed(["word1 word2 word3"], "query")[0]
    vectors = SqliteVectors(index)
    scan_, level = vectors.ready(of_collections(collections))
    scanned = scan_(asked, 80)
    assert level == 0
    multiply, _ = vectors.ready(of_collections(collections))
    multiplied = multiply(asked, 80)
    assert len(scanned) == len(multiplied)
    known = dict(multiplied)
    assert all(abs(known.get(passage, -1) - cosine) < 2e-3 for passage, cosine in scanned)


def test_a_collection_is_not_starved(index: SqliteIndex) -> None:
    vectors = SqliteVectors(index)
    vectors.ready()
    ask, _ = vectors.ready(of_collections(("docs",)))
    assert len(ask(FakeEmbedder().embed(["word1"], "query")[0], 40)) == 40


def test_level_1_without_the_extension(index: SqliteIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_vectors, "extension_path", lambda: None)
    _, level = SqliteVectors(index).ready()
    assert level == 1


def test_cosines_of_given_passages(index: SqliteIndex) -> None:
    asked = FakeEmbedder().embed(["word1"], "query")[0]
    vectors = SqliteVectors(index)
    read = vectors.cosines(asked, [1, 2, 999_999])
    vectors.ready()
    vectors.ready()
    assert vectors.cosines(asked, [1, 2, 999_999]) == pytest.approx(read, abs=1e-6)
    assert set(read) == {1, 2}


def test_storage_keeps_the_cosine() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 384)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    back = unit_rows([row.tobytes() for row in quantize(rows)])
    assert (rows * back).sum(axis=1).min() > 0.9999


@pytest.mark.parametrize("seed", range(6))
def test_a_matrix_that_was_renewed_is_as_one_that_is_read(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    words = [f"word{n}" for n in range(30)]
    file, identity = str(tmp_path / "index.sqlite"), rules.identity(DEFAULT)
    index = SqliteIndex(file, identity)
    vectors, own, others = Vectors(index), SqliteVectors(index), SqliteVectors(SqliteIndex(file, identity))
    for step in range(12):
        for _ in range(rng.integers(1, 3) if step else 12):
            path = tmp_path / f"{rng.integers(15)}.md"
            if step and path.exists() and rng.random() < 0.4:
                path.unlink()  # the last passages' ids are given to the next
            elif path.exists() and rng.random() < 0.4:
                path.write_text(f"{path.read_text('utf-8')}\n{' '.join(rng.choice(words, 90))}\n", "utf-8")
            else:
                path.write_text("\n\n".join(" ".join(rng.choice(words, 8)) for _ in range(3)) + "\n", "utf-8")
        sync.sync_text(index, scan([CollectionFiles("memory", str(tmp_path))]), DEFAULT)
        if rng.random() < 0.8:
            sync.sync_vectors(vectors, FakeEmbedder())
        if rng.random() < 0.2:
            some = [each.passage for each in index.vectors.texts(0, 5)]
            with suppress(KeyError), index.transaction():
                index.vectors.assign([(passage, UNSERVED) for passage in some])
                own.ready()
                raise KeyError  # what was changed is taken back
        fresh = SqliteVectors(index)
        for each in (own, others, fresh):
            each.ready()
        asked = FakeEmbedder().embed(["word1 word2"], "query")[0]
        renewed, also_renewed, read = (each.ready()[0](asked, 1000) for each in (own, others, fresh))
        assert renewed == also_renewed == read


def test_what_was_changed_here_is_read_again_and_nothing_else(index: SqliteIndex) -> None:
    vectors = index.vectors
    assert isinstance(vectors, SqliteVectors)
    for _ in range(2):
        vectors.ready()
    index.write([[]])
    index.vectors.assign([(3, UNSERVED)])
    read: list[str] = []
    index.connection.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: read.append(event["sql"]))
    vectors.ready()
    index.connection.trace_v2(0, None)
    assert not [sql for sql in read if "v.vector" in sql and "p.id IN" not in sql]


def test_a_note_that_grows_behind_an_empty_one_is_covered(tmp_path: Path) -> None:
    index, source = SqliteIndex(":memory:", rules.identity(DEFAULT)), CollectionFiles("memory", str(tmp_path))
    for texts in (["- one"], ["- one", ""], ["- one <!-- by: agent -->\n- two"]):
        for name, text in zip("ab", texts, strict=False):
            (tmp_path / f"{name}.md").write_text(text, "utf-8")
        sync.sync_text(index, scan([source]), DEFAULT)
    sync.sync_vectors(Vectors(index), FakeEmbedder())
    vectors, asked = SqliteVectors(index), FakeEmbedder().embed(["two"], "query")[0]
    for _ in range(2):  # by the extension, then by the matrix
        nearest, _ = vectors.ready(of_collections(("memory",)))
        assert len(nearest(asked, 9)) == 2


def test_the_matrix_follows_the_index(index: SqliteIndex) -> None:
    vectors = SqliteVectors(index)
    vectors.ready()
    ask, _ = vectors.ready()
    before = len(ask(FakeEmbedder().embed(["word1"], "query")[0], 10_000))
    index.update(gone=[("docs", f"{n}.md") for n in range(40)])
    ask, _ = vectors.ready()
    assert len(ask(FakeEmbedder().embed(["word1"], "query")[0], 10_000)) < before


def test_another_model_takes_over_at_once(index: SqliteIndex) -> None:
    vectors = Vectors(index)
    old = FakeEmbedder()
    new = FakeEmbedder(32)
    seen: list[tuple[object, int]] = []

    def watch(stage: str, done: int, total: int) -> None:
        ask, _ = vectors.store.ready()
        seen.append((index.meta["model"], len(ask(old.embed(["word1"], "query")[0], 10_000))))

    passages = index.statistics().passages
    left = sync.sync_vectors(vectors, new, stop=lambda: True)
    assert left.pending == passages
    report = sync.sync_vectors(vectors, new, watch)
    assert seen
    assert set(seen) == {(old.fingerprint, passages)}  # until the switch, the old ones answer whole
    assert index.meta["model"] == new.fingerprint
    assert (report.embedded, report.pending) == (index.statistics().vectors, 0)
    fresh = SqliteVectors(index)
    fresh.ready()
    ask, _ = fresh.ready()
    assert len(ask(new.embed(["word1"], "query")[0], 10_000)) == passages


def test_an_interrupted_change_of_model_goes_on(index: SqliteIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sync, "EMBED_BATCH", 10)
    vectors = Vectors(index)
    new = FakeEmbedder(32)
    turns = iter([False, True])
    first = sync.sync_vectors(vectors, new, stop=lambda: next(turns))
    assert first.embedded > 0
    assert vectors.serves(FakeEmbedder())
    second = sync.sync_vectors(vectors, new)
    assert first.embedded + second.embedded == index.statistics().vectors
    assert not vectors.serves(FakeEmbedder())


def test_what_the_model_does_not_serve_gets_no_vector(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# 标题\n\n只有中文的一行。\n\n## English\n\nplain words\n", "utf-8")
    made = SqliteIndex(":memory:", rules.identity(DEFAULT))
    sync.sync_text(made, scan([CollectionFiles("memory", str(tmp_path))]), DEFAULT)
    report = sync.sync_vectors(Vectors(made), FakeEmbedder())
    assert (report.embedded, report.pending) == (1, 0)
    both = FakeEmbedder(scripts=frozenset({"latin", "cjk"}))
    both.fingerprint = "both"
    assert sync.sync_vectors(Vectors(made), both).embedded == 2


def test_progress_counts_what_can_be_embedded_and_goes_forward_often(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        "".join(f"## Part {n}\n\n- the walnut desk {n} {'x' * n}\n\n" for n in range(60))
    )
    (tmp_path / "b.md").write_text(
        "".join(f"## 部分\n\n- 周五下午不部署第{n}次的说明。\n\n" for n in range(30))
    )
    made = SqliteIndex(":memory:", rules.identity(DEFAULT))
    sync.sync_text(made, scan([CollectionFiles("memory", str(tmp_path))]), DEFAULT)
    vectors, latin = Vectors(made), FakeEmbedder(scripts=frozenset({"latin"}))
    steps: list[tuple[int, int]] = []
    for model in (latin, FakeEmbedder(32)):  # the second one takes over
        steps.clear()
        report = sync.sync_vectors(vectors, model, lambda stage, done, total: steps.append((done, total)))
        assert report.embedded == 60
        assert steps == sorted(steps)
        assert {total for _, total in steps} == {60}
        assert steps[-1] == (60, 60)
        assert max(later - former for (former, _), (later, _) in pairwise(steps)) <= sync.SLICE
    made.close()


def test_what_no_passage_uses_is_forgotten(index: SqliteIndex) -> None:
    vectors = Vectors(index)
    before = index.statistics().vectors
    index.update(gone=[("docs", f"{n}.md") for n in range(40)])
    vectors.prune()
    assert 0 < index.statistics().vectors < before
    assert index.vectors.pending() == 0


def test_the_same_text_shares_one_vector(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.md").write_text("# Same\n\nthe walnut desk\n", "utf-8")
    made = SqliteIndex(":memory:", rules.identity(DEFAULT))
    sync.sync_text(made, scan([CollectionFiles("memory", str(tmp_path))]), DEFAULT)
    vectors, asked = Vectors(made), FakeEmbedder().embed(["walnut desk"], "query")[0]
    sync.sync_vectors(vectors, FakeEmbedder())
    assert (made.statistics().passages, made.statistics().vectors) == (3, 1)
    for _ in range(2):  # the extension, then the matrix
        assert len(vectors.store.ready()[0](asked, 10)) == 3


def test_no_vectors_at_all_are_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# 标题\n\n只有中文和 gpt 的一行。\n", "utf-8")
    made = SqliteIndex(":memory:", rules.identity(DEFAULT))
    sync.sync_text(made, scan([CollectionFiles("memory", str(tmp_path))]), DEFAULT)
    vectors, asked = Vectors(made), FakeEmbedder().embed(["gpt"], "query")[0]
    sync.sync_vectors(vectors, FakeEmbedder())
    for collections in ((), (), ("memory",), ("none",)):
        ask, _ = vectors.store.ready(of_collections(collections))
        assert ask(asked, 10) == []
        assert vectors.store.cosines(asked, [1, 2]) == {}


def test_a_vector_found_for_one_collection_is_not_told_to_another(tmp_path: Path) -> None:
    sources = []
    for name in ("memory", "docs"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text("# Same\n\nthe walnut desk\n", "utf-8")
        sources.append(CollectionFiles(name, str(tmp_path / name)))
    made = SqliteIndex(":memory:", rules.identity(DEFAULT))
    sync.sync_text(made, scan(sources), DEFAULT)
    vectors, asked = Vectors(made), FakeEmbedder().embed(["walnut desk"], "query")[0]
    sync.sync_vectors(vectors, FakeEmbedder())
    for _ in range(2):
        found = [passage for passage, _ in vectors.store.ready(of_collections(("docs",)))[0](asked, 10)]
        assert [row.source.collection for row in made.passages(found)] == ["docs"]


CONTEXTS = {"": "Everything.", "docs": "Papers.", "docs/1.md": "The first paper."}


@pytest.fixture
def described(tmp_path: Path) -> SqliteIndex:
    """Three passages in each of two collections, with their vectors."""
    sources = []
    for name in ("memory", "docs"):
        (tmp_path / name).mkdir()
        for number in range(3):
            (tmp_path / name / f"{number}.md").write_text(f"# N{number}\n\n{name} says {number}\n", "utf-8")
        sources.append(CollectionFiles(name, str(tmp_path / name)))
    made = SqliteIndex(":memory:", rules.identity(DEFAULT))
    sync.sync_text(made, scan(sources), DEFAULT)
    sync.sync_vectors(Vectors(made), FakeEmbedder())
    return made


def embed(index: SqliteIndex, contexts: dict[str, str]) -> int:
    """How many texts a sync with these contexts embeds; what was announced before is what is done."""
    vectors, model = Vectors(index), FakeEmbedder()
    announced = vectors.missing(model, contexts)
    vectors.describe(contexts)
    assert set(vectors.missing(model)) == set(announced)
    report = sync.sync_vectors(vectors, model)
    assert report.embedded == len(announced)
    assert index.vectors.pending() == 0
    return report.embedded


def texts(index: SqliteIndex) -> set[str]:
    return {one.text for page in Vectors(index).texts(100, FakeEmbedder()) for one in page}


def test_contexts_stand_before_the_headings_general_first(described: SqliteIndex) -> None:
    embed(described, CONTEXTS)
    assert "Everything.\nPapers.\nThe first paper.\nN1\ndocs says 1" in texts(described)
    assert "Everything.\nPapers.\nN2\ndocs says 2" in texts(described)
    assert "Everything.\nN1\nmemory says 1" in texts(described)


def test_a_changed_context_embeds_what_it_describes_and_nothing_else(described: SqliteIndex) -> None:
    assert embed(described, {}) == 0
    assert embed(described, CONTEXTS) == 6
    assert embed(described, dict(reversed(CONTEXTS.items()))) == 0
    assert embed(described, CONTEXTS | {"docs/1.md": "Another."}) == 1
    assert embed(described, CONTEXTS | {"docs/1.md": "Another.", "docs": "Sheets."}) == 3
    assert embed(described, CONTEXTS | {"docs/1.md": "Another.", "docs": "Sheets.", "nowhere": "x"}) == 0
    assert embed(described, {"": "Everything."}) == 3
    assert embed(described, {}) == 6
    assert {one.split("\n")[0] for one in texts(described)} == {"N0", "N1", "N2"}


def test_a_rebuilt_index_keeps_contexts_and_vectors(described: SqliteIndex) -> None:
    embed(described, CONTEXTS)
    keys = described.rows("SELECT key FROM vectors ORDER BY key")
    with described.transaction(anew=True):
        pass
    assert Vectors(described).contexts() == CONTEXTS
    assert described.rows("SELECT key FROM vectors ORDER BY key") == keys


def test_a_secret_in_a_context_is_neither_embedded_nor_noted(described: SqliteIndex) -> None:
    key = "sk-" + "a1B2c3D4" * 5
    embed(described, {"": f"Everything with {key}."})
    assert not any(key in text for text in texts(described))
    assert key not in str(described.meta["contexts"])


class English(BuiltinEmbedder):
    """The bundled model as it was before it read Chinese."""

    scripts = frozenset({"latin"})
    fingerprint = whole(BuiltinEmbedder.fingerprint)


def test_a_model_that_learns_chinese_keeps_the_vectors_of_english(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("# Tea\n\nOolong at five.\n\n# 茶\n\n五点喝乌龙茶。\n", "utf-8")
    with Memory.open(tmp_path, embedder=English()) as memory:
        before = memory.sync()
        assert (before.embedded, memory.status().vectors) == (1, 1)
    with Memory.open(tmp_path, embedder=BuiltinEmbedder()) as memory:
        assert memory.search("oolong", mode="semantic").hits
        after = memory.sync()
        assert (after.embedded, memory.status().vectors) == (1, 2)
        assert memory.search("什么时候喝茶？", mode="semantic").hits[0].text == "五点喝乌龙茶。"
        assert memory.sync().embedded == 0


def test_a_model_of_other_dimensions_is_told_by_both_ways(index: SqliteIndex) -> None:
    vectors = SqliteVectors(index)
    for _ in range(2):
        nearest, _ = vectors.ready()
        with pytest.raises(ProviderError, match="7 dimensions"):
            nearest(np.ones(7, np.float32), 5)


def test_contexts_that_cannot_be_read_are_none(index: SqliteIndex) -> None:
    for noted in ("{", "[]", "null", "7", '{"a": 7}', 7, b"{}"):
        index.meta["contexts"] = noted
        assert Vectors(index).contexts() == {}
