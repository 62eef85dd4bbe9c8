"""Permissions: settings that others can write, keys and folders of ours that others can read."""

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
    assert list(permissions.settings(case())) == []


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
    for mode in (0o600, 0o400):
        key.chmod(mode)
        assert list(permissions.keys(case())) == []
    for mode in (0o640, 0o604):
        key.chmod(mode)
        (found,) = permissions.keys(case())
        assert (found.state, found.remedy) == ("warning", f"chmod 600 {key}")
        assert "sk-test" not in found.told
    key.unlink()
    assert list(permissions.keys(case())) == []  # the provider's own check tells


def test_our_folders_are_closed_to_others(case: Present, indexed: Path) -> None:
    assert list(permissions.folders(case())) == []
    user_cache_dir().chmod(0o755)
    (found,) = permissions.folders(case())
    assert (found.state, str(user_cache_dir()) in found.told) == ("warning", True)
