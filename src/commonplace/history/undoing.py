"""A generated change taken back: exactly, or not at all with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from commonplace import paths
from commonplace.errors import CommonplaceError
from commonplace.history import applying, runs
from commonplace.types.revisions import About, Change, Run


class NotUndone(CommonplaceError):
    """A run cannot be taken back, and why; nothing was changed."""

    def __init__(self, run: str, reason: str) -> None:
        super().__init__(f"{run or 'undo'}: {reason}")
        self.run = run


def undo(workspace: paths.Workspace, name: str = "", *, agent: str = "", session: str = "") -> Run:
    """Take back a run by its name or the beginning of it, the newest one that stands unless it is named.

    The taking back is a run of its own, which may be undone in turn. Raises NotUndone, NoteUnreadable.
    """
    applying.recover(workspace)
    run = find(workspace, name)
    if run.undone:
        raise NotUndone(run.id, f"it is undone already, by {run.undone}")
    if not run.kept:
        raise NotUndone(run.id, "what was there before is not kept, since it was forgotten on purpose")
    about = About(
        "undo", f"undo {run.about.title}", by="agent" if agent else "owner", agent=agent, session=session,
        undoes=run.id,
    )  # fmt: skip
    made = applying.rewrite(workspace, lambda read: _back(workspace, run, read), about)
    if made is None:
        raise NotUndone(run.id, "the files are as they were before it")
    runs.save(workspace, replace(run, undone=made.id))
    return made


def find(workspace: paths.Workspace, name: str = "") -> Run:
    """Return a run by the beginning of its name; the newest that is neither undone nor an undoing, for none.

    Raises NotUndone.
    """
    found = runs.listed(workspace)
    if not name:
        standing = [run for run in found if run.about.kind not in ("undo", "forget") and not run.undone]
        if not standing:
            raise NotUndone("", "there is no generated change that could be undone")
        return standing[0]
    named = [run for run in found if run.id.startswith(name)]
    if len(named) != 1:
        told = "no such run" if not named else f"more than one run begins so: {_few(named)}"
        raise NotUndone(name, f"{told}; `commonplace log` lists them")
    return named[0]


def _few(found: Sequence[Run]) -> str:
    return ", ".join(run.id for run in found[:3])


def _back(workspace: paths.Workspace, run: Run, read: applying.Read) -> list[Change]:
    """The changes that put files back as they were before a run, in the opposite order."""
    changes = []
    for place, file in reversed([*enumerate(run.files)]):
        if file.left:
            continue
        now = read(file.path)
        if runs.digest(now) != file.after:
            raise NotUndone(run.id, f"{file.path} was changed since")
        changes.append(Change(file.path, now, runs.content(workspace, run, place, "before")))
    return changes
