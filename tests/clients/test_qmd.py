"""QMD itself, which npm installs: asked from our search, and its collections taken over. No model is fetched."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import command, environment
from tests.clients.environments import modules
from tests.integrations.contract import NOTES, TURNS

# It joins all words of a question, so that questions are asked as words. One Chinese word is what it finds.
ASKED = {
    "Tuesdays": "deploys Tuesdays",
    "青禾小学": "青禾小学",
    "17:45": "ferry Oslo",
    "老周": "备用钥匙",
    "cabinet 14": "spare projector",
    "4月25日": "热水器",
}
CONTEXT = "Notes of the household"


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Notes that QMD has indexed in this test's home, without vectors; none of ours."""
    folder = modules("qmd")
    (node,) = folder.glob("node-*/bin")
    monkeypatch.setenv("PATH", os.pathsep.join([str(node), str(folder / ".bin"), os.environ["PATH"]]))
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    root = tmp_path / "theirs"
    for path, text in NOTES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")
    for line in (["collection", "add", str(root), "--name", "sea"], ["context", "add", "qmd://sea", CONTEXT]):
        done = subprocess.run(["qmd", *line], capture_output=True, text=True, env=environment(), timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
    return root


@pytest.fixture
def ours(tmp_path: Path, notes: Path) -> Path:
    root = tmp_path / "ours"
    run(root, "init", str(root))
    return root


def run(workspace: Path, *arguments: str) -> str:
    done = subprocess.run(
        command("-w", workspace, *arguments), capture_output=True, text=True, env=environment(), timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def hits(workspace: Path, *arguments: str) -> list[Any]:
    found: list[Any] = json.loads(run(workspace, "search", "--format", "json", *arguments))
    return found


def test_it_answers_from_its_own_index_in_two_languages(ours: Path, notes: Path) -> None:
    for _, evidence in TURNS:
        if not evidence:
            continue
        first, *_ = hits(ours, "--engine", "qmd", "--lexical", ASKED[evidence])
        assert evidence in first["text"], evidence
        lines = Path(first["path"]).read_text("utf-8").split("\n")
        shown = lines[first["start_line"] - 1 : first["end_line"]]
        assert "\n".join(shown).strip() == first["text"].strip(), evidence
        assert first["contexts"] == [CONTEXT]


def test_its_collections_become_ours(ours: Path, notes: Path, private_home: Path) -> None:
    run(ours, "import", "qmd", str(private_home / "config" / "qmd"))
    for question, evidence in TURNS:
        if evidence:
            first, *_ = hits(ours, question)
            assert (first["collection"], evidence in first["text"]) == ("sea", True), question
            assert first["contexts"] == [CONTEXT]
    # What it cites is now a note of ours.
    first, *_ = hits(ours, "--engine", "qmd", "--lexical", ASKED["17:45"])
    assert first["path"] == "sea/memory/2026-02-13.md"
