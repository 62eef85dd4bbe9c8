"""The state of version 0.1, as that version left it in `version_0_1.zip`, is taken over once."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from commonplace.base import paths
from commonplace.base.root import Root
from commonplace.memory import Memory
from commonplace.storage import state, taking_over
from commonplace.storage.queue import Queue

LEFT = Path(__file__).with_name("version_0_1.zip")


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """The notes of version 0.1."""
    with zipfile.ZipFile(LEFT) as packed:
        packed.extractall(tmp_path)
    settings = paths.user_config_dir()
    settings.mkdir(parents=True)
    (settings / "config.toml").write_text('[embedding]\nprovider = "none"\n')
    return tmp_path / "notes"


def seen(notes: Path) -> dict[str, object]:
    """What there is afterwards, but for names by chance."""
    workspace = paths.Workspace(notes)
    memory = Memory.open(notes)
    with memory:
        queue = Queue(workspace)
        assert not queue.drain(memory.capture).trouble
        hits = [hit.text for hit in memory.search("gas").hits]
    return {
        "state": sorted(
            [kind for (kind,) in state.rows(workspace, "SELECT kind FROM value")]
            + ["overwritten" for _ in state.rows(workspace, "SELECT name FROM overwritten")]
        ),
        "notes": {
            path.name: path.read_text() for path in sorted(notes.rglob("*.md")) if "old" not in path.parts
        },
        "old": sorted(os.listdir(notes / ".commonplace")),
        "hits": hits,
    }


def test_entries_that_wait_are_written_as_untrusted(notes: Path) -> None:
    found = seen(notes)
    assert found["state"] == []
    texts = "\n".join(found["notes"].values())  # type: ignore[attr-defined]
    assert "Kim moved to Oslo. <!-- by: untrusted;" in texts
    assert "A stranger says hi. <!-- by: untrusted;" in texts
    assert found["old"] == [".gitignore", "old"]
    assert any("Gas costs 40" in text for text in found["hits"])  # type: ignore[attr-defined]


def test_it_is_taken_over_once(notes: Path) -> None:
    before = seen(notes)
    assert not taking_over.is_due(paths.Workspace(notes))
    assert seen(notes) == before


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("step", range(1, 22))
def test_killed_at_any_step_it_goes_on(notes: Path, step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    left = step

    def killing(method: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **named: object) -> object:
            nonlocal left
            left -= 1
            if not left:
                raise Killed
            return method(*arguments, **named)

        return call

    with monkeypatch.context() as patch:
        for name in ("create", "rename", "exchange", "make_folder", "descriptor"):
            patch.setattr(Root, name, killing(getattr(Root, name)))
        patch.setattr(Queue, "extend", killing(Queue.extend))
        with pytest.raises(Killed):
            taking_over.run(paths.Workspace(notes))
    found = seen(notes)
    texts = "\n".join(found["notes"].values())  # type: ignore[attr-defined]
    assert texts.count("Kim moved to Oslo.") == texts.count("A stranger says hi.") == 1
    assert found["old"] == [".gitignore", "old"]


def test_where_the_folder_cannot_be_changed_it_stays(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode, **_: False)
    assert not taking_over.is_due(paths.Workspace(notes))
