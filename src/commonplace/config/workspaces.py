"""The workspaces that a caller reads and writes: by options, by an agent's access, or all known ones.

The first workspace is the home, which is written to and whose settings apply; the others are read. `init`
notes each new workspace in its state, which gives agents no access.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from commonplace.base import paths, records
from commonplace.base.errors import AccessDenied, WorkspaceNotFound
from commonplace.base.tuples import NamedTuple
from commonplace.config import access, files
from commonplace.config.access import Access
from commonplace.config.files import AGENT_VARIABLE, agent_name


class Reach(NamedTuple):
    """The home and the other workspaces by name; `reader` is an agent that may not write to the home."""

    home: Path
    name: str
    others: Mapping[str, Path]
    reader: str | None = None


def reach(
    folders: Sequence[str] = (),
    agent: str | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    started: Path | None = None,
    everything: bool = False,
    alone: bool = False,
) -> Reach:
    """Return the workspaces for the given folders or names, the first one as the home.

    Without any, the home is the agent's, or the workspace around the folder in which it is `started`. One
    folder adds the workspaces that the agent reads, several are only these; `everything` adds all known
    ones, `alone` excludes others. Raises WorkspaceNotFound, ConfigError, AccessDenied, and
    NoteUnreadable if this user may not open the only one.
    """
    environ = os.environ if environ is None else environ
    name = agent_name(environ.get(AGENT_VARIABLE, "") if agent is None else agent)
    user = access.users(environ, name)
    with access.discreet(name):
        allowed, names = access.access_of(user, name, environ), access.names_in(user)
    if started is None and not folders and (named := environ.get(paths.WORKSPACE_VARIABLE)):
        folders = [named]
    all_known = known(environ) if everything else []
    every = [Path(root) for root in all_known if allowed.may_read(root, is_here=False)]
    try:
        home = first = _home(folders, started, allowed, names, environ)
    except WorkspaceNotFound:
        if folders or not every:
            raise
        home = first = every[0]
    if allowed.home and not (folders if alone else folders[1:]):
        home = _existing(allowed.home)
    roots = [
        Path(folder)  # one that went away while a server runs is a warning of each search
        if started is not None and os.path.isabs(folder)
        else _resolved(folder, allowed, names, environ)
        for folder in folders[1:]
    ]
    for root in roots:
        allowed.check(root, is_here=False)
    roots += every
    if not alone and not folders[1:]:
        roots += [first if root == access.HERE else Path(root) for root in allowed.readable]
    (home_name, _), *others = _named([home, *roots], names)
    if not others:
        paths.check_open(home)
    reader = None if allowed.may_write(home) else name
    return Reach(home, home_name, dict(others), reader)


def limited(environ: Mapping[str, str] | None = None, agent: str = "") -> list[str]:
    """Return the agents limited by the user's settings.

    Raises ConfigError, without details for an `agent`, and AccessDenied for one without a table.
    """
    user = access.users(environ, agent)
    with access.discreet(agent):
        access.access_of(user, agent, environ)
        agents = files.table("agents", user.content.get("agents", {}), user.path)
        return [name for name in agents if access.access_of(user, name, environ).is_limited]


def agents(agent: str = "", environ: Mapping[str, str] | None = None) -> list[str]:
    """Return the agents with a table in the user's file. Raises ConfigError; an `agent` gets no details."""
    return [*access.users(environ, agent).content.get("agents", {})]


def _home(
    folders: Sequence[str],
    started: Path | None,
    allowed: Access,
    names: Mapping[str, str],
    environ: Mapping[str, str],
) -> Path:
    """Return the first named workspace, or the one around the start; else the first that an agent reads."""
    try:
        named = [*folders, None][0]
        first = started if started and not folders else _resolved(named, allowed, names, environ)
        allowed.check(first)
        return first
    except (WorkspaceNotFound, AccessDenied):
        own = [root for root in allowed.readable if root != access.HERE]
        if folders or not own:
            raise
        return _existing(own[0])


def _existing(root: str) -> Path:
    if not os.path.isdir(root):
        raise WorkspaceNotFound(paths.shown(root), missing=True)
    return Path(root)


def _resolved(
    folder: str | None, allowed: Access, names: Mapping[str, str], environ: Mapping[str, str]
) -> Path:
    """Return the workspace of a folder, or else of a name in the user's settings.

    To an agent the names of closed workspaces are unknown, and so is a closed workspace around a folder.
    """
    try:
        return paths.resolve_workspace(folder, environ)
    except WorkspaceNotFound as error:
        for root, name in names.items():
            if name == folder and allowed.may_read(root):
                return _existing(root)
        if error.around and not allowed.may_read(error.around):
            raise WorkspaceNotFound(error.start) from None
        raise


def _named(roots: Iterable[Path], names: Mapping[str, str]) -> list[tuple[str, Path]]:
    """Return each workspace once, with a unique name: the given one, or one by its folder."""
    found: dict[str, tuple[str, Path]] = {}
    for root in roots:
        real, taken = os.path.realpath(root), {*names.values(), *(name for name, _ in found.values())}
        called = names.get(real) or access.label(real)
        if real in found:
            continue
        if real not in names and called in taken:
            single = called = f"{access.label(os.path.dirname(real))}-{called}"
            number = 2
            while called in taken:
                called, number = f"{single}-{number}", number + 1
        found[real] = called, root
    return list(found.values())


# --- the workspaces of this machine ---------------------------------------------------------------------


def known(environ: Mapping[str, str] | None = None) -> list[str]:
    """Return the real paths of known workspaces that exist: noted, in the user's settings, the user's own.

    Raises ConfigError, NoteUnreadable.
    """
    named = access.folders_in(access.users(environ))
    roots = [*access.listed(environ), *named, os.path.realpath(paths.default_workspace(environ))]
    return [root for root in dict.fromkeys(roots) if os.path.isdir(root)]


def called(roots: Iterable[str | Path], environ: Mapping[str, str] | None = None) -> list[tuple[str, Path]]:
    """Return workspaces with their names. Raises ConfigError."""
    return _named(map(Path, roots), access.names_in(access.users(environ)))


def note(root: Path) -> None:
    """Note a workspace, which makes its state. Raises NoteUnreadable."""
    workspace = paths.Workspace(root)
    paths.prepare_state(workspace)
    with records.translated(workspace.state):
        workspace.kept.exchange(access.NOTED, b"")


def drop(root: Path) -> bool:
    """Remove the note of a workspace; return False if it is missing. Raises NoteUnreadable."""
    workspace = paths.Workspace(root)
    is_noted = (workspace.state / access.NOTED).exists()
    with records.translated(workspace.state):
        workspace.kept.unlink(access.NOTED, missing_ok=True)
    return is_noted
