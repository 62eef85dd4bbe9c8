"""The `git` program and its store of objects: no hooks, no signing, no prompt, no network."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from commonplace import screen

TIMEOUT_S = 20.0  # a call; each takes some milliseconds where nothing is wrong
AUTHOR = ("commonplace", "commonplace@localhost")  # where the owner has told git no name
# Of what the caller's environment tells git, only where its settings lie: a hook of git, in which we may be
# running, has GIT_DIR and GIT_INDEX_FILE of its own.
_KEPT = {"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CEILING_DIRECTORIES"}
_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": ":",
    "GIT_ASKPASS": ":",
    "SSH_ASKPASS": ":",
    "LC_ALL": "C",
}
_SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "commit.gpgSign": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.allow": "never",
    "i18n.commitEncoding": "utf-8",
}
_UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "sequencer": "a cherry-pick",
    "BISECT_LOG": "a bisect",
}


class Uncommitted(Exception):
    """Git keeps nothing of this, and why; never more than a warning."""


class Entry(NamedTuple):
    """A file as git keeps it: the mode and the name of its bytes, both empty for no file."""

    mode: str = ""
    blob: str = ""


class Repository:
    """The work tree that a folder lies in; made by `find`."""

    def __init__(self, program: str, folder: Path) -> None:
        self._program, self._folder = program, folder
        self.top = folder
        self.private = folder
        self.zero = "0" * 40
        self._identity: list[str] | None = None

    def run(self, *arguments: str, data: bytes = b"", index: Path | None = None) -> bytes:
        """Run a command of git; return what it prints. Raises Uncommitted with its trouble in one line."""
        done = self._started(arguments, data, index)
        if done.returncode:
            raise Uncommitted(_first_line(done.stderr) or f"git {arguments[0]} failed")
        return done.stdout

    def asked(self, *arguments: str, data: bytes = b"") -> str:
        """Ask git something that it may say no to; empty for no."""
        done = self._started(arguments, data, None)
        return "" if done.returncode else done.stdout.decode("utf-8", "surrogateescape").removesuffix("\n")

    def _started(
        self, arguments: Iterable[str], data: bytes, index: Path | None
    ) -> subprocess.CompletedProcess[bytes]:
        settings = [part for key, value in _SETTINGS.items() for part in ("-c", f"{key}={value}")]
        command = [self._program, "--no-pager", *settings, *(self._identity or ()), *arguments]
        try:
            return subprocess.run(
                command, cwd=self._folder, env=_environment(index), input=data, capture_output=True,
                timeout=TIMEOUT_S, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise Uncommitted(f"git took longer than {TIMEOUT_S:.0f} seconds") from error
        except (OSError, ValueError) as error:
            raise Uncommitted(f"git cannot be run ({error})") from error

    def head(self) -> str:
        """Return the commit that is checked out, empty before the first. Raises Uncommitted for no branch."""
        if not self.asked("symbolic-ref", "-q", "HEAD"):
            raise Uncommitted("no branch is checked out")
        return self.asked("rev-parse", "-q", "--verify", "HEAD^{commit}")

    def entries(self, paths: Iterable[str], commit: str) -> dict[str, Entry]:
        """Return what a commit holds of some files; nothing for a file that it lacks."""
        paths = list(paths)
        if not commit or not paths:
            return {}
        return _entries(
            self.run("--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit, "--", *paths), 2
        )

    def staged(self, paths: Iterable[str]) -> dict[str, Entry]:
        """Return what the index of the owner holds of some files. Raises Uncommitted for a conflict."""
        listed = self.run("-C", str(self.top), "--literal-pathspecs", "ls-files", "-s", "-z", "--", *paths)
        if any(line.partition(b"\t")[0].split()[2:3] != [b"0"] for line in listed.split(b"\0") if line):
            raise Uncommitted("a file is in conflict")
        return _entries(listed, 1)

    def ignored(self, paths: Iterable[str]) -> set[str]:
        """Return the files that git is told to ignore."""
        # They are patterns to it, which begin with a colon where they mean something else.
        told = self._told_of([f"./{path}" for path in paths], "check-ignore", "-z", "--stdin")
        return {path.removeprefix("./") for path in told}

    def filtered(self, paths: Iterable[str]) -> set[str]:
        """Return the files that a program of the owner's would change on their way in; we run none."""
        rows = self._told_of(paths, "check-attr", "-z", "--stdin", "filter")
        return {
            path
            for path, value in zip(rows[::3], rows[2::3], strict=False)
            if value not in ("unspecified", "unset")
        }

    def _told_of(self, paths: Iterable[str], *arguments: str) -> list[str]:
        data = "".join(f"{path}\0" for path in paths).encode("utf-8", "surrogateescape")
        if not data:
            return []
        done = self._started(("-C", str(self.top), *arguments), data, None)
        if done.returncode > 1:  # 1 says that there are none
            raise Uncommitted(_first_line(done.stderr) or f"git {arguments[0]} failed")
        return done.stdout.decode("utf-8", "surrogateescape").split("\0")

    def found(self, commit: str, line: str) -> str:
        """Return the newest commit of the last hundred whose message has this line, empty for none."""
        told = self.asked("log", "--max-count=100", "--format=%H%n%B%x00", commit) if commit else ""
        for message in told.split("\0"):
            name, *lines = message.strip("\n").split("\n")
            if line in lines:
                return name
        return ""

    def kept(self, path: str, data: bytes) -> str:
        """Put the bytes of a file into git's store, its line ends as git wants them; return their name."""
        arguments = ("hash-object", "-w", "--stdin", f"--path={path}")
        return self.run("-C", str(self.top), *arguments, data=data).decode().strip()

    def update(self, entries: Mapping[str, Entry], index: Path | None = None) -> None:
        """Put entries into an index, the owner's unless another is given."""
        lines = [f"{entry.mode or 0} {entry.blob or self.zero}\t{path}\0" for path, entry in entries.items()]
        data = "".join(lines).encode("utf-8", "surrogateescape")
        self.run("update-index", "-z", "--index-info", data=data, index=index)

    def commit(self, parent: str, entries: Mapping[str, Entry], message: str, index: Path) -> str:
        """Make a commit that differs from its parent by some entries; return its name. No branch is moved."""
        self.run("read-tree", parent or "--empty", index=index)
        self.update(entries, index)
        tree = self.run("write-tree", index=index).decode().strip()
        parents = ["-p", parent] if parent else []
        self._name_somebody()
        made = self.run("commit-tree", tree, *parents, "-F", "-", data=message.encode("utf-8", "replace"))
        return made.decode().strip()

    def advance(self, old: str, new: str, why: str) -> None:
        """Move the branch that is checked out. Raises Uncommitted where it has moved meanwhile."""
        self.run("update-ref", "-m", why, "HEAD", new, old or self.zero)

    def _name_somebody(self) -> None:
        """Give commits an author where the owner has told git none."""
        if self._identity is None:
            self._identity = []
            known = all(
                self.asked("-c", "user.useConfigOnly=true", "var", f"GIT_{role}_IDENT")
                for role in ("AUTHOR", "COMMITTER")
            )
            if not known:
                self._identity = ["-c", f"user.name={AUTHOR[0]}", "-c", f"user.email={AUTHOR[1]}"]


