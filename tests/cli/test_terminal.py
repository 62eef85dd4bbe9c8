"""The program on a real terminal: colours, links and widths where they are wanted; nothing that a terminal obeys."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cli.conftest import Main, Program, Run, called, command, environment
from tests.places import settings_file

pty = pytest.importorskip("pty")

COLOUR, LINK = "\x1b[", "\x1b]8;;"
HOSTILE = "\\u001b]0;owned\\u0007\\u009b31m"


def on_a_terminal(workspace: Path, *arguments: str, **variables: str) -> str:
    """Run the program in this process with standard output on a terminal; return what it wrote there."""
    code, shown, errors = ended_on_a_terminal(workspace, *arguments, **variables)
    assert not code, errors
    return shown


def ended_on_a_terminal(workspace: Path, *arguments: str, **variables: str) -> tuple[int, str, str]:
    """Run the program so; return with what it ends, what it wrote there and on standard error."""
    ours, theirs = pty.openpty()
    errors = io.StringIO()
    with (
        ThreadPoolExecutor(1) as pool,
        open(os.devnull) as nothing,
        open(theirs, "w", encoding="utf-8") as terminal,
        pytest.MonkeyPatch.context() as patch,
    ):
        shown = pool.submit(read, ours)
        for name, value in {"TERM": "xterm-256color", **variables}.items():
            patch.setenv(name, value)
        for name, stream in (("stdin", nothing), ("stdout", terminal), ("stderr", errors)):
            patch.setattr(sys, name, stream)
        with pytest.raises(SystemExit) as end:
            Main.main(["-w", str(workspace), *arguments])
        terminal.close()
        code = end.value.code if isinstance(end.value.code, int) else 0
        return code, shown.result().decode().replace("\r\n", "\n"), errors.getvalue()


def read(terminal: int) -> bytes:
    """Read what is written on a terminal until it is closed."""
    shown = b""
    try:
        while part := os.read(terminal, 65536):
            shown += part
    except OSError:  # how Linux says that the other side was closed
        pass
    os.close(terminal)
    return shown


def on_a_terminal_of_its_own(workspace: Path, *arguments: str, **variables: str) -> str:
    """Run the program as a process with standard output on a terminal; return what it wrote there."""
    ours, theirs = pty.openpty()
    variables = {"TERM": "xterm-256color", **variables}
    with subprocess.Popen(
        command("-w", workspace, *arguments),
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.PIPE,
        env=environment(**variables),
    ) as process:
        os.close(theirs)
        shown = read(ours)
        assert process.stderr
        errors = process.stderr.read()
        assert process.wait(60) == 0, errors
    return shown.decode().replace("\r\n", "\n")


def test_a_terminal_gets_colours_and_links(workspace: Path) -> None:
    shown = on_a_terminal_of_its_own(workspace, "search", "deploy")
    assert shown == on_a_terminal(workspace, "search", "deploy")
    assert COLOUR in shown
    assert f"{LINK}file://{workspace}/memory/2026-02-13.md" in shown
    assert "\x1b[1;38;5;163mdeploy\x1b[0m" in shown


@pytest.mark.parametrize(
    ("variables", "colour", "links"),
    [
        ({"NO_COLOR": "1"}, False, True),
        ({"NO_COLOR": ""}, True, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, True),
        ({"TERM": "dumb"}, False, False),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, True, False),
    ],
)
def test_what_is_not_wanted_is_left_out(
    workspace: Path, variables: dict[str, str], colour: bool, links: bool
) -> None:
    shown = on_a_terminal(workspace, "search", "deploy", **variables)
    assert (COLOUR in shown, LINK in shown) == (colour, links)


@pytest.mark.parametrize(
    ("variables", "colour"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_a_pipe_gets_colours_only_if_they_are_asked_for(
    workspace: Path, variables: dict[str, str], colour: bool
) -> None:
    done = called("-w", workspace, "search", "deploy", **variables)
    assert (COLOUR.encode() in done.stdout) == colour
    assert LINK.encode() not in done.stdout


@pytest.mark.parametrize(("columns", "width"), [("60", 60), ("100", 100), ("10", 40)])
def test_lines_fit_the_terminal(workspace: Path, columns: str, width: int) -> None:
    long = "# Long\n\n- " + "the deploy of a long line of ordinary words " * 9 + "\n"
    (workspace / "memory" / "2026-03-01.md").write_text(long)
    shown = on_a_terminal(workspace, "search", "ordinary words", COLUMNS=columns, NO_COLOR="1", TERM="dumb")
    lines = shown.splitlines()
    assert max(map(len, lines)) <= width
    assert len(lines[0]) == width


def test_where_the_time_went_fits_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("commonplace.cli.session.is_terminal", lambda stream: True)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("NO_COLOR", "1")
    rows = run("search", "deploy", "--explain").stderr.splitlines()
    stages = next(number for number, row in enumerate(rows) if row.startswith("terms "))
    assert all(len(row) <= 40 for row in rows[stages:])


def test_a_link_leads_where_the_settings_say(workspace: Path) -> None:
    shown = on_a_terminal(
        workspace, "search", "deploy", COMMONPLACE_OUTPUT_EDITOR_URI="vscode://file{path}:{line}"
    )
    assert f"{LINK}vscode://file{workspace}/memory/2026-02-13.md:5\x1b\\" in shown


def test_a_link_into_a_collection(workspace: Path, tmp_path: Path, run: Run) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "plan.md").write_text("# Plan\n\nShip the walnut tool.\n")
    run("collection", "add", str(folder), "--name", "proj")
    assert f"{LINK}file://{folder}/plan.md" in on_a_terminal(workspace, "search", "walnut")


@pytest.mark.parametrize(
    "arguments", [("status",), ("collection", "list"), ("get", "MEMORY.md"), ("search", "tea")]
)
def test_colours_change_nothing_but_the_colours(
    workspace: Path, program: Program, arguments: tuple[str, ...]
) -> None:
    program("sync")
    shown = on_a_terminal(workspace, *arguments, COLUMNS="80", FORCE_COLOR="1", TERM="dumb")
    assert COLOUR in shown
    bare = " ".join(re.sub(r"\x1b\[[0-9;]*m", "", shown).split())
    if arguments[0] == "search":
        bare = bare.removeprefix("1 ")  # the number of the hit
    assert bare == " ".join(program(*arguments).stdout.decode().split())


def test_progress_is_drawn_where_it_can_be_seen(workspace: Path) -> None:
    for number in range(300):
        (workspace / "memory" / f"n{number}.md").write_text(f"# N{number}\n\n" + "some words here\n" * 40)
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command("-w", workspace, "sync"), stdout=subprocess.PIPE, stderr=theirs, env=environment(TERM="xterm")
    ) as process:
        os.close(theirs)
        drawn = read(ours)
        assert process.stdout
        assert b"303 added" in process.stdout.read()
        assert process.wait(60) == 0
    assert b"files" in drawn
    assert b"303/303" in drawn


def test_nothing_is_drawn_into_a_pipe(process: Program) -> None:
    assert process("sync").stderr == b""


# --- what a folder may have brought with it ---------------------------------------------------------


@pytest.fixture
def hostile(workspace: Path) -> Path:
    """A workspace whose notes and settings hold what a terminal would obey."""
    settings_file(workspace).write_text(
        f'[index]\nignore = ["{HOSTILE}.md"]\n[contexts]\n"memory/{HOSTILE}" = "a"\nmemory = "daily {HOSTILE}"\n'
    )
    obeyed = HOSTILE.encode().decode("unicode_escape")
    (workspace / "memory" / f"2026-03-01 {obeyed}.md").write_text(
        f"# Day {obeyed}\n\n- the walnut {obeyed} desk\n"
    )
    return workspace


@pytest.mark.parametrize(
    "arguments",
    [
        ("search", "walnut"),
        ("search", "walnut", "--explain", "--full"),
        ("search", "walnut", "--format", "md"),
        ("status",),
        ("collection", "list"),
        ("context", "list"),
        ("config",),
        ("get", "memory/none.md"),
        ("sync",),
    ],
    ids=" ".join,
)
def test_nothing_a_folder_holds_is_obeyed(
    hostile: Path, program: Program, arguments: tuple[str, ...]
) -> None:
    done = program(*arguments)
    for shown in (done.stdout.decode(), done.stderr.decode()):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", shown)


@pytest.mark.parametrize("numbers", [(), ("--no-numbers",)])
def test_nothing_a_note_holds_is_obeyed(hostile: Path, program: Program, numbers: tuple[str, ...]) -> None:
    (name,) = (path.name for path in hostile.rglob("2026-03-01*"))
    done = program("get", f"memory/{name}", *numbers)
    assert done.returncode == 0
    assert "walnut" in done.stdout.decode()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", done.stdout.decode())


def test_a_terminal_folds_what_is_weaker(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    weaker = "\n\n".join(f"## {n}\n\nThe fence and {n} other words that stand here." for n in range(7))
    (tmp_path / "memory/a.md").write_text(f"## Fence\n\nUrs paints the fence.\n\n{weaker}\n", "utf-8")
    shown = on_a_terminal(tmp_path, "search", "who", "paints", "the", "fence")
    assert "Urs paints" in re.sub(r"\x1b\[[\d;]*m", "", shown)
    assert shown.count("a.md:") < 7
    for more in (["--all"], ["-n", "8"], ["--format", "json"]):
        assert on_a_terminal(tmp_path, "search", *more, "who paints the fence").count("other words") == 7
