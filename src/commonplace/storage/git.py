"""The `git` program: the only module that starts it, in repositories whose own settings are harmless.

A repository may come from a stranger, and its settings can name programs. So one with any setting but those
of `_HARMLESS` is left alone, hooks are off, and the user's settings are passed as values
(`docs/decisions/0025-git-with-harmless-settings.md`).
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from commonplace.base import paths
from commonplace.render import screen

TIMEOUT_S = 20.0  # a call; a healthy one takes milliseconds
_MOST_OUTPUT = 256_000_000  # bytes of one answer
_BRANCH = re.compile(r"ref: (refs/heads/[^\s\x00-\x1f]+)\n?")
_HARMLESS = re.compile(
    r"core\.(repositoryformatversion|filemode|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf"
    r"|eol|safecrlf|sharedrepository|quotepath|abbrev)|remote\..+\.(url|pushurl|fetch|tagopt|prune)|branch\..+"
    r"|(user|author)\.(name|email)|(pull|push|fetch|init|color|advice|rebase|rerere)\.[a-z]+"
    r"|submodule\..+\.(url|active)",
    re.IGNORECASE | re.DOTALL,
)
# Environment variables passed to git: always, and to the call that reads the user's own settings.
_KEPT = "HOME XDG_CONFIG_HOME TMPDIR LD_LIBRARY_PATH DYLD_LIBRARY_PATH".split()
_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1", "GIT_ALLOW_PROTOCOL": "", "GIT_PROTOCOL_FROM_USER": "0",
    "GIT_ALLOC_LIMIT": "1g", "LC_ALL": "C", "GIT_CONFIG_NOSYSTEM": "1",
}  # fmt: skip
_FLAGS = (f"core.hooksPath={os.devnull}", "core.fsmonitor=false", "core.splitIndex=false")
_CARRIED = ("core.autocrlf", "core.eol", "core.excludesfile", "core.attributesfile")  # of the user's settings
_NOT_BARE = ("core.bare", "false")
_UNDER_WAY = {
    "MERGE_HEAD": "a merge is", "CHERRY_PICK_HEAD": "a cherry-pick is", "REVERT_HEAD": "a revert is",
    "rebase-merge": "a rebase is", "rebase-apply": "a rebase is", "sequencer": "a cherry-pick is",
    "BISECT_LOG": "a bisect is", "index.lock": "another git (index.lock) is",
}  # fmt: skip


class GitError(Exception):
    """A repository cannot be used; the message is a reason in one line. A run never fails because of it."""


class Repository:
    """A repository with harmless settings; made by `opened`. All methods raise GitError."""

    def __init__(self, program: str, top: Path) -> None:
        """Take the repository of a work tree (a real path)."""
        self._program, self.top, self._folder = program, top, top / ".git"
        status = os.lstat(self._folder)
        if not stat.S_ISDIR(status.st_mode) or os.path.lexists(self._folder / "commondir"):
            raise GitError("it is no plain repository (but a link, a linked work tree or a submodule)")
        if status.st_uid != os.geteuid():
            raise GitError("its git folder belongs to another user")
        _refuse_links(self._folder)
        own = self._settings("--file", os.fspath(self._folder / "config"), "--no-includes")
        for name in own:
            if not _HARMLESS.fullmatch(name) and (name, own[name]) != _NOT_BARE:
                shown = screen.shorten(screen.one_line(name), 80)
                raise GitError(f"its setting {shown} is none that is known to be harmless")
        users = self._settings("--global", "--includes")
        self._flags = [f"{name}={users[name]}" for name in _CARRIED if name in users and name not in own]
        said = [(own | users).get(f"user.{one}") for one in ("name", "email")]
        by = said if all(said) else ("commonplace", "commonplace@localhost")
        who = ("AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL")
        self._environment = _environment(program) | {
            **{f"GIT_{one}": str(by[place % 2]) for place, one in enumerate(who)},
            "GIT_DIR": os.fspath(self._folder), "GIT_WORK_TREE": os.fspath(top),
            "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull,
        }  # fmt: skip

    def _settings(self, *where: str) -> dict[str, str]:
        """Return settings by their names, in lower case but for the part in quotes."""
        environment = _environment(self._program)
        if "GIT_CONFIG_GLOBAL" in os.environ:
            environment["GIT_CONFIG_GLOBAL"] = os.environ["GIT_CONFIG_GLOBAL"]
        listed = _call(
            self._program, ("config", *where, "--list", "-z"), Path("/"), environment, allowed=(0, 1, 128)
        )
        rows = filter(None, os.fsdecode(listed).split("\0"))
        return dict(row.partition("\n")[::2] for row in rows)

    def run(
        self, *arguments: str, data: bytes = b"", index: Path | None = None, allowed: Sequence[int] = (0,)
    ) -> bytes:
        """Run a command of git in the work tree; return its output if its exit code is `allowed`."""
        environment = self._environment | ({"GIT_INDEX_FILE": os.fspath(index)} if index else {})
        return _call(self._program, arguments, self.top, environment, data, allowed, self._flags)

    @property
    def head(self) -> str:
        """Return the commit that is checked out; empty before the first."""
        return self.run("rev-parse", "-q", "--verify", "HEAD^{commit}", allowed=(0, 1, 128)).decode().strip()

    def check_writable(self) -> None:
        """Raise GitError unless a commit can be made now."""
        for name, operation in _UNDER_WAY.items():
            if os.path.lexists(self._folder / name):
                raise GitError(f"{operation} under way")
        if not _BRANCH.fullmatch((self._folder / "HEAD").read_text(errors="replace")):
            raise GitError("no branch is checked out")

    def staged(self, files: Sequence[str]) -> set[str]:
        """Return the files that the owner has staged and not committed."""
        literal, named = "--literal-pathspecs", ("-z", "--", *files)
        if self.head:
            listed = self.run(literal, "diff-index", "--cached", "--name-only", "HEAD", *named)
        else:
            listed = self.run(literal, "ls-files", *named)
        return set(filter(None, os.fsdecode(listed).split("\0")))

    def ignored(self, files: Iterable[str]) -> set[str]:
        """Return the files that git ignores."""
        # A leading colon would start a pathspec with magic.
        rows = self._asked([f"./{path}" for path in files], "check-ignore", "-z", "--stdin")
        return {path.removeprefix("./") for path in rows if path}

    def filtered(self, files: Iterable[str]) -> set[str]:
        """Return the files with a `filter` attribute, which a filter program would change."""
        rows = self._asked(files, "check-attr", "-z", "--stdin", "filter")
        values = zip(rows[::3], rows[2::3], strict=False)
        return {path for path, value in values if value not in ("unspecified", "unset")}

    def _asked(self, files: Iterable[str], *arguments: str) -> list[str]:
        data = os.fsencode("".join(f"{path}\0" for path in files))
        return os.fsdecode(self.run(*arguments, data=data, allowed=(0, 1)) if data else b"").split("\0")

    def commit(self, files: Iterable[str], message: str, why: str) -> str:
        """Commit some files as they stand, and no others; return the commit, empty if they are the same."""
        named, head = os.fsencode("".join(f"{path}\0" for path in files)), self.head
        update = ("update-index", "--add", "--remove", "-z", "--stdin")
        with tempfile.TemporaryDirectory(prefix="commonplace-git-") as folder:
            index = Path(folder) / "index"
            self.run("read-tree", head or "--empty", index=index)
            self.run(*update, data=named, index=index)
            tree = self.run("write-tree", index=index).decode().strip()
        if head and tree == self.run("rev-parse", f"{head}^{{tree}}").decode().strip():
            return ""
        parents = ["-p", head] if head else []
        text = message.encode("utf-8", "replace")
        made = self.run("commit-tree", tree, *parents, "-F", "-", data=text).decode().strip()
        # The index first: if another git has locked it, no ref has changed yet, and a kill in between leaves
        # the change staged.
        self.run(*update, data=named)
        self.run("update-ref", "-m", why, "HEAD", made, head)
        return made


def opened(folder: Path) -> Repository | None:
    """Open the repository around a folder (a real path); None, without a call, if there is no `.git`.

    Raises GitError for a repository that cannot be used.
    """
    top = next((one for one in (folder, *folder.parents) if os.path.lexists(one / ".git")), None)
    if top is None:
        return None
    # Not from a relative entry of PATH, and not from the workspace.
    places = (os.path.join(place, "git") for place in os.get_exec_path() if os.path.isabs(place))
    found = filter(shutil.which, places)
    program = next((one for one in found if not Path(one).resolve().is_relative_to(folder)), None)
    if program is None:
        raise GitError("git is not installed")
    try:
        return Repository(program, top)
    except OSError as error:
        raise GitError(f"its git folder cannot be read ({paths.reason(error)})") from error


def _environment(program: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return kept | _ENVIRONMENT | {"PATH": os.path.dirname(program)}


def _refuse_links(folder: Path) -> None:
    """Raise GitError for a link or special file in a git folder: a write would lead out of it."""
    names = ("HEAD", "config", "index", "objects", "refs", "packed-refs", "info", "shallow", "logs")
    pending = [folder / name for name in names]
    for path in pending:
        if not os.path.lexists(path):
            continue
        mode = path.lstat().st_mode
        if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
            shown = paths.shown(path.relative_to(folder))
            raise GitError(f"its git folder is no plain one: {shown} is a link or no file")
        if stat.S_ISDIR(mode) and path.parent.name != "objects":  # object files are never rewritten
            pending += path.iterdir()


def _call(
    program: str,
    arguments: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    data: bytes = b"",
    allowed: Sequence[int] = (0,),
    flags: Sequence[str] = (),
) -> bytes:
    """Run git with limits of time, memory and output; return its output.

    Raises GitError with the reason in one line, unless the exit code is `allowed`.
    """
    settings = (part for flag in (*_FLAGS, *flags) for part in ("-c", flag))
    command = [program, "--no-pager", *settings, *arguments]
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as trouble:
        given.write(data)
        given.seek(0)
        try:
            process = subprocess.Popen(
                command, cwd=folder, env=environment, stdin=given, stdout=subprocess.PIPE, stderr=trouble
            )
        except (OSError, ValueError) as error:
            raise GitError(f"git cannot be run ({error})") from error
        timer = threading.Timer(TIMEOUT_S, process.kill)
        timer.start()
        with process:
            printed = process.stdout.read(_MOST_OUTPUT + 1)  # type: ignore[union-attr]
            if len(printed) > _MOST_OUTPUT:
                process.kill()
        timer.cancel()
        if process.returncode in allowed:
            return printed
        if process.returncode < 0:
            raise GitError(f"git took longer than {TIMEOUT_S:.0f} seconds, or printed too much")
        trouble.seek(0)
        lines = filter(str.strip, trouble.read(10_000).decode("utf-8", "replace").splitlines())
    said = sorted(lines, key=lambda line: not line.startswith(("fatal:", "error:")))
    first = next(iter(said), f"git {arguments[0]} failed")
    raise GitError(screen.shorten(screen.one_line(first), 200))
