"""Commits of generated changes in git: their files as they stand, and no others.

Staged changes of the owner stay staged; a file of the run that is staged is left out. Runs are committed in
order under a lock: a run whose process was killed is committed with the next one.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path

from commonplace.base import locks, paths
from commonplace.base.errors import CommonplaceError
from commonplace.redaction.redact import public
from commonplace.render import screen
from commonplace.storage import git, journal
from commonplace.storage.git import GitError, Repository
from commonplace.types.changes import Run

LOCK_WAIT_S = 30.0  # for another process that commits; a commit takes about 0.1 s
_LONGEST = 50  # newest runs searched for waiting runs; a killed process leaves one
_SUBJECT = 200  # characters


def commit(workspace: paths.Workspace, run: Run) -> Run:
    """Commit a finished run and earlier waiting runs; return it with the commit, or the reason for a failure.

    An error is recorded, not raised: the run then waits for the next commit. The error may be temporary,
    such as a merge under way.
    """
    try:
        with locks.locked(paths.lock_file(workspace, "git"), LOCK_WAIT_S):
            repository = git.opened(Path(os.path.realpath(workspace.root)))
            if repository is not None:
                repository.check_writable()
            newest = islice(journal.newest_first(workspace), _LONGEST)
            waiting = [waited for waited in newest if waited.uncommitted.startswith(journal.WAITING)]
            for waited in reversed([waited for waited in waiting if waited.state != "begun"]):
                made, lacks = _commit(workspace, repository, waited) if repository else ("", "")
                _note(workspace, waited, made, lacks)
        return journal.load(workspace, run.id) or run
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
