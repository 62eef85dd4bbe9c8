"""A memory of an empty workspace, without embeddings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace import Memory


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    root = tmp_path / "notes"
    (root / "memory").mkdir(parents=True)
    with Memory.open(root) as opened:
        yield opened
