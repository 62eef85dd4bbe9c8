"""What may stand where a shell completes: notes, collections, agents, workspaces, sections, keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

import click

from commonplace.cli import session

MOST = 400  # offers; a shell asks before it shows as many


def find(kind: str, ctx: click.Context, typed: str) -> list[str]:
    """Return what may stand where some of it is typed, at most `MOST`; nothing where that cannot be told."""
    from commonplace.base.errors import CommonplaceError

    found: Iterable[str] = ()
    with suppress(CommonplaceError, OSError, click.ClickException):
        found = _KINDS[kind](ctx)
    fitting = (one for one in found if one.startswith(typed) and one.isprintable())
    return [one for _, one in zip(range(MOST), fitting, strict=False)]


def _notes(ctx: click.Context) -> Iterable[str]:
    return session.note_paths(session.asking(ctx))


def _collections(ctx: click.Context) -> Iterable[str]:
    from commonplace import config
    from commonplace.config.settings import WORKSPACE_COLLECTION

    return [WORKSPACE_COLLECTION, *sorted(config.load(session.root_for_settings(ctx)).collections)]


def _agents(ctx: click.Context) -> Iterable[str]:
    from commonplace import config

    return sorted(config.agents(session.root_for_settings(ctx)))


def _workspaces(ctx: click.Context) -> Iterable[str]:
    from commonplace.config import workspaces

    return [name for name, _ in workspaces.called(workspaces.known())]


def _sections(ctx: click.Context) -> Iterable[str]:
    """The headings of the second level of MEMORY.md, into which `remember --section` writes."""
    workspace = session.workspace_of(ctx)
    text = workspace.files.read(workspace.memory_file).decode("utf-8", "replace")
    return re.findall(r"(?m)^##[ \t]+(\S.*?)[ \t]*$", text)


def _keys(ctx: click.Context) -> Iterable[str]:
    from commonplace.config import KEYS

    return [key.name for key in KEYS]


_KINDS: Mapping[str, Callable[[click.Context], Iterable[str]]] = {
    "agents": _agents,
    "collections": _collections,
    "keys": _keys,
    "notes": _notes,
    "sections": _sections,
    "workspaces": _workspaces,
}
