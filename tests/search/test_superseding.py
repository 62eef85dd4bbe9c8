"""What a text says to replace is marked and stands behind."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from commonplace import Memory

NOW = date(2026, 11, 27)
NOTES = {
    "by day": {
        "memory/2026-11-16.md": "# 2026-11-16\n\nDecision: the database of Heron is Redis, the fastest database.\n",
        "memory/2026-11-23.md": "# 2026-11-23\n\nHeron keeps its data in Postgres. Supersedes the decision of"
        " 16 November on the Heron database.\n",
        "memory/2026-11-24.md": "# 2026-11-24\n\nThe Heron database has 12 tables.\n",
    },
    "by number": {
        "decisions.md": "# Decisions\n\n## D-004 The database of Heron\n\nThe Heron database is Redis.\n\n"
        "## D-007 Postgres\n\nSupersedes D-004. Heron keeps its database in Postgres.\n",
    },
    "in Chinese": {
        "memory/2026-11-16.md": "# 2026-11-16\n\nHeron 的数据库用 Redis，这个数据库最快。\n",
        "memory/2026-11-23.md": "# 2026-11-23\n\nHeron 的数据库改用 Postgres，取代 11 月 16 日的决定。\n",
    },
}


@pytest.mark.parametrize("kind", NOTES)
def test_what_is_replaced_says_so_and_stands_behind(tmp_path: Path, kind: str) -> None:
    for path, text in NOTES[kind].items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text, "utf-8")
    overrides = {"embedding.provider": "none", "index.include": ["**/*.md"]}
    with Memory.open(tmp_path, overrides=overrides) as memory:
        memory.sync()
        question = "Heron 数据库用什么" if kind == "in Chinese" else "Heron database"
        hits = memory.search(question, now=NOW).hits
    order = [next((word for word in ("Redis", "Postgres") if word in hit.text), "") for hit in hits]
    assert order.index("Postgres") < order.index("Redis")
    labels = [[one for one in hit.labels if one != "weak"] for hit in hits]
    newer = "newer" if kind == "by number" else "newer 2026-11-23"
    assert labels == [[newer] if name == "Redis" else [] for name in order]
