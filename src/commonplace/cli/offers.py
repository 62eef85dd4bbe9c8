"""Values that a shell completes: notes, collections, agents, workspaces, sections, keys, files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

import click
from click.shell_completion import CompletionItem

from commonplace import config
from commonplace.base.errors import CommonplaceError
from commonplace.cli import session
from commonplace.clients.table import TARGETS
from commonplace.config import workspaces
from commonplace.config.settings import WORKSPACE_COLLECTION
from commonplace.imports.kinds import KINDS

MOST = 400  # offers; a shell asks before it shows as many


def find(kind: str, ctx: click.Context, typed: str) -> list[CompletionItem]:
    """Return at most `MOST` values that begin with `typed`; empty if they cannot be determined.

    Where files or folders are allowed, the shell itself completes them.
    """
    found: Iterable[str] = ()
    with suppress(CommonplaceError, OSError, click.ClickException):
        found = _KINDS[kind](ctx) if kind in _KINDS else ()
    fitting = (one for one in found if one.startswith(typed) and one.isprintable())
    offered = [CompletionItem(one) for _, one in zip(range(MOST), fitting, strict=False)]
    return [*offered, CompletionItem(typed, type=_PLACES[kind])] if kind in _PLACES else offered


def _notes(ctx: click.Context) -> Iterable[str]:
    """The paths of notes, without an index."""
    from commonplace.notes import scan

    asking = session.asking(ctx)
    home = asking.reach().home
    states = scan.scan(scan.sources(os.fspath(home), config.load(home, agent=asking.agent)))
    return sorted(state.shown for state in states if not state.format)


def _collections(ctx: click.Context) -> list[str]:
    return [WORKSPACE_COLLECTION, *sorted(config.load(session.root_for_settings(ctx)).collections)]


def _sections(ctx: click.Context) -> Iterable[str]:
    """The headings of the second level of MEMORY.md, into which `remember --section` writes."""
    workspace = session.workspace_of(ctx)
    text = workspace.files.read(workspace.memory_file).decode("utf-8", "replace")
    return re.findall(r"(?m)^##[ \t]+(\S.*?)[ \t]*$", text)


def _filters(ctx: click.Context) -> Iterable[str]:
    """Filters of a question that have a few values alone."""
    from commonplace.memory import known_filters

    return [*known_filters(), *(f"in:{name}" for name in _collections(ctx))]


def _sessions(ctx: click.Context) -> Iterable[str]:
    """The sessions of the workspace itself."""
    workspace = session.workspace_of(ctx)
    names = workspace.files.names(workspace.sessions)
    return [name.removesuffix(".jsonl") for name in names if name.endswith(".jsonl")]


def _runs(ctx: click.Context) -> Iterable[str]:
    from commonplace.storage import journal

    return reversed(journal.names(session.workspace_of(ctx)))


_KINDS: Mapping[str, Callable[[click.Context], Iterable[str]]] = {
    "agents": lambda ctx: sorted(config.agents()),
    "clients": lambda ctx: [target.name for target in TARGETS],
    "collections": _collections,
    "filters": _filters,
    "imports": lambda ctx: [kind.name for kind in KINDS],
    "keys": lambda ctx: [key.name for key in config.KEYS],
    "notes": _notes,
    "runs": _runs,
    "sections": _sections,
    "sessions": _sessions,
    "workspaces": lambda ctx: [name for name, _ in workspaces.called(workspaces.known())],
}
_PLACES: Mapping[str, str] = {"files": "file", "folders": "dir", "imports": "file", "workspaces": "dir"}
