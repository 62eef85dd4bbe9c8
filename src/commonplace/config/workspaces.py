"""Which workspaces are asked and written: by the options, an agent's access, and what this machine knows.

The first workspace is the home: it is written to, and its settings apply. The others are read. A list among
the user's settings notes the workspaces that `init` makes, a real path a line; it opens nothing to agents.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from commonplace.base import paths
from commonplace.base.errors import AccessDenied, NoteUnreadable, WorkspaceNotFound
from commonplace.base.tuples import NamedTuple
from commonplace.config import access, loading
from commonplace.config.access import Access
from commonplace.config.loading import AGENT_VARIABLE, File, agent_name, user_file


class Reach(NamedTuple):
    """The home and the other workspaces that are read, by name; `reader` is who may not write to the home."""

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
    """Return what is asked and written where these workspaces are named, the first one as the home.

    Without any the home is where an agent writes, or the one that it is `started` in (found, if not said).
    One adds what the agent reads as well, several are these alone; `everything` adds all that are known, and
    `alone` nothing, for what is done to one workspace. Raises WorkspaceNotFound, ConfigError, AccessDenied
    for what an agent may not read, and NoteUnreadable for one that this user may not look into: one of
    several is a warning of each question.
    """
    environ = os.environ if environ is None else environ
    name = agent_name(environ.get(AGENT_VARIABLE, "") if agent is None else agent)
    user = loading.users(environ, name)
    with loading.discreet(user, name):
        allowed, names = loading.access_of(user, name, environ), loading.names_in(user)
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
    """Return the agents of which the user's settings say what they read or where they write.

    Raises ConfigError, which tells an `agent` that asks nothing of others, and AccessDenied for one without a
    table beside those of others.
    """
    user = loading.users(environ, agent)
    with loading.discreet(user, agent):
        loading.access_of(user, agent, environ)
        agents = loading.table("agents", user.content.get("agents", {}), user.path)
        return [name for name in agents if loading.access_of(user, name, environ).is_limited]


def agents(root: Path, agent: str = "", environ: Mapping[str, str] | None = None) -> list[str]:
    """Return the agents that the user's file or that of a workspace has a table for.

    Raises ConfigError, which tells an `agent` that asks nothing of others.
    """
    user, file = loading.users(environ, agent).content, loading.read(paths.Workspace(root).settings)
    return [name for content in (user, file) for name in content.get("agents", {})]


def _home(
    folders: Sequence[str],
    started: Path | None,
    allowed: Access,
    names: Mapping[str, str],
    environ: Mapping[str, str],
) -> Path:
    """The workspace that is named first, or started in; what nobody named gives way to an agent's own."""
    try:
        first = (
            started if started and not folders else _resolved([*folders, None][0], allowed, names, environ)
        )
        allowed.check(first)
    except (WorkspaceNotFound, AccessDenied):
        own = [root for root in allowed.readable if root != access.HERE]
        if folders or not own:
            raise
        return _existing(own[0])
    return first


def _existing(root: str) -> Path:
    if not os.path.isdir(root):
        raise WorkspaceNotFound(paths.shown(root), missing=True)
    return Path(root)


def _resolved(
    folder: str | None, allowed: Access, names: Mapping[str, str], environ: Mapping[str, str]
) -> Path:
    """The workspace of a folder, or of a name that the user gave one where no such folder is.

    A name that an agent may not read is as unknown to it as any other, and so is a workspace around a folder.
    """
    try:
        return paths.resolve_workspace(folder, environ)
    except WorkspaceNotFound as error:
        called = [root for root, name in names.items() if name == folder and allowed.may_read(root)]
        if not called and error.around and not allowed.may_read(error.around):
            raise WorkspaceNotFound(error.start) from None
        if not called:
            raise
        return _existing(called[0])


def _named(roots: Iterable[Path], names: Mapping[str, str]) -> list[tuple[str, Path]]:
    """Workspaces with their names, each workspace once and each name for one alone."""
    found: dict[str, Path] = {}
    seen: set[str] = set()
    for root in roots:
        real = os.path.realpath(root)
        if real in seen:
            continue
        seen.add(real)
        given = names.get(real, "")
        called = given or access.label(real)
        if not given and (called in found or called in names.values()):
            called = f"{access.label(os.path.dirname(real))}-{called}"
        number, single = 2, called
        while called in found or (not given and called in names.values()):
            called, number = f"{single}-{number}", number + 1
        found[called] = root
    return list(found.items())


# --- the workspaces of this machine ---------------------------------------------------------------------


def known(environ: Mapping[str, str] | None = None) -> list[str]:
    """Return the real paths of the workspaces that are known, and there.

    They stand in the list, or in the user's settings, or are the user's own. Raises ConfigError.
    """
    path = user_file(environ)
    named = loading.folders_in(File(path, True, loading.read(path)))
    roots = [*access.listed(environ), *named, os.path.realpath(paths.default_workspace(environ))]
    return [root for root in dict.fromkeys(roots) if os.path.isdir(root)]


def called(roots: Iterable[str | Path], environ: Mapping[str, str] | None = None) -> list[tuple[str, Path]]:
    """Return workspaces with what they are called. Raises ConfigError."""
    path = user_file(environ)
    return _named(map(Path, roots), loading.names_in(File(path, True, loading.read(path))))


def note(root: Path, environ: Mapping[str, str] | None = None) -> None:
    """Note a workspace in the list. Raises NoteUnreadable."""
    real = os.path.realpath(root)
    if "\n" in real or real in access.listed(environ):
        return
    with _locked(environ):
        kept = [one for one in access.listed(environ) if os.path.isdir(one) and one != real]
        _write([*kept, real], environ)


def drop(root: Path, environ: Mapping[str, str] | None = None) -> bool:
    """Take a workspace off the list; False where it does not stand there. Raises NoteUnreadable."""
    real = os.path.realpath(root)
    with _locked(environ):
        noted = access.listed(environ)
        if real in noted:
            _write([one for one in noted if one != real], environ)
    return real in noted


def _locked(environ: Mapping[str, str] | None) -> AbstractContextManager[None]:
    from commonplace.base.locks import locked

    return locked(access.list_file(environ).with_suffix(".lock"))


def _write(roots: Sequence[str], environ: Mapping[str, str] | None) -> None:
    path = access.list_file(environ)
    door = paths.root_of(path)
    try:
        door.make_folder(path.parent)
        door.exchange(path, "".join(f"{root}\n" for root in roots).encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise NoteUnreadable(paths.shown(path), paths.reason(error)) from error
