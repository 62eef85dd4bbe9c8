"""`install`, `uninstall`: this memory entered into the programs that agents run in."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commonplace.base import paths
from commonplace.base.errors import ConfigError, WorkspaceNotFound
from commonplace.cli import failures, session
from commonplace.cli.options import command, completed, option
from commonplace.render import count, screen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.clients.entries import Door
    from commonplace.clients.installing import Outcome, Standing
    from commonplace.clients.table import Scope, Site, Target

_project = option(
    "--project", "scope", flag_value="project", help="In the settings of the folder you are in."
)
_user = option(
    "--user", "scope", flag_value="user", help="In your own settings, for every folder; if not said."
)
_dry_run = option("--dry-run", is_flag=True, help="Show what would change in each file, and change nothing.")


@command(
    "install",
    excluding=[
        ("--project", "--user"),
        ("--plugin", "--project"),
        ("--plugin", "--user"),
        *(
            ("--list", one)
            for one in ("client", "--project", "--user", "--dry-run", "--init", "--name", "--plugin")
        ),
    ],
)
@click.argument("client", required=False, shell_complete=completed("clients"))
@_project
@_user
@_dry_run
@option("--init", "make", is_flag=True, help="Make the workspace first, if there is none.")
@option(
    "--name", default="memory", show_default=True, metavar="NAME", help="Name of the server in the client."
)
@option(
    "--plugin",
    metavar="FOLDER",
    help="Write a plugin for Claude Code into this folder instead.",
    shell_complete=completed("folders"),
)
@option(
    "--list",
    "listing",
    is_flag=True,
    help="Show each client: on this machine or not, what is installed where.",
)
@click.pass_context
def install(
    ctx: click.Context,
    client: str | None,
    scope: Scope | None,
    dry_run: bool,
    make: bool,
    name: str,
    plugin: str | None,
    listing: bool,
) -> None:
    """Enter this memory into a client: its tools, its hooks and its skill, as far as the client has these.

    CLIENT is claude-code, codex, cursor, vscode, gemini, opencode, openclaw, nanobot, or generic, which shows
    what to paste. What stands in the files stays, byte for byte; a second call changes nothing, and one
    after an upgrade replaces what the first wrote. Former versions of changed files are kept for 30 days.
    """
    if listing:
        _list()
        return
    if client is None:
        raise click.UsageError("Missing argument 'CLIENT'; --list shows all", ctx)
    from commonplace.clients import installing

    target = None if client == installing.GENERIC else installing.find(client)
    door = _door(ctx, client, name, make=make, dry_run=dry_run)
    if target is None:
        session.write(installing.generic(door))
    elif plugin is not None:
        _plugin(target, door, plugin, dry_run=dry_run)
    else:
        _install(target, door, scope or "user", dry_run=dry_run)


@command("uninstall", excluding=[("--project", "--user")])
@click.argument("client", shell_complete=completed("clients"))
@_project
@_user
@_dry_run
@click.pass_context
def uninstall(ctx: click.Context, client: str, scope: Scope | None, dry_run: bool) -> None:
    """Take out of a client what `install` entered there, and nothing else.

    That is your settings and those of the folder you are in, if neither is named. A file that nobody has
    changed since is byte for byte what it was before; notes are not touched.
    """
    from commonplace.clients import edits, entries, installing

    target, where = installing.find(client), _site()
    door = entries.Door("", ())
    chosen = installing.scopes(target, where, scope)
    steps = [edit for one in chosen for edit in edits.of(target, one, where, door)]
    if dry_run:
        _show(installing.diff(steps, installing.preview(steps, os.environ, remove=True)))
        return
    if not _tell(installing.uninstall(steps, os.environ), "taken out of"):
        failures.warn(f"nothing of this memory is in the settings of {target.title} ({' or '.join(chosen)})")
        ctx.exit(failures.NOTHING_FOUND)


def _door(ctx: click.Context, client: str, name: str, *, make: bool, dry_run: bool) -> Door:
    """The way from a client to the workspace. Raises ConfigError, WorkspaceNotFound, AccessDenied."""
    from commonplace.clients import installing

    try:
        root = Path(session.workspace_root(ctx))
    except WorkspaceNotFound as error:
        if not make:
            raise ConfigError("workspace", f"{error}, or let --init make it here") from error
        root = Path(session.workspace(ctx) or paths.default_workspace())
        if not dry_run:
            _create(root)
    return installing.door(root, client, name, session.agent(ctx) or "")


def _create(root: Path) -> None:
    from commonplace.memory import create

    create(root)
    session.note(f"made the workspace {root}")


def _site() -> Site:
    from commonplace.clients import installing

    return installing.site(os.environ, Path.cwd())


def _install(target: Target, door: Door, scope: Scope, *, dry_run: bool) -> None:
    from commonplace.clients import edits, installing

    where = _site()
    [scope] = installing.scopes(target, where, scope)
    steps = edits.of(target, scope, where, door)
    if dry_run:
        _show(installing.diff(steps, installing.preview(steps, os.environ)))
        return
    if not _tell(installing.install(steps, os.environ), "entered into"):
        session.note(f"{target.title} has it already; nothing was changed")
        return
    session.note(f"it starts {shlex.join(door.argv('mcp'))}")
    if not installing.is_here(target, where):
        session.note(f"{target.title} was not found on this machine; it reads this once it is installed")
    if target.hooks and installing.is_hooked(target, where, but=scope):
        message = (
            "the hooks stand in your settings and in this project's, and may be called twice; take one out"
        )
        failures.warn(f"{message}: commonplace uninstall {target.name} --{scope}")
    if by_hand := (target.by_hand or {}).get(scope):
        session.note(f"now {by_hand}")


def _plugin(target: Target, door: Door, folder: str, *, dry_run: bool) -> None:
    from commonplace.clients import plugin
    from commonplace.storage import diffs

    changes = plugin.changes(target, door, Path(folder))
    if dry_run:
        _show(diffs.of_changes(changes))
        return
    plugin.write(changes, Path(folder))
    session.write(f"plugin written to {paths.shown(folder)}")
    session.note(f"try it with: claude --plugin-dir {shlex.quote(folder)}")


def _show(diff: str) -> None:
    """Print what would become of each file."""
    if diff:
        session.write(diff)
    else:
        session.note("nothing would change")


def _tell(outcomes: Sequence[Outcome], done: str) -> bool:
    """Print which files were changed, and where their former versions are; return whether any was."""
    from commonplace.clients.files import KEPT_DAYS

    changed = [outcome for outcome in outcomes if outcome.changed]
    for outcome in changed:
        session.write(f"{outcome.what} {done} {paths.shown(outcome.path)}")
    if backups := [outcome.backup for outcome in changed if outcome.backup]:
        files = count(len(backups), "former version")
        session.note(f"{files} kept for {KEPT_DAYS} days in {paths.shown(backups[0].parent)}")
    return bool(changed)


def _list() -> None:
    """Print a row for each client, and below it what is installed."""
    from commonplace.clients import installing
    from commonplace.clients.table import TARGETS

    where = _site()
    standing = installing.standing(where)
    rows = [["client", "on this machine", "installed"]]
    for target in TARGETS:
        here = "yes" if installing.is_here(target, where) else "no"
        mine = [one for one in standing if one.target is target and (one.ours or one.trouble)]
        rows += [[target.name, here, "no"]] if not mine else []
        for place, one in enumerate(mine):
            head = ["", ""] if place else [target.name, here]
            rows.append([*head, _place(one)])
    session.write(screen.headed(rows, look=session.look()))


def _place(one: Standing) -> str:
    there = f"{one.edit.what} ({one.scope}): {paths.shown(one.edit.path)}"
    return f"unreadable: {one.trouble}" if one.trouble else there
