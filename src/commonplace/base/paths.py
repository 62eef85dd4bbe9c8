"""Every location in one place: the workspace, its derived files, the user's folders, and the roots."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from commonplace.base.digests import sha256
from commonplace.base.errors import (
    AccessDenied,
    ConfigError,
    NoteNotFound,
    NoteUnreadable,
    OutsideRoots,
    WorkspaceNotFound,
)
from commonplace.base.messages import Message, message
from commonplace.base.root import LIMIT, OWN_FOLDER, TO_HIDDEN, Root, TooLarge, Unsafe, irregular, is_hidden
from commonplace.base.root import is_within as is_within

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from datetime import date

APPLICATION = "commonplace"
WORKSPACE_VARIABLE = "COMMONPLACE_WORKSPACE"
STATE_VARIABLE = "COMMONPLACE_STATE_DIR"  # a folder for state and caches in the place of the user's own
MEMORY_FILE = "MEMORY.md"
MEMORY_FOLDER = "memory"
DERIVED_FOLDER = OWN_FOLDER
FORMER_SETTINGS = "commonplace.toml"  # of version 0.1
_SERVERS = "servers"
_SUPPORT = "Library/Application Support"  # on macOS
_PATH = "path"  # a file in the state of a workspace: its real path, for people and for `known_states`
_DAILY_NAME = r"\d{4}-\d{2}-\d{2}.*\.md"


class Workspace:
    """A folder that holds MEMORY.md and memory/, and the paths of all that belongs to it.

    State and index, which the program obeys, lie outside of the notes, which anybody may hand over. They are
    found by the real path of the folder alone.
    """

    def __init__(self, root: Path, *, reader: str | None = None) -> None:
        """Name a folder; a `reader` is an agent that may read its notes and not change them."""
        self.reader = reader
        # Absolute, since a relative path means something else to `Root`: one below the root.
        self.root = root = Path(os.path.abspath(root))
        self.files = Root(root)  # the notes
        self.memory_dir = root / MEMORY_FOLDER  # daily notes
        self.sessions = root / "sessions"  # our own transcripts
        self.derived = root / DERIVED_FOLDER  # holds the settings; version 0.1 kept its state there
        self.state = state = state_folder(root)
        self.kept = Root(state)  # all files of the state
        self.locks = state / "locks"  # notes themselves are never locked
        self.ledger = state / "ledger.sqlite"  # calls to models
        self.usage = state / "usage.sqlite"  # questions and openings
        self.index = user_cache_dir() / "indexes" / state.name / "index.sqlite"

    @property
    def memory_file(self) -> Path:
        """The long-term memory: MEMORY.md, or memory/MEMORY.md where only that one exists."""
        outer, inner = self.root / MEMORY_FILE, self.memory_dir / MEMORY_FILE
        return inner if not os.path.lexists(outer) and inner.is_file() else outer

    def check_there(self) -> None:
        """Raise WorkspaceNotFound if its folder is gone: a folder that moved is not made again.

        And NoteUnreadable where this user may not look into it.
        """
        check_open(self.root)
        if not os.path.isdir(self.root):
            raise WorkspaceNotFound(shown(self.root), missing=True)

    def check_writable(self) -> None:
        """Raise AccessDenied where whoever opened the workspace may not change what it holds.

        And what `check_there` raises.
        """
        self.check_there()
        if self.reader is not None:
            raise AccessDenied(self.reader, f"reads {shown(self.root)} and does not write to it")

    def places(self) -> dict[str, Path]:
        """Return the folders that belong to the workspace, by their names in `status --paths`."""
        return {
            "notes": self.root, "state": self.state, "index": self.index.parent, "cache": user_cache_dir(),
            "settings": user_config_dir(),
        }  # fmt: skip

    def daily(self, day: date) -> Path:
        """Return the daily note of `day`, whether it exists or not."""
        return self.memory_dir / f"{day:%Y-%m-%d}.md"


def user_config_dir(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder of the user's settings: XDG on Linux, Application Support on macOS."""
    return _user_dir(environ, "XDG_CONFIG_HOME", ".config", _SUPPORT)


