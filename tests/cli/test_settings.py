"""`config`: every value with what set it, changes to the right file, keys unseen."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest

from commonplace import config
from commonplace.base.errors import ConfigError
from commonplace.config import credentials
from tests.cli.conftest import Program, Run, command, environment
from tests.places import settings_file

KEY = "sk-live-0123456789abcdef"


def test_every_value_is_listed_with_what_set_it(
    run: Run, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("config", "set", "recall.budget", "700")
    run("config", "set", "--in-workspace", "search.limit", "4")
    rows = {
        line.split()[0]: line.split(maxsplit=2)[1:]
        for line in run("config", "list", "--origin").stdout.splitlines()
    }
    assert list(rows) == [key.name for key in config.KEYS]
    assert rows["recall.budget"] == ["700", str(config.user_file())]
    assert rows["search.limit"] == ["4", str(settings_file(workspace))]
    assert rows["embedding.provider"] == ["none", "COMMONPLACE_EMBEDDING_PROVIDER"]
    assert rows["limits.wait_s"] == ["5", "default"]
    data = json.loads(run("config", "list", "--format", "json").stdout)
    assert data["recall.budget"]["default"] == 1000
    assert data["recall.budget"]["from"] == str(config.user_file())
    assert data["index.include"]["value"] == ["MEMORY.md", "memory/**/*.md"]
    assert "default" not in run("config").stdout.split()


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (("search.limit", "7"), "7"),
        (("usage.record", "off"), "false"),
        (("index.ignore", "a/**", "b/**"), "a/**\nb/**"),
        (("embedding.fallback", '["builtin"]'), "builtin"),
        (("embedding.fallback", "ollama/bge-m3"), "ollama/bge-m3"),
    ],
)
def test_what_is_set_is_what_get_shows(run: Run, values: tuple[str, ...], said: str) -> None:
    done = run("config", "set", "--", *values)
    assert done.stdout == f"set {values[0]} in {config.user_file()}\n"
    assert run("config", "get", values[0]).stdout.strip() == said
    assert run("config", "get", values[0], "--origin").stdout.splitlines()[-1] == str(config.user_file())
    run("config", "unset", values[0])
    assert run("config", "get", values[0], "--origin").stdout.splitlines()[-1] == "default"


def test_a_stronger_place_is_told(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    done = run("config", "set", "embedding.provider", "builtin")
    assert "is set by COMMONPLACE_EMBEDDING_PROVIDER all the same" in done.stderr
    run("config", "set", "--in-workspace", "search.limit", "4")
    assert ".commonplace/config.toml all the same" in run("config", "set", "search.limit", "5").stderr
    assert run("config", "get", "search.limit").stdout == "4\n"


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("get", "search.limt"), 1, "did you mean search.limit?"),
        (("set", "search.limit", "many"), 1, "must be an integer from 1 to 1000"),
        (("set", "search.limit", "1", "2"), 2, "takes one value"),
        (("set", "search.limit"), 2, "VALUE"),
        (
            ("set", "--in-workspace", "embedding.base_url", "http://x"),
            1,
            "may not stand in a workspace's file",
        ),
        (("set", "--in-workspace", "llm.key", "x"), 1, "may not stand in a workspace's file"),
        (("elsewhere",), 2, "no such command"),
    ],
)
def test_mistakes(run: Run, workspace: Path, arguments: tuple[str, ...], code: int, told: str) -> None:
    done = run("config", *arguments)
    assert (done.exit_code, told in done.output) == (code, True)
    assert not config.user_file().exists()
    assert not settings_file(workspace).exists()


def test_no_workspace_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments in (
        ("config", "set", "search.limit", "7"),
        ("config", "get", "search.limit"),
        ("config", "path"),
    ):
        done = subprocess.run(
            command(*arguments), cwd=tmp_path, env=environment(), capture_output=True, check=True
        )
    assert b"config.toml" in done.stdout
    assert config.load(tmp_path).search.limit == 7


def test_an_agent_has_its_own(run: Run, program: Program, workspace: Path) -> None:
    config.user_file().parent.mkdir(parents=True, exist_ok=True)
    config.user_file().write_text("[agents.scout.search]\nlimit = 1\n")
    assert run("--agent", "scout", "config", "get", "search.limit").stdout == "1\n"
    assert run("config", "get", "--agent", "scout", "search.limit").stdout == "1\n"
    assert run("config", "get", "search.limit").stdout == "10\n"
    for arguments in (("--agent", "scout", "search", "--format", "json"), ("search", "--agent=scout", "--format", "json"),
                      ("search", "--agent", "scout", "--format=json")):  # fmt: skip
        found = json.loads(program(*arguments, "deploy OR rain").stdout)
        assert len(found) == 1
    assert program("--agent", "a b", "search", "x").returncode == 1


def test_an_agent_is_set_and_unset_apart(run: Run) -> None:
    place = f"{config.user_file()} [agents.scout]"
    assert (
        run("--agent", "scout", "config", "set", "search.limit", "3").stdout
        == f"set search.limit in {place}\n"
    )
    assert run("config", "get", "search.limit").stdout == "10\n"
    assert run("config", "get", "--agent", "scout", "search.limit", "--origin").stdout == f"3\n{place}\n"
    told = run("--agent", "scout", "config", "set", "embedding.provider", "fake").stderr
    assert "is set by COMMONPLACE_EMBEDDING_PROVIDER all the same" in told
    assert (
        run("config", "unset", "search.limit").stdout == f"search.limit is not set in {config.user_file()}\n"
    )
    done = run("config", "unset", "--agent=scout", "search.limit")
    assert (done.stdout, done.stderr) == (f"removed search.limit from {place}\n", "")
    assert run("--agent", "scout", "config", "get", "search.limit").stdout == "10\n"


def test_what_still_sets_a_key_is_told(run: Run, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("config", "set", "search.limit", "5")
    run("config", "set", "--in-workspace", "search.limit", "4")
    done = run("config", "unset", "--in-workspace", "search.limit")
    assert done.stderr == f"commonplace: search.limit is set by {config.user_file()}\n"
    run("--agent", "scout", "config", "set", "search.limit", "3")
    monkeypatch.setenv("COMMONPLACE_AGENT", "scout")
    assert (
        "[agents.scout] all the same, which is stronger" in run("config", "set", "search.limit", "6").stderr
    )


def test_a_key_is_set_though_another_place_is_broken(run: Run, workspace: Path) -> None:
    settings_file(workspace).write_text("[search]\nlimit = 0\n")
    done = run("config", "set", "recall.budget", "700")
    assert (done.exit_code, "cannot be loaded as they are: search.limit" in done.stderr) == (0, True)
    assert "budget = 700" in config.user_file().read_text()


@pytest.mark.parametrize("value", ["two  spaces", " 茶 ", "tab\there", "~/keys/a b.txt"])
def test_get_gives_a_script_every_character(run: Run, value: str) -> None:
    run("config", "set", "embedding.key", value)
    assert run("config", "get", "embedding.key").stdout == f"{value}\n"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("embedding.key", (KEY,)),
        ("llm.key", (KEY,)),
        ("llm.base_url", (f"https://user:{KEY}@localhost/v1",)),
        ("search.limit", (KEY,)),
    ],
)
class TestAKeyInTheWrongPlace:
    def test_set_refuses_it(self, run: Run, name: str, values: tuple[str, ...]) -> None:
        done = run("config", "set", "--", name, *values)
        assert (done.exit_code, KEY in done.output) == (1, False)
        assert "looks like a key" in done.stderr
        assert not config.user_file().exists()

    def test_nothing_shows_it(self, run: Run, program: Program, name: str, values: tuple[str, ...]) -> None:
        table, _, item = name.partition(".")
        value = json.dumps(values[0])
        config.user_file().parent.mkdir(parents=True)
        config.user_file().write_text(f"[{table}]\n{item} = {value}\n[agents.a.{table}]\n{item} = {value}\n")
        shown = ""
        for arguments in (("list", "--origin"), ("list", "--format", "json"), ("get", name), ("get", name, "--origin"),
                          ("get", name, "--format", "json"), ("get", "--agent", "a", name), ("get", KEY),
                          ("set", "recall.budget", "700")):  # fmt: skip
            shown += run("config", *arguments).output
        for arguments in (("search", "tea"), ("--agent", "a", "search", "tea"), ("status",)):
            done = program(*arguments)
            shown += (done.stdout + done.stderr).decode()
        assert "REDACTED" in shown
        assert KEY not in shown


def test_a_key_without_a_shape_is_not_shown_either() -> None:
    bare = "q8ZrT4mWx1Lc7Vb2Nk9Jd5"
    with pytest.raises(ConfigError, match="its place is a file or the provider's variable") as caught:
        credentials.named(bare, "llm.key")
    assert bare not in str(caught.value)


def test_the_users_file_is_for_its_owner(run: Run) -> None:
    run("config", "set", "search.limit", "5")
    if os.name == "posix":
        assert not stat.S_IMODE(config.user_file().stat().st_mode) & 0o022
