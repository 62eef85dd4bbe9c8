"""The `git` program: the only module that starts it, on objects, refs and the index, with our own settings.

A repository may come from a stranger, and its settings can name programs. Two calls, which start no
program, read it as it is: its place and its settings. All others see a *view*: a temporary git folder with
our configuration, whose refs and objects are those of the repository
(`docs/decisions/0025-git-through-a-view.md`).
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from commonplace.base import paths
from commonplace.base.tuples import NamedTuple
from commonplace.render import screen

TIMEOUT_S = 20.0  # a call; a healthy one takes milliseconds
_MOST_OUTPUT = 256_000_000  # bytes of one answer
_BRANCH = re.compile(r"ref: (refs/heads/[^\s\x00-\x1f]+)\n?")
_OBJECT = re.compile(r"[0-9a-f]{40}")
_ZERO = "0" * 40
# Environment variables passed to git: always, and to the two calls that read the user's own settings.
_KEPT = "HOME XDG_CONFIG_HOME TMPDIR LD_LIBRARY_PATH DYLD_LIBRARY_PATH".split()
_KEPT_TO_FIND = "GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_CONFIG_NOSYSTEM GIT_CEILING_DIRECTORIES".split()
_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1", "GIT_ALLOW_PROTOCOL": "", "GIT_PROTOCOL_FROM_USER": "0",
    "GIT_ALLOC_LIMIT": "1g", "LC_ALL": "C",
}  # fmt: skip
_FLAGS = ("core.fsmonitor=false", "safe.bareRepository=explicit", "core.splitIndex=false")
_CARRIED = ("core.autocrlf", "core.eol", "core.ignorecase", "core.sharedrepository", "core.logallrefupdates")
_PATHS = ("core.excludesfile", "core.attributesfile")  # taken from the user's own settings alone
_BESIDE = ("refs", "packed-refs", "info", "shallow", "logs")  # entries of a git folder, linked into its view
_UNDER_WAY = {
    "MERGE_HEAD": "a merge is", "CHERRY_PICK_HEAD": "a cherry-pick is", "REVERT_HEAD": "a revert is",
    "rebase-merge": "a rebase is", "rebase-apply": "a rebase is", "sequencer": "a cherry-pick is",
    "BISECT_LOG": "a bisect is", "index.lock": "another git (index.lock) is",
}  # fmt: skip


class GitError(Exception):
    """A repository cannot be used; the message is a reason in one line. A run never fails because of it."""


class Entry(NamedTuple):
    """The mode of a file in git and the name of its blob, both empty for no file."""

    mode: str = ""
    blob: str = ""


class Repository:
    """A repository seen through its view; made by `opened`. All methods raise GitError."""

    def __init__(self, program: str, folder: Path, view: Path) -> None:
        """Locate the repository around a folder and make its view."""
        self._program, self._view = program, view
        kept = {name: os.environ[name] for name in (*_KEPT, *_KEPT_TO_FIND) if name in os.environ}
        fixed = _ENVIRONMENT | {"PATH": os.path.dirname(program)}

        def ask(*arguments: str) -> str:
            return os.fsdecode(_call(program, arguments, folder, kept | fixed))

        names = ("is-bare-repository", "is-inside-work-tree", "show-object-format", "absolute-git-dir")
        bare, inside, hashes, place, *_ = ask("rev-parse", *(f"--{name}" for name in names)).split("\n")
        rows = ask("config", "--list", "-z", "--show-scope").split("\0")
        scoped = [
            (scope, row.partition("\n")[::2]) for scope, row in zip(rows[::2], rows[1::2], strict=False)
        ]
        settings, self._folder = dict(pair for _, pair in scoped), Path(place)
        # A stranger's `.git` may lead into another repository of the owner's.
        self.top = next(one for one in (folder, *folder.parents) if os.path.lexists(one / ".git"))
        is_plain = self._folder == self.top / ".git" and not self._folder.is_symlink()
        if (bare, inside) != ("false", "true") or not is_plain or "core.worktree" in settings:
            raise GitError("it is no plain repository (but a bare one, a linked work tree or a submodule)")
        if (hashes, settings.get("extensions.refstorage", "files")) != ("sha1", "files"):
            raise GitError("its objects or refs are stored in a way that is not supported")
        _refuse_links(self._folder)
        said = [settings.get(f"author.{one}") or settings.get(f"user.{one}") for one in ("name", "email")]
        author = said[0], said[1] or os.environ.get("EMAIL")
        by = author if all(author) else ("commonplace", "commonplace@localhost")
        who = ("AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL")
        self._environment = {name: kept[name] for name in _KEPT if name in kept} | fixed | {
            **{f"GIT_{one}": str(by[place % 2]) for place, one in enumerate(who)},
            "GIT_DIR": os.fspath(view), "GIT_OBJECT_DIRECTORY": os.fspath(self._folder / "objects"),
            "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
        }  # fmt: skip
        (view / "HEAD").write_text(self._head())
        (view / "config").write_text(_configuration(settings))
        own = dict(pair for scope, pair in scoped if scope in ("system", "global"))
        self._flags = [f"{name}={own[name]}" for name in _PATHS if name in own]
        for name in _BESIDE:
            (view / name).symlink_to(self._folder / name)

    def _head(self) -> str:
        head = (self._folder / "HEAD").read_text(errors="replace")
        if not _BRANCH.fullmatch(head) and not _OBJECT.fullmatch(head.strip()):
            raise GitError("not a git repository whose HEAD can be read")
        return head

    def run(
        self, *arguments: str, data: bytes = b"", index: Path | None = None, allowed: Sequence[int] = (0,)
    ) -> bytes:
        """Run a command of git in the view; return its output if its exit code is `allowed`."""
        environment = self._environment | {"GIT_INDEX_FILE": os.fspath(index or self._folder / "index")}
        folder = self._view
        if arguments[0] in ("check-ignore", "check-attr", "hash-object"):  # which read rules of the work tree
            environment["GIT_WORK_TREE"] = os.fspath(folder := self.top)
        return _call(self._program, arguments, folder, environment, data, allowed, self._flags)

    @property
    def head(self) -> str:
        """Return the commit that is checked out; empty before the first."""
        return self.run("rev-parse", "-q", "--verify", "HEAD^{commit}", allowed=(0, 1, 128)).decode().strip()

    def check_writable(self) -> None:
        """Raise GitError unless a commit can be made now."""
        for name, operation in _UNDER_WAY.items():
            if os.path.lexists(self._folder / name):
                raise GitError(f"{operation} under way")
        if not _BRANCH.fullmatch(self._head()):
            raise GitError("no branch is checked out")

    def tree(self, commit: str, files: Iterable[str]) -> dict[str, Entry]:
        """Return the entries of some files in a commit, without missing files."""
        if not commit or not (named := list(files)):
            return {}
        listed = self.run("--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit, "--", *named)
        return {path: Entry(mode, blob) for path, (mode, _, blob) in _rows(listed)}

    def staged(self, files: Iterable[str]) -> dict[str, Entry]:
        """Return the entries of some files in the owner's index. Raises GitError for a file in conflict."""
        listed = [*_rows(self.run("--literal-pathspecs", "ls-files", "-s", "-z", "--", *files))]
        if any(side != "0" for _, (_, _, side) in listed):
            raise GitError("a file is in conflict")
        return {path: Entry(mode, blob) for path, (mode, blob, _) in listed}

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

    def store(self, path: str, data: bytes) -> str:
        """Store the bytes of a file as a blob, with normalized line ends; return its object name."""
        return self.run("hash-object", "-w", "--stdin", f"--path={path}", data=data).decode().strip()

    def update(self, entries: Mapping[str, Entry], index: Path | None = None) -> None:
        """Write entries to the owner's index, or to `index`."""
        lines = [f"{entry.mode or 0} {entry.blob or _ZERO}\t{path}\0" for path, entry in entries.items()]
        self.run("update-index", "-z", "--index-info", data=os.fsencode("".join(lines)), index=index)

    def commit(self, parent: str, entries: Mapping[str, Entry], message: str) -> str:
        """Make a commit that differs from its parent by some entries; return its name. No ref changes."""
        index = self._view / "index"
        self.run("read-tree", parent or "--empty", index=index)
        self.update(entries, index)
        tree = self.run("write-tree", index=index).decode().strip()
        parents = ["-p", parent] if parent else []
        made = self.run("commit-tree", tree, *parents, "-F", "-", data=message.encode("utf-8", "replace"))
        return made.decode().strip()

    def advance(self, old: str, new: str, why: str) -> None:
        """Move the current branch. Raises GitError if it has moved, or another is checked out."""
        if self._head() != (self._view / "HEAD").read_text():
            raise GitError("another branch was checked out meanwhile")
        (self._folder / "logs" / "refs").mkdir(parents=True, exist_ok=True)
        self.run("update-ref", "-m", why, "HEAD", new, old or _ZERO)


