"""Commits of generated changes in git, apart from edits of the owner: exactly their files and bytes.

Notes on disk are not touched. Uncommitted edits of the owner to these files go into a commit of their own
before; other staged changes stay staged. Runs are committed in order under a lock: a run whose process was
killed is committed with the next one.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path

from commonplace.base import locks, paths
from commonplace.base.errors import CommonplaceError
from commonplace.redaction.redact import public
from commonplace.render import screen
from commonplace.storage import git, journal
from commonplace.storage.git import Entry, GitError, Repository
from commonplace.types.changes import Run

LOCK_WAIT_S = 30.0  # for another process that commits; a commit takes about 0.1 s
_LONGEST = 50  # newest runs searched for waiting runs; a killed process leaves one
_SUBJECT = 200  # characters

Entries = dict[str, Entry]


def commit(workspace: paths.Workspace, run: Run) -> Run:
    """Commit a finished run and earlier waiting runs; return it with the commit, or the reason for a failure.

    An error is recorded, not raised: the run then waits for the next commit. The error may be temporary,
    such as a merge under way.
    """
    try:
        with (
            locks.locked(paths.lock_file(workspace, "git"), LOCK_WAIT_S),
            git.opened(Path(os.path.realpath(workspace.root))) as repository,
        ):
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
    head, left_out = repository.head, list[str]()
    places = _places(workspace, repository, run, left_out)
    held = repository.tree(head, places)
    edits: Entries = {}  # edited before the run and not committed
    ours: Entries = {}
    for path, place in places.items():
        there = held.get(path, Entry())
        sides = _sides(workspace, repository, run, place, path, there)
        if sides is None:
            left_out.append(f"{paths.shown(path)} (changed since)")
        elif sides[1] != there:
            edits |= {path: sides[0]} if sides[0] != there else {}
            ours[path] = sides[1]
    lacks = f"not committed: {', '.join(left_out)}" if left_out else ""
    if not ours:
        return "", lacks
    staged = _staged(repository, [held, edits, ours])
    made, about = head, run.about
    if edits:
        made = repository.commit(made, edits, _message(f"edits found before {about.title}"))
    by = " ".join(filter(None, [about.by, about.agent, about.session and f"in session {about.session}"]))
    message = _message(about.title, about.why, f"By: {_line(by)}\nRun: {run.id}")
    made = repository.commit(made, ours, message)
    # The index first: if another git has locked it, no ref has changed yet, and a kill in between leaves
    # the change staged.
    repository.update(edits | ours)
    try:
        repository.advance(head, made, f"commonplace: {_line(about.title)}")
    except GitError:
        repository.update(staged)
        raise
    return made, lacks


def _staged(repository: Repository, moments: list[Entries]) -> Entries:
    """Return the owner's index entries for the files of a run (the last of its `moments`).

    Raises GitError for a conflict, and for an entry found at no moment, which the commit would lose.
    """
    staged = dict.fromkeys(moments[-1], Entry()) | repository.staged(moments[-1])
    for path, entry in staged.items():
        if entry not in (moments[0].get(path, Entry()), *(moment.get(path) for moment in moments[1:])):
            raise GitError(f"{paths.shown(path)} is staged as it was at no moment of the run")
    return staged


def _places(
    workspace: paths.Workspace, repository: Repository, run: Run, left_out: list[str]
) -> dict[str, int]:
    """Return the index in `run.files` of each file that git may keep, by its path in the repository."""
    places: dict[str, int] = {}
    for place, file in enumerate(run.files):
        if not file.left:
            path = Path(os.path.realpath(workspace.root / file.path))
            above = path.parents[: len(path.parents) - len(repository.top.parents) - 1]
            if not path.is_relative_to(repository.top):
                left_out.append(f"{paths.shown(file.path)} (outside the repository)")
            elif any(os.path.lexists(folder / ".git") for folder in above):
                left_out.append(f"{paths.shown(file.path)} (in another repository)")
            else:
                places[path.relative_to(repository.top).as_posix()] = place
    reasons = dict.fromkeys(repository.filtered(places), "a filter of git's is set for it")
    reasons |= dict.fromkeys(repository.ignored(places), "ignored by git")
    left_out += [f"{paths.shown(path)} ({reasons[path]})" for path in places if path in reasons]
    return {path: place for path, place in places.items() if path not in reasons}


def _sides(
    workspace: paths.Workspace, repository: Repository, run: Run, place: int, path: str, there: Entry
) -> tuple[Entry, Entry] | None:
    """Return the git entries of a file before and after a run; None if it has changed since.

    If the run keeps no bytes, the entry before it is that of HEAD (`there`).
    """
    file, mode = run.files[place], there.mode
    if mode not in ("100644", "100755"):  # not in git: by its executable bit
        mode = "100644"
        with suppress(OSError):
            if os.stat(workspace.root / file.path).st_mode & stat.S_IXUSR:
                mode = "100755"

    def entry(data: bytes | None) -> Entry:
        return Entry() if data is None else Entry(mode, repository.store(path, data))

    before, after = there, Entry()
    if run.kept:
        before, after = (entry(journal.content(workspace, run, place, side)) for side in journal.SIDES)
        if there in (before, after):
            return before, after
    # HEAD has neither side: if the file has changed since, a later commit has its content.
    now = journal.read(workspace, file.path)
    if journal.digest(now) != file.after:
        return None
    return before, after if run.kept else entry(now)


def _message(title: str, why: str = "", rest: str = "") -> str:
    """Return a commit message (subject, reason, trailers) without private parts and secrets."""
    parts = [f"commonplace: {_line(title)}", screen.clean(public(why).strip()), rest]
    return "\n\n".join(filter(None, parts)) + "\n"


def _line(text: str) -> str:
    return screen.shorten(screen.one_line(public(text)), _SUBJECT)