def find(folder: Path) -> Repository | None:
    """Return the repository whose work tree a folder lies in, None for none; nothing is run for none.

    Raises Uncommitted where there is one that nothing can be committed to.
    """
    if not any(os.path.lexists(parent / ".git") for parent in (folder, *folder.parents)):
        return None
    program = shutil.which("git")
    if program is None:
        raise Uncommitted("git is not installed")
    found = Repository(program, folder)
    wanted = ("--is-bare-repository", "--is-inside-work-tree", "--show-object-format", "--absolute-git-dir")
    told = found.run("rev-parse", *wanted).decode("utf-8", "surrogateescape").removesuffix("\n")
    bare, inside, names, private = told.split("\n", 3)
    found.zero = "0" * (64 if names == "sha256" else 40)
    if bare == "true" or inside != "true":
        raise Uncommitted("the repository has no work tree here")
    found.private = Path(private)
    found.top = Path(os.path.realpath(found.asked("rev-parse", "--show-toplevel")))
    for name, what in _UNDER_WAY.items():
        if os.path.lexists(found.private / name):
            raise Uncommitted(f"{what} is under way")
    if os.path.lexists(found.private / "index.lock"):
        raise Uncommitted("another git is at work, or died at it (index.lock)")
    return found


def _environment(index: Path | None) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _KEPT}
    return {**kept, **_ENVIRONMENT, **({"GIT_INDEX_FILE": os.fspath(index)} if index else {})}


def _entries(listed: bytes, blob: int) -> dict[str, Entry]:
    """Read `MODE … BLOB …<tab>PATH`, each ended by a zero byte."""
    found = {}
    for line in listed.split(b"\0"):
        told, _, path = line.partition(b"\t")
        if path:
            words = told.decode().split()
            found[path.decode("utf-8", "surrogateescape")] = Entry(words[0], words[blob])
    return found


def _first_line(trouble: bytes) -> str:
    lines = [line for line in trouble.decode("utf-8", "replace").splitlines() if line.strip()]
    told = next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[0] if lines else "")
    return screen.shorten(screen.one_line(told), 200)
