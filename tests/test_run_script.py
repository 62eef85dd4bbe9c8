"""`./run`: from any folder and through links, commands act where they are called, tests and checks in the clone."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.clients.test_hosts import HOSTS, NPM_PROGRAMS, PROGRAMS

CLONE = Path(__file__).parents[1]
# Says where it was started, with what; a program of `python -`, as the script asks for groups, is read, and
# nothing is compiled.
PYTHON = '#!/bin/sh\n[ "$1" = - ] && exec cat >/dev/null\n[ "$2" = compileall ] && exit\necho "$PWD|$*"\n'
SPREAD = "--numprocesses=auto --maxprocesses=4 --dist=worksteal"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone whose environments stand, with a Python that only says what it was asked."""
    folder = tmp_path / "my clone"
    folder.mkdir()
    for name in ("run", "pyproject.toml"):
        shutil.copy2(CLONE / name, folder)
    (folder / "tests").mkdir()
    (folder / "tests" / "test_one.py").touch()
    (folder / "tests" / "clients").mkdir()
    clients = [f".venv-client-{name}" for name in [*HOSTS, *PROGRAMS]]
    for name in (".venv", ".venv-mcp1", ".venv-mcp2", ".venv-fuzz", *clients):
        python = folder / name / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text(PYTHON)
        python.chmod(0o755)
        stamp = "printf ''" if name != ".venv" else "pwd && cat pyproject.toml run"
        if name in clients:  # which stand in front of the clone
            stamp = """printf '%s %s' "$(printf '' | cksum | tr ' ' '-')" "$PWD\""""
        subprocess.run(
            ["/bin/sh", "-c", f"{{ {stamp}; }} | cksum | tr ' ' '-' >'{name}/stamp'"], cwd=folder, check=True
        )
    for name in NPM_PROGRAMS:
        (folder / f".venv-client-{name}").mkdir()
        shutil.copy2(folder / ".venv-mcp1" / "stamp", folder / f".venv-client-{name}" / "stamp")
    return folder


def run(program: Path | str, cwd: Path, *arguments: str) -> list[str]:
    environment = {**os.environ, "PWD": str(cwd)}
    done = subprocess.run(
        [str(program), *arguments], cwd=cwd, capture_output=True, text=True, timeout=60, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_a_command_acts_on_the_folder_it_is_called_from(clone: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "my notes"
    elsewhere.mkdir()
    links = tmp_path / "bin"
    links.mkdir()
    (links / "absolute").symlink_to(clone / "run")
    (links / "relative").symlink_to("absolute")
    (tmp_path / "folder").symlink_to(clone)
    for program in (clone / "run", links / "absolute", links / "relative", tmp_path / "folder" / "run"):
        assert run(program, elsewhere, "init", "a b") == [f"{elsewhere}|-P -m commonplace init a b"]
    assert run("../my clone/run", elsewhere, "demo") == [f"{elsewhere}|-P -m commonplace demo"]
    assert run("./run", clone, "demo") == [f"{clone}|-P -m commonplace demo"]
    assert run(clone / "run", elsewhere, "tasks", "a b") == [
        f"{clone}|-m tests.tasks.workspace {elsewhere}/a b"
    ]


def test_tests_and_checks_are_those_of_the_clone(clone: Path, tmp_path: Path) -> None:
    assert run(clone / "run", tmp_path, "check") == [f"{clone}|-m ruff check .", f"{clone}|-m mypy"]
    assert run(clone / "run", tmp_path, "test") == [f"{clone}|-m pytest {SPREAD}"]


@pytest.mark.parametrize("arguments", [["--slow"], ["--slow", "-x"], ["-k", "words"], ["-n", "2"]])
def test_options_alone_leave_the_tests_spread(clone: Path, arguments: list[str]) -> None:
    assert run("./run", clone, "test", *arguments) == [f"{clone}|-m pytest {SPREAD} {' '.join(arguments)}"]


@pytest.mark.parametrize(
    "arguments",
    [["tests/test_one.py"], ["tests/test_one.py::test_it", "--slow"], ["--slow", "tests"], ["--pdb"]],
)
def test_tests_that_are_named_run_in_one_process(clone: Path, arguments: list[str]) -> None:
    assert run("./run", clone, "test", *arguments) == [f"{clone}|-m pytest {' '.join(arguments)}"]


def test_clients_are_tested_in_environments_of_their_own(clone: Path, tmp_path: Path) -> None:
    python = clone / ".venv" / "bin" / "python"
    python.write_text(PYTHON.replace('"$PWD|$*"', '"$*|$CLIENT_OPENAI_AGENTS_PYTHON|$CLIENT_CODEX_NPM"'))
    (line,) = run(clone / "run", tmp_path, "test", "--clients", "-x")
    assert line.split("|") == [
        "-m pytest tests/clients --numprocesses=2 --dist=load -x",
        f"{clone}/.venv-client-openai-agents/bin/python",
        f"{clone}/.venv-client-codex",
    ]


def test_clients_of_npm_are_installed_once_and_wait_for_an_npm(clone: Path, tmp_path: Path) -> None:
    """The packages are those of pyproject.toml, none of which runs anything; without npm they are passed over."""
    client, programs = clone / ".venv-client-qmd", tmp_path / "bin"
    shutil.rmtree(client)
    programs.mkdir()
    for name in ("cat", "cksum", "dirname", "mkdir", "python3", "rm", "sed", "sleep", "sh", "tr"):
        (programs / name).symlink_to(shutil.which(name) or name)
    python = clone / ".venv" / "bin" / "python"
    python.write_text(
        PYTHON.replace(
            "exec cat >/dev/null", '{ cat >/dev/null; [ "$2" != client-qmd ] || echo a-{platform}; exit; }'
        )
    )

    def start() -> str:
        done = subprocess.run(
            [clone / "run", "test", "--clients"], cwd=clone, capture_output=True, text=True, timeout=60,
            env={**os.environ, "PATH": str(programs)},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stderr

    assert "no npm: the tests of client-qmd are skipped" in start()
    for name, says in (("npm", 'echo "$*" >>"$0.log"'), ("node", "echo plan-9")):
        (programs / name).write_text(f"#!/bin/sh\n{says}\n")
        (programs / name).chmod(0o755)
    assert f"setting up {client}" in start()
    assert start() == ""
    (line,) = (programs / "npm.log").read_text().splitlines()
    assert line.startswith(f"install --prefix {client} --ignore-scripts ")
    assert line.endswith(" a-plan-9")


def test_a_folder_that_is_gone_is_one_line(clone: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    line = f"cd '{gone}' && rmdir '{gone}' && exec '{clone}/run' init"
    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == "run: error: the folder you are in is gone"


@pytest.mark.parametrize("place", ["a link", "other files"])
def test_what_is_not_ours_is_not_emptied(clone: Path, tmp_path: Path, place: str) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "kept").write_text("mine")
    venv = other
    if place == "a link":
        (other / "pyvenv.cfg").touch()
        venv = clone / "linked"
        venv.symlink_to(other)
    environment = {**os.environ, "COMMONPLACE_VENV": str(venv)}
    done = subprocess.run(
        [clone / "run", "setup"], cwd=clone, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert str(venv) in done.stderr
    assert (other / "kept").read_text() == "mine"


def test_who_cannot_set_up_is_told_so(clone: Path) -> None:
    environment = {**os.environ, "COMMONPLACE_VENV": str(clone / "none" / "venv")}
    done = subprocess.run(
        [clone / "run", "status"], cwd=clone, capture_output=True, text=True, timeout=60, env=environment
    )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "use a clone of your own" in done.stderr
