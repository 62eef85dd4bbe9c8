"""Settings that come with a folder: they put no file into prompts or the index that is not a note, text or code."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from commonplace import Memory, config
from commonplace.agent.context import ContextBuilder
from commonplace.base.errors import ConfigError
from commonplace.cli.application import cli
from commonplace.config import loading
from tests.places import settings_file

SECRET = "qzx-launch-phrase"
FILES = (
    ".env", ".git/config", ".git/note.md", ".ssh/id_rsa", ".netrc", "id_rsa", "server.key", "server.pem", "secrets.toml",
    ".config/a.md", "docs/.hidden/a.md", "docs/.hidden.md", "keys.json", "docs/.env", "passwords.yaml", "deploy.ini",
)  # fmt: skip


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of somebody else's, in which the owner has put secrets."""
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    folder = tmp_path / "notes"
    for name in ("MEMORY.md", "memory/2026-02-13.md", "docs/a.md", "docs/a.py", *FILES):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"# Note\n\nThe {SECRET if name in FILES else 'deploy'} is in {name}.\n")
    return folder


def run(root: Path, *words: str) -> Result:
    return CliRunner().invoke(cli, ["-w", str(root), *words])


def indexed(root: Path) -> list[str]:
    with Memory.open(root) as memory:
        memory.sync()
        return sorted(f"{hit.collection}:{hit.path}" for hit in memory.search(SECRET, limit=100).hits)


def block(root: Path) -> str:
    with Memory.open(root) as memory:
        return ContextBuilder(memory).build("what is the launch phrase").text


def lines(*names: str) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


GLOBS = (*FILES, "*", "**", "**/*", "*.*", "**/.*", ".*/**", "**/.*/*.md", ".git/", "./.env", "docs//.env", "*[v]", "*.e[n]v", ".git/*.md", "*.pem")  # fmt: skip


@pytest.mark.parametrize(
    "settings",
    [
        f"[index]\ninclude = {lines(*GLOBS)}",
        f"[prompt]\nbudget = 9000\nfile_tokens = 9000\nfile_names = {lines(*FILES)}",
        f'[collections.c]\npath = "."\nglob = {lines(*GLOBS)}',
        '[collections.c]\npath = ".git"\n',
        "[collections.c]\npath = '/etc'\nglob = ['*']\n",
    ],
)
def test_nothing_secret_gets_in(root: Path, settings: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_AGENT", "x")
    settings_file(root).write_text(settings)
    assert indexed(root) == []
    assert SECRET not in block(root)
    with Memory.open(root) as memory:
        warnings = memory.sync().warnings
        assert any("left out" in told and "config.toml" in told for told in warnings), warnings
        assert set(memory.settings.warnings) <= set(memory.status().warnings)
    assert "left out" in run(root, "sync").stderr


@pytest.mark.parametrize("name", ["AGENTS.md", "docs/agents.md"])
def test_a_link_to_a_hidden_file_gets_into_no_prompt(root: Path, name: str) -> None:
    (root / name).symlink_to(root / ".env")
    settings_file(root).write_text(f"[prompt]\nfile_names = {lines(name)}\n")
    assert SECRET not in block(root)


def test_what_the_owner_names_stays(root: Path) -> None:
    file = config.user_file()
    file.parent.mkdir(parents=True)
    file.write_text(
        f'[prompt]\nfile_names = ["docs/.hidden.md"]\n[index]\ninclude = ["deploy.ini"]\n'
        f'[workspaces."{root}".collections.c]\npath = "{root}"\nglob = ["keys.json", ".git/*.md"]\n'
    )
    assert indexed(root) == ["c:c/.git/note.md", "c:c/keys.json", "memory:deploy.ini"]
    assert SECRET in block(root)
    with Memory.open(root) as memory:
        assert memory.sync().warnings == ()


def test_what_is_left_is_used_and_nothing_left_sets_nothing(root: Path) -> None:
    settings_file(root).write_text(
        '[index]\ninclude = [".env", "docs/*.md"]\n[prompt]\nfile_names = [".env"]\n'
    )
    settings = config.load(root)
    assert settings.index.include == ("docs/*.md",)
    assert settings.prompt.file_names == ()
    assert settings.warnings[0] == (
        f".env of index.include, .env of prompt.file_names in {settings_file(root)} left out: settings that come with"
        " a folder may only tune search and name visible notes; to allow it: set index.include in your own config.toml"
    )
    assert run(root, "config", "set", "prompt.file_names", ".env").exit_code == 0
    assert config.load(root).prompt.file_names == (".env",)


def test_a_command_does_not_write_what_would_be_left_out(root: Path) -> None:
    refused = run(root, "config", "set", "--in-workspace", "index.include", "*.md", "*.ini")
    assert refused.exit_code == 1
    assert "'*.ini' may not be named by a workspace's file" in refused.stderr


def test_the_doctor_names_what_is_left_out(root: Path) -> None:
    from commonplace.diagnosis import examination, settings

    settings_file(root).write_text("[index]\ninclude = ['.env']\n")
    (finding,) = settings.left_out(examination.present(str(root)))
    assert finding.remedy == "set index.include in your own config.toml"


@given(
    st.lists(
        st.sampled_from(["..", ".", "a", ".git", ".env", "*", "**", "*.md", "x.md", ".x.md", "[.]e.md"]),
        max_size=5,
    )
)
def test_no_spelling_of_a_hidden_place_is_allowed(parts: list[str]) -> None:
    name = "/".join(parts)
    try:
        (spelled,) = config.keys.globs("k", [name], "")  # type: ignore[attr-defined]
    except ConfigError:
        return
    if any(part.startswith(".") for part in spelled.split("/")):
        assert not config.collections.may_name(spelled)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"a." * 20_000 + b"b = 1", "a key of more than 64 parts (at line 1)"),
        (b"\n[" + b'"a" . ' * 20_000 + b"b]", "a key of more than 64 parts (at line 2)"),
        (b"x = {" + b"a." * 20_000 + b"b = 1}", "a key of more than 64 parts (at line 1)"),
        (b"# " + b"a" * 300_000, "has 300,002 bytes"),
    ],
)
def test_settings_that_take_long_are_refused(data: bytes, why: str) -> None:
    with pytest.raises(ConfigError) as error:
        loading.parse(data, Path("commonplace.toml"))
    assert why in str(error.value)
