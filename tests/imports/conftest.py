"""An empty workspace, and what brings a source into it as the command does."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from commonplace.imports import kinds
from commonplace.memory import Memory, create
from commonplace.types import Import
from commonplace.upkeep import intake

Bring = Callable[..., Import]


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Days as they are in Greenwich, wherever the tests run."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    made = tmp_path / "notes"
    create(made)
    return made


@pytest.fixture
def bring(root: Path) -> Bring:
    """Import a path of a kind, which is recognised unless it is named."""

    def carry(path: Path, kind: str = "", **options: object) -> Import:
        found = kinds.find(kind) if kind else kinds.of(path)
        assert found is not None
        with Memory.open(root) as memory:
            parts = found.read(path)
            return intake.carry_out(memory, found.name, str(path), parts, **options)  # type: ignore[arg-type]

    return carry


def written(root: Path) -> dict[str, str]:
    """The notes of a workspace by their paths."""
    found = sorted(root.glob("*.md")) + sorted((root / "memory").rglob("*.md"))
    return {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in found}
