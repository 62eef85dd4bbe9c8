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
from commonplace.cli.options import argument, command, flag, option
from commonplace.render import screen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.clients.entries import Door
    from commonplace.clients.files import Edit
    from commonplace.clients.table import Scope

_project = option("--project", "scope", flag_value="project", help="In the settings of the current folder.")
_user = option(
    "--user", "scope", flag_value="user", help="In your own settings, for every folder; the default."
)
_dry_run = flag("--dry-run", "Show what would change in each file, and change nothing.")
_LIST_ALONE = [("--list", one) for one in ("client", "--project", "--user", "--dry-run", "--init", "--name")]


@command("install", excluding=[("--project", "--user"), *_LIST_ALONE])
@argument("client", required=False, completes="clients")
@_project
@_user
@_dry_run
@flag("--init", "Make the workspace first, if there is none.", "make")
@option(
    "--name", default="memory", show_default=True, metavar="NAME", help="Name of the server in the client."
)
@flag("--list", "Show each client: on this machine or not, what is installed where.", "listing")
def install(
    ctx: click.Context, client: str | None, scope: Scope | None, dry_run: bool, make: bool, name: str,
    listing: bool,
) -> None:  # fmt: skip
    """Enter this memory into a client: its tools, its hooks and its skill, as far as the client has these.

    CLIENT is claude-code, codex, cursor, vscode, gemini, opencode, openclaw, nanobot, or generic, which shows
    the entry to paste. All other settings in the files stay; a second call changes no file, and a call after
    an upgrade replaces the former entries. Former versions of changed files are kept for 30 days.
    """
    from commonplace.clients import edits, installing

    if listing:
        _list()
        return
    if client is None:
        raise click.UsageError("Missing argument 'CLIENT'; --list shows all", ctx)
    target = None if client == installing.GENERIC else installing.find(client)
    door = _door(ctx, client, name, make=make, dry_run=dry_run)
    if target is None:
        session.write(installing.generic(door))
        return
    where = installing.site(os.environ, Path.cwd())
    [scope] = installing.scopes(target, where, scope or "user")
    if not _carried_out(edits.of(target, scope, where, door), dry_run=dry_run, remove=False):
        session.note(
            "nothing would change" if dry_run else f"{target.title} has it already; nothing was changed"
        )
    elif not dry_run:
        session.note(f"it starts {shlex.join(door.argv('mcp'))}")
        if not installing.is_here(target, where):
            session.note(f"{target.title} was not found on this machine; it reads this once it is installed")
        if target.hooks and installing.is_hooked(target, where, but=scope):
            twice = "hooks are in your settings and in this project's, and may be called twice; remove one"
            failures.warn(f"{twice}: commonplace uninstall {target.name} --{scope}")
        if by_hand := (target.by_hand or {}).get(scope):
            session.note(f"now {by_hand}")


@command("uninstall", excluding=[("--project", "--user")])
@argument("client", completes="clients")
@_project
@_user
@_dry_run
def uninstall(ctx: click.Context, client: str, scope: Scope | None, dry_run: bool) -> None:
    """Take the entries of `install` out of a client; all others stay.

    Without --user or --project, your settings and those of the current folder are changed. Notes are not.
    """
    from commonplace.clients import edits, entries, installing

    target, where = installing.find(client), installing.site(os.environ, Path.cwd())
    chosen = installing.scopes(target, where, scope)
    steps = [edit for one in chosen for edit in edits.of(target, one, where, entries.Door("", ()))]
    if _carried_out(steps, dry_run=dry_run, remove=True):
        return
    if dry_run:
        session.note("nothing would change")
    else:
        failures.warn(f"nothing of this memory is in the settings of {target.title} ({' or '.join(chosen)})")
        ctx.exit(failures.NOTHING_FOUND)


def _door(ctx: click.Context, client: str, name: str, *, make: bool, dry_run: bool) -> Door:
    """Return the entry that leads to the workspace. Raises ConfigError, WorkspaceNotFound, AccessDenied."""
    from commonplace.clients import installing

    try:
        root = Path(session.workspace_root(ctx))
    except WorkspaceNotFound as error:
        if not make:
            raise ConfigError("workspace", f"{error}, or let --init make it here") from error
        root = Path(session.workspace(ctx) or paths.default_workspace())
        if not dry_run:
            from commonplace.memory import create

            create(root)
            session.note(f"made the workspace {root}")
    return installing.door(root, client, name, session.agent(ctx) or "")


def _carried_out(steps: Sequence[Edit], *, dry_run: bool, remove: bool) -> bool:
    """Change the files and list them, or show the changes; return False without a change."""
    from commonplace.clients import installing

    if dry_run:
        diff = installing.diff(steps, installing.preview(steps, remove=remove))
        session.write(diff)
        return bool(diff)
    changed = installing.carry_out(steps, os.environ, remove=remove)
    for one in changed:
        session.write(f"{one.what} {'taken out of' if remove else 'entered into'} {one.path}")
    for line in installing.backups_text(changed):
        session.note(line)
    return bool(changed)


def _list() -> None:
    """Print a row for each client, and below it what is installed."""
    from commonplace.clients import installing
    from commonplace.clients.table import TARGETS

    where = installing.site(os.environ, Path.cwd())
    standing = [one for one in installing.standing(where) if one.ours or one.trouble]
    rows = [["client", "on this machine", "installed"]]
    for target in TARGETS:
        head = [target.name, "yes" if installing.is_here(target, where) else "no"]
        mine = [one for one in standing if one.target is target]
        for one in mine:
            place = f"{one.edit.what} ({one.scope}): {paths.shown(one.edit.path)}"
            rows.append([*head, f"unreadable: {one.trouble}" if one.trouble else place])
            head = ["", ""]
        rows += [[*head, "no"]] * (not mine)
    session.write(screen.headed(rows, look=session.look()))
