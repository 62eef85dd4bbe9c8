"""Installing into clients: exact, once, kept, taken back; whatever the settings are."""

from __future__ import annotations

import json
import os
import re
import shlex
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.base.errors import CommonplaceError, ConfigError, NoteUnreadable
from commonplace.clients import edits, entries, installing, strict, toml
from commonplace.clients.entries import Door
from commonplace.clients.files import KEPT_DAYS, Edit
from commonplace.clients.table import SCOPES, TARGETS, ClientFolders, Scope, Target
from tests.clients.settings import client_settings

CLAUDE = installing.find("claude-code")
EVERYWHERE = [(target, scope) for target in TARGETS for scope in SCOPES if getattr(target.servers, scope)]


@pytest.fixture
def site(private_home: Path, tmp_path: Path) -> ClientFolders:
    """A home and a project beside it."""
    project = tmp_path / "project"
    project.mkdir()
    return installing.site({"HOME": str(private_home), "USERPROFILE": str(private_home), "PATH": ""}, project)


def door(target: Target = CLAUDE, program: str = "/opt/bin/commonplace", name: str = "memory") -> Door:
    return entries.door([program], Path("/home/you/my notes"), target.name, name)


def made(site: ClientFolders, target: Target = CLAUDE, scope: Scope = "user", **more: str) -> list[Edit]:
    return edits.of(target, scope, site, door(target, **more))


def files_below(folder: Path) -> dict[str, bytes]:
    """Every file, and every folder as an empty one, but for our own below the user's settings."""
    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*")}
    ours = (".config/commonplace", ".config")
    return {
        name: path.read_bytes() if path.is_file() else b""
        for name, path in found.items()
        if name not in ours and not name.startswith(f"{ours[0]}/")
    }


@pytest.mark.parametrize(("target", "scope"), EVERYWHERE)
def test_every_client_gets_what_it_reads_and_loses_it_again(target: Target, scope: Scope, site: ClientFolders) -> None:
    before = files_below(site.folder(scope))
    steps = made(site, target, scope)
    assert len(installing.carry_out(steps, site.environ)) == len(steps)
    installed = files_below(site.folder(scope))
    assert installing.carry_out(steps, site.environ) == []
    assert files_below(site.folder(scope)) == installed
    found = {
        one.edit.what: one.ours
        for one in installing.standing(site)
        if one.target is target and one.scope == scope
    }
    assert found["server"] == {"memory": door(target).argv("mcp")}
    assert set(found.get("hooks", {})) == {hook.event for hook in target.events}
    assert len(installing.carry_out(steps, site.environ, remove=True)) == len(steps)
    assert files_below(site.folder(scope)) == before


@given(client_settings(), client_settings())
def test_of_any_settings_all_that_is_not_ours_stays(private_home: Path, servers: str, hooks: str) -> None:
    site = installing.site({"HOME": str(private_home), "PATH": ""}, private_home)
    paths = private_home / ".claude.json", private_home / ".claude" / "settings.json"
    paths[1].parent.mkdir(exist_ok=True)
    for path, text in zip(paths, (servers, hooks), strict=True):
        path.write_bytes(text.encode())
    installing.carry_out(made(site), site.environ)
    once = [path.read_bytes() for path in paths]
    assert installing.carry_out(made(site), site.environ) == []
    assert [path.read_bytes() for path in paths] == once
    for path, text in zip(paths, (servers, hooks), strict=True):
        assert without_ours(strict.value(path.read_text("utf-8"))) == without_empty(strict.value(text))
    installing.carry_out(made(site, program="/usr/local/bin/commonplace"), site.environ)  # an upgrade
    assert [path.read_bytes() for path in paths] == [
        data.replace(b"/opt/bin", b"/usr/local/bin") for data in once
    ]
    installing.carry_out(made(site), site.environ, remove=True)
    for path, text in zip(paths, (servers, hooks), strict=True):
        left = path.read_text("utf-8") if path.exists() else ""
        assert without_empty(strict.value(left)) == without_empty(strict.value(text))
        kept = site_backups(private_home)
        assert not text.strip() or text.encode() in kept


