"""What a shell completes: commands, options, notes, collections, agents, sections and keys."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from commonplace import config
from commonplace.base.paths import Workspace
from commonplace.cli.completion import SHELLS
from commonplace.cli.offers import MOST
from tests.cli.conftest import SOURCE, Run, called, environment


def offered(workspace: Path, *words: str, typed: str = "") -> list[str]:
    """What is offered behind some words, with a part of the next one typed."""
    line = (
        shlex.join(["commonplace", "-w", str(workspace), *words]) + f" {shlex.quote(typed) if typed else ''}"
    )
    done = called(_COMMONPLACE_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD=str(len(words) + 3))
    assert done.stderr == b""
    return [row.removeprefix("plain,") for row in done.stdout.decode().splitlines() if row]


@pytest.fixture
def filled(run: Run, workspace: Path, tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "白茶 1.md").write_text("# White tea\n")
    run("collection", "add", str(tmp_path / "docs"))
    Workspace(workspace).settings.write_text("[agents.scout.search]\nlimit = 5\n")
    (workspace / "MEMORY.md").write_text("# Memory\n\n## Tea\n\n- White.\n\n## People & places\n\n- Lin.\n")
    return workspace


@pytest.mark.parametrize(
    ("words", "typed", "expected"),
    [
        ((), "sea", ["search"]),
        (("collection",), "re", ["remove", "rename"]),
        (("search",), "--lex", ["--lexical"]),
        (("search", "--layer"), "i", ["index"]),
        (("get",), "MEM", ["MEMORY.md"]),
        (("get",), "memory/2026-02-1", ["memory/2026-02-13.md", "memory/2026-02-14.md"]),
        (("edit",), "docs/", ["docs/白茶\\ 1.md"]),
        (("multi-get", "MEMORY.md"), "memory/2026-02-14", ["memory/2026-02-14.md"]),
        (("search", "-c"), "", ["memory", "docs"]),
        (("collection", "weight"), "d", ["docs"]),
        (("search", "--agent"), "s", ["scout"]),
        (("remember", "--section"), "P", ["People\\ \\&\\ places"]),
        (("config", "get"), "search.lim", ["search.limit"]),
        (("completion",), "", ["bash", "zsh", "fish"]),
        (("get",), "nothing-begins-so", []),
    ],
)
def test_what_may_stand_there_is_offered(
    filled: Path, words: tuple[str, ...], typed: str, expected: list[str]
) -> None:
    assert offered(filled, *words, typed=typed) == expected


def test_many_notes_are_bounded(workspace: Path) -> None:
    for number in range(MOST + 50):
        (workspace / "memory" / f"n{number:04}.md").write_text("- x\n")
    assert len(offered(workspace, "get", typed="memory/n")) == MOST


def test_what_is_wrong_offers_nothing_and_says_nothing(workspace: Path, tmp_path: Path) -> None:
    assert offered(tmp_path / "none", "get", typed="M") == []
    Workspace(workspace).settings.write_text("[search\n")
    assert offered(workspace, "search", "-c") == offered(workspace, "get", typed="M") == []
    (workspace / "memory" / "a\x1b[31m.md").write_text("- x\n")
    Workspace(workspace).settings.unlink()
    assert offered(workspace, "get", typed="memory/a") == []


def test_a_limited_agent_is_offered_its_own_notes_alone(workspace: Path) -> None:
    config.user_file().parent.mkdir(parents=True, exist_ok=True)
    config.user_file().write_text(f'[agents.guest]\nreads = ["{workspace.parent / "elsewhere"}"]\n')
    assert offered(workspace, "--agent", "guest", "get", typed="M") == []


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_names_the_program(run: Run, shell: str) -> None:
    result = run("completion", shell)
    assert result.exit_code == 0
    assert "_commonplace_completion" in result.stdout
    assert f"_COMMONPLACE_COMPLETE={shell}_complete" in result.stdout


@pytest.mark.parametrize(
    ("variable", "told"), [("/bin/zsh", ["zsh"]), ("/usr/bin/fish", ["fish"]), ("/bin/nush", list(SHELLS))]
)
def test_alone_it_says_what_to_do(run: Run, variable: str, told: list[str]) -> None:
    shown = run("completion", env={"SHELL": variable}).stdout
    assert [shell for shell in SHELLS if f"commonplace completion {shell}" in shown] == told
    assert run("completion", "csh").exit_code == 2


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_with_it(run: Run, workspace: Path, tmp_path: Path) -> None:
    (workspace / "memory" / "two words.md").write_text("- x\n")
    program = tmp_path / "bin" / "commonplace"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m commonplace "$@"\n')
    program.chmod(0o755)
    script = run("completion", "bash").stdout
    asking = (
        'COMP_WORDS=(commonplace -w "$0" get memory/t); COMP_CWORD=4; _commonplace_completion commonplace'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", f'{script}\n{asking}\nprintf "%s|" "${{COMPREPLY[@]}}"', str(workspace)],
        capture_output=True,
        env=environment(PATH=f"{program.parent}:{os.environ['PATH']}", PYTHONPATH=str(SOURCE)),
        timeout=60,
    )
    assert done.stdout.decode() == "memory/two\\ words.md|", done.stderr
