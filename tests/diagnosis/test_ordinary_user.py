"""What an ordinary user may not read or write, with real modes of real files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commonplace.base.paths import Workspace
from commonplace.config import user_file
from tests.test_ordinary_user import Ask, ask, workspace  # noqa: F401


def findings(ask: Ask) -> dict[str, dict[str, str]]:  # noqa: F811
    """What is not fine, by its check."""
    done = ask("doctor", "--json")
    assert done.stderr == ""
    data = json.loads(done.stdout)
    assert done.returncode == (0 if data["ok"] else 1)
    return {one["check"]: one for one in data["findings"] if one["state"] in ("warning", "wrong")}


@pytest.fixture
def synced(ask: Ask, workspace: Path) -> Path:  # noqa: F811
    ask("init")
    assert ask("sync").returncode == 0
    assert findings(ask) == {}
    return workspace


def test_a_note_and_a_folder_that_are_closed(ask: Ask, synced: Path) -> None:  # noqa: F811
    (synced / "MEMORY.md").chmod(0)
    (synced / "memory" / "closed").mkdir(mode=0)
    found = findings(ask)
    assert found["notes.readable"]["told"] == "1 note cannot be read: MEMORY.md"
    assert found["workspace.folders"]["state"] == "wrong"
    assert found["workspace.folders"]["remedy"] == f"chmod u+rx {synced / 'memory' / 'closed'}"


def test_a_workspace_that_cannot_be_written(ask: Ask, synced: Path) -> None:  # noqa: F811
    places = [synced, synced / "memory"]
    for place in places:
        place.chmod(0o500)
    found = findings(ask)
    assert list(found) == ["workspace.writable"]
    assert found["workspace.writable"]["state"] == "warning"


def test_an_index_that_cannot_be_read(ask: Ask, synced: Path) -> None:  # noqa: F811
    path = Workspace(synced).index
    path.chmod(0)
    found = findings(ask)
    assert found["index.file"]["remedy"] == f"chmod u+rw {path}"
    path.chmod(0o600)
    assert findings(ask) == {}


def test_settings_that_cannot_be_read(ask: Ask, synced: Path) -> None:  # noqa: F811
    user_file().parent.mkdir(0o700, parents=True, exist_ok=True)
    user_file().write_text("[search]\nlimit = 5\n")
    user_file().chmod(0)
    found = findings(ask)
    assert found["settings.user"]["state"] == "wrong"
    assert "permission denied" in found["settings.user"]["told"]
    user_file().chmod(0o600)
    assert findings(ask) == {}


def test_a_workspace_that_is_closed(ask: Ask, synced: Path) -> None:  # noqa: F811
    synced.chmod(0)
    assert findings(ask)["workspace.folder"]["state"] == "wrong"
