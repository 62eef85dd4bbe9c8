"""Changes of several files that are composed already, made as one run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from commonplace.base import paths
from commonplace.config.settings import History
from commonplace.storage import transaction
from commonplace.types.changes import About, Change, Run


def apply(
    workspace: paths.Workspace,
    changes: Sequence[Change],
    about: About,
    *,
    keep: bool = True,
    now: datetime | None = None,
    settings: History | None = None,
) -> Run | None:
    """Make the changes of several files as one run; return None if they change no file.

    Raises what `transaction.rewrite` raises, FileChanged before anything is written.
    """

    def compose(read: transaction.Read) -> Sequence[Change]:
        for change in changes:
            if read(change.path) != change.before:
                raise transaction.FileChanged(change.path)
        return changes

    return transaction.rewrite(workspace, compose, about, keep=keep, now=now, settings=settings)