@given(client_settings())
def test_what_others_write_meanwhile_is_kept(private_home: Path, text: str) -> None:
    site = installing.site({"HOME": str(private_home), "PATH": ""}, private_home)
    path = private_home / ".claude" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode())
    installing.carry_out(made(site), site.environ)
    now = path.read_bytes().decode()
    path.write_bytes(strict.written(now, {**strict.value(now), "theirs": {"a": [1]}}).encode())
    installing.carry_out(made(site), site.environ, remove=True)
    assert without_empty(strict.value(path.read_bytes().decode())) == without_empty(
        {**strict.value(text), "theirs": {"a": [1]}}
    )


def site_backups(home: Path) -> list[bytes]:
    """The former versions that are kept."""
    folder = home / ".config" / "commonplace" / "clients" / "backups"
    return [path.read_bytes() for path in folder.glob("*")] if folder.exists() else []


def without_ours(value: object) -> object:
    """Settings without what starts this program."""
    if isinstance(value, dict):
        if entries.is_ours(entries.started(value), "mcp"):
            return {}
        if isinstance(value.get("command"), str) and value["command"].endswith("hook"):
            return {}
    return without_empty(value, without_ours)


def without_empty(value: object, inside: object = None) -> object:
    """A value without empty objects and arrays in it, and without what held nothing else."""
    inside = inside or without_empty
    if isinstance(value, dict):
        inner = {key: inside(one) for key, one in value.items()}  # type: ignore[operator]
        return {
            key: one
            for key, one in inner.items()
            if one not in ({}, []) and not (key == "matcher" and len(inner) == 1)
        }
    if isinstance(value, list):
        return [one for one in map(inside, value) if one not in ({}, [], {"matcher": "*"})]  # type: ignore[arg-type]
    return value


# --- what stands there already -------------------------------------------------------------------------


def test_hooks_of_others_at_the_same_event_stay(site: ClientFolders) -> None:
    path = site.home / ".claude" / "settings.json"
    path.parent.mkdir()
    theirs = {"Stop": [{"hooks": [{"type": "command", "command": "notify-send done"}]}], "Other": []}
    path.write_text(json.dumps({"hooks": theirs, "model": "opus"}, indent=4))
    installing.carry_out(made(site), site.environ)
    said = json.loads(path.read_text())
    assert said["hooks"]["Stop"][0] == theirs["Stop"][0]
    command = said["hooks"]["Stop"][1]["hooks"][0]["command"]
    assert shlex.split(command) == [
        "/opt/bin/commonplace",
        "-w",
        "/home/you/my notes",
        "--agent",
        "claude-code",
        "hook",
    ]
    path.write_text(json.dumps(said, indent=1))  # somebody else writes the file anew
    installing.carry_out(made(site), site.environ, remove=True)
    assert json.loads(path.read_text()) == {"hooks": theirs, "model": "opus"}


def test_a_hook_in_a_group_of_others_is_taken_out_alone(site: ClientFolders) -> None:
    path = site.home / ".claude" / "settings.json"
    path.parent.mkdir()
    ours = {"type": "command", "command": shlex.join(door().argv("hook"))}
    path.write_text(
        json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}, ours]}]}})
    )
    installing.carry_out(made(site), site.environ, remove=True)
    assert json.loads(path.read_text()) == {
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}
    }


def test_another_server_of_that_name_is_not_replaced(site: ClientFolders) -> None:
    path = site.home / ".claude.json"
    path.write_text('{"mcpServers": {"memory": {"command": "npx", "args": ["-y", "server-memory"]}}}')
    before = path.read_bytes()
    with pytest.raises(ConfigError, match=r"\.claude\.json.*'memory'.*--name"):
        installing.carry_out(made(site), site.environ)
    assert path.read_bytes() == before
    assert not (site.home / ".claude").exists()  # nothing is done by half
    installing.carry_out(made(site, name="notes"), site.environ)
    assert set(json.loads(path.read_text())["mcpServers"]) == {"memory", "notes"}


def test_another_name_moves_the_server(site: ClientFolders) -> None:
    installing.carry_out(made(site), site.environ)
    installing.carry_out(made(site, name="notes"), site.environ)
    assert set(json.loads((site.home / ".claude.json").read_text())["mcpServers"]) == {"notes"}


