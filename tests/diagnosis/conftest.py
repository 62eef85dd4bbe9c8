"""A small workspace with an index, the case that is made of it, and findings by the name of their check."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from commonplace.diagnosis.examination import Case, present
from commonplace.memory import Memory
from commonplace.types import Finding

Present = Callable[[], Case]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace of two notes, whose vectors are made by the model that counts words."""
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "fake")
    root = tmp_path / "notes"
    (root / "memory").mkdir(parents=True)
    (root / "MEMORY.md").write_text("# Memory\n\n## Tea\n\n- Aged white tea after lunch.\n")
    (root / "memory" / "2026-02-13.md").write_text("# Day\n\n- The deploy moved to Thursday.\n")
    for note in root.rglob("*.md"):
        os.utime(note, (1_770_000_000, 1_770_000_000))
    return root


@pytest.fixture
def indexed(workspace: Path) -> Path:
    """The workspace with an index that is up to date."""
    with Memory.open(workspace) as memory:
        memory.sync()
    return workspace


@pytest.fixture
def case(workspace: Path) -> Present:
    """What makes the case of the workspace as it stands now."""
    return lambda: present(str(workspace))


def by_check(findings: Iterable[Finding]) -> dict[str, Finding]:
    """Findings by their check; no check tells two different things under one name here."""
    found = list(findings)
    names = {finding.check: finding for finding in found}
    assert len(names) == len(found), found
    return names


def states(findings: Iterable[Finding]) -> dict[str, str]:
    """The states of findings by their check."""
    return {name: finding.state for name, finding in by_check(findings).items()}


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder below which there is no workspace, as the current one."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder
