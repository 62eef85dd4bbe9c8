"""The models of fastembed, as they are listed."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from commonplace.providers import fastembed
from commonplace.providers.catalog import EMBEDDERS
from commonplace.providers.fastembed import Offer


@pytest.mark.skipif(find_spec("fastembed") is None, reason="fastembed is an extra")
def test_fastembed_tells_sizes_languages_and_what_is_here() -> None:
    place = fastembed.cache_of(fastembed.find("BAAI/bge-small-en-v1.5")) / "snapshots" / "1"
    place.mkdir(parents=True)
    (place / "model_optimized.onnx").write_bytes(b"")
    found = {one.model: one for one in fastembed.offers()}
    small = found["BAAI/bge-small-zh-v1.5"]
    assert small == Offer("BAAI/bge-small-zh-v1.5", 512, 90_000_000, small.about, False)
    assert "Chinese" in small.about
    assert found["BAAI/bge-small-en-v1.5"].here
    assert all(one.about for one in found.values())
    assert next(iter(found)) == "BAAI/bge-small-en-v1.5", "what is here comes before the others"
    assert EMBEDDERS.find("fastembed").model in found
