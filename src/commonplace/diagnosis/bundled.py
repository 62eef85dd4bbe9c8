"""The bundled model: its files are those that ship, and it tells near texts from far ones."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from commonplace.base import installation, paths
from commonplace.base.errors import CommonplaceError
from commonplace.base.root import open_named
from commonplace.diagnosis.case import Case
from commonplace.providers.embedding import builtin
from commonplace.types import Finding

DIGESTS = {builtin.MODEL: builtin.MODEL_SHA256, builtin.TOKENIZER: builtin.TOKENIZER_SHA256}
_QUESTION = "where is my passport"
_NEAR = "The passport lies in the top drawer of the desk."
_FAR = "The deploy moved to Thursday."


def files(case: Case) -> Iterator[Finding]:
    """See that every file of the model is there, whole and unchanged."""
    for name, digest in DIGESTS.items():
        yield _file(case.model_folder / name, digest)


def _file(path: Path, expected: str) -> Finding:
    check = f"model.{path.stem}"
    try:
        with open_named(path) as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        told = f"{paths.shown(path)} cannot be read ({paths.reason(error)})"
        return Finding(check, "wrong", told, installation.reinstall())
    if found != expected:
        told = f"{paths.shown(path)} is not the file that ships (SHA-256 {found[:12]}…, not {expected[:12]}…)"
        return Finding(check, "wrong", told, installation.reinstall())
    return Finding(check, "ok", f"{path.name} is the file that ships (SHA-256 {found[:12]}…)")


def vectors(case: Case) -> Iterator[Finding]:
    """Embed a question and two sentences: unit vectors, the right sentence nearer."""
    import numpy as np

    try:
        rows = builtin.BuiltinEmbedder(case.model_folder).embed((_QUESTION, _NEAR, _FAR), "passage")
    except CommonplaceError as error:
        yield Finding("model.vectors", "wrong", str(error), installation.reinstall())
        return
    lengths = np.linalg.norm(rows, axis=1)
    near, far = (float(rows[0] @ rows[place]) for place in (1, 2))
    if abs(lengths - 1).max() > 1e-3 or rows.shape[1] != builtin.DIMENSIONS:
        told = (
            f"its vectors are no unit vectors of {builtin.DIMENSIONS} dimensions (lengths {lengths.round(3)})"
        )
        yield Finding("model.vectors", "wrong", told, installation.reinstall())
    elif near < far + 0.2:
        told = f"it finds an unrelated sentence as near as a related one ({far:.2f}, {near:.2f})"
        yield Finding("model.vectors", "wrong", told, installation.reinstall())
    else:
        told = f"a question is nearer to its answer ({near:.2f}) than to another sentence ({far:.2f})"
        yield Finding("model.vectors", "ok", told)