def test_a_skill_of_somebody_else_is_not_replaced(site: ClientFolders) -> None:
    path = site.home / ".claude" / "skills" / "commonplace" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\nname: commonplace-book\ndescription: mine\n---\n")
    with pytest.raises(ConfigError, match="another skill"):
        installing.carry_out(made(site), site.environ)


@pytest.mark.parametrize(
    ("name", "data", "place"),
    [
        (".claude.json", b'{"mcpServers": {', "line 1, column "),
        (".claude.json", b'{\n  // mine\n  "a": 1\n}', 'by hand: {"mcpServers": {"memory"'),
        (".claude/settings.json", b'{\n  "a" 1}', "line 2, column 7"),
        (".claude/settings.json", b'{"hooks": []}', "is no object"),
        (".claude/settings.json", b'{"hooks": {"Stop": {}}}', "hooks.Stop is no array"),
        (".claude/settings.json", b"{}\n\xff", "line 2 is not UTF-8"),
        (".claude.json", b"[]", "no object"),
        (".claude.json", b'{"mcpServers": null}', "no object"),
    ],
)
def test_a_broken_file_is_named_with_its_place_and_nothing_is_written(
    site: ClientFolders, name: str, data: bytes, place: str
) -> None:
    path = site.home / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    before = files_below(site.home)
    with pytest.raises(ConfigError, match=re.escape(place)) as error:
        installing.carry_out(made(site), site.environ)
    assert str(path) in str(error.value)
    assert files_below(site.home) == before


# --- files ---------------------------------------------------------------------------------------------


def test_modes_are_kept_and_former_versions_are_their_owners_alone(site: ClientFolders) -> None:
    path = site.home / ".claude.json"
    path.write_text('{"oauthAccount": "secret"}')
    path.chmod(0o640)
    [backup, *_] = [one.backup for one in installing.carry_out(made(site), site.environ)]
    assert path.stat().st_mode & 0o777 == 0o640
    kept = Path(backup)
    assert kept.read_text() == '{"oauthAccount": "secret"}'
    assert kept.stat().st_mode & 0o777 == 0o600
    assert (site.home / ".claude" / "settings.json").stat().st_mode & 0o777 == 0o600
    old = (KEPT_DAYS + 1) * 86_400
    os.utime(kept, (kept.stat().st_mtime - old,) * 2)
    path.write_text("{}")
    installing.carry_out(made(site), site.environ)
    assert not kept.exists()


def test_links_inside_the_home_are_followed_and_others_are_not(site: ClientFolders, tmp_path: Path) -> None:
    dotfiles = site.home / "dotfiles"
    dotfiles.mkdir()
    (dotfiles / "settings.json").write_text("{}")
    (site.home / ".claude").mkdir()
    (site.home / ".claude" / "settings.json").symlink_to(dotfiles / "settings.json")
    installing.carry_out(made(site), site.environ)
    assert (site.home / ".claude" / "settings.json").is_symlink()
    assert "hooks" in json.loads((dotfiles / "settings.json").read_text())
    installing.carry_out(made(site), site.environ, remove=True)
    assert (dotfiles / "settings.json").read_text() == "{}"
    (site.home / ".claude" / "settings.json").unlink()
    (site.home / ".claude").rmdir()
    (site.home / ".claude").symlink_to(dotfiles)
    installing.carry_out(made(site), site.environ)
    assert (dotfiles / "skills" / "commonplace" / "SKILL.md").exists()
    installing.carry_out(made(site), site.environ, remove=True)
    assert not (dotfiles / "skills" / "commonplace" / "SKILL.md").exists()
    assert (dotfiles / "settings.json").read_text() == "{}"
    outside = tmp_path / "outside.json"
    outside.write_text("{}")
    (site.project / ".mcp.json").symlink_to(outside)
    with pytest.raises(NoteUnreadable, match="symlink"):
        installing.carry_out(made(site, scope="project"), site.environ)
    assert outside.read_text() == "{}"
    assert not (site.project / ".claude").exists()


