"""`config edit`: an editor that cannot do harm, and no text lost."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from commonplace import config
from commonplace.base.errors import ConfigError
from tests.cli.conftest import Run
from tests.places import settings_file

WRONG = "[search]\nlimit = 'x'\n"


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that notes what it is given in `seen`, and puts what lies in `text` into its place.

    Of several texts (`text`, `text2`, …) it takes the first that is left.
    """
    script = tmp_path / "editor.py"
    script.write_text(
        "import pathlib, sys, os\nfile, home = pathlib.Path(sys.argv[1]), pathlib.Path(__file__).parent\n"
        "(home / 'seen').write_bytes(file.read_bytes())\n"
        "for new in sorted(home.glob('text*'))[:1]:\n"
        "    file.write_bytes(new.read_bytes())\n    os.utime(file, (1, 1))\n    new.unlink()\n"
    )
    monkeypatch.setenv("VISUAL", f"{sys.executable} {script}")
    return tmp_path


def kept(name: str = "config.rejected.toml") -> Path:
    return config.user_file().parent / name


def test_every_byte_of_an_edited_text_is_kept(run: Run, editor: Path) -> None:
    text = "\ufeff# mine \u8336\r\n[search]\r\nlimit = 7".encode()
    (editor / "text").write_bytes(text)
    assert run("config", "edit").exit_code == 0
    assert config.user_file().read_bytes() == text
    (editor / "text").write_bytes(text.replace(b"7", b"8"))
    run("config", "edit")
    assert (editor / "seen").read_bytes() == text
    assert run("config", "get", "search.limit").stdout == "8\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"[search]\nlimit = 'x'\n", "search.limit: 'x'"),
        (b"[search]\nlimit = 3\nlimit\n", "at line 3"),
        (b"[search]\nlimit = '\xff'\n", "not UTF-8 (at line 2)"),
        (b"[agents.x.search]\nlimit = 0\n", "search.limit: 0"),
        (b'[workspaces."/elsewhere".collections.x]\npath = 3\n', "must be a folder"),
    ],
)
def test_what_cannot_be_loaded_is_kept_beside(run: Run, editor: Path, text: bytes, told: str) -> None:
    run("config", "set", "search.limit", "5")
    (editor / "text").write_bytes(text)
    done = run("config", "edit")
    assert done.exit_code == 1
    assert told in done.stderr
    assert f"your text is kept in {kept()}" in done.stderr
    assert done.stderr.count("\n") == 1
    assert kept().read_bytes() == text
    assert run("config", "get", "search.limit").stdout == "5\n"


def test_a_workspace_file_stays_harmless(run: Run, editor: Path, workspace: Path) -> None:
    (editor / "text").write_text("[embedding]\nbase_url = 'http://evil'\n")
    run("config", "edit", "--in-workspace")
    assert "base_url" not in (editor / "seen").read_text()
    assert run("config", "get", "embedding.base_url").stdout.strip() == ""
    assert "embedding.base_url in" in run("sync", "--no-embed").stderr


def test_a_refused_text_follows_no_link_of_a_workspace(
    run: Run, editor: Path, workspace: Path, tmp_path: Path
) -> None:
    mine = tmp_path / "mine"
    mine.write_text("precious")
    for name in ("config.rejected.toml", "config.rejected.lock"):
        settings_file(workspace).with_name(name).symlink_to(mine)
    before = sorted(workspace.iterdir())
    (editor / "text").write_text(WRONG)
    assert run("config", "edit", "--in-workspace").exit_code == 1
    assert kept().read_text() == WRONG
    assert mine.read_text() == "precious"
    assert sorted(workspace.iterdir()) == before


def test_a_fifo_in_its_place_is_not_waited_for(run: Run, editor: Path, workspace: Path) -> None:
    os.mkfifo(settings_file(workspace))
    done = run("config", "edit", "--in-workspace")
    assert (done.exit_code, "a fifo, not a regular file" in done.stderr) == (1, True)
    assert not (editor / "seen").exists()


def test_nothing_saved_is_nothing_changed(run: Run, editor: Path) -> None:
    assert run("config", "edit").stdout == "nothing was changed\n"
    assert not config.user_file().exists()


def test_what_another_process_wrote_meanwhile_stays(run: Run, editor: Path) -> None:
    run("config", "set", "search.limit", "5")
    with pytest.raises(ConfigError, match="changed meanwhile"):
        config.rewrite(b"", b"[search]\nlimit = 7\n")
    assert run("config", "get", "search.limit").stdout == "5\n"


def test_an_editor_that_is_not_there(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "no-such-editor-anywhere")
    done = run("config", "edit")
    assert done.exit_code == 1
    assert "no-such-editor-anywhere" in done.stderr
    assert "Traceback" not in done.stderr
