"""The permissions of the files that steer the program: settings, key files, caches."""

from __future__ import annotations

import os
import shlex
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from commonplace import config
from commonplace.base import paths
from commonplace.base.messages import message
from commonplace.config import credentials
from commonplace.diagnosis.examination import Case, listed
from commonplace.diagnosis.stores import CACHES
from commonplace.types import Finding

SYNC = "commonplace sync"
WALK_S = 2.0  # how long owners of files are looked at
_SYSTEM = 0  # files of root are not foreign to anybody


def settings(case: Case) -> Iterator[Finding]:
    """See that other users cannot write the user's settings: they name commands and addresses."""
    path = config.user_file(case.environ)
    if not path.exists():
        return
    troubled = [finding for place in (path, path.parent) if (finding := _writable_by_others(place))]
    yield from troubled
    if not troubled:
        told = message("permissions.own", "nobody else can write {file}", file=paths.shown(path))
        yield Finding("permissions.settings", "ok", told)


def _writable_by_others(path: Path) -> Finding | None:
    status, shown = path.stat(), paths.shown(path)
    if status.st_uid not in (os.geteuid(), _SYSTEM):
        return Finding(
            "permissions.settings",
            "wrong",
            message("permissions.foreign", "{file} belongs to another user, who can change it", file=shown),
            f"chown {os.geteuid()} {shown}",
        )
    if status.st_mode & stat.S_IWOTH and not (status.st_mode & stat.S_ISVTX and path.is_dir()):
        return Finding(
            "permissions.settings",
            "wrong",
            message(
                "permissions.everybody",
                "{file} can be written by everybody: whoever does can have programs run as you",
                file=shown,
            ),
            f"chmod go-w {shown}",
        )
    # Where everybody has a group of his own, new files are writable by it.
    if status.st_mode & stat.S_IWGRP and status.st_gid != os.getegid():
        return Finding(
            "permissions.settings",
            "warning",
            message("permissions.group", "{file} can be written by the members of a group", file=shown),
            f"chmod g-w {shown}",
        )
    return None


def keys(case: Case) -> Iterator[Finding]:
    """See that other users cannot read the files that hold keys."""
    for name in ("embedding", "reranking", "llm"):
        path = credentials.file_of(getattr(getattr(case.settings, name), "key", ""))
        if path and path.exists():
            yield key_file(path, f"{name}.key")


def key_file(path: Path, setting: str) -> Finding:
    """Judge who may read a file with a key."""
    shown = paths.shown(path)
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        return Finding(
            "permissions.keys",
            "warning",
            message(
                "permissions.key",
                "others can read the key in {file} ({setting})",
                file=shown,
                setting=setting,
            ),
            f"chmod 600 {shown}",
        )
    alone = message("permissions.alone", "you alone can read {file} ({setting})", file=shown, setting=setting)
    return Finding("permissions.keys", "ok", alone)


def folders(case: Case) -> Iterator[Finding]:
    """See that our folders are closed to others: index and transcripts say what notes do."""
    for folder in paths.own_folders(case.workspace, case.environ):
        if paths.is_open(folder):
            yield Finding(
                "permissions.folders",
                "warning",
                message("folders.open", "others may look into {folder}", folder=paths.shown(folder)),
                message("folders.close", f"{SYNC}: it closes the folder"),
            )
            break
    else:
        fine = message("folders.shut", "nobody else may look into our folders")
        yield Finding("permissions.folders", "ok", fine)


def owners(case: Case) -> Iterator[Finding]:
    """See that our files, and notes that are closed to others, belong to the owner of the workspace."""
    workspace = case.workspace
    owner = None if workspace is None else _owner(workspace)
    if workspace is None or owner is None or os.geteuid() not in (owner, _SYSTEM):  # who only reads here
        return
    foreign = list(_foreign(workspace, owner, time.monotonic() + WALK_S))
    if not foreign:
        fine = message("owners.fine", "all files of the workspace are its owner's")
        yield Finding("permissions.owners", "ok", fine)
        return
    users = tuple(map(str, sorted({user for _, _, user in foreign})))
    places = " ".join(map(shlex.quote, dict.fromkeys(place for place, _, _ in foreign)))
    told = message("owners.foreign", "{n:file} of another user ({users}; 0 is `sudo`): {places}",
                   n=len(foreign), users=users, places=listed([path for _, path, _ in foreign]))  # fmt: skip
    yield Finding("permissions.owners", "wrong", told, f"sudo chown -hR {owner} {places}")


def _foreign(workspace: paths.Workspace, owner: int, until: float) -> Iterator[tuple[str, str, int]]:
    """Yield what belongs to another user: below which of our places, its path, and that user."""
    ours = (workspace.sessions,)
    for place in (*ours, workspace.memory_dir, workspace.memory_file):
        for path, status in _tree(workspace, os.path.relpath(place, workspace.root), until):
            if status.st_uid != owner and (place in ours or not status.st_mode & 0o066):
                yield os.fspath(place), path, status.st_uid


def _owner(workspace: paths.Workspace) -> int | None:
    """Return the id of the user who owns the workspace; None if its folder is gone."""
    try:
        return os.stat(workspace.root).st_uid
    except OSError:  # it went away meanwhile
        return None


def _tree(workspace: paths.Workspace, path: str, until: float) -> Iterator[tuple[str, os.stat_result]]:
    """Yield a path and all below it, with their status, until a time; links are not followed."""
    files, waiting = workspace.files, [path]
    while waiting and time.monotonic() < until:
        at = waiting.pop()
        try:
            status = files.stat(at)
            if stat.S_ISDIR(status.st_mode):
                waiting += [os.path.join(at, name) for name in files.names(at)]
        except OSError:  # missing, or in a folder that is a link: others say so
            with suppress(OSError):
                yield at, files.stat(at)
            continue
        yield at, status


def caches(case: Case) -> Iterator[Finding]:
    """See that the folder of caches can be written, and that others cannot read what is kept there."""
    folder = paths.user_cache_dir(case.environ)
    shown = paths.shown(folder)
    above = next((place for place in (folder, *folder.parents) if place.exists()), folder)
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        yield Finding(
            "permissions.caches",
            "warning",
            message(
                "caches.closed",
                "the folder of caches {folder} cannot be written: failures of providers are not remembered",
                folder=shown,
            ),
            f"chmod u+rwx {paths.shown(above)}",
        )
        return
    others = stat.S_IRGRP | stat.S_IROTH
    files = [folder / name for name in CACHES if (folder / name).exists()]
    readable = [paths.shown(file) for file in files if file.stat().st_mode & others]
    if not readable:
        fine = message("caches.fine", "the folder of caches {folder} can be written", folder=shown)
        yield Finding("permissions.caches", "ok", fine)
        return
    told = message("caches.readable", "others can read {files}", files=tuple(readable))
    yield Finding("permissions.caches", "warning", told, f"chmod 600 {' '.join(readable)}")
