"""Embedders put around a real one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from commonplace.bench.evaluation import EveryScript


class Ones:
    """A model whose vectors can be computed by hand."""

    name = fingerprint = "ones"
    dimensions = 4
    scripts = frozenset({"latin"})

    def embed(self, texts: Sequence[str], kind: object) -> np.ndarray:
        return np.full((len(texts), 4), 0.5, dtype=np.float32)


def test_every_script_changes_nothing_but_the_claim() -> None:
    model = EveryScript(Ones())
    assert (model.fingerprint, model.dimensions) == ("ones", 4)
    assert model.scripts == {"latin", "cjk"}
    assert (model.embed(["a", "b"], "passage") == 0.5).all()
