"""`install` and `uninstall` as they are called."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from commonplace.cli.application import cli

ROOT = Path(__file__).parents[2]
SKILL = ROOT / "src" / "commonplace" / "clients" / "skill" / "SKILL.md"


@pytest.fixture
def notes(private_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace outside the project that commands are called in."""
    folder = private_home / "notes"
    folder.mkdir()
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    return folder


def call(*words: str) -> Result:
    return CliRunner().invoke(cli, words)


def test_install_says_what_it_wrote_and_what_is_left_to_do(notes: Path, private_home: Path) -> None:
    (private_home / ".claude.json").write_text("{}")
    done = call("-w", str(notes), "install", "claude-code")
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        f"server entered into {private_home}/.claude.json",
        f"hooks entered into {private_home}/.claude/settings.json",
        f"skill entered into {private_home}/.claude/skills/commonplace/SKILL.md",
    ]
    assert "1 former version kept for 30 days in" in done.stderr
    assert "start a new session" in done.stderr
    again = call("-w", str(notes), "install", "claude-code")
    assert (again.exit_code, again.stdout) == (0, "")
    assert "has it already; nothing was changed" in again.stderr


def test_what_is_written_starts_this_program_from_anywhere(notes: Path, private_home: Path) -> None:
    call("-w", str(notes), "install", "cursor")
    entry = json.loads((private_home / ".cursor" / "mcp.json").read_text())["mcpServers"]["memory"]
    assert os.path.isabs(entry["command"])
    assert entry["args"][-5:] == ["-w", str(notes), "--agent", "cursor", "mcp"]
    call("-w", str(notes), "--agent", "kestrel", "install", "cursor")
    entry = json.loads((private_home / ".cursor" / "mcp.json").read_text())["mcpServers"]["memory"]
    assert entry["args"][-3:] == ["--agent", "kestrel", "mcp"]


def test_a_dry_run_shows_each_file_and_changes_none(notes: Path, private_home: Path) -> None:
    (private_home / ".codex").mkdir()
    config = private_home / ".codex" / "config.toml"
    config.write_text('model = "o3" # mine\napi_key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEF"\n')
    before = config.read_bytes()
    done = call("-w", str(notes), "install", "codex", "--dry-run")
    assert done.exit_code == 0
    assert '+default_tools_approval_mode = "approve"' in done.stdout
    assert f"--- /dev/null\n+++ b{private_home}/.codex/hooks.json\n" in done.stdout
    assert "sk-proj-abc" not in done.stdout
    assert config.read_bytes() == before
    assert os.listdir(private_home / ".codex") == ["config.toml"]
    call("-w", str(notes), "install", "codex")
    assert "-default_tools_approval_mode" in call("uninstall", "codex", "--dry-run").stdout
    assert call("uninstall", "codex").exit_code == 0
    assert config.read_bytes() == before
    assert os.listdir(private_home / ".codex") == ["config.toml"]
    assert "nothing would change" in call("uninstall", "codex", "--dry-run").stderr


def test_list_names_every_client_and_what_stands_where(notes: Path, private_home: Path) -> None:
    call("-w", str(notes), "install", "gemini")
    call("-w", str(notes), "install", "claude-code", "--project")
    (private_home / ".cursor").mkdir()
    (private_home / ".cursor" / "mcp.json").write_text("{")
    out = call("install", "--list").stdout
    rows = {line.split()[0]: line for line in out.splitlines() if line[:1].strip()}
    assert rows["gemini"].split()[1:4] == ["yes", "server", "(user):"]
    assert rows["codex"].split()[1:] == ["no", "no"]
    assert rows["claude-code"].split()[2:4] == ["server", "(project):"]
    assert "unreadable" in rows["cursor"]


