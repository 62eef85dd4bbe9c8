"""Speed measurements as text and as JSON."""

from __future__ import annotations

from typing import Any

from commonplace.bench.grid import grid
from commonplace.bench.speed import MEGABYTE, Row, Speed

HEAD = ("", "measured", "bare", "ratio", "bare is")
MODELS = {
    "none": "no vectors",
    "builtin": "{vectors} vectors of the bundled model",
    "random": "{vectors} RANDOM vectors, questions embedded by the bundled model: timings only",
}


def as_text(speed: Speed) -> str:
    """One row a figure, and what it was measured on above."""
    model = MODELS[speed.model].format(vectors=f"{speed.vectors:,}")
    size = f"{speed.bytes / MEGABYTE:.1f} MB"
    head = f"{speed.files:,} files, {size}, {speed.passages:,} passages, {model}"
    return f"{head}\n\n{grid(HEAD, map(_cells, speed.rows), left=(0, len(HEAD) - 1))}"


def as_record(speed: Speed) -> dict[str, Any]:
    """Return the same as a JSON object."""
    facts = {name: getattr(speed, name) for name in ("files", "bytes", "passages", "vectors", "model")}
    return facts | {"rows": [_record(row) for row in speed.rows]}


def _cells(row: Row) -> list[str]:
    bare = "" if row.bare is None else _quantity(row.bare, row.unit)
    ratio = "" if row.ratio is None else f"{row.ratio:.1f}"
    return [row.name, _quantity(row.value, row.unit), bare, ratio, row.beside]


def _quantity(value: float, unit: str) -> str:
    digits = {"s": 3, "ms": 1, "MB": 0}.get(unit, 2)
    return f"{value:.{digits}f} {unit}"


def _record(row: Row) -> dict[str, Any]:
    ratio = None if row.ratio is None else round(row.ratio, 3)
    bare = None if row.bare is None else round(row.bare, 6)
    return {
        "name": row.name,
        "value": round(row.value, 6),
        "unit": row.unit,
        "bare": bare,
        "ratio": ratio,
        "bare_is": row.beside,
    }
