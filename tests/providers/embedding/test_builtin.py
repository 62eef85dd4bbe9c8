"""The bundled model: faithful, the same whatever the batch, unmoved by odd input, verified, loaded late."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.base.errors import ProviderError
from commonplace.language.scripts import has_han
from commonplace.providers.cache import VectorCache
from commonplace.providers.catalog import EMBEDDERS
from commonplace.providers.embedding import builtin, chinese
from commonplace.providers.embedding.base import gives_words, quantize
from commonplace.providers.embedding.builtin import BuiltinEmbedder, CachedEmbedder

if TYPE_CHECKING:
    from commonplace.providers.embedding.base import Floats

FILES = [*builtin.FILES, *chinese.FILES]
REFERENCE = Path(__file__).parent / "data" / "minilm_float32.npz"

TEXTS = (
    "where is my passport",
    "",
    "Melanie ran a charity race on the Saturday before 25 May 2023.",
    "def mean(values):\n    return sum(values) / len(values)",
    "她喜欢在周末去爬山",
    "meeting with 王伟 about the 数据库迁移",
    "的了",
    "用 Postgres 做队列，不用别的",
    "one long line of words that goes on " * 60,
    "tea",
    *(f"note {number}: " + "word " * number for number in range(1, 40, 5)),
)


@pytest.fixture(scope="module")
def model() -> BuiltinEmbedder:
    found = EMBEDDERS.create("builtin")
    assert isinstance(found, BuiltinEmbedder)
    return found


@pytest.fixture(scope="module")
def alone(model: BuiltinEmbedder) -> dict[str, bytes]:
    return {text: vector_of(model, text).tobytes() for text in TEXTS}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for folder in (builtin.FOLDER, chinese.FOLDER):
        shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    return tmp_path


def vector_of(model: BuiltinEmbedder, text: str) -> Floats:
    return model.embed([text], "passage")[0]


def assert_same(model: BuiltinEmbedder, texts: Sequence[str], alone: dict[str, bytes]) -> None:
    rows = model.embed(texts, "passage")
    assert [row.tobytes() for row in rows] == [alone[text] for text in texts]


def reference() -> tuple[list[str], Floats]:
    """Texts with the float32 model's vectors, (n, 384); Chinese is read otherwise."""
    with np.load(REFERENCE) as recorded:
        texts = [str(text) for text in recorded["texts"]]
        english = [place for place, text in enumerate(texts) if not has_han(text)]
        return [texts[place] for place in english], recorded["vectors"][english]


def test_vectors_keep_close_to_float32(model: BuiltinEmbedder) -> None:
    texts, vectors = reference()
    cosines = (model.embed(texts, "passage") * vectors).sum(axis=1)
    # Measured: mean .9949; .9914 at worst, but for "?!" (.9759), whose four tokens say nothing. Another
    # onnxruntime or processor rounds elsewhere and moves a text by some .0005.
    worded = [cosine for text, cosine in zip(texts, cosines, strict=True) if text != "?!"]
    assert cosines.mean() > 0.9935
    assert min(worded) > 0.988
    assert cosines.min() > 0.965


def test_no_texts_give_no_rows(model: BuiltinEmbedder) -> None:
    assert model.embed([], "passage").shape == (0, 384)


def test_passages_that_were_embedded_for_another_workspace_are_not_embedded_again(
    model: BuiltinEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = VectorCache(tmp_path / "vectors.sqlite")
    made = quantize(model.embed(TEXTS, "passage"))
    assert (
        quantize(CachedEmbedder(model, store).embed([*TEXTS, TEXTS[0]], "passage"))[:-1].tobytes()
        == made.tobytes()
    )
    CachedEmbedder(model, store).embed(["a question"], "query")
    assert store.stats().entries == len(TEXTS)
    monkeypatch.setattr(model, "embed", lambda texts, kind: pytest.fail("embedded again"))
    again = CachedEmbedder(model, VectorCache(tmp_path / "vectors.sqlite"))
    assert quantize(again.embed(TEXTS, "passage")).tobytes() == made.tobytes()
    assert gives_words(again)


def test_batch_does_not_change_a_vector(model: BuiltinEmbedder, alone: dict[str, bytes]) -> None:
    assert_same(model, TEXTS, alone)
    assert_same(model, TEXTS[::-1], alone)
    assert_same(model, [TEXTS[5], TEXTS[0]], alone)
    shuffled = [*TEXTS, *TEXTS]
    random.Random(0).shuffle(shuffled)
    assert_same(model, shuffled, alone)


@given(st.text(st.characters(), max_size=300))
@settings(max_examples=100)
def test_any_text_gives_a_finite_unit_vector(text: str) -> None:
    vector = EMBEDDERS.create("builtin").embed([text], "query")[0]
    assert np.isfinite(vector).all()
    assert abs(float(np.linalg.norm(vector)) - 1) < 1e-5


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_said(copy: Path, name: str) -> None:
    (copy / name).unlink()
    model = BuiltinEmbedder(copy, copy)
    with pytest.raises(ProviderError, match=f"{name} cannot be read .*; reinstall") as caught:
        model.embed(["热身 a"], "passage")
    assert caught.value.permanent


def test_what_it_is_like_is_known_without_loading_it() -> None:
    model = BuiltinEmbedder()
    assert (model.dimensions, model.scripts) == (384, {"latin", "han"})
    assert model.fingerprint.startswith("builtin-1:")
    assert model.embed([], "query").shape == (0, 384)
    assert not model.shared.loaded
    model.embed(["tea"], "query")
    assert not model.chinese.loaded


def test_nothing_is_reported_to_anybody(tmp_path: Path) -> None:
    """onnxruntime's own builds report unless told not to; they spare CI, so the child must not look like it."""
    program = (
        "import os, time\n"
        "from commonplace.providers.embedding import builtin\n"
        "builtin.BuiltinEmbedder().embed(['a walnut desk'], 'query')\n"
        "time.sleep(0.5)\n"  # what is reported is reported from a thread of its own
        "for entry in os.scandir('/proc/self/fd') if os.path.isdir('/proc/self/fd') else ():\n"
        "    print(os.readlink(entry.path) if os.path.islink(entry.path) else '')\n"
    )
    unlike_ci = {
        name: value for name, value in os.environ.items() if not name.startswith(("CI", "ORT_", "XDG_"))
    }
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=unlike_ci | {"HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "socket:" not in done.stdout
    assert list(tmp_path.rglob("*")) == []
