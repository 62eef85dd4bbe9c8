"""`workspaces …`: the memories of this machine, their names, and who may use them."""

from __future__ import annotations

import os
from contextlib import nullcontext, suppress
from pathlib import Path

import click

from commonplace.base import paths
from commonplace.base.errors import WorkspaceNotFound
from commonplace.cli import failures, session
from commonplace.cli.flags import State
from commonplace.cli.options import Group, argument, command, flag, option
from commonplace.config import editing, workspaces
from commonplace.render import screen


@command("list", answers=True)
def list_(ctx: click.Context, form: str) -> None:
    """List the workspaces of this machine by name: those that `--all-workspaces` searches.

    With `--agent` those that it uses from here: the one that it writes to first, then those it reads.
    """
    agent, rows = session.asking_agent(ctx), list[tuple[str, str, str]]()
    is_named = bool(ctx.ensure_object(State).workspace)
    with nullcontext() if agent or is_named else suppress(WorkspaceNotFound):
        reach = session.asking(ctx, everything=not agent).reach()
        home = ("writes" if reach.reader is None else "reads") if agent else ""
        rows.append((reach.name, os.fspath(reach.home), home))
        rows += [(name, os.fspath(root), "reads" if agent else "") for name, root in reach.others.items()]
    data = [{"name": name, "folder": folder} | ({"use": use} if use else {}) for name, folder, use in rows]
    shown = [tuple(filter(None, (name, use, screen.name(folder)))) for name, folder, use in rows]
    session.answer(form, data, lambda: "\n".join(screen.table(shown)))
    if not rows:
        failures.warn("no workspace is known; make one with `commonplace init`")
        ctx.exit(failures.NOTHING_FOUND)


@command("add")
@argument("folder", "DIR", "folders")
@option("--name", metavar="N", help="Its name: in hits, with -w, and for [agents.NAME].")
def add(ctx: click.Context, folder: str, name: str | None) -> None:
    """Note a workspace that was not made here, or give one another name."""
    session.check_owner(ctx)
    root = _existing(folder)
    paths.check_usable(root)
    if name is not None:
        editing.set_name(root, name)
    workspaces.note(root)
    real = os.path.realpath(root)
    called = next(one for one, place in workspaces.called(workspaces.known()) if os.fspath(place) == real)
    session.write(f"{called}: {real}")


@command("move")
@argument("old", "OLD")
@argument("new", "NEW", "folders")
def move(ctx: click.Context, old: str, new: str) -> None:
    """Give the folder NEW the state of OLD: its history, waiting entries, record of use, and index.

    State is found by the path of a folder, so a moved folder begins anew until then.
    """
    session.check_owner(ctx)
    former, root = _full(old), _existing(new)
    if not paths.move_state(former, root):
        failures.warn(f"{paths.shown(former)} has no state")
        ctx.exit(failures.NOTHING_FOUND)
    editing.move_own(former, root)
    session.write(f"{paths.shown(root)} has the state of {paths.shown(former)}")


@command("remove")
@argument("folder", "DIR|NAME", "workspaces")
@flag("--state", "Delete its state and index too: history, waiting entries, usage.")
def remove(ctx: click.Context, folder: str, state: bool) -> None:
    """Remove a workspace from the list; its folder is not touched."""
    session.check_owner(ctx)
    named = dict(workspaces.called(workspaces.known()))
    root = Path(named.get(folder) or _full(folder))
    is_noted, shown = workspaces.drop(root), paths.shown(root)
    if state and paths.drop_state(root):
        session.write(f"the state of {shown} is deleted")
    if is_noted:
        session.write(f"{shown} is no longer noted")
    if os.path.realpath(root) in workspaces.known():
        failures.warn(f"{shown} stays known: your config.toml names it, or it is your own")
    elif not (is_noted or state):
        failures.warn(f"{shown} is not noted")
    if not (is_noted or state):
        ctx.exit(failures.NOTHING_FOUND)


def _full(folder: str) -> Path:
    return Path(os.path.abspath(os.path.expanduser(folder)))


def _existing(folder: str) -> Path:
    """Return the full path of a folder. Raises WorkspaceNotFound."""
    root = _full(folder)
    if not root.is_dir():
        raise WorkspaceNotFound(paths.shown(root), missing=True)
    return root


group = Group(
    "workspaces", commands=[list_, add, move, remove], alone=list_,
    help="List the workspaces of this machine, name them, move them, remove them from the list.",
)  # fmt: skip