def test_without_a_workspace_it_says_how_to_make_one(notes: Path, private_home: Path) -> None:
    failed = call("install", "cursor")
    assert failed.exit_code == 1
    assert "commonplace init" in failed.stderr
    assert "--init" in failed.stderr
    assert not (private_home / ".cursor").exists()
    assert "/commonplace" in call("install", "cursor", "--init", "--dry-run").stdout
    assert not (private_home / "commonplace").exists()
    assert call("install", "cursor", "--init").exit_code == 0
    assert (private_home / "commonplace" / "MEMORY.md").exists()


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("install",), 2, "--list"),
        (("install", "emacs"), 1, "there are claude-code, codex"),
        (("install", "nanobot", "--project"), 1, "--user"),
        (("install", "cursor", "--name", "a b"), 1, "letters, digits"),
        (("uninstall", "cursor"), 3, "nothing of this memory"),
        (("uninstall", "generic"), 1, "any other client"),
    ],
)
def test_what_cannot_be_done_is_one_line(words: tuple[str, ...], code: int, told: str, notes: Path) -> None:
    done = call("-w", str(notes), *words)
    assert (done.exit_code, told in done.stderr) == (code, True), done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_any_other_client_is_shown_what_to_paste(notes: Path) -> None:
    said = json.loads(call("-w", str(notes), "install", "generic").stdout)
    assert said["mcpServers"]["memory"]["args"][-5:] == ["-w", str(notes), "--agent", "generic", "mcp"]


# --- the skill -----------------------------------------------------------------------------------------


def test_the_skill_that_is_published_is_the_one_that_is_installed() -> None:
    assert (ROOT / "skills" / "commonplace" / "SKILL.md").read_bytes() == SKILL.read_bytes()


def test_the_skill_has_the_form_that_clients_take() -> None:
    text = SKILL.read_text("utf-8")
    head = yaml.safe_load(text.split("---\n")[1])
    assert set(head) == {"name", "description"}
    assert head["name"] == "commonplace"
    assert len(head["description"]) <= 1024
    assert "记住" in head["description"]
    assert len(text.splitlines()) < 200


def test_every_command_of_the_skill_works(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import re
    import shlex

    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    monkeypatch.chdir(notes)
    call("init")
    (notes / "memory" / "2026-02-13.md").write_text(
        "\n" * 11 + "- Mira signs them off.\n- Deploys go out on Tuesdays.\n" + "\n" * 5
    )
    docid = json.loads(call("get", "memory/2026-02-13.md", "--format", "json").stdout)["docid"]
    called = 0
    for block in re.findall(r"```sh\n(.*?)```", SKILL.read_text("utf-8"), re.DOTALL):
        for line in block.splitlines():
            _, *words = shlex.split(line.replace("#1f3a9c", f"#{docid}"), comments=True)
            done = call(*words)
            assert done.exit_code in (0, 3), (line, done.stderr)
            called += 1
    assert called > 15


# --- scopes --------------------------------------------------------------------------------------------


def test_uninstall_takes_it_out_of_both_scopes_unless_one_is_named(notes: Path, private_home: Path) -> None:
    call("-w", str(notes), "install", "claude-code")
    twice = call("-w", str(notes), "install", "claude-code", "--project")
    assert "may be called twice" in twice.stderr
    assert call("uninstall", "claude-code", "--project").exit_code == 0
    assert not Path(".mcp.json").exists()
    assert (private_home / ".claude.json").exists()
    call("-w", str(notes), "install", "claude-code", "--project")
    assert len(call("uninstall", "claude-code").stdout.splitlines()) == 6
    assert not (private_home / ".claude.json").exists()
    assert os.listdir(".") == []


def test_the_home_folder_is_no_project(
    notes: Path, private_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(private_home)
    refused = call("-w", str(notes), "install", "claude-code", "--project")
    assert (refused.exit_code, "--user" in refused.stderr) == (1, True)


def test_a_path_that_clients_would_read_otherwise_is_refused(notes: Path, tmp_path: Path) -> None:
    (tmp_path / "$HOME").mkdir()
    refused = call("-w", str(tmp_path / "$HOME"), "install", "gemini")
    assert (refused.exit_code, "variable" in refused.stderr) == (1, True)