def test_a_variable_leads_elsewhere(site: ClientFolders, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    moved = ClientFolders(site.home, site.project, {**site.environ, "CLAUDE_CONFIG_DIR": str(folder)})
    folder.mkdir()
    installing.carry_out(made(moved), moved.environ)
    names = {"settings.json", ".claude.json", "skills", "skills/commonplace", "skills/commonplace/SKILL.md"}
    assert files_below(folder).keys() == names
    installing.carry_out(made(moved), moved.environ, remove=True)
    assert files_below(folder).keys() == set()


def test_concurrent_edits_lose_nothing(site: ClientFolders) -> None:
    path = site.home / ".claude.json"
    path.write_text("{}")
    failures: list[BaseException] = []

    def enter(number: int) -> None:
        try:
            for name in ("one", "two"):
                installing.carry_out(made(site, name=f"{name}{number}"), site.environ)
        except CommonplaceError as error:
            failures.append(error)

    threads = [threading.Thread(target=enter, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(json.loads(path.read_text())["mcpServers"]) == 1
    installing.carry_out(made(site), site.environ, remove=True)
    assert not path.exists()


@given(st.lists(st.text(max_size=8), max_size=8))
def test_only_the_very_command_is_ours(words: list[str]) -> None:
    assert not entries.is_ours(words, "mcp") or words[-1] == "mcp"


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["/any/where/commonplace", "-w", "/x", "--agent", "a", "mcp"], True),
        (["C:\\p\\python.exe", "-P", "-m", "commonplace", "-w", "/x", "--agent", "a", "mcp"], True),
        (["commonplace", "-w", "/x", "mcp"], False),
        (["npx", "-w", "/x", "--agent", "a", "mcp"], False),
        (["commonplace", "-w", "/x", "--agent", "a", "serve"], False),
        (["commonplace", 3], False),
        ([], False),
    ],
)
def test_what_counts_as_ours(argv: list[object], expected: bool) -> None:
    assert entries.is_ours(argv, "mcp") is expected


@pytest.mark.parametrize(
    ("name", "hint"), [("claude", "did you mean claude-code?"), ("Codex", "did you mean codex?"), ("zzz", "there are claude-code")]
)  # fmt: skip
def test_an_unknown_client_is_answered_with_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(ConfigError, match=f"'{name}' is not known") as error:
        installing.find(name)
    assert hint in str(error.value)
    with pytest.raises(
        ConfigError, match=r"stands for any other client.*; there are claude-code.*, nanobot$"
    ):
        installing.find("generic")


SECRET = "zX9kQ2mN7"  # of a shape that nothing tells from a word
HELD = (
    '"args": ["-y", "mcp-brave", "--api-key", "%s"]',
    '"args": [\n   "--password",\n   "%s"\n ]',
    '"env": {"API_KEY":\n "%s", "passphrase": "correct %s staple"}',
    '"password": 123%s, "url": "https://u:%s@h/"',
)


@pytest.mark.parametrize("line", ["\n", ""])
def test_a_diff_shows_what_is_ours_and_of_others_no_value(line: str, site: ClientFolders) -> None:
    cursor, codex = installing.find("cursor"), installing.find("codex")
    texts = [(cursor, f'{{{line}"mcpServers": {{"b": {{{line}{one}}}}}{line}}}') for one in HELD]
    texts += [(codex, f'[mcp_servers.b]\nargs = ["--token", "{SECRET}"]{line}')]
    for target, written in texts:
        text = written.replace("123%s", "123456").replace("%s", SECRET)
        path = made(site, target)[0].path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        former, newer = made(site, target), made(site, target, program="/new/bin/commonplace")
        entered = installing.diff(former, installing.preview(former))
        installing.carry_out(former, site.environ)
        updated = installing.diff(newer, installing.preview(newer))
        taken = installing.diff(newer, installing.preview(newer, remove=True))
        installing.carry_out(former, site.environ, remove=True)
        form = strict if target is cursor else toml
        assert form.value(path.read_text()) == form.value(text)
        for shown in (entered, updated, taken):
            assert not [one for one in (SECRET, "123456") if one in shown], shown
        assert [one for one in (entered, updated, taken) if "/home/you/my notes" not in one] in (
            [],
            [updated],
        )
        assert "/new/bin/commonplace" in updated
