"""Editors: each takes the line in its way, and what cannot be started is one line."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from commonplace.base import editors
from commonplace.base.errors import ConfigError


@pytest.mark.parametrize(
    ("typed", "rest"),
    [
        ("vim", ["+7", "{path}"]),
        ("nvim -p", ["-p", "+7", "{path}"]),
        ("vim.basic", ["+7", "{path}"]),
        ("hx", ["{path}:7"]),
        ("code", ["--wait", "--goto", "{path}:7"]),
        ("subl", ["--wait", "{path}:7"]),
        ("unheard-of --flag 'a b'", ["--flag", "a b", "{path}"]),
    ],
)
def test_each_editor_is_given_the_line_in_its_way(tmp_path: Path, typed: str, rest: list[str]) -> None:
    name, _, options = typed.partition(" ")
    program = tmp_path / "bin folder" / name
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    note = tmp_path / "a note.md"
    argv = editors.command_line(note, 7, {"EDITOR": f"{shlex.quote(str(program))} {options}"})
    assert argv == [str(program), *(part.format(path=note) for part in rest)]


def test_a_link_to_an_editor_is_given_the_line_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "vim.basic").write_text("#!/bin/sh\n")
    (tmp_path / "vim.basic").chmod(0o755)
    (tmp_path / "editor").symlink_to("vim.basic")
    monkeypatch.setenv("PATH", str(tmp_path))
    note = tmp_path / "n.md"
    assert editors.command_line(note, 7, {"EDITOR": ""}) == ["editor", "+7", str(note)]


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({"EDITOR": "no-such-editor -x"}, "EDITOR: there is no program 'no-such-editor'"),
        ({"VISUAL": "'open"}, "VISUAL: cannot be read as a command: no closing quotation"),
        ({"EDITOR": "  "}, "EDITOR: there is no terminal for an editor; set one that opens a window"),
        ({"EDITOR": "nano"}, "EDITOR: there is no program 'nano'; set it, as in: export EDITOR=vi"),
    ],
)
def test_no_editor_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], told: str
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(ConfigError, match=told):
        editors.command_line(tmp_path / "n.md", 1, variables, usual=False)


def test_one_that_does_not_start_is_one_line() -> None:
    with pytest.raises(ConfigError, match="set EDITOR"):
        editors.run(["/no/such/editor", "n.md"])
