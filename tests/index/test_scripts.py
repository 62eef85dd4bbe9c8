"""Scripts: what a passage is written in, what share of the notes a model serves, and what is advised."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.chunking.settings import DEFAULT
from commonplace.config.settings import EMBEDDERS
from commonplace.index import rules, scripts
from commonplace.index.sqlite.index import SqliteIndex
from commonplace.index.sync import sync_text
from commonplace.notes.scan import CollectionFiles, scan

LATIN_ONLY, HAN, BOTH = frozenset({"latin"}), frozenset({"latin", "han"}), frozenset({"latin", "cjk"})


def test_the_command_that_mends_it() -> None:
    for found, served, command in [
        ({"latin": 0.4, "cjk": 0.6}, LATIN_ONLY, "fastembed"),
        ({"latin": 0.4, "other": 0.6}, LATIN_ONLY, "fastembed"),
        ({"latin": 0.4, "cjk": 0.3, "other": 0.3}, LATIN_ONLY, "fastembed"),
        ({"latin": 0.4, "han": 0.6}, LATIN_ONLY, "builtin"),
        ({"latin": 0.4, "cjk": 0.6}, HAN, "fastembed"),
        ({"latin": 0.9, "cjk": 0.1}, frozenset({"cjk"}), "builtin"),
    ]:
        advice = scripts.advise(found, served)
        assert advice is not None, (found, served, command)
        assert advice.provider == command
        assert command.split()[-1] in EMBEDDERS


def test_nothing_is_said_while_all_is_served() -> None:
    for found, served in [
        ({}, LATIN_ONLY),
        ({"latin": 0.995, "cjk": 0.005}, LATIN_ONLY),
        ({"cjk": 1.0}, BOTH),
        ({"han": 1.0}, BOTH),
        ({"han": 1.0}, HAN),
        ({"other": 1.0}, BOTH),
    ]:
        assert scripts.advise(found, served) is None


def test_a_part_that_is_not_served_is_told_as_what_it_is() -> None:
    advice = scripts.advise({"latin": 0.88, "other": 0.09, "han": 0.03}, LATIN_ONLY)
    assert advice is not None
    assert advice.told == "12% of the passages have no vector: their script is not served (another script)"
    assert not advice.most
    half = scripts.advise({"latin": 0.5, "cjk": 0.5}, LATIN_ONLY)
    assert half is not None
    assert not half.most


def index_of(root: Path) -> SqliteIndex:
    index = SqliteIndex(":memory:", rules.identity(DEFAULT))
    sync_text(index, scan([CollectionFiles("memory", str(root))]), DEFAULT)
    return index


def test_shares_of_notes(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# 一\n\n周五下午不部署。\n\n# 二\n\n膝盖韧带拉伤，六周不能跑步。\n")
    (tmp_path / "b.md").write_text("# B\n\nThe deploy moved to Thursday.\n\n# C\n\n42\n")
    found = scripts.shares(index_of(tmp_path))
    assert found["other"] == 0
    assert found["han"] == pytest.approx(2 / 3)
    assert found["latin"] == pytest.approx(1 / 3)


def test_a_sample_is_spread_over_all_notes(tmp_path: Path) -> None:
    for number in range(60):
        words = "周五下午不部署。" if number < 45 else "The deploy moved to Thursday."
        (tmp_path / f"{number:02}.md").write_text(f"{words}\n")
    index = index_of(tmp_path)
    read: list[int] = []
    passages = index.passages
    index.passages = lambda ids: read.extend(ids) or passages(read)  # type: ignore[method-assign]
    found = scripts.shares(index, sample=20)
    assert len(read) == 20
    assert found["han"] == pytest.approx(0.75, abs=0.15)


def test_an_empty_index(tmp_path: Path) -> None:
    assert scripts.shares(index_of(tmp_path)) == {}
