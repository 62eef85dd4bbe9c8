"""The `git` program: the only module that starts it, on objects, refs and the index, with our settings.

A repository comes with its folder and may be somebody else's. Its settings can name programs (signatures,
monitors, filters, hooks, transports), and a flag for each would never be complete. So two calls read the
repository as it is, both of which read settings and run nothing: where it lies, and what is set. All others
see a *view*: a temporary git folder with our own configuration, whose refs and objects are those of the
repository (`docs/decisions/0025-git-through-a-view.md`).
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from commonplace.base import paths
from commonplace.base.root import Root, TooLarge, Unsafe
from commonplace.base.tuples import NamedTuple
from commonplace.render import screen

TIMEOUT_S = 20.0  # a call; each takes some milliseconds where nothing is wrong
LARGEST = 16_000_000  # bytes of an object that is read; notes are smaller
_VIEW = "commonplace-git-"  # what the names of views begin with
_YOUNG_S = 60.0
AUTHOR = ("commonplace", "commonplace@localhost")  # where the settings of git name nobody
SUBMODULE = "160000"  # the mode of a commit of another repository
_MOST_OUTPUT = 256_000_000  # bytes of one answer: the index of some million files
_MOST_MEMORY = 2_000_000_000  # bytes that git may take for what a repository claims to hold
_AT_ONCE = 64_000_000  # bytes of objects that one call is asked for
_MOST_SETTINGS = 4_000_000  # bytes of a file of the git folder that is copied into the view
_MESSAGES = 100  # commits whose messages are looked through
_BRANCH = re.compile(r"ref: (refs/heads/[^\s\x00-\x1f]+)\n?")
_OBJECT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
# Of the caller's environment, what a program needs to start; none that git would obey but the places of the
# owner's own settings, and those in the calls alone that read settings.
_KEPT = "HOME XDG_CONFIG_HOME TMPDIR LD_LIBRARY_PATH DYLD_LIBRARY_PATH".split()
_KEPT_TO_FIND = "GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_CONFIG_NOSYSTEM GIT_CEILING_DIRECTORIES".split()
_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_PROTOCOL_FROM_USER": "0",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": ":",
    "GIT_ASKPASS": ":",
    "SSH_ASKPASS": ":",
    "LC_ALL": "C",
}
# Before all files of settings, for the calls that read those of the repository.
_SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.pager": "cat",
    "commit.gpgSign": "false",
    "log.showSignature": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.allow": "never",
    "safe.bareRepository": "explicit",
    "i18n.commitEncoding": "utf-8",
    "core.splitIndex": "false",  # a part of it would be written into the view
    "core.packedGitWindowSize": "32m",
    "core.packedGitLimit": "512m",
}
# What the view takes over: how bytes and names are kept, no path and no program.
_CARRIED = ("core.autocrlf", "core.eol", "core.ignorecase", "core.sharedrepository", "core.logallrefupdates")
_CARRIED_OF_THE_OWNER = ("core.excludesfile", "core.attributesfile")  # from no repository
_UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "sequencer": "a cherry-pick",
    "BISECT_LOG": "a bisect",
}


class GitError(Exception):
    """Git does nothing here, and why in one line; never more than a warning."""


class Entry(NamedTuple):
    """A file as git keeps it: the mode and the name of its bytes, both empty for no file."""

    mode: str = ""
    blob: str = ""


class Staged(NamedTuple):
    """What the index of the owner holds of a file; of one in conflict one of its sides, by `side` from 1."""

    path: str
    entry: Entry
    side: int = 0


class Commit(NamedTuple):
    """A commit and the files it adds or changes, by path: what it holds of them."""

    name: str
    files: Mapping[str, Entry]


class Layout(NamedTuple):
    """Where a repository lies: its work tree, the git folder of that, the one shared by all its work trees.

    `settings` are its values by name, those of the owner's own files under `own`; `zero` names no object.
    """

    program: str
    top: Path
    private: Path
    common: Path
    settings: Mapping[str, str]
    own: Mapping[str, str]
    zero: str


class Repository:
    """A repository through its view; made by `opened`. All methods raise GitError."""

    def __init__(self, layout: Layout, view: Path) -> None:
        """Make the view: our configuration, HEAD, links to refs, and what git reads beside them."""
        self._layout, self._view = layout, view
        self.top, self.zero = layout.top, layout.zero
        self._index = layout.private / "index"
        _refuse_links(layout.common, "objects", "refs", "packed-refs")
        (view / "HEAD").write_text(self._head())
        (view / "config").write_text(_configuration(layout))
        for name in ("refs", "packed-refs"):
            (view / name).symlink_to(layout.common / name)
        for path in layout.private.glob("sharedindex.*"):
            (view / path.name).symlink_to(path)
        (view / "info").mkdir()
        for name in ("shallow", "info/exclude", "info/attributes"):
            if (data := _read(layout.common / name)) is not None:
                (view / name).write_bytes(data)
        # The owner as the settings name them; us where they name nobody.
        settings = layout.settings
        author = settings.get("author.name") or settings.get("user.name")
        email = settings.get("author.email") or settings.get("user.email") or os.environ.get("EMAIL")
        author, email = (author, email) if author and email else AUTHOR
        self._environment = _environment(layout.program) | {
            "GIT_AUTHOR_NAME": author, "GIT_AUTHOR_EMAIL": email,
            "GIT_COMMITTER_NAME": author, "GIT_COMMITTER_EMAIL": email,
            "GIT_DIR": os.fspath(view), "GIT_OBJECT_DIRECTORY": os.fspath(layout.common / "objects"),
            "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
        }  # fmt: skip

    def _head(self) -> str:
        head = (_read(self._layout.private / "HEAD") or b"").decode("utf-8", "replace")
        if not _BRANCH.fullmatch(head) and not _OBJECT.fullmatch(head.strip()):
            raise GitError("not a git repository whose HEAD can be read")
        return head

    def run(
        self,
        *arguments: str,
        data: bytes = b"",
        index: Path | None = None,
        tree: bool = False,
        allowed: Sequence[int] = (0,),
    ) -> bytes:
        """Run a command of git in the view; return what it prints, if it ends with an `allowed` code.

        `tree` lets it read the files of the work tree that say what git ignores.
        """
        environment = self._environment | {"GIT_INDEX_FILE": os.fspath(index or self._index)}
        own: dict[str, str] = {}
        if tree:
            own = {name: path for name in _CARRIED_OF_THE_OWNER if (path := self._layout.own.get(name))}
            environment["GIT_WORK_TREE"] = os.fspath(self.top)
        folder = self.top if tree else self._view
        return _call(self._layout.program, arguments, folder, environment, data, allowed, own)

    @property
    def head(self) -> str:
        """The commit that is checked out, empty before the first."""
        named = self.run("rev-parse", "-q", "--verify", "HEAD^{commit}", allowed=(0, 1, 128)).decode().strip()
        return named if _OBJECT.fullmatch(named) else ""

    def check_writable(self) -> None:
        """See that a commit can be made now, and that what it writes lies in the git folder, by no link."""
        private, common = self._layout.private, self._layout.common
        for name, what in _UNDER_WAY.items():
            if os.path.lexists(private / name):
                raise GitError(f"{what} is under way")
        if os.path.lexists(private / "index.lock"):
            raise GitError("another git is at work, or died at it (index.lock)")
        branch = _BRANCH.fullmatch(self._head())
        if branch is None:
            raise GitError("no branch is checked out")
        _refuse_links(private, "index", "logs/HEAD", *(path.name for path in private.glob("sharedindex.*")))
        _refuse_links(common, branch[1], f"logs/{branch[1]}")
        with os.scandir(common / "objects") as folders:
            # Those of loose objects have names of two digits.
            if linked := [folder.name for folder in folders if len(folder.name) == 2 and folder.is_symlink()]:
                raise GitError(f"its git folder is no plain one: objects/{linked[0]} is a link")

    def tree(self, commit: str, files: Iterable[str] | None = None) -> dict[str, Entry]:
        """Return what a commit holds of some files, or of all; nothing for a file that it lacks."""
        named = ["-r"] if files is None else ["--", *files]
        if not commit or named == ["--"]:
            return {}
        listed = self.run("--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit, *named)
        return {path: Entry(mode, blob) for path, (mode, _, blob) in _rows(listed)}

    def staged(self, files: Iterable[str]) -> list[Staged]:
        """Return what the index of the owner holds of some files or folders, of all without any."""
        listed = self.run("--literal-pathspecs", "ls-files", "-s", "-z", "--", *files)
        return [Staged(path, Entry(mode, blob), int(side)) for path, (mode, blob, side) in _rows(listed)]

    def ignored(self, files: Iterable[str]) -> set[str]:
        """Return the files that git ignores."""
        # They are patterns to it, which begin with a colon where they mean something else.
        rows = self._asked([f"./{path}" for path in files], "check-ignore", "-z", "--stdin")
        return {path.removeprefix("./") for path in rows if path}

    def filtered(self, files: Iterable[str]) -> set[str]:
        """Return the files that a program of the owner's would change on their way in; we run none."""
        rows = self._asked(files, "check-attr", "-z", "--stdin", "filter")
        values = zip(rows[::3], rows[2::3], strict=False)
        return {path for path, value in values if value not in ("unspecified", "unset")}

    def _asked(self, files: Iterable[str], *arguments: str) -> list[str]:
        data = "".join(f"{path}\0" for path in files).encode("utf-8", "surrogateescape")
        # 1 says that there are none.
        printed = self.run(*arguments, data=data, tree=True, allowed=(0, 1)) if data else b""
        return printed.decode("utf-8", "surrogateescape").split("\0")

    def commits(self, folder: str) -> list[Commit]:
        """Return every commit of every branch, tag and work tree that changes a folder, newest first."""
        heads = (_read(path, optional=True) or b"" for path in self._layout.common.glob("worktrees/*/HEAD"))
        names = (head.decode("ascii", "replace").strip() for head in heads)
        starts = filter(_OBJECT.fullmatch, (self.head, *names))
        within = ["--", folder] if folder else []
        known = self.run("--literal-pathspecs", "rev-list", "--all", "--ignore-missing", *starts, *within)
        form = ("--stdin", "--always", "--root", "-m", "-r", "-z", "--raw", "--no-abbrev", "--no-renames")
        listed = self.run("--literal-pathspecs", "diff-tree", *form, *within, data=known)
        # The names of commits, each followed by `:MODE MODE BLOB BLOB STATUS`, PATH for every file.
        commits: dict[str, dict[str, Entry]] = {}
        parts = iter(listed.split(b"\0"))
        files: dict[str, Entry] = {}
        for part in parts:
            if part.startswith(b":"):
                _, mode, _, blob, _ = part.decode().split()
                path = next(parts, b"").decode("utf-8", "surrogateescape")
                if blob.strip("0"):
                    files[path] = Entry(mode, blob)
            elif part:  # once for each parent of a merge
                files = commits.setdefault(part.decode().strip(), {})
        return [Commit(name, files) for name, files in commits.items()]

    def contents(self, names: Iterable[str]) -> Iterator[tuple[str, bytes | None]]:
        """Yield objects by name with their bytes: None for what is not here, or is larger than `LARGEST`."""
        rows = "".join(f"{name}\n" for name in dict.fromkeys(names)).encode()
        if not rows:
            return
        batch, size = list[bytes](), 0
        for line in self.run("cat-file", "--batch-check", data=rows).splitlines():
            name, _, *sizes = line.split(b" ")
            if not sizes or int(sizes[0]) > LARGEST:
                yield name.decode("ascii", "replace"), None
                continue
            if size + int(sizes[0]) > _AT_ONCE:
                yield from self._objects(batch)
                batch, size = [], 0
            batch.append(name)
            size += int(sizes[0])
        yield from self._objects(batch)

    def _objects(self, names: Sequence[bytes]) -> Iterator[tuple[str, bytes]]:
        printed = self.run("cat-file", "--batch", data=b"\n".join([*names, b""])) if names else b""
        at = 0
        for _ in names:
            start = printed.find(b"\n", at) + 1
            name, _, *size = printed[at:start].split() + [b""] * 2
            if not size[0].isdigit():
                raise GitError(f"an object cannot be read: {name.decode('ascii', 'replace')[:64]}")
            at = start + int(size[0]) + 1
            yield name.decode("ascii", "replace"), printed[start : at - 1]

    def messages(self, commits: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield commits by name with their messages."""
        for name, data in self.contents(commits):
            yield name, (data or b"").partition(b"\n\n")[2].decode("utf-8", "replace")

    def find_message(self, commit: str, line: str) -> str:
        """Return the newest of the commits up to this one whose message has this line, empty for none."""
        if not commit:
            return ""
        names = self.run("rev-list", f"--max-count={_MESSAGES}", commit).decode().split()
        holding = {name for name, message in self.messages(names) if line in message.split("\n")}
        return next((name for name in names if name in holding), "")

    def store(self, path: str, data: bytes) -> str:
        """Put the bytes of a file into git's store, its line ends as git wants them; return their name."""
        arguments = ("hash-object", "-w", "--stdin", f"--path={path}")
        return self.run(*arguments, data=data, tree=True).decode().strip()

    def update(self, entries: Mapping[str, Entry], index: Path | None = None) -> None:
        """Put entries into the index of the owner, or into another."""
        lines = [f"{entry.mode or 0} {entry.blob or self.zero}\t{path}\0" for path, entry in entries.items()]
        data = "".join(lines).encode("utf-8", "surrogateescape")
        self.run("update-index", "-z", "--index-info", data=data, index=index)

    def commit(self, parent: str, entries: Mapping[str, Entry], message: str) -> str:
        """Make a commit that differs from its parent by some entries; return its name. No branch is moved."""
        index = self._view / "index"
        self.run("read-tree", parent or "--empty", index=index)
        self.update(entries, index)
        tree = self.run("write-tree", index=index).decode().strip()
        parents = ["-p", parent] if parent else []
        made = self.run("commit-tree", tree, *parents, "-F", "-", data=message.encode("utf-8", "replace"))
        return made.decode().strip()

    def advance(self, old: str, new: str, why: str) -> None:
        """Move the branch that is checked out. Raises where it has moved, or another is checked out."""
        head = self._head()
        if head != (self._view / "HEAD").read_text():
            raise GitError("another branch was checked out meanwhile")
        logs = self._view / "logs"
        if not logs.exists():
            logs.mkdir()
            for folder, name in ((self._layout.private, "HEAD"), (self._layout.common, "refs")):
                (folder / "logs").mkdir(exist_ok=True)
                (logs / name).symlink_to(folder / "logs" / name)
            (self._layout.common / "logs" / "refs").mkdir(exist_ok=True)
        self.run("update-ref", "-m", why, "HEAD", new, old or self.zero)


def _configuration(layout: Layout) -> str:
    """The configuration of a view."""
    settings, sha256 = layout.settings, len(layout.zero) == 64
    lines = ["[core]", "bare = true", f"repositoryFormatVersion = {int(sha256)}"]
    carried = ((name.removeprefix("core."), settings.get(name, "")) for name in _CARRIED)
    lines += [f"{name} = {value}" for name, value in carried if value.isascii() and value.isalnum()]
    if "core.logallrefupdates" not in settings:
        lines.append("logAllRefUpdates = true")  # as where there is a work tree
    return "\n".join([*lines, *(("[extensions]", "objectFormat = sha256") if sha256 else ()), ""])


@contextmanager
def opened(folder: Path) -> Iterator[Repository | None]:
    """Open the repository whose work tree a folder (a real path) lies in, None for none: nothing is run then.

    Raises GitError where there is one that cannot be used.
    """
    if not any(os.path.lexists(parent / ".git") for parent in (folder, *folder.parents)):
        yield None
        return
    layout = _find(folder)
    with tempfile.TemporaryDirectory(prefix=_VIEW) as view, _held(view):
        try:
            repository = Repository(layout, Path(os.path.realpath(view)))
        except OSError as error:
            raise GitError(f"its git folder cannot be read ({paths.reason(error)})") from error
        yield repository


@contextmanager
def _held(view: str) -> Iterator[None]:
    """Hold the lock of a view until this process ends; remove those of this user's that nobody holds."""
    folder, own = os.path.split(view)
    temporary = Root(folder)
    with ExitStack() as stack:
        # Where a folder of temporary files cannot be listed or locked, git is run all the same.
        with suppress(OSError):
            if _locked(stack.enter_context(temporary.listed(own))):
                for name in temporary.names():
                    if name.startswith(_VIEW) and name != own:
                        with suppress(OSError):
                            _sweep(temporary, name)
        yield


def _sweep(temporary: Root, name: str) -> None:
    status = temporary.stat(name)
    is_young = abs(time.time() - status.st_mtime) < _YOUNG_S  # it may not be locked yet
    if status.st_uid == os.geteuid() and not is_young:
        with temporary.listed(name) as view:
            if _locked(view):
                temporary.remove(name)


def _locked(folder: int | str) -> bool:
    """Lock a folder for the life of its descriptor. Raises OSError where somebody else holds it."""
    if sys.platform == "win32" or isinstance(folder, str):
        return False
    import fcntl

    fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return True


def _find(folder: Path) -> Layout:
    """Ask git where the repository lies and what is set: of all calls the two that see its settings."""
    program = _program(folder)
    kept = {name: os.environ[name] for name in _KEPT_TO_FIND if name in os.environ}
    environment = _environment(program) | kept

    def ask(*arguments: str) -> str:
        return _call(program, arguments, folder, environment).decode("utf-8", "surrogateescape")

    names = ("--is-bare-repository", "--is-inside-work-tree", "--show-object-format", "--absolute-git-dir")
    bare, inside, names_by, *places = ask("rev-parse", *names, "--git-common-dir").split("\n")
    if bare == "true" or inside != "true":
        raise GitError("the repository has no work tree here")
    private, common = (Path(os.path.realpath(folder / place)) for place in places[:2])
    settings, own = {}, {}
    rows = ask("config", "--list", "-z", "--show-scope").split("\0")
    for scope, row in zip(rows[::2], rows[1::2], strict=False):
        name, _, value = row.partition("\n")
        settings[name] = value
        if scope in ("system", "global"):
            own[name] = value
    if settings.get("extensions.refstorage", "files") != "files":
        raise GitError(f"its refs are kept as {settings['extensions.refstorage']}, which is not read here")
    top = _top(folder, private, common, settings.get("core.worktree", ""))
    return Layout(program, top, private, common, settings, own, "0" * (64 if names_by == "sha256" else 40))


def _top(folder: Path, private: Path, common: Path, named: str) -> Path:
    """Return the work tree of a git folder: the one it lies in, or the one that it names itself.

    A `.git` that leads elsewhere may come with somebody else's notes and lead into another repository of the
    owner's. A linked work tree and a submodule are known to the folder they lead to. Raises GitError.
    """
    named_top = os.path.realpath(private / named) if named else ""
    linked = _read(private / "gitdir") if private.parent == common / "worktrees" else None
    back = os.path.realpath(private / os.fsdecode(linked.strip())) if linked else ""
    for parent in (folder, *folder.parents):
        link = parent / ".git"
        if link == private and not named:
            return parent
        if os.path.lexists(link) and (named_top == os.fspath(parent) or back == os.fspath(link)):
            return parent
    raise GitError("the git folder that .git leads to does not name this folder (core.worktree)")


def _program(folder: Path) -> str:
    """Return the path of git, from no relative place of programs and from none in the workspace."""
    for place in os.get_exec_path():
        program = shutil.which(os.path.join(place, "git")) if os.path.isabs(place) else None
        if program and not paths.is_within(os.path.realpath(program), os.fspath(folder)):
            return program
    raise GitError("git is not installed")


def _environment(program: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {**kept, **_ENVIRONMENT, "PATH": os.path.dirname(program)}


def _call(
    program: str,
    arguments: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    data: bytes = b"",
    allowed: Sequence[int] = (0,),
    own: Mapping[str, str] | None = None,
) -> bytes:
    """Run git with bounds on time, memory and output, and with `own` settings; return what it prints.

    Raises GitError with its trouble in one line, unless it ends with an `allowed` code.
    """
    settings = (_SETTINGS | dict(own or {})).items()
    flags = [part for key, value in settings for part in ("-c", f"{key}={value}")]
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as trouble:
        source.write(data)
        source.seek(0)
        try:
            process = subprocess.Popen(
                [program, "--no-pager", *flags, *arguments],
                cwd=folder, env=environment, stdin=source, stdout=subprocess.PIPE, stderr=trouble,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            raise GitError(f"git cannot be run ({error})") from error
        ends = time.monotonic() + TIMEOUT_S
        timer = threading.Timer(TIMEOUT_S, process.kill)
        timer.start()
        with process:
            try:
                assert process.stdout is not None
                _bound(process.pid)
                printed = process.stdout.read(_MOST_OUTPUT + 1)
                if len(printed) > _MOST_OUTPUT:
                    raise GitError(f"git {arguments[0]} prints more than {_MOST_OUTPUT:,} bytes")
                code = process.wait()
            finally:
                timer.cancel()
                process.kill()
        if code in allowed:
            return printed
        if code < 0 and time.monotonic() >= ends:
            raise GitError(f"git took longer than {TIMEOUT_S:.0f} seconds")
        trouble.seek(0)
        lines = trouble.read(10_000).decode("utf-8", "replace").splitlines()
    said = sorted(filter(str.strip, lines), key=lambda line: not line.startswith(("fatal:", "error:")))
    first = next(iter(said), f"git {arguments[0]} failed")
    raise GitError(screen.shorten(screen.one_line(first), 200))


def _bound(pid: int) -> None:
    """Bound the memory of a process where the system can from outside; packs are mapped, not counted."""
    if sys.platform == "linux":
        import resource

        with suppress(OSError, ValueError):  # it is done already, or runs under a lower bound
            resource.prlimit(pid, resource.RLIMIT_DATA, (_MOST_MEMORY, _MOST_MEMORY))


def _refuse_links(folder: Path, *names: str) -> None:
    """Refuse links, and what is neither file nor folder, below a git folder: writing would lead elsewhere."""
    for name in names:
        place = folder
        for part in Path(name).parts:
            place = place / part
            try:
                mode = os.lstat(place).st_mode
            except FileNotFoundError:
                break
            if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
                shown = paths.shown(place.relative_to(folder))
                raise GitError(f"its git folder is no plain one: {shown} is a link or no file")


def _read(path: Path, *, optional: bool = False) -> bytes | None:
    """Return the bytes of a small regular file, None for none. Raises GitError for anything else."""
    try:
        return Root(path.parent).read(path.name, limit=_MOST_SETTINGS)
    except (Unsafe, TooLarge) as error:
        raise GitError(f"{paths.shown(path.name)} of git is no file of its kind") from error
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if optional:
            return None
        raise GitError(f"{paths.shown(path.name)} of git cannot be read ({paths.reason(error)})") from error


def _rows(listed: bytes) -> Iterator[tuple[str, list[str]]]:
    """Read `COLUMN COLUMN COLUMN<tab>PATH`, each ended by a zero byte."""
    for line in listed.split(b"\0"):
        columns, _, path = line.partition(b"\t")
        if path:
            yield path.decode("utf-8", "surrogateescape"), columns.decode().split()
