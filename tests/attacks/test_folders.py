"""Every command on every folder that somebody else has made: nothing outside it changes, nothing is obeyed."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click.testing
import pytest

from commonplace.base import paths
from commonplace.cli.application import cli
from commonplace.storage import state
from tests.attacks import folders

LIMIT_S = 20
COMMANDS = [
    line.split("|")
    for line in """
status
search|deploy
recall|deploy
get|MEMORY.md
ls
timeline|2026-02-13
prompt|deploy|--session|s1
log
sessions|list
sessions|show|s1
schedule|status
usage
costs
doctor|--offline
consolidate|--estimate
forget|--dry-run|--text|zebra
undo|--dry-run
sync
correct|Nothing but rain.|Sun at last.|--yes
confirm|Aged white tea after lunch.
summarize|s1
consolidate
consolidate|--accept
rollup|--older-than|1d
undo|--yes
remember|Green tea in the morning.
log|20260213-033000
forget|--text|zebra|--yes
forget|--resume
forget|--session|s1|--yes
usage|--clear|--yes
status
search|deploy
""".strip().split("\n")
]


class TooSlowError(AssertionError):
    """A command did not end."""


@contextmanager
def limited(command: list[str]) -> Iterator[None]:
    def late(*_: object) -> None:
        raise TooSlowError(" ".join(command))

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(LIMIT_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def run(root: Path, command: list[str]) -> click.testing.Result:
    with limited(command):
        return click.testing.CliRunner().invoke(cli, ["-w", str(root), *command])


def texts(root: Path) -> str:
    notes = [path for path in [*root.glob("*.md"), *root.glob("memory/*.md")] if path.is_file()]
    return "\n".join(path.read_text() for path in notes)


@pytest.fixture(autouse=True)
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")


# Met in every folder; of the others a fifth, other ones in the next folder, and with --slow all.
ALWAYS = ("status", "sync", "search|deploy", "remember|Green tea in the morning.", "forget|--resume")
EVERY = pytest.param(1, marks=pytest.mark.slow)


def attacked(root: Path, victim: Path, *, turn: int, share: int) -> list[str]:
    """Run the commands; return what is wrong with how they end."""
    before = folders.state(victim)
    wrong = []
    for place, command in enumerate(COMMANDS):
        if place % share != turn % share and "|".join(command) not in ALWAYS:
            continue
        result = run(root, command)
        line = " ".join(command)
        if isinstance(result.exception, TooSlowError):
            pytest.fail(f"{line}: did not end")
        if result.exit_code not in (0, 1, 2, 3, 4) or "Traceback" in result.output:
            wrong.append(f"{line}: {result.exit_code} {result.output[-300:]}")
        if not isinstance(result.exception, SystemExit | None):
            wrong.append(f"{line}: {result.exception!r}")
        if command[0] in ("search", "get", "recall", "status", "ls") and result.exit_code:
            wrong.append(f"{line}: no answer but {result.output[-300:]}")
        if folders.state(victim) != before:
            pytest.fail(f"{line}: changed something of the owner's")
    return wrong


@pytest.mark.parametrize("share", [5, EVERY])
@pytest.mark.parametrize("build", folders.ROWS, ids=folders.named(folders.ROWS))
def test_a_folder_of_somebody_else(tmp_path: Path, build: folders.Builder, share: int) -> None:
    root, victim = folders.workspace(tmp_path / "notes"), folders.victim(tmp_path / "owner")
    build(root, victim)
    assert attacked(root, victim, turn=folders.ROWS.index(build), share=share) == []
    planted = [line for line in texts(root).splitlines() if folders.PLANTED in line]
    assert [line for line in planted if "by: untrusted" not in line] == []
    assert "Lin signs it off." in texts(root)
    assert "Green tea in the morning." in texts(root)


@pytest.mark.parametrize("share", [5, EVERY])
@pytest.mark.parametrize("build", folders.CLOSED, ids=folders.named(folders.CLOSED))
def test_a_folder_in_which_nothing_can_be_written(tmp_path: Path, build: folders.Builder, share: int) -> None:
    root, victim = folders.workspace(tmp_path / "notes"), folders.victim(tmp_path / "owner")
    build(root, victim)
    assert attacked(root, victim, turn=folders.CLOSED.index(build), share=share) == []
    assert "Lin signs it off." in texts(root)


def test_records_that_came_with_a_folder_are_neither_obeyed_nor_known(tmp_path: Path) -> None:
    root = folders.workspace(tmp_path / "notes")
    folders.all_planted(root, folders.victim(tmp_path / "owner"))
    before = texts(root)
    first = run(root, ["sync"])
    assert first.exit_code == 0, first.output
    left = [line for line in texts(root).splitlines() if line not in before.splitlines()]
    planted = [line for line in left if folders.PLANTED in line]
    assert len(planted) == 1  # of the entries, which say the same
    assert "by: untrusted" in planted[0]
    assert "Lin signs it off." in texts(root)  # nobody is forgotten
    for name in ("history", "erasing", "spool", "pending", "batches.json", "consolidated.json"):
        assert (root / ".commonplace" / "old" / name).exists(), name
    workspace = paths.Workspace(root)
    assert (
        state.rows(workspace, "SELECT * FROM value WHERE kind IN ('session', 'consolidated', 'erasing')")
        == []
    )
    assert not (workspace.state / "batches.json").exists()
    assert folders.RUN not in run(root, ["log"]).output
    assert run(root, ["undo", folders.RUN, "--yes"]).exit_code != 0
    assert "version 0.1" not in run(root, ["sync"]).output  # it is said once
    assert len([line for line in texts(root).splitlines() if folders.PLANTED in line]) == 1
