"""The permissions of the files that steer the program: settings, key files, our own folders."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from commonplace import config
from commonplace.base import paths
from commonplace.base.messages import message
from commonplace.config import credentials
from commonplace.diagnosis.examination import Case
from commonplace.types import Finding

_SYSTEM = 0  # files of root are not foreign to anybody


def settings(case: Case) -> Iterator[Finding]:
    """See that other users cannot write the user's settings: they name commands and addresses."""
    path = config.user_file(case.environ)
    for place in (path, path.parent) if path.exists() else ():
        status, shown = place.stat(), paths.shown(place)
        is_sticky = status.st_mode & stat.S_ISVTX and place.is_dir()
        if status.st_uid not in (os.geteuid(), _SYSTEM):
            foreign = "{file} belongs to another user, who can change it"
            told = message("permissions.foreign", foreign, file=shown)
            yield Finding("permissions.settings", "wrong", told, f"chown {os.geteuid()} {shown}")
        elif status.st_mode & stat.S_IWOTH and not is_sticky:
            open_to_all = "{file} can be written by everybody: whoever does can have programs run as you"
            told = message("permissions.everybody", open_to_all, file=shown)
            yield Finding("permissions.settings", "wrong", told, f"chmod go-w {shown}")
        elif status.st_mode & stat.S_IWGRP and status.st_gid != os.getegid():
            # Our own group is left alone: in many systems it has one member.
            told = message("permissions.group", "{file} can be written by the members of a group", file=shown)
            yield Finding("permissions.settings", "warning", told, f"chmod g-w {shown}")


def keys(case: Case) -> Iterator[Finding]:
    """See that other users cannot read the files that hold keys."""
    for name in ("embedding", "reranking", "llm"):
        path = credentials.file_of(getattr(getattr(case.settings, name), "key", ""))
        if path and path.exists() and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            readable, shown = "others can read the key in {file} ({setting})", paths.shown(path)
            told = message("permissions.key", readable, file=shown, setting=f"{name}.key")
            yield Finding("permissions.keys", "warning", told, f"chmod 600 {shown}")


def folders(case: Case) -> Iterator[Finding]:
    """See that our folders are closed to others: index and transcripts say what notes do."""
    folder: Path | None = next(filter(paths.is_open, paths.own_folders(case.workspace, case.environ)), None)
    if folder is not None:
        told = message("folders.open", "others may look into {folder}", folder=paths.shown(folder))
        close = message("folders.close", "commonplace sync: it closes the folder")
        yield Finding("permissions.folders", "warning", told, close)
