"""A case: found or missing, with settings as far as they can be read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from commonplace.config import user_file
from commonplace.diagnosis.examination import present
from tests.places import settings_file


def test_a_workspace_that_is_there(workspace: Path) -> None:
    case = present(str(workspace), offline=True)
    assert (case.root, case.missing, case.offline) == (workspace, "", True)
    assert case.workspace is not None
    assert case.workspace.root == workspace
    assert case.settings.embedding.provider == "fake"


def test_a_workspace_that_was_named_and_is_missing(tmp_path: Path) -> None:
    case = present(str(tmp_path / "gone"))
    assert (case.root, case.workspace, case.named) == (None, None, True)
    assert case.missing == str(tmp_path / "gone")


def test_no_workspace_at_all(nobody: Path) -> None:
    case = present(None)
    assert (case.root, case.named, case.missing) == (None, False, str(nobody))
    assert case.settings.search.limit == 10


def test_a_current_folder_that_is_gone(nobody: Path) -> None:
    nobody.rmdir()
    assert present(None).root is None


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize("text", ["[recall]\nbudget = 'x'\n", "[recall\n", "\x00", "[nothing]\n"])
def test_a_broken_file_of_the_workspace_leaves_the_others(workspace: Path, text: str) -> None:
    write(user_file(), "[search]\nlimit = 5\n")
    write(settings_file(workspace), text)
    settings = present(str(workspace)).settings
    assert (settings.search.limit, settings.embedding.provider) == (5, "fake")


def test_a_broken_variable_leaves_the_files(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(user_file(), "[search]\nlimit = 5\n")
    monkeypatch.setenv("COMMONPLACE_SEARCH_LIMIT", "many")
    assert present(str(workspace)).settings.search.limit == 5


def test_all_of_it_broken_leaves_the_defaults(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(user_file(), "[search]\nlimit = 'x'\n")
    write(settings_file(workspace), "[search\n")
    monkeypatch.setenv("COMMONPLACE_RECALL_BUDGET", "x")
    settings = present(str(workspace)).settings
    assert (settings.search.limit, settings.recall.budget) == (10, 1000)


def test_the_environment_is_that_of_the_process_unless_given(workspace: Path) -> None:
    assert present(str(workspace)).environ == dict(os.environ)
    assert present(str(workspace), {"HOME": "/nowhere"}).environ == {"HOME": "/nowhere"}
