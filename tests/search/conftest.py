"""A small workspace without a model, and the rows of its record."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from commonplace.base.paths import Workspace

Rows = Callable[[str], list[Any]]
OLD_S = 1_770_000_000


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three notes that did not change for long."""
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    root = tmp_path / "notes"
    (root / "memory").mkdir(parents=True)
    (root / "MEMORY.md").write_text("# Memory\n\n## Tea\n\n- Aged white tea after lunch.\n")
    (root / "memory" / "2026-02-13.md").write_text(
        "# 2026-02-13\n\n## Deploy\n\n- The deploy moved to Thursday.\n\n## Sign-off\n\n- Lin signs the deploy off.\n"
    )
    (root / "memory" / "2026-02-14.md").write_text("# 2026-02-14\n\n- Nothing but rain.\n")
    for note in root.rglob("*.md"):
        os.utime(note, (OLD_S, OLD_S))
    return root


@pytest.fixture
def rows(root: Path) -> Rows:
    """Ask the record of the workspace with SQL of the test's own, or change it."""

    def ask(statement: str) -> list[Any]:
        connection = apsw.Connection(str(Workspace(root).usage))
        try:
            return connection.execute(statement, {"now": time.time()}).fetchall()
        finally:
            connection.close()

    return ask
