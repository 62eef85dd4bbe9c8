"""What a shell completes: commands, options, notes, collections, agents, sections and keys."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from commonplace import config
from commonplace.base.paths import Workspace
from commonplace.cli.completion import SHELLS
from commonplace.cli.offers import MOST
from commonplace.storage import journal
from commonplace.types.changes import About
from commonplace.types.changes import Run as Made
from tests.cli.conftest import SOURCE, Run, called, environment


def offered(workspace: Path, *words: str, typed: str = "") -> list[str]:
    """What is offered behind some words, with a part of the next one typed."""
    line = (
        shlex.join(["commonplace", "-w", str(workspace), *words]) + f" {shlex.quote(typed) if typed else ''}"
    )
    done = called(_COMMONPLACE_COMPLETE="bash_complete", COMP_WORDS=line)
    assert done.stderr == b""
    return [row.removeprefix("plain,") for row in done.stdout.decode().splitlines() if row]


@pytest.fixture
def filled(run: Run, workspace: Path, tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "白茶 1.md").write_text("# White tea\n")
    run("collection", "add", str(tmp_path / "docs"))
    with config.user_file().open("a") as file:
        file.write("\n[agents.scout.search]\nlimit = 5\n")
    journal.put(Workspace(workspace), Made("20260213-100000-abcdef", About("write", "x"), "", (), "done"))
    (workspace / "sessions").mkdir()
    (workspace / "sessions" / "s1.jsonl").write_text("")
    (workspace / "MEMORY.md").write_text("# Memory\n\n## Tea\n\n- White.\n\n## People & places\n\n- Lin.\n")
    return workspace


@pytest.mark.parametrize(
    ("words", "typed", "expected"),
    [
        ((), "sea", ["search"]),
        (("collection",), "re", ["remove", "rename"]),
        (("search",), "--lex", ["--lexical"]),
        (("search",), "status:", ["status:tentative", "status:superseded"]),
        (("search", "tea"), "ta", ["task:open", "task:done"]),
        (("search", "tea"), "in:d", ["in:docs"]),
        (("search", "--layer"), "i", ["index"]),
        (("get",), "MEM", ["MEMORY.md"]),
        (("get",), "memory/2026-02-1", ["memory/2026-02-13.md", "memory/2026-02-14.md"]),
        (("open",), "docs/", ["docs/白茶\\ 1.md"]),
        (("multi-get", "MEMORY.md"), "memory/2026-02-14", ["memory/2026-02-14.md"]),
        (("search", "-c"), "", ["memory", "docs"]),
        (("collection", "weight"), "d", ["docs"]),
        (("search", "--agent"), "s", ["scout"]),
        (("remember", "--section"), "P", ["People\\ \\&\\ places"]),
        (("config", "get"), "search.lim", ["search.limit"]),
        (("completion",), "", ["bash", "zsh", "fish"]),
        (("install",), "claude", ["claude-code"]),
        (("sessions", "show"), "", ["s1"]),
        (("undo",), "2026", ["20260213-100000-abcdef"]),
        (("import",), "me", ["mem0", "file,me"]),
        (("init",), "new", ["dir,new"]),
        (("export", "--to"), "", ["file,"]),
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
    (workspace / ".commonplace").mkdir(exist_ok=True)
    (workspace / ".commonplace" / "config.toml").write_text("[search\n")
    assert offered(workspace, "search", "-c") == offered(workspace, "get", typed="M") == []
    (workspace / "memory" / "a\x1b[31m.md").write_text("- x\n")
    (workspace / ".commonplace" / "config.toml").unlink()
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
    assert re.search(f"_COMMONPLACE_COMPLETE[ =]{shell}_complete", result.stdout)


@pytest.mark.parametrize(
    ("variable", "told"), [("/bin/zsh", ["zsh"]), ("/usr/bin/fish", ["fish"]), ("/bin/nush", list(SHELLS))]
)
def test_alone_it_says_what_to_do(run: Run, variable: str, told: list[str]) -> None:
    shown = run("completion", env={"SHELL": variable}).stdout
    assert [shell for shell in SHELLS if f"commonplace completion {shell}" in shown] == told
    assert run("completion", "csh").exit_code == 2


# --- the shells themselves --------------------------------------------------------------------------------


@pytest.fixture
def shelled(run: Run, filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Run a shell in the workspace, the script beside it; needs that shell."""
    for name in ("two words.md", "a:b,c.md", "it's.md"):
        (filled / "memory" / name).write_text("- x\n")
    program = tmp_path / "bin" / "commonplace"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m commonplace "$@"\n')
    program.chmod(0o755)

    def call(shell: str, *options: str, code: str) -> str:
        if shutil.which(shell) is None:
            pytest.skip(f"no {shell} here")
        (tmp_path / "script").write_text(run("completion", shell).stdout)
        path = f"{program.parent}:{os.environ['PATH']}"
        done = subprocess.run(
            [shell, *options, "-c", code, str(tmp_path / "script")], cwd=filled, capture_output=True, timeout=60,
            env=environment(PATH=path, PYTHONPATH=str(SOURCE), SCRIPT=str(tmp_path / "script"), TERM="dumb"),
        )  # fmt: skip
        assert done.stderr == b""
        return done.stdout.decode()

    return call


LINES = {
    "get memory/tw": "memory/two words.md",
    "get memory/a": "memory/a:b,c.md",
    'get "memory/two w': "memory/two words.md",
    "remember --section P": "People & places",
    "search --layer i": "index",
    "search --lexi": "--lexical",
    "coll": "collection",
}
ZSH = {"get memory/tw": "two\\ words.md", "remember --section P": "People\\ \\&\\ places"}  # where it escapes


def test_bash_completes_with_it(shelled: Callable[..., str]) -> None:
    lines = {**LINES, "get memory/a:b": "b,c.md", "get memory/two\\ w": "memory/two words.md"}
    asked = "\n".join(
        f"COMP_LINE={shlex.quote(f'commonplace {line}')}; COMP_POINT=${{#COMP_LINE}}\n"
        '_commonplace_completion commonplace; printf "%s\\n" "${COMPREPLY[@]}"'
        for line in lines
    )
    shown = shelled("bash", "--norc", code=f'. "$SCRIPT"\n{asked}').splitlines()
    assert shown == [
        offer if '"' in line else re.sub(r"[ &]", r"\\\g<0>", offer) for line, offer in lines.items()
    ]


def test_fish_completes_with_it(shelled: Callable[..., str]) -> None:
    asked = "; ".join(f"complete -C {shlex.quote(f'commonplace {line}')}" for line in LINES)
    shown = shelled("fish", "--no-config", code=f"source $SCRIPT; {asked}").splitlines()
    assert [row.partition("\t")[0] for row in shown] == list(LINES.values())


def test_zsh_completes_with_it(shelled: Callable[..., str]) -> None:
    """In a terminal of its own, since zsh completes where lines are edited alone."""
    asked = "\n".join(
        f"zpty -w -n shell {shlex.quote(f'commonplace {line}')}$'\\t'\nzpty -r -m shell shown '*'{shlex.quote(end)}'*'"
        " && print -r -- found; zpty -w -n shell $'\\C-u'"
        for line, end in ((line, ZSH.get(line, offer)) for line, offer in LINES.items())
    )
    code = f"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1=$'"'"'RE\\x41DY> '"'"'; autoload -Uz compinit; compinit -u -D; source "$SCRIPT"'
zpty -r -m shell shown '*READY> *'
{asked}
zpty -d shell
"""
    assert shelled("zsh", "-f", code=code).split() == ["found"] * len(LINES)
