"""Generated changes as commits of git, apart from what people edit: exactly their files, exactly their bytes.

Nothing on disk is touched. What the owner had edited and not committed goes into a commit before it; what is
staged stays staged. Runs are committed in their order under a lock, so that one whose process was killed
in between is committed with the next.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path

from commonplace.base import atomic, paths
from commonplace.base.errors import CommonplaceError
from commonplace.changes import git, runs
from commonplace.changes.git import Entry, GitError, Repository
from commonplace.redaction.redact import redact, strip_private
from commonplace.render import screen
from commonplace.types.changes import ChangedFile, Run

LOCK_WAIT_S = 30.0  # for another process that commits; it takes a tenth of a second
_LONGEST = 50  # runs that are looked at for some that wait: a process that was killed leaves one
_SUBJECT = 200  # characters

Entries = dict[str, Entry]


def commit(workspace: paths.Workspace, run: Run) -> Run:
    """Commit a run that is done, and those before it that wait; return it with the commit or the reason.

    Raises nothing: a git that fails fails no run. What may pass, such as a merge that is under way, lets it
    wait for the next.
    """
    try:
        with (
            atomic.locked(paths.lock_file(workspace, "git"), LOCK_WAIT_S),
            git.opened(Path(os.path.realpath(workspace.root))) as repository,
        ):
            if repository is not None:
                repository.check_writable()
            newest = islice(runs.newest_first(workspace), _LONGEST)
            waiting = [one for one in newest if one.uncommitted.startswith(runs.WAITING)]
            for one in reversed([one for one in waiting if one.state != "begun"]):
                made, lacks = "", ""
                if repository is not None:
                    made, lacks = _Committing(workspace, repository, one).make()
                _note(workspace, one, made, lacks)
        return runs.load(workspace, run.id) or run
    except (GitError, CommonplaceError, OSError) as error:
        return _note(workspace, run, "", f"{runs.WAITING}: {screen.one_line(str(error))}")


def _note(workspace: paths.Workspace, run: Run, made: str, reason: str) -> Run:
    """Write down what became of a run in git, beside what others have written down of it meanwhile."""
    with suppress(CommonplaceError), atomic.locked(paths.lock_file(workspace, "notes")):
        current = runs.load(workspace, run.id)
        if current is not None:
            run = current
            runs.save(workspace, replace(current, commit=made, uncommitted=reason))
    return replace(run, commit=made, uncommitted=reason)


class _Committing:
    """One run on its way into a repository."""

    def __init__(self, workspace: paths.Workspace, repository: Repository, run: Run) -> None:
        self.workspace, self.repository, self.run = workspace, repository, run
        self.left_out: list[str] = []

    def make(self) -> tuple[str, str]:
        """Commit what can be; return the commit, and what it lacks. Raises GitError, OSError."""
        repository, title = self.repository, self.run.about.title
        head = repository.head
        places = dict(self._places())
        held = repository.entries(places, head)
        edits, ours = self._differences(places, held)
        if not ours:
            return repository.find_message(head, f"Run: {self.run.id}"), self._lacks
        staged = repository.staged(ours)
        for path in ours:  # what would be lost by moving on refuses
            known = [held.get(path, Entry()), edits.get(path), ours[path]]
            if staged.get(path, Entry()) not in known:
                raise GitError(f"{paths.shown(path)} is staged as it was at no moment of the run")
        made = head
        if edits:
            made = repository.commit(made, edits, _message(f"edits found before {title}"))
        about = self.run.about
        by = " ".join(filter(None, [about.by, about.agent, about.session and f"in session {about.session}"]))
        trailers = f"By: {_line(by)}\nRun: {self.run.id}"
        made = repository.commit(made, ours, _message(title, about.why, trailers))
        # The index first: where another git holds it nothing has happened yet, and a kill in between
        # leaves the change staged.
        repository.update(edits | ours)
        try:
            repository.advance(head, made, f"commonplace: {_line(title)}")
        except GitError:
            repository.update({path: staged.get(path, Entry()) for path in edits | ours})
            raise
        return made, self._lacks

    def _differences(self, places: Mapping[str, int], held: Entries) -> tuple[Entries, Entries]:
        """What was edited before the run and is not committed, and what the run itself changed."""
        edits: Entries = {}
        ours: Entries = {}
        for path, place in places.items():
            there = held.get(path, Entry())
            sides = self._sides(path, place, there)
            if sides is None or sides[1] == there:
                continue
            before, after = sides
            if before is not None and before != there:
                if not self._is_newest(place):  # somebody has committed, or gone on, since
                    self.left_out.append(f"{paths.shown(path)} (changed since)")
                    continue
                edits[path] = before
            ours[path] = after
        return edits, ours

    @property
    def _lacks(self) -> str:
        return f"not committed: {', '.join(self.left_out)}" if self.left_out else ""

    def _places(self) -> Iterator[tuple[str, int]]:
        """The files of a run that git may keep: their path in the repository, their place in the run."""
        found: dict[str, int] = {}
        for place, file in enumerate(self.run.files):
            path = os.path.realpath(self.workspace.root / file.path)
            if file.left:
                continue
            if reason := self._why_not(path):
                self.left_out.append(f"{paths.shown(file.path)} ({reason})")
            else:
                found[os.path.relpath(path, self.repository.top).replace(os.sep, "/")] = place
        ignored = self.repository.ignored(found)
        filtered = self.repository.filtered(found)
        for path, place in found.items():
            if path in ignored or path in filtered:
                reason = "ignored by git" if path in ignored else "a filter of git's is set for it"
                self.left_out.append(f"{paths.shown(path)} ({reason})")
            else:
                yield path, place

    def _why_not(self, path: str) -> str:
        top = os.fspath(self.repository.top)
        if not paths.is_within(path, top):
            return "outside the repository"
        folder = os.path.dirname(path)
        while len(folder) > len(top):
            if os.path.lexists(os.path.join(folder, ".git")):
                return "in another repository"
            folder = os.path.dirname(folder)
        return ""

    def _sides(self, path: str, place: int, there: Entry) -> tuple[Entry | None, Entry] | None:
        """What git would hold of a file before the run, where that is kept, and after it; None if unknown."""
        mode = self._mode(self.run.files[place], there)
        if self.run.kept:
            before, after = (runs.content(self.workspace, self.run, place, side) for side in runs.SIDES)
            return self._entry(path, mode, before), self._entry(path, mode, after)
        if not self._is_newest(place):  # the commit of what came later holds it
            self.left_out.append(f"{paths.shown(path)} (changed since)")
            return None
        now = runs.read(self.workspace, self.run.files[place].path)
        return None, self._entry(path, mode, now)

    def _is_newest(self, place: int) -> bool:
        """Whether a file is as the run left it."""
        file = self.run.files[place]
        return runs.digest(runs.read(self.workspace, file.path)) == file.after

    def _entry(self, path: str, mode: str, data: bytes | None) -> Entry:
        return Entry() if data is None else Entry(mode, self.repository.store(path, data))

    def _mode(self, file: ChangedFile, there: Entry) -> str:
        """How git names the kind of a file: as it does already, else by whether it may be run."""
        if there.mode in ("100644", "100755"):
            return there.mode
        try:
            runs_it = os.stat(self.workspace.root / file.path).st_mode & stat.S_IXUSR
        except OSError:
            runs_it = 0
        return "100755" if runs_it else "100644"


def _message(title: str, why: str = "", rest: str = "") -> str:
    """A commit message: subject, reason, trailers; without private parts and secrets."""
    parts = [f"commonplace: {_line(title)}", screen.clean(_public(why).strip()), rest]
    return "\n\n".join(filter(None, parts)) + "\n"


def _public(text: str) -> str:
    return redact(strip_private(text))[0]


def _line(text: str) -> str:
    return screen.shorten(screen.one_line(_public(text)), _SUBJECT)
