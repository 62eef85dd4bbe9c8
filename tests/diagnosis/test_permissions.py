"""Permissions: settings that others can write, keys and caches that others can read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from commonplace.base.paths import user_cache_dir
from commonplace.config import user_file
from commonplace.diagnosis import permissions
from tests.diagnosis.conftest import Present, by_check, states


@pytest.fixture
def config() -> Path:
    path = user_file()
    path.parent.mkdir(parents=True, mode=0o755)
    path.write_text("")
    path.chmod(0o644)
    return path


def test_no_settings_nothing_to_say(case: Present) -> None:
    assert list(permissions.settings(case())) == []
    assert list(permissions.keys(case())) == []


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664])
def test_settings_that_nobody_else_can_write(case: Present, config: Path, mode: int) -> None:
    config.chmod(mode)
    assert states(permissions.settings(case())) == {"permissions.settings": "ok"}


def test_settings_that_everybody_can_write(case: Present, config: Path) -> None:
    config.chmod(0o646)
    found = by_check(permissions.settings(case()))["permissions.settings"]
    assert (found.state, found.remedy) == ("wrong", f"chmod go-w {config}")
    config.chmod(0o644)
    config.parent.chmod(0o757)
    found = by_check(permissions.settings(case()))["permissions.settings"]
    assert (found.state, found.remedy) == ("wrong", f"chmod go-w {config.parent}")


def test_settings_of_another_group_or_user(case: Present, config: Path) -> None:
    if os.geteuid():
        pytest.skip("only root gives files away")
    config.chmod(0o664)
    os.chown(config, -1, 12345)
    assert states(permissions.settings(case())) == {"permissions.settings": "warning"}
    config.chmod(0o644)
    os.chown(config, 12345, -1)
    assert states(permissions.settings(case())) == {"permissions.settings": "wrong"}


def test_key_files(case: Present, config: Path, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("sk-test-0123456789abcdef")
    config.write_text(f"[embedding]\nkey = '{key}'\n")
    for mode, state in ((0o600, "ok"), (0o400, "ok"), (0o640, "warning"), (0o604, "warning")):
        key.chmod(mode)
        found = by_check(permissions.keys(case()))["permissions.keys"]
        assert found.state == state
        assert "sk-test" not in found.told
    assert found.remedy == f"chmod 600 {key}"
    key.unlink()
    assert list(permissions.keys(case())) == []  # the provider's own check tells


def test_caches(case: Present, private_home: Path) -> None:
    assert states(permissions.caches(case())) == {"permissions.caches": "ok"}
    kept = user_cache_dir() / "vectors.sqlite"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"")
    kept.chmod(0o600)
    assert states(permissions.caches(case())) == {"permissions.caches": "ok"}
    kept.chmod(0o644)
    found = by_check(permissions.caches(case()))["permissions.caches"]
    assert (found.state, found.remedy) == ("warning", f"chmod 600 {kept}")


def test_a_folder_of_caches_that_is_a_file(case: Present, private_home: Path) -> None:
    (private_home / "cache").write_text("")
    assert states(permissions.caches(case())) == {"permissions.caches": "warning"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_files_of_another_user_are_named_with_one_command(case: Present, tmp_path: Path) -> None:
    given = case()
    assert given.workspace is not None
    given.workspace.files.create("sessions/x.jsonl", b"1")
    assert states(permissions.owners(given)) == {"permissions.owners": "ok"}
    root = given.workspace.root
    os.chown(root, 1234, 1234)
    for path in root.rglob("*"):
        os.lchown(path, 1234, 1234)
    assert states(permissions.owners(given)) == {"permissions.owners": "ok"}
    (root / "memory").mkdir(exist_ok=True)
    os.chown(root / "memory", 1234, 1234)
    (root / "memory" / "shared.md").write_text("x")
    (root / "memory" / "shared.md").chmod(0o666)  # which its owner shares on purpose
    assert states(permissions.owners(given)) == {"permissions.owners": "ok"}
    os.chown(root / "sessions" / "x.jsonl", 0, 0)
    (root / "memory" / "closed.md").write_text("x")
    (root / "memory" / "closed.md").chmod(0o600)
    found = by_check(permissions.owners(given))["permissions.owners"]
    assert found.state == "wrong"
    assert "2 files of another user (0; 0 is `sudo`)" in found.told
    assert "sessions/x.jsonl, memory/closed.md" in found.told
    assert found.remedy == f"sudo chown -hR 1234 {root / 'sessions'} {root / 'memory'}"
