"""A workspace that says one thing in several places."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from commonplace import Memory

NOW = datetime(2026, 3, 2, 9, 30)
LONG_TERM = """# Memory

## Deploy

- Deploys go out on Tuesdays. <!-- cp: from=memory/2026-02-13.md#L3 since=2026-02-13 -->
- Rollback takes two steps. <!-- cp: from=memory/2026-02-13.md#L4 since=2026-02-13 -->

## 部署

- 生产环境每周二下午部署。
"""
DAY = """# 2026-02-13

- 14:05 Deploys go out on Tuesdays.
- 15:00 Rollback takes two steps.
- 16:00 We met. Deploys go out on Tuesdays. Mira owns them.
- 生产环境每周二下午部署。
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "memory").mkdir()
    (tmp_path / "MEMORY.md").write_bytes(LONG_TERM.encode())
    (tmp_path / "memory" / "2026-02-13.md").write_bytes(DAY.encode())
    (tmp_path / "memory" / "2026-02-14.md").write_bytes(
        b"# 2026-02-14\n\n- See there. <!-- cp: from=MEMORY.md#L6 -->"
    )
    return tmp_path


@pytest.fixture
def memory(root: Path) -> Memory:
    return Memory.open(root, overrides={"embedding.provider": "none"})


def notes(root: Path) -> dict[str, bytes]:
    """Every note of a workspace with its bytes."""
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*.md"))}
