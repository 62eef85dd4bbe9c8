"""Models through fastembed: its real API on a tiny model, never a download, told when it is not there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commonplace.base.errors import MissingExtra, ProviderError
from commonplace.providers import fastembed
from commonplace.providers.catalog import EMBEDDERS, Spec
from commonplace.providers.fastembed import LocalEmbedder

HERE = find_spec("fastembed") is not None and find_spec("onnx") is not None
needs_fastembed = pytest.mark.skipif(not HERE, reason="fastembed is an extra")

MEAN, CLS, E5 = "tiny/mean", "tiny/cls", "tiny/multilingual-e5-small"
REVISION = "0123456789abcdef0123456789abcdef01234567"
TEXT = "walnut desk tea"


def test_without_it_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastembed", None)
    with pytest.raises(MissingExtra, match=r"pip install .*'fastembed<1,>=0.6'"):
        EMBEDDERS.create(Spec("fastembed"))
    with pytest.raises(MissingExtra):
        fastembed.fetch(Spec("fastembed"))


@pytest.fixture(autouse=True, scope="module")
def table() -> Iterator[None]:
    """Tiny models in fastembed's table, as a program would add its own."""
    if not HERE:
        yield
        return
    from commonplace.providers import runtime

    runtime.library("fastembed")
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType
    from fastembed.text.custom_text_embedding import CustomTextEmbedding

    for name, pooling in ((MEAN, PoolingType.MEAN), (CLS, PoolingType.CLS), (E5, PoolingType.MEAN)):
        TextEmbedding.add_custom_model(
            name,
            pooling=pooling,
            normalization=True,
            sources=ModelSource(hf=name),
            dim=6,
            model_file="model.onnx",
        )
    yield
    CustomTextEmbedding.SUPPORTED_MODELS.clear()
    CustomTextEmbedding.POSTPROCESSING_MAPPING.clear()


def write_cache(name: str = MEAN) -> Path:
    """A model in our folder, as its download leaves it."""
    from tests.providers.embedding.graphs import write_model

    place = fastembed.folder() / f"models--{name.replace('/', '--')}"
    write_model(place / "snapshots" / REVISION)
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text(REVISION)
    return place / "snapshots" / REVISION


def model(name: str = MEAN, **fields: Any) -> LocalEmbedder:
    return LocalEmbedder(Spec("fastembed", name, **fields))


@needs_fastembed
def test_vectors_are_those_computed_by_hand() -> None:
    for name in [MEAN, CLS]:
        from tests.providers.embedding.graphs import TABLE, ids

        write_cache(name)
        found = model(name)
        assert (found.name, found.dimensions) == (name, 6)
        tokens = TABLE[ids(TEXT)]
        expected = tokens.mean(axis=0) if name == MEAN else tokens[0]
        expected /= np.linalg.norm(expected)
        for kind in ("query", "passage"):
            (row,) = found.embed([TEXT], kind)
            assert row.dtype == np.float32, name
            np.testing.assert_allclose(row, expected, atol=1e-6)


@needs_fastembed
def test_a_family_puts_its_prefixes() -> None:
    for name in (E5, MEAN):
        write_cache(name)
    e5, bare = model(E5), model(MEAN)
    assert e5.scripts == {"latin", "cjk"}
    asked, stored = bare.embed(["query: tea", "passage: tea"], "passage")
    assert e5.embed(["tea"], "query")[0].tobytes() == asked.tobytes()
    assert e5.embed(["tea"], "passage")[0].tobytes() == stored.tobytes()
    assert e5.fingerprint != bare.fingerprint


@needs_fastembed
@pytest.mark.parametrize("name", [MEAN, "BAAI/bge-small-zh-v1.5", ""])
def test_what_is_not_there_is_told_and_not_fetched(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    """The network is refused in tests; a download would fail with another error."""
    with pytest.raises(ProviderError, match="is not on this machine; fetch ") as caught:
        model(name)
    assert f"fetch {name or fastembed.default('embedding')}" in str(caught.value)
    assert caught.value.permanent
    assert capfd.readouterr() == ("", "")


@needs_fastembed
def test_its_identity_changes_with_its_revision_and_nothing_is_loaded_for_it() -> None:
    place = write_cache()
    first, second = model(), model()
    assert (second.fingerprint, second.dimensions) == (first.fingerprint, 6)
    assert model(dimensions=3).fingerprint != first.fingerprint
    assert not second.shared.loaded
    assert second.embed([TEXT], "query").tobytes() == first.embed([TEXT], "query").tobytes()
    place.rename(place.with_name("another"))
    assert model().fingerprint != first.fingerprint


@needs_fastembed
def test_nothing_is_reported_to_anybody(tmp_path: Path) -> None:
    """Neither onnxruntime nor what fetches models; see the same test of the bundled model."""
    write_cache()
    program = (
        "import os, sys, time\n"
        "from commonplace.providers import runtime\nfrom commonplace.providers.catalog import EMBEDDERS\n"
        "runtime.library('fastembed')\n"
        "from fastembed import TextEmbedding\n"
        "from fastembed.common.model_description import ModelSource, PoolingType\n"
        f"TextEmbedding.add_custom_model('{MEAN}', PoolingType.MEAN, True, ModelSource(hf='{MEAN}'), 6, 'model.onnx')\n"
        "from commonplace.providers.catalog import Spec\n"
        f"EMBEDDERS.create(Spec('fastembed', '{MEAN}')).embed(['tea'], 'query')\n"
        "time.sleep(0.5)\n"
        "for entry in os.scandir('/proc/self/fd') if os.path.isdir('/proc/self/fd') else ():\n"
        "    print(os.readlink(entry.path) if os.path.islink(entry.path) else '')\n"
    )
    home = tmp_path / "home"
    home.mkdir()
    unlike_ci = {
        name: value for name, value in os.environ.items() if not name.startswith(("CI", "ORT_", "XDG_"))
    }
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=unlike_ci
        | {
            "HOME": str(home),
            "XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"],
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert "socket:" not in done.stdout
    assert done.stderr == ""
    left = {path.relative_to(home).parts[:4] for path in home.rglob("*") if path.is_file()}
    assert left == set()
