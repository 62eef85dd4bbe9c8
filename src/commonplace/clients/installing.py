"""This memory entered into a client and taken out again, and where it stands."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from commonplace import config
from commonplace.base import installation, paths
from commonplace.base.errors import CommonplaceError, ConfigError, NoteUnreadable
from commonplace.clients import edits, entries, files
from commonplace.clients.entries import Door
from commonplace.clients.files import Done, Edit
from commonplace.clients.table import SCOPES, TARGETS, ClientFolders, Scope, Target
from commonplace.config import keys
from commonplace.render import count
from commonplace.storage import diffs
from commonplace.types.changes import Change

GENERIC = "generic"  # any other client: its user is shown what to paste


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """A changed file: the kind of our entry, the path as shown, and the path of the former version."""

    what: str
    path: str
    backup: str = ""


@dataclass(frozen=True, slots=True)
class Standing:
    """Our entries in a file of a client: names with their commands; `trouble`: why it cannot be read."""

    target: Target
    scope: Scope
    edit: Edit
    ours: Mapping[str, Sequence[str]]
    trouble: str = ""


def site(environ: Mapping[str, str], project: Path) -> ClientFolders:
    """Return where files of clients lie for the user of an environment."""
    return ClientFolders(paths.home(environ), project, environ)


def find(name: str) -> Target:
    """Return the row of a client. Raises ConfigError."""
    for target in TARGETS:
        if target.name == name:
            return target
    rows = [target.name for target in TARGETS]
    if name == GENERIC:
        told = f"{GENERIC} stands for any other client, whose settings are yours to change"
        raise ConfigError("client", f"{told}; there are {', '.join(rows)}")
    names = [*rows, GENERIC]
    near = keys.near(name.lower(), names, f"there are {', '.join(names)}")
    raise ConfigError("client", f"{name!r} is not known{near}")


def door(root: Path, client: str, name: str = "memory", agent: str = "") -> Door:
    """Return the entry that leads from a client to a workspace; the default agent is the client's name.

    Raises ConfigError for a name that is not allowed, AccessDenied for a workspace out of the agent's reach.
    """
    if not name or not all(character.isalnum() or character in "-_" for character in name):
        raise ConfigError("--name", f"{name!r} is not allowed; use letters, digits, - and _")
    agent = agent or client
    if root.is_dir():
        config.reach([os.fspath(root)], agent)  # what the client could not use is not entered
    return entries.door(installation.program(), root, agent, name)


def scopes(target: Target, where: ClientFolders, scope: Scope | None) -> list[Scope]:
    """Return the scope that is meant, or all that a client has here. Raises ConfigError.

    A project in the home folder would be the user's own settings once more.
    """
    at_home = os.path.realpath(where.project) == os.path.realpath(where.home)
    if scope == "project" and at_home:
        raise ConfigError("--project", "you are in your home folder; go into a project, or use --user")
    if scope is not None:
        return [scope]
    return [one for one in SCOPES if where.path(target.servers, one) and not (one == "project" and at_home)]


def preview(steps: Sequence[Edit], *, remove: bool = False) -> list[Change]:
    """Return what would become of each file. Raises ConfigError, NoteUnreadable."""
    changes = []
    for edit in steps:
        before = edit.read()
        after = edit.stripped(before) if remove else edit.installed(before)
        changes.append(Change(edit.path.as_posix().lstrip("/"), before, after))
    return changes


def diff(steps: Sequence[Edit], changes: Sequence[Change]) -> str:
    """Return the lines that change in each file, as a diff; of what is not ours, keys alone are shown."""
    differing = [pair for pair in zip(steps, changes, strict=True) if pair[1].before != pair[1].after]
    return "\n".join(
        diffs.of_change(change, context=0, mask=edit.masking(change.before, change.after))
        for edit, change in differing
    )


def carry_out(
    steps: Sequence[Edit], environ: Mapping[str, str], *, remove: bool = False
) -> list[FileOutcome]:
    """Enter this memory into all files or into none, or take it out of them; return the changed ones.

    If a file fails, those changed before it are given back. Raises ConfigError, NoteUnreadable.
    """
    preview(steps, remove=remove)  # fail before the first write where that can be known
    finished: list[tuple[Edit, Done]] = []
    for edit in steps:
        try:
            finished.append((edit, files.change(edit, environ, remove=remove)))
        except BaseException as error:  # an interrupt as well
            left = _given_back(finished, environ)
            if isinstance(error, CommonplaceError):
                raise NoteUnreadable(*_half(edit, error, left)) from error
            raise
    return [
        FileOutcome(edit.what, paths.shown(edit.path), paths.shown(done.backup) if done.backup else "")
        for edit, done in finished
        if done.before != done.after
    ]


def backups_text(done: Sequence[FileOutcome]) -> list[str]:
    """Say where former versions are, in a line; empty without any."""
    backups = [one.backup for one in done if one.backup]
    kept = f"{count(len(backups), 'former version')} kept for {files.KEPT_DAYS} days"
    return [f"{kept} in {os.path.dirname(backups[0])}"] if backups else []


def _given_back(finished: Sequence[tuple[Edit, Done]], environ: Mapping[str, str]) -> list[Path]:
    """Give files back as they were, the last one first; return those that could not be."""
    left = []
    for edit, done in reversed(finished):
        try:
            is_back = done.before == done.after or files.restore(edit, environ, done)
        except CommonplaceError:
            is_back = False
        if not is_back:
            left.append(edit.path)
    return left


def _half(edit: Edit, error: CommonplaceError, left: Sequence[Path]) -> tuple[str, str]:
    """The file that could not be changed, and why, with what became of the others."""
    reason = str(error).removeprefix(f"{paths.shown(edit.path)}: ").removesuffix("; nothing was changed")
    names = ", ".join(map(paths.shown, left))
    others = f"{names} could not be given back; call this again" if left else "all files are as they were"
    return paths.shown(edit.path), f"{reason}; {others}"


def standing(where: ClientFolders) -> list[Standing]:
    """Return our entries in every file of every client, in both scopes; change no file."""
    places = []
    unused = Door("", ())
    for target in TARGETS:
        for scope in scopes(target, where, None):
            places += [_standing(target, scope, edit) for edit in edits.of(target, scope, where, unused)]
    return places


def _standing(target: Target, scope: Scope, edit: Edit) -> Standing:
    try:
        return Standing(target, scope, edit, edits.ours(edit, target))
    except CommonplaceError as error:
        return Standing(target, scope, edit, {}, str(error))


def is_hooked(target: Target, where: ClientFolders, *, but: Scope) -> bool:
    """Return True if our hooks are installed in another scope of a client."""
    others = [one for one in standing(where) if one.target is target and one.scope != but]
    return any(one.ours for one in others if one.edit.what == "hooks")


def is_here(target: Target, where: ClientFolders) -> bool:
    """Tell whether a client is on this machine: its program on PATH, or its folder of settings."""
    path = where.environ.get("PATH", "")
    if any(shutil.which(program, path=path) for program in target.programs):
        return True
    settings = where.path(target.servers, "user")
    return settings is not None and (
        os.path.exists(settings) or (settings.parent != where.home and os.path.isdir(settings.parent))
    )


def generic(door: Door) -> str:
    """Return what the user of any other client pastes into its settings."""
    return entries.pasted(find("cursor"), door)
