"""A workspace with long-term memory, two days and files of convention, without a model."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from commonplace import Memory
from tests.agent import talking

begin, model, root = talking.begin, talking.model, talking.root  # fixtures of conversations

TODAY = date(2026, 5, 29)
NOTES = {
    "MEMORY.md": """# Memory

## Tea

- Aged white tea after lunch, since 2 May 2026. <!-- importance: 6 -->

## 家里

- 热水器 2026年4月25日换新。
- 备用钥匙在邻居家。

## Old ideas

- Roll out on Fridays. <!-- superseded -->
- Maybe a second office. <!-- tentative -->
- Noted on 3 January 2026: the cellar floods.
""",
    "memory/2026-05-28.md": "# 2026-05-28 Thursday\n\n- 09:30 The upgrade took 38 seconds.\n- 18:05 膝盖没有感觉。\n",
    "memory/2026-05-29.md": """# 2026-05-29 Friday

- 10:00 Ines wrote the linter.
- 16:00 The deploy moved to Thursday, said Lin.

## Evening

The library was won, the one with the reading stairs.
""",
    "memory/2026-02-13.md": "# 2026-02-13\n\n- The ferry to Oslo leaves at 17:45 from the east pier.\n",
    "AGENTS.md": "# Rules\n\n- Answer in the language of the question.\n",
    "USER.md": "Wen, storage engineer.\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "notes"
    for path, text in NOTES.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    return root


@pytest.fixture
def memory(folder: Path) -> Iterator[Memory]:
    with Memory.open(folder, overrides={"embedding.provider": "none", "usage.record": False}) as opened:
        yield opened