@contextmanager
def opened(folder: Path) -> Iterator[Repository | None]:
    """Open the repository around a folder (a real path); None, without a call, if there is no `.git`.

    Raises GitError for a repository that cannot be used.
    """
    if not any(os.path.lexists(parent / ".git") for parent in (folder, *folder.parents)):
        yield None
        return
    # Not from a relative entry of PATH, and not from the workspace.
    places = (os.path.join(place, "git") for place in os.get_exec_path() if os.path.isabs(place))
    found = filter(shutil.which, places)
    program = next((one for one in found if not Path(one).resolve().is_relative_to(folder)), None)
    if program is None:
        raise GitError("git is not installed")
    with tempfile.TemporaryDirectory(prefix="commonplace-git-") as view:
        try:
            repository = Repository(program, folder, Path(os.path.realpath(view)))
        except OSError as error:
            raise GitError(f"its git folder cannot be read ({paths.reason(error)})") from error
        yield repository


def _configuration(settings: Mapping[str, str]) -> str:
    """Return the configuration of a view: line ends, names, permissions, but no paths or programs."""
    carried = {"core.logallrefupdates": "true"} | {
        name: settings[name] for name in _CARRIED if name in settings
    }
    plain = {name: value for name, value in carried.items() if value.isascii() and value.isalnum()}
    return "\n".join(
        ["[core]", "bare = true", *(f"{name[5:]} = {value}" for name, value in plain.items()), ""]
    )


def _refuse_links(folder: Path) -> None:
    """Raise GitError for a link or special file in a git folder: a write would lead out of it."""
    pending = [folder / name for name in ("HEAD", "index", "objects", *_BESIDE)]
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


def _rows(listed: bytes) -> Iterator[tuple[str, list[str]]]:
    """Parse `COLUMN COLUMN COLUMN<tab>PATH`, each ended by a zero byte."""
    for line in filter(None, listed.split(b"\0")):
        columns, _, path = line.partition(b"\t")
        yield os.fsdecode(path), columns.decode().split()
