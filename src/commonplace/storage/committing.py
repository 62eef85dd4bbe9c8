"""Commits of generated changes in git: their files as they stand, and no others.

Staged changes of the owner stay staged; a file of the run that is staged is left out.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from commonplace.base import locks, paths
from commonplace.base.errors import CommonplaceError
from commonplace.redaction.redact import public
from commonplace.render import screen
from commonplace.storage import git, journal
from commonplace.storage.git import GitError, Repository
from commonplace.types.changes import Run

LOCK_WAIT_S = 30.0  # for another process that commits; a commit takes about 0.1 s
_SUBJECT = 200  # characters


def commit(workspace: paths.Workspace, run: Run) -> Run:
    """Commit the files of a finished run; return it with the commit, or the reason why there is none.

    An error, such as a merge under way, is recorded and not raised: a later run of these files has them.
    """
    try:
        with locks.locked(paths.lock_file(workspace, "git"), LOCK_WAIT_S):
            repository = git.opened(Path(os.path.realpath(workspace.root)))
            if repository is None:
                return _note(workspace, run, "", "")
            repository.check_writable()
            return _note(workspace, run, *_commit(workspace, repository, run))
    except (GitError, CommonplaceError, OSError) as error:
        return _note(workspace, run, "", f"{journal.WAITING}: {screen.one_line(str(error))}")


def _note(workspace: paths.Workspace, run: Run, made: str, reason: str) -> Run:
    """Add the commit, or the reason why it is missing, to the current record of a run."""
    with suppress(CommonplaceError), locks.locked(paths.lock_file(workspace, "notes")):
        current = journal.load(workspace, run.id)
        if current is not None:
            run = current
            journal.put(workspace, replace(current, commit=made, uncommitted=reason))
    return replace(run, commit=made, uncommitted=reason)


def _commit(workspace: paths.Workspace, repository: Repository, run: Run) -> tuple[str, str]:
    """Commit the files of a run; return the commit, and the files left out. Raises GitError, OSError."""
    left_out, files = list[str](), list[str]()
    for file in (file for file in run.files if not file.left):
        path = Path(os.path.realpath(workspace.root / file.path))
        above = path.parents[: len(path.parents) - len(repository.top.parents) - 1]
        if not path.is_relative_to(repository.top):
            left_out.append(f"{paths.shown(file.path)} (outside the repository)")
        elif any(os.path.lexists(folder / ".git") for folder in above):
            left_out.append(f"{paths.shown(file.path)} (in another repository)")
        else:
            files.append(path.relative_to(repository.top).as_posix())
    if files:
        reasons = dict.fromkeys(repository.staged(files), "staged by its owner")
        reasons |= dict.fromkeys(repository.filtered(files), "a filter of git's is set for it")
        reasons |= dict.fromkeys(repository.ignored(files), "ignored by git")
        left_out += [f"{paths.shown(path)} ({reasons[path]})" for path in files if path in reasons]
        files = [path for path in files if path not in reasons]
    lacks = f"not committed: {', '.join(left_out)}" if left_out else ""
    if not files:
        return "", lacks
    about = run.about
    by = " ".join(filter(None, [about.by, about.agent, about.session and f"in session {about.session}"]))
    message = _message(about.title, about.why, f"By: {_line(by)}\nRun: {run.id}")
    return repository.commit(files, message, f"commonplace: {_line(about.title)}"), lacks


def _message(title: str, why: str = "", rest: str = "") -> str:
    """Return a commit message (subject, reason, trailers) without private parts and secrets."""
    parts = [f"commonplace: {_line(title)}", screen.clean(public(why).strip()), rest]
    return "\n\n".join(filter(None, parts)) + "\n"


def _line(text: str) -> str:
    return screen.shorten(screen.one_line(public(text)), _SUBJECT)