def user_cache_dir(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder of the user's caches: XDG on Linux, Caches on macOS."""
    own = ("XDG_CACHE_HOME", ".cache", "Library/Caches")
    return moved / "cache" if (moved := _moved(environ)) else _user_dir(environ, *own)


def user_state_dir(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder with the state of each workspace: XDG on Linux, with the settings on macOS."""
    if moved := _moved(environ):
        return moved / "state"
    folder = _user_dir(environ, "XDG_STATE_HOME", ".local/state", _SUPPORT)
    return folder / "state" if sys.platform == "darwin" else folder


def _user_dir(environ: Mapping[str, str] | None, variable: str, linux: str, mac: str) -> Path:
    if sys.platform == "darwin":
        return home(environ) / mac / APPLICATION
    base = (os.environ if environ is None else environ).get(variable, "")
    # The XDG specification: a relative path is invalid and is to be ignored.
    return (Path(base) if os.path.isabs(base) else home(environ) / linux) / APPLICATION


def _moved(environ: Mapping[str, str] | None) -> Path | None:
    named = (os.environ if environ is None else environ).get(STATE_VARIABLE)
    return Path(os.path.abspath(named)) if named else None


def home(environ: Mapping[str, str] | None = None) -> Path:
    """Return the user's home folder."""
    return Path((os.environ if environ is None else environ).get("HOME") or os.path.expanduser("~"))


def _name_of(root: Path, agent: str = "") -> str:
    """Return the name of a workspace's own files among those of all: by its real path alone."""
    named = os.fsencode(os.path.realpath(root)) + (b"\0" + os.fsencode(agent) if agent else b"")
    return sha256(named).hexdigest()[:20]


def state_folder(root: Path, environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder with the state of a workspace, whether it exists or not."""
    return user_state_dir(environ) / _name_of(root)


def known_states(environ: Mapping[str, str] | None = None) -> Iterator[tuple[Path, Path]]:
    """Yield the real path and the state of each workspace that has any."""
    root = Root(user_state_dir(environ))
    with suppress(OSError):
        for name in root.names():
            with suppress(OSError):
                if real := root.read(f"{name}/{_PATH}", limit=10_000):
                    yield Path(os.fsdecode(real)), Path(root.path, name)


def move_state(old: Path, new: Path) -> bool:
    """Move the state and the index of a folder that was moved to its new place; false without state.

    Raises NoteUnreadable where the new place has a state of its own.
    """
    former, workspace = Workspace(old), Workspace(new)
    if not former.state.is_dir():
        return False
    if workspace.state.exists():
        raise NoteUnreadable(
            shown(workspace.state), "is the state of that folder already; move it away first"
        )
    try:
        os.rename(former.state, workspace.state)
        workspace.kept.exchange(_PATH, os.fsencode(os.path.realpath(new)))
        if former.index.parent.is_dir() and not workspace.index.parent.exists():
            os.rename(former.index.parent, workspace.index.parent)
    except OSError as error:
        raise NoteUnreadable(shown(workspace.state), reason(error)) from error
    return True


def drop_state(root: Path) -> bool:
    """Delete the state and the index of a workspace, not its notes; false without either."""
    workspace = Workspace(root)
    found = workspace.state.is_dir() or workspace.index.parent.is_dir()
    for folder in (workspace.state, workspace.index.parent):
        try:
            Root(folder.parent).remove(folder.name)
        except OSError as error:
            raise NoteUnreadable(shown(folder), reason(error)) from error
    return found


def prepare_state(workspace: Workspace) -> None:
    """Make the folder of a workspace's state, for its user alone. Raises NoteUnreadable."""
    with suppress(OSError):
        if os.stat(workspace.state / _PATH).st_size:  # empty where its writer was killed
            return
    try:
        workspace.kept.make_folder()
        with os.fdopen(workspace.kept.descriptor(_PATH, os.O_WRONLY | os.O_CREAT), "wb") as file:
            file.write(os.fsencode(os.path.realpath(workspace.root)))
    except OSError as error:
        raise NoteUnreadable(shown(workspace.state), state_trouble(error)) from error


def state_trouble(error: OSError) -> str:
    """Say why a state cannot be written to, and what helps."""
    from commonplace.base import remedies

    return f"{reason(error)}; {remedies.say('state.elsewhere', STATE_VARIABLE)}"


def default_workspace(environ: Mapping[str, str] | None = None) -> Path:
    """Return the user's own workspace, used where no other is found."""
    return home(environ) / APPLICATION


def server_note(workspace: Workspace, environ: Mapping[str, str] | None = None) -> Path:
    """Return the file that names a running server: with the user's settings, or, if closed, in the cache.

    Never in the workspace: who may write there alone could lead the user's programs, with the token that they
    send, to a server of his own.
    """
    own = user_config_dir(environ)
    there = next((folder for folder in (own, *own.parents) if folder.is_dir()), own)
    kept = own if os.access(there, os.W_OK) else user_cache_dir(environ)
    return kept / _SERVERS / f"{_name_of(workspace.root)}.json"


def server_token(workspace: Workspace, environ: Mapping[str, str] | None = None, agent: str = "") -> Path:
    """Return the file of the token of a workspace's server, in the folder of the user's settings.

    Never in the workspace: a folder that comes from somebody else must not bring a token that he knows. A
    server for an agent has another one, which is refused where the owner serves the same workspace.
    """
    return user_config_dir(environ) / _SERVERS / f"{_name_of(workspace.root, agent)}.token"


def find_workspace(start: Path, environ: Mapping[str, str] | None = None) -> Path | None:
    """Return the nearest workspace at or above `start`, or above a git worktree's main checkout; or None."""
    base = os.path.realpath(home(environ))
    return next((one for one in _above(Path(os.path.abspath(start))) if _is_workspace(one, base)), None)


def _above(folder: Path) -> Iterator[Path]:
    """Yield a folder and those above it; after a git worktree those of its main checkout."""
    for one in (folder, *folder.parents):
        yield one
        if main := _main_checkout(one):
            same = main / folder.relative_to(one)
            yield from (same, *same.parents)


def _main_checkout(folder: Path) -> Path | None:
    """Return the main checkout of a linked worktree, if each names the other; None for other folders.

    `.git` names `MAIN/.git/worktrees/NAME`, whose `gitdir` names that `.git`: gitrepository-layout(5).
    """
    with suppress(OSError, ValueError):
        link = os.path.join(os.path.realpath(folder), ".git")
        entry = Path(_named_in(link))
        if entry.parts[-3:-1] == (".git", "worktrees") and _named_in(f"{entry}/gitdir") == link:
            return entry.parents[2]
    return None


def _named_in(link: str) -> str:
    """Return the real path that a file of git names, `/` if it is another user's. Raises OSError."""
    above, name = os.path.split(link)
    with Root(above).open(name) as file:
        is_own = os.fstat(file.fileno()).st_uid == os.geteuid()
        named = os.fsdecode(file.read(8192)).removeprefix("gitdir: ").rstrip("\n") if is_own else "/"
    return os.path.realpath(os.path.join(above, named))


def resolve_workspace(explicit: str | None, environ: Mapping[str, str], cwd: Path | None = None) -> Path:
    """Return the workspace asked for: flag, environment, upward from `cwd` (here), else the user's own.

    Any existing folder may be named outright, but one within another workspace only if it is a workspace
    already; a folder closed to this user is returned unchecked (`check_open`). Raises WorkspaceNotFound,
    ConfigError.
    """
    named = explicit or environ.get(WORKSPACE_VARIABLE) or ""
    is_home = named.partition("/")[0] == "~"
    expanded = f"{home(environ)}{named[1:]}" if is_home else os.path.expanduser(named)
    try:
        cwd = cwd or (Path("/") if os.path.isabs(expanded) else Path.cwd())  # which may be gone
    except OSError as error:
        raise WorkspaceNotFound("the current folder, which is gone") from error
    if named:
        folder = Path(os.path.abspath(cwd / expanded))
        if barrier(folder):
            return folder  # the error comes with the first access; one of several workspaces is a warning
        if os.path.isfile(folder):
            raise ConfigError("workspace", f"{shown(folder)} is a file; name its folder")
        if not os.path.isdir(folder):
            raise WorkspaceNotFound(shown(folder), missing=True)
        check_usable(folder, environ)
        return folder
    own = default_workspace(environ)
    if found := find_workspace(cwd, environ) or (own if own.is_dir() else None):
        return found
    raise WorkspaceNotFound(shown(cwd))


def check_open(folder: Path) -> None:
    """Raise NoteUnreadable where this user may not look into a folder, with whose it is, and the remedy."""
    if place := barrier(folder):
        why, remedy = barred(place)
        told = why if place == folder else f"{shown(place)} {why}"
        raise NoteUnreadable(shown(folder), f"{told}; {remedy}")


def barrier(folder: Path) -> Path | None:
    """Return the folder that this user may not enter, on the way into one; None if all are open."""
    closed = (place for place in (*reversed(folder.parents), folder) if not os.access(place, os.X_OK))
    return place if (place := next(closed, None)) and os.path.isdir(place) else None


def barred(place: Path) -> tuple[Message, str]:
    """Say of a file or folder that this user may not read why that is, and what helps."""
    import shlex

    from commonplace.base import remedies

    if not os.path.exists(place):
        return message("place.gone", "is gone"), remedies.say("workspace.missing", shown(place))
    if user := another_user(os.stat(place).st_uid):
        remedy = "workspace.collect" if place.name == DERIVED_FOLDER else "workspace.ask"
        closed = message("place.foreign", "belongs to {user}, who has closed it", user=user)
        return closed, remedies.say(remedy)
    command = f"chmod u+{'rwx' if place.is_dir() else 'rw'} {shlex.quote(os.fspath(place))}"
    return message("place.closed", "is closed"), command


def another_user(number: int) -> str:
    """Return the name of a user, else the number; an empty text for the user of this process."""
    if number == os.geteuid():
        return ""
    import pwd

    try:
        return f"another user ({pwd.getpwuid(number).pw_name})"
    except KeyError:
        return f"another user ({number})"


def check_usable(folder: Path, environ: Mapping[str, str] | None = None) -> None:
    """Raise WorkspaceNotFound for a folder inside a workspace: an index would hide the one around it."""
    if not _is_workspace(folder, os.path.realpath(home(environ))):
        around = find_workspace(Path(os.path.realpath(folder)).parent, environ)
        if around is not None and is_within(os.path.realpath(folder), os.fspath(around)):
            raise WorkspaceNotFound(shown(folder), shown(around))


def own_folders(workspace: Workspace | None, environ: Mapping[str, str] | None = None) -> list[Path]:
    """Return the folders that are ours alone: of a workspace, and the user's settings, state and caches."""
    own = [workspace.sessions] if workspace else []
    return [*own, user_config_dir(environ), user_state_dir(environ), user_cache_dir(environ)]


def is_open(folder: Path) -> bool:
    """Tell whether others may enter a folder of this user."""
    with suppress(OSError):
        status = os.lstat(folder)
        return status.st_uid == os.getuid() and stat.S_ISDIR(status.st_mode) and bool(status.st_mode & 0o077)
    return False


def tighten(workspace: Workspace | None) -> list[str]:
    """Close our folders to others; return a line for each that was open. Notes stay as they are."""
    told = []
    for folder in filter(is_open, own_folders(workspace)):
        # In a workspace the folder itself may become a link between a look and the change.
        inside = workspace is not None and folder.parent == workspace.root
        if Root(folder.parent).tighten(folder.name) if inside else Root(folder).tighten():
            told.append(f"others could look into {shown(folder)}: now it is yours alone")
    return told


def root_of(path: Path | str) -> Root:
    """Return the root of one of our files: the folder of the user that contains it.

    A link above the root is the owner's and followed, one below it is not.
    """
    folder = Path(os.path.abspath(path)).parent
    for own in (user_state_dir(), user_cache_dir(), user_config_dir()):
        if is_within(os.fspath(folder), os.fspath(own)):
            return Root(own)
    above = (one.parent for one in (folder, *folder.parents) if one.name == APPLICATION)
    return Root(next(above, folder))


def lock_file(workspace: Workspace, name: str) -> Path:
    """Return the lock file of one kind of work, such as `notes` or `sync`."""
    _ROOTS[workspace.state] = workspace.root
    return workspace.locks / f"{name}.lock"


def locked_folder(lock: Path) -> Path | None:
    """Return the workspace that a lock file from `lock_file` is of; None for any other file."""
    return _ROOTS.get(lock.parent.parent)


_ROOTS: dict[Path, Path] = {}  # workspaces by their state


def contain(path: Path, roots: Sequence[Path], *, missing_ok: bool = False) -> Path:
    """Return the real path of a regular file in one of the roots; a relative path starts at the first.

    With `missing_ok` the file need not exist, but the folder it would lie in must be inside all the same.
    Raises OutsideRoots, NoteNotFound, or NoteUnreadable.
    """
    name, mode = shown(path), None
    try:
        real = os.path.realpath(os.path.join(roots[0], path))
        bases = [os.path.realpath(root) for root in roots]
        if not any(is_within(real, base) for base in bases):
            raise OutsideRoots(name)
        with suppress(FileNotFoundError):
            mode = os.stat(real).st_mode
    except ValueError as error:
        raise OutsideRoots(name, "not a possible file name") from error
    except OSError as error:
        raise NoteUnreadable(name, reason(error)) from error
    if _leads_to_hidden(real, path, roots, bases):
        raise OutsideRoots(name, TO_HIDDEN)
    if mode is None and not missing_ok:
        raise NoteNotFound(name)
    if mode is not None and not stat.S_ISREG(mode):
        raise OutsideRoots(name, irregular(mode))
    return Path(real)


def read_contained(path: Path, roots: Sequence[Path], *, limit: int = LIMIT) -> bytes:
    """Return the bytes of a regular file in one of the roots.

    A link that stays inside is followed; one that is put there after it was looked at is refused. Raises as
    `contain` does, and NoteUnreadable for a file of more than `limit` bytes.
    """
    return read_real(contain(path, roots), path, roots, limit=limit)


def read_real(real: Path, path: Path, roots: Sequence[Path], *, limit: int = LIMIT) -> bytes:
    """Return the bytes of a file at its real path, from `contain`. Raises as `read_contained`."""
    root = next(root for root in roots if is_within(os.fspath(real), os.path.realpath(root)))
    root = real.parent if real == Path(os.path.realpath(root)) else root  # a collection of one file
    try:
        return Root(root).read(real, limit=limit, links=True)
    except Unsafe as error:
        raise OutsideRoots(shown(path), reason(error)) from error
    except FileNotFoundError as error:
        raise NoteNotFound(shown(path)) from error
    except OSError as error:
        raise NoteUnreadable(shown(path), reason(error)) from error


def refusal(error: OSError) -> str:
    """Return why a file cannot be read, and what helps."""
    if isinstance(error, PermissionError):
        return message("file.closed", "{reason}; `chmod u+r` makes it readable", reason=reason(error))
    if isinstance(error, TooLarge):
        return message("file.large", "{reason}, so it is not read; divide it", reason=reason(error))
    return reason(error)


def reason(error: OSError) -> Message:
    """Return what went wrong with a file, in the system's own words; its code has the name of errno.

    Our own refusals (`root.Unsafe`) have their own sentences.
    """
    import errno

    if isinstance(error.strerror, Message):
        return error.strerror
    text = (error.strerror or type(error).__name__).lower()
    return Message(text, f"os.{errno.errorcode.get(error.errno or 0, 'other')}", {})


def no_file(path: Path | str) -> Message:
    """Say that a path does not exist."""
    return message("path.neither", "{path} is neither a file nor a folder", path=shown(path))


def shown(path: Path | str) -> str:
    """Return a path fit for one line of a message."""
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(path))
    return text if len(text) <= 200 else f"{text[:120]}…{text[-60:]}"


def _is_workspace(folder: Path, home: str) -> bool:
    memory = folder / MEMORY_FOLDER
    if os.path.isfile(folder / FORMER_SETTINGS) or os.path.isfile(memory / MEMORY_FILE):
        return True
    # A tool's own dot folder in the home directory must not make all of it a workspace.
    if os.path.realpath(folder) != home and (
        os.path.isdir(folder / DERIVED_FOLDER) or os.path.isdir(state_folder(folder))
    ):
        return True
    if os.path.isfile(folder / MEMORY_FILE):
        # memory/MEMORY.md seen from inside memory/: the workspace is the folder above.
        return folder.name != MEMORY_FOLDER or os.path.isdir(memory)
    with suppress(OSError), os.scandir(memory) as entries:
        return any(re.fullmatch(_DAILY_NAME, entry.name) for entry in entries)
    return False


def _leads_to_hidden(real: str, path: Path, roots: Sequence[Path], bases: Sequence[str]) -> bool:
    """Tell whether a plain name leads to a file that is hidden below its root, such as `.env`."""
    spelled = os.path.normpath(os.path.join(roots[0], path))
    for root, base in zip(roots, bases, strict=True):
        if is_within(real, base) and is_hidden(real[len(base) :]):
            named = (os.path.normpath(root), base)
            return not any(is_within(spelled, one) and is_hidden(spelled[len(one) :]) for one in named)
    return False
