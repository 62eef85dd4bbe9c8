"""`demo` end to end, without a terminal: every question finds what it should."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from commonplace.cli import measurements as drawing
from commonplace.demo import questions
from tests.cli.conftest import called


def test_demo_finds_every_expected_passage_and_leaves_the_workspace(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    (tmp_path / "here").mkdir()
    done = called("demo", "--keep", "../kept", cwd=tmp_path / "here")
    shown = done.stdout.decode()
    assert done.returncode == 0, done.stderr.decode()
    assert b"\x1b" not in done.stdout
    assert len(re.findall(r"answered by \[[123]\]", shown)) == len(questions()) == 8
    assert shown.index("answered by [1]") < shown.index("2. ")  # the first answer is right
    assert "vectors + full text" in shown
    assert re.search(r"kestrel/\S+\.md:\d+", shown)
    (files,) = re.findall(r"([\d,]+) tokens in all files", shown)
    (passages,) = set(re.findall(r"tokens of ([\d,]+) in all notes", shown))
    assert int(passages.replace(",", "")) < int(files.replace(",", ""))
    assert "tokens of a prompt: `commonplace recall`" in shown
    question = ("search", "--lexical", "max_in_flight", "-c", "kestrel", "--format", "files")
    found = called("-w", folder, *question)
    assert b"kestrel/" in found.stdout
    assert called("demo", "--keep", folder).returncode == 1


def test_demo_fails_if_a_question_finds_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    monkeypatch.setattr("commonplace.memory.Memory.search", _finds_nothing)
    assert drawing._show(tmp_path / "notes", kept=False) == 1


def _finds_nothing(self: object, text: str, **named: object) -> object:
    from commonplace.types import SearchResult

    return SearchResult(text, (), 2)
