"""What was left behind: temporary files of writers that died, and locks that somebody holds."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from commonplace import paths
from commonplace.diagnosis.case import Case
from commonplace.diagnosis.checks import listed
from commonplace.notes import writes
from commonplace.render import count
from commonplace.types import Finding

OLD_S = 60.0  # a temporary file stands for the blink of an eye
_TEMPORARY = re.compile(r"\..{1,40}\.[0-9a-f]{12}\.tmp")  # as `atomic` names them


def leftovers(case: Case) -> Iterator[Finding]:
    """Look for temporary files and held locks; a lock whose holder died is free again by itself."""
    workspace = case.workspace
    if workspace is None:
        return
    if found := temporary(workspace, case.now_s):
        told = f"{count(len(found), 'temporary file')} of programs that were killed: {listed(found)}"
        yield Finding("index.leftovers", "warning", told, "delete them")
    else:
        yield Finding("index.leftovers", "ok", "no temporary files are left")
    if not os.access(workspace.derived, os.X_OK):  # there is none, or it is another user's
        return
    if begun := sorted(path.name for path in workspace.erasing.glob("*.json")):
        told = f"{count(len(begun), 'forgetting')} begun and not done: {listed(begun)}"
        yield Finding("index.erasing", "warning", told, "commonplace forget --resume")
    names = [name for name in writes.listed(workspace, writes.COPIES) if name.endswith(".md")]
    if copies := [name for name in names if not name.endswith(f"{writes.TAKEN_OUT}.md")]:
        number = count(len(copies), "copy", "copies")
        told = f"{number} of lines that other programs overwrote: {listed(copies)}"
        remedy = "`commonplace restore` shows them and puts them back; with --discard it deletes them"
        yield Finding("index.overwritten", "warning", told, remedy)
    if taken := [path.stem for path in _lock_files(workspace) if is_held(path)]:
        told = f"another process is at work now ({listed(taken)})"
        yield Finding("index.locks", "ok", told)


def temporary(workspace: paths.Workspace, now_s: float) -> list[str]:
    """Return the temporary files that nobody writes any more, relative to the workspace."""
    found = []
    for folder in (workspace.root, workspace.memory_dir, workspace.derived):
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if (
                _TEMPORARY.fullmatch(entry.name)
                and now_s - entry.stat(follow_symlinks=False).st_mtime > OLD_S
            ):
                found.append(os.path.relpath(entry.path, workspace.root))
    return found


def _lock_files(workspace: paths.Workspace) -> list[Path]:
    try:
        return sorted(workspace.locks.glob("*.lock"))
    except OSError:
        return []


if sys.platform == "win32":

    def is_held(path: Path) -> bool:
        """Whether a process holds a lock file; Windows does not tell without taking it."""
        return False

else:
    import fcntl

    def is_held(path: Path) -> bool:
        """Whether a process holds a lock file; asked with a shared lock, which is given back at once."""
        try:
            descriptor = paths.root_of(path).descriptor(path, os.O_RDONLY)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:  # a file system without locks
            return False
        finally:
            os.close(descriptor)
        return False
