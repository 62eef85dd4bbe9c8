"""`config`: every value with what set it, changes to the right file, an editor that cannot do harm, keys unseen."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, PasswordDeleteError

from commonplace import config
from commonplace.config import credentials

from .conftest import Program, Run, command, environment

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
    assert rows["search.limit"] == ["4", str(workspace / "commonplace.toml")]
    assert rows["embedding.provider"] == ["none", "COMMONPLACE_EMBEDDING_PROVIDER"]
    assert rows["watch.interval_s"] == ["300", "default"]
    data = json.loads(run("config", "list", "--format", "json").stdout)
    assert data["recall.budget"]["default"] == 1000
    assert data["recall.budget"]["from"] == str(config.user_file())
    assert data["index.include"]["value"] == ["MEMORY.md", "memory/**/*.md"]
    assert "default" not in run("config").stdout.split()


def test_a_value_equal_to_the_default_still_has_its_origin(run: Run) -> None:
    run("config", "set", "search.limit", "10")
    assert json.loads(run("config", "get", "search.limit", "--format", "json").stdout)["from"] == str(
        config.user_file()
    )


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (("search.limit", "7"), "7"),
        (("output.links", "off"), "false"),
        (("index.ignore", "a/**", "b/**"), "a/**\nb/**"),
        (("llm.command", "my-model", "-q"), "my-model\n-q"),
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
    assert "commonplace.toml all the same" in run("config", "set", "search.limit", "5").stderr
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
        (("set", "--in-workspace", "llm.keyring", "x"), 1, "may not stand in a workspace's file"),
        (("elsewhere",), 2, "no such command"),
    ],
)
def test_mistakes(run: Run, workspace: Path, arguments: tuple[str, ...], code: int, told: str) -> None:
    done = run("config", *arguments)
    assert (done.exit_code, told in done.output) == (code, True)
    assert not config.user_file().exists()
    assert not (workspace / "commonplace.toml").exists()


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


class Keyring(KeyringBackend):
    """A keyring in memory; one that is locked says so."""

    priority = 1  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.entries: dict[tuple[str, str], str] = {}
        self.locked = False

    def get_password(self, service: str, username: str) -> str | None:
        if self.locked:
            raise KeyringLocked("the collection is locked")
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.entries[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.entries.pop((service, username), None) is None:
            raise PasswordDeleteError("not found")


class TestKeys:
    @pytest.fixture(autouse=True)
    def ring(self) -> Keyring:
        before, made = keyring.get_keyring(), Keyring()
        keyring.set_keyring(made)
        yield made
        keyring.set_keyring(before)

    def test_a_key_goes_in_and_out_and_is_never_shown(self, run: Run, ring: Keyring, workspace: Path) -> None:
        done = run("config", "key", "openai", input=f"{KEY}\n")
        assert ring.entries == {("commonplace", "openai"): KEY}
        shown = done.output + run("config", "set", "embedding.keyring", "openai").output
        shown += run("config", "list", "--origin").output + run("config", "list", "--format", "json").output
        embedding = config.load(workspace).embedding
        assert credentials.named("", embedding.keyring, "embedding").reveal() == KEY
        shown += run("config", "key", "openai", "--remove").output
        assert KEY not in shown
        assert ring.entries == {}

    def test_what_is_missing_or_locked_is_one_line_with_a_remedy(self, ring: Keyring) -> None:
        with pytest.raises(
            config.editing.ConfigError, match=r"no entry 'x'; put it there with `commonplace config key x`"
        ):
            credentials.from_keyring("x", "embedding.keyring")
        ring.locked = True
        with pytest.raises(config.editing.ConfigError, match="the collection is locked"):
            credentials.from_keyring("x", "embedding.keyring")

    def test_a_keyring_that_waits_is_not_waited_for(
        self, ring: Keyring, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        import threading

        go_on = threading.Event()
        monkeypatch.setattr(credentials, "KEYRING_S", 0.1)
        monkeypatch.setattr(Keyring, "get_password", lambda *_: go_on.wait(30) and None)
        with pytest.raises(config.editing.ConfigError, match="is it locked"):
            credentials.from_keyring("x", "embedding.keyring")
        go_on.set()

    @pytest.mark.parametrize("given", ["\n", "two words\n", ""])
    def test_what_is_no_key_is_refused(self, run: Run, ring: Keyring, given: str) -> None:
        assert run("config", "key", "openai", input=given).exit_code == 1
        assert ring.entries == {}

    def test_without_the_extra_the_remedy_is_told(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "keyring", None)
        done = run("config", "key", "openai", input=f"{KEY}\n")
        assert done.exit_code == 1
        assert "pip install 'commonplace[keyring]'" in done.stderr

    def test_a_machine_without_a_keyring(self, run: Run, program: Program) -> None:
        done = program("config", "key", "openai", input=f"{KEY}\n".encode())
        assert done.returncode == 1
        assert b"there is no system keyring here; use a file" in done.stderr
        assert KEY.encode() not in done.stderr


def test_the_users_file_is_for_its_owner(run: Run) -> None:
    run("config", "set", "search.limit", "5")
    if os.name == "posix":
        assert not stat.S_IMODE(config.user_file().stat().st_mode) & 0o022
