"""`trust`: every record is shown and asked about by itself, and what cannot be shown is left and said."""

from __future__ import annotations

import json
from pathlib import Path

import click.testing
import pytest

from commonplace.base import paths, records, signature
from commonplace.cli.application import cli
from tests.attacks import folders


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return folders.workspace(tmp_path / "notes")


def trust(root: Path, *names: str, answer: str = "") -> click.testing.Result:
    return click.testing.CliRunner().invoke(cli, ["-w", str(root), "trust", *names], input=answer)


def put(root: Path, name: str, text: str) -> Path:
    path = root / ".commonplace" / "foreign" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_one_that_cannot_be_shown_does_not_stop_the_others(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("commonplace.cli.session.is_terminal", lambda stream: True)
    (root / ".commonplace" / "foreign" / "history" / folders.RUN).mkdir(parents=True)
    put(root, "batches.json", "{cut")
    put(root, "consolidated.json", '{"at": "now"}')
    put(root, "pending/s1.json", '{"session": "s1"}')
    (root / ".commonplace" / "pending").mkdir()
    (root / ".commonplace" / "pending" / "s1.json").write_text("{}")
    result = trust(root, answer="y\n" * 9)
    assert result.exit_code == 1, result.output
    assert result.output.count("Sign it") == 2  # of what could be read alone
    assert "batches.json: is damaged" in result.output
    assert "history" in result.output
    assert "remove one of them" in result.output  # the place of the last one is taken
    files = paths.Workspace(root).files
    path = root / ".commonplace" / "consolidated.json"
    assert records.read(files, path, "consolidated") == {"at": "now"}


def test_a_no_leaves_it_and_is_no_failure(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("commonplace.cli.session.is_terminal", lambda stream: True)
    path = put(root, "consolidated.json", '{"at": "now"}')
    result = trust(root, answer="n\n")
    assert result.exit_code == 0, result.output
    assert "when memory was last consolidated" in result.output
    assert path.exists()


def test_what_changed_after_it_was_shown_is_not_signed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("commonplace.cli.session.is_terminal", lambda stream: True)
    path = put(root, "consolidated.json", '{"at": "now"}')

    def agree(*args: object, **options: object) -> bool:
        path.write_text('{"at": "another"}')
        return True

    monkeypatch.setattr(click, "confirm", agree)
    result = trust(root)
    assert result.exit_code == 1
    assert "changed after it was shown" in result.output
    assert json.loads(path.read_text()) == {"at": "another"}


def test_two_machines_that_know_each_others_keys_share_a_folder(
    root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")

    def at(machine: str, *line: str) -> click.testing.Result:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / machine))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / machine / "cache"))
        monkeypatch.setattr(signature, "_keys", {})
        monkeypatch.setattr(records, "_said", set())
        return click.testing.CliRunner().invoke(cli, ["-w", str(root), *line])

    def key(machine: str) -> Path:
        return paths.user_config_dir({"XDG_CONFIG_HOME": str(tmp_path / machine)}) / "signing.key"

    assert at("one", "correct", "Nothing but rain.", "Sun at last.").exit_code == 0
    assert at("two", "sync").exit_code == 0
    (message,) = caplog.messages
    assert "the line of its signing.key" in message
    assert (root / ".commonplace" / "foreign" / "history").exists()
    for one, other in (("one", "two"), ("two", "one")):
        line = key(other).read_text().splitlines()[0]
        key(one).write_text(f"{key(one).read_text()}{line}\n")
    caplog.clear()
    moved = at("two", "trust")
    assert moved.exit_code == 0, moved.output
    assert "signed by a machine of yours, and moved back" in moved.output
    for machine in ("one", "two", "one"):
        assert at(machine, "sync").exit_code == 0
    assert at("two", "undo", "--yes").exit_code == 0
    assert "Nothing but rain." in (root / "memory" / "2026-02-14.md").read_text()
    assert caplog.messages == []


def test_a_lone_surrogate_is_shown_and_does_not_stop_the_others(root: Path) -> None:
    put(root, "pending/a.json", '{"a": "\\ud800"}')
    put(root, "pending/b\udcff.json", '{"b": "shown"}')
    result = trust(root)
    assert result.exit_code == 0, result.output
    assert '{"a": "\\ud800"}' in result.output
    assert "pending/b\\udcff.json" in result.output
    assert '{"b": "shown"}' in result.output


def test_sync_sets_everything_aside_that_is_not_signed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    names = ["batches.json", "consolidated.json", "injected/s1.json", "pending/s1.json"]
    for name in names:
        put(root, f"../{name}", '{"at": "now"}')
    assert (
        "4 records not signed by you, and not set aside yet: `commonplace sync` does it" in trust(root).output
    )
    synced = click.testing.CliRunner().invoke(cli, ["-w", str(root), "sync"])
    assert synced.exit_code == 0, synced.output
    assert records.foreign(paths.Workspace(root).files) == names
    assert "not set aside yet" not in trust(root).output
