"""What is typed wrongly is answered with what is meant: commands, dashes, contradictions, agents."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from commonplace import config
from commonplace.config import gone
from commonplace.config.settings import KEYS
from tests.cli.conftest import Program, Run
from tests.cli.test_every_option import ALL

# --- help -------------------------------------------------------------------------------------------


def test_h_is_help_everywhere(run: Run) -> None:
    for words in ALL:
        assert run(*words, "-h").stdout == run(*words, "--help").stdout, words
    assert run("-h").stdout == run("--help").stdout


# --- words that are no command ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("serach tea", "did you mean 'search'?"),
        ("collection lst", "did you mean 'list'?"),
        ("zzz", "there are search, recall"),
    ],
)
def test_an_unknown_command_is_answered_with_the_one_to_type(run: Run, typed: str, meant: str) -> None:
    result = run(*typed.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    assert meant in result.stderr


def test_no_former_setting_is_in_use() -> None:
    assert not {key.name for key in KEYS} & gone.SETTINGS.keys()


# --- words with a dash ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "code"),
    [("search -thursday", 2), ("search deploy -thursday", 2), ("search -word", 2),
     ("search deploy -weekly", 1), ("search deploy -coffee", 1)],
)  # fmt: skip
def test_a_word_with_a_dash_is_told_how(program: Program, typed: str, code: int) -> None:
    command, *_, word = typed.split()
    result = program(*typed.split())
    assert (result.returncode, result.stdout) == (code, b"")
    told = result.stderr.decode()
    assert told.count("\n") == 1
    assert f"`commonplace {command} -- WORDS {word}` leaves that word out" in told
    assert f"`commonplace {command} -- '\"{word}\"'` looks for it" in told


def test_what_is_told_about_dashes_works(run: Run) -> None:
    assert "Thursday" in run("search", "--", '"-thursday"').stdout
    assert "Lin" not in run("search", "--", "deploy", "-thursday").stdout
    assert "stand after --" in run("remember", "-word").stderr
    assert run("remember", "--", "-word").exit_code == 0


def test_options_that_are_none_keep_their_message(run: Run) -> None:
    assert "dash" not in run("search", "--thursday", "x").stderr
    assert "no such option" in run("ls", "-thursday").stderr.lower()
    assert run("search", "-cmemory", "tea").exit_code == run("search", "-n5", "tea").exit_code == 0


# --- contradictions ---------------------------------------------------------------------------------

CONTRADICTIONS = """
search x --lexical --semantic
search x --full --layer index
prompt x --json --report
prompt x --instructions
prompt --instructions --json
prompt --instructions --budget 500
prompt --instructions --session s
correct a b --dry-run --yes
undo --dry-run --yes
forget MEMORY.md --dry-run --yes
consolidate --estimate --dry-run
consolidate --estimate --accept
consolidate --dry-run --accept
sync --estimate --every 5
sync --estimate --no-embed
sync --estimate --pull
usage --clear --never
models use builtin --llm --dimensions 3
install cursor --project --user
install cursor --list
install --list --dry-run
uninstall cursor --project --user
serve --local --port 1
serve --local --daemon
serve --no-token --new-token
serve --new-token --token-file f
"""


@pytest.mark.parametrize("line", CONTRADICTIONS.strip().splitlines())
def test_flags_that_contradict_each_other_are_refused(program: Program, workspace: Path, line: str) -> None:
    before = {path: path.read_bytes() for path in workspace.rglob("*.md")}
    result = program(*line.split(), cwd=Path(__file__).parents[2])
    assert (result.returncode, result.stdout) == (2, b"")
    assert result.stderr.count(b"\n") == 1
    names = re.findall(r"--[a-z-]+", line)
    assert any(name in result.stderr.decode() for name in names)
    assert {path: path.read_bytes() for path in workspace.rglob("*.md")} == before


def test_one_of_each_is_taken(program: Program) -> None:
    for line in ("search deploy --full", "search deploy --no-expand", "search deploy --expand --expand",
                 "recall deploy --no-expand", "search deploy --no-expand -- --expand"):  # fmt: skip
        assert program(*line.split()).returncode == 0, line


# --- agents -----------------------------------------------------------------------------------------


def test_an_agent_that_no_settings_are_about_is_told_of(program: Program, workspace: Path) -> None:
    config.user_file().parent.mkdir(parents=True, exist_ok=True)
    config.user_file().write_text("[agents.scout.search]\nlimit = 5\n")
    for command in (("search", "deploy"), ("recall", "deploy"), ("ls",)):
        told = program("--agent", "scuot", *command)
        assert told.returncode == 0
        assert b"no settings are about the agent 'scuot'" in told.stderr
        assert b"did you mean 'scout'?" in told.stderr
        assert told.stdout == program(*command).stdout
        for known in ("scout", "claude-code"):
            assert b"no settings" not in program("--agent", known, *command).stderr
        assert b"no settings" not in program(*command, COMMONPLACE_AGENT="scuot").stderr
