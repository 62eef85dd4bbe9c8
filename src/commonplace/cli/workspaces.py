"""`workspaces …`: the memories of this machine, what they are called, and who may use them."""

from __future__ import annotations

import os
from contextlib import nullcontext, suppress
from operator import itemgetter
from pathlib import Path

import click

from commonplace.base import paths
from commonplace.base.errors import WorkspaceNotFound
from commonplace.cli import failures, session
from commonplace.cli.flags import State
from commonplace.cli.options import Group, command, completed, format_option, option
from commonplace.config import editing, workspaces
from commonplace.render import screen, to_json


@command("list")
@format_option(("text", "json"))
@click.pass_context
def list_(ctx: click.Context, form: str) -> None:
    """List the workspaces of this machine by name: what `--all-workspaces` puts questions to.

    With `--agent` those that it uses from here: the one that it writes to first, then what it reads.
    """
    agent, rows = session.asking_agent(ctx), list[tuple[str, str, str]]()
    is_named = bool(ctx.ensure_object(State).workspace)
    with nullcontext() if agent or is_named else suppress(WorkspaceNotFound):
        reach = session.asking(ctx, everything=not agent).reach()
        home = ("writes" if reach.reader is None else "reads") if agent else ""
        rows.append((reach.name, os.fspath(reach.home), home))
        rows += [(name, os.fspath(root), "reads" if agent else "") for name, root in reach.others.items()]
    if form == "json":
        keys = ("name", "folder", "use")
        session.write(to_json([dict(filter(itemgetter(1), zip(keys, row, strict=True))) for row in rows]))
    else:
        shown = [(name, use, screen.name(folder)) for name, folder, use in rows]
        session.write("\n".join(screen.table([tuple(filter(None, row)) for row in shown])))
    if not rows:
        failures.warn("no workspace is known; make one with `commonplace init`")
        ctx.exit(failures.NOTHING_FOUND)


@command("add")
@click.argument("folder", metavar="DIR", shell_complete=completed("folders"))
@option("--name", metavar="N", help="What it is called: in hits, with -w, and for [agents.NAME].")
@click.pass_context
def add(ctx: click.Context, folder: str, name: str | None) -> None:
    """Note a workspace that was not made here, or give one another name."""
    session.check_owner(ctx)
    root = Path(os.path.abspath(os.path.expanduser(folder)))
    if not root.is_dir():
        raise WorkspaceNotFound(paths.shown(root), missing=True)
    paths.check_usable(root)
    if name is not None:
        editing.set_name(root, name)
    workspaces.note(root)
    real = os.path.realpath(root)
    called = next(one for one, place in workspaces.called(workspaces.known()) if os.fspath(place) == real)
    session.write(f"{called}: {real}")


@command("move")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW", shell_complete=completed("folders"))
@click.pass_context
def move(ctx: click.Context, old: str, new: str) -> None:
    """Let the folder NEW have the state of OLD: its history, entries that wait, record of use, and index.

    State is found by the path of a folder, so one that was moved begins anew until this is said.
    """
    session.check_owner(ctx)
    former, root = (Path(os.path.abspath(os.path.expanduser(one))) for one in (old, new))
    if not root.is_dir():
        raise WorkspaceNotFound(paths.shown(root), missing=True)
    if not paths.move_state(former, root):
        failures.warn(f"{paths.shown(former)} has no state")
        ctx.exit(failures.NOTHING_FOUND)
    editing.move_own(former, root)
    session.write(f"{paths.shown(root)} has the state of {paths.shown(former)}")


@command("remove")
@click.argument("folder", metavar="DIR|NAME", shell_complete=completed("workspaces"))
@option("--state", is_flag=True, help="Delete its state and index too: history, waiting entries, usage.")
@click.pass_context
def remove(ctx: click.Context, folder: str, state: bool) -> None:
    """Forget that there is a workspace; nothing in its folder is touched."""
    session.check_owner(ctx)
    named = {name: os.fspath(root) for name, root in workspaces.called(workspaces.known())}
    root = Path(named.get(folder, os.path.abspath(os.path.expanduser(folder))))
    is_noted = workspaces.drop(root)
    if state and paths.drop_state(root):
        session.write(f"the state of {paths.shown(root)} is deleted")
    if is_noted:
        session.write(f"{paths.shown(root)} is no longer noted")
    if os.path.realpath(root) in workspaces.known():
        failures.warn(f"{paths.shown(root)} stays known: your config.toml names it, or it is your own")
    elif not (is_noted or state):
        failures.warn(f"{paths.shown(root)} is not noted")
    if not (is_noted or state):
        ctx.exit(failures.NOTHING_FOUND)


group = Group(
    "workspaces",
    commands=[list_, add, move, remove],
    help="List the workspaces of this machine, name them, move them, forget them.",
    alone=list_,
)
