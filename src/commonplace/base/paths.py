"""Every location in one place: the workspace, its derived files, the user's folders, and the roots."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
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
from commonplace.base.signature import KEY_FILE, is_kept, load_keys

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from datetime import date

APPLICATION = "commonplace"
WORKSPACE_VARIABLE = "COMMONPLACE_WORKSPACE"
MEMORY_FILE = "MEMORY.md"
MEMORY_FOLDER = "memory"
DERIVED_FOLDER = OWN_FOLDER
SETTINGS_FILE = "commonplace.toml"
_SERVERS = "servers"
_DAILY_NAME = r"\d{4}-\d{2}-\d{2}.*\.md"


class Workspace:
    """A folder that holds MEMORY.md and memory/, and where everything of it lies."""

    def __init__(self, root: Path, *, reader: str | None = None) -> None:
        """Name a folder; a `reader` is the agent who may read it and change none of its notes."""
        self.reader = reader
        # Absolute, since a relative path means something else to `Root`: one below the root.
        self.root = root = Path(os.path.abspath(root))
        self.files = Root(root)  # the door to all files of the workspace
        self.settings = root / SETTINGS_FILE  # the workspace's own, which may be missing
        self.memory_dir = root / MEMORY_FOLDER  # daily notes
        self.sessions = root / "sessions"  # our own transcripts
        self.derived = derived = root / DERIVED_FOLDER  # what is ours: the index and locks, and records
        self.locks = derived / "locks"  # notes themselves are never locked
        # Where the workspace can be written to: the index, the calls to models, questions and openings.
        self.index = derived / "index.sqlite"
        self.ledger = derived / "ledger.sqlite"
        self.usage = derived / "usage.sqlite"
        self.pending = derived / "pending"  # marks that say how far each session is summed up
        self.spool = derived / "spool"  # entries that wait to be written into notes
        self.history = derived / "history"  # generated changes with the bytes before and after them
        self.erasing = derived / "erasing"  # what is being forgotten, until nothing of it is left
        self.consolidated = derived / "consolidated.json"  # the last one, even if it changed nothing
        self.imports = derived / "imports.json"  # what came from other memories, as hashes

    @property
    def memory_file(self) -> Path:
        """The long-term memory: MEMORY.md, or memory/MEMORY.md where only that one exists."""
        outer, inner = self.root / MEMORY_FILE, self.memory_dir / MEMORY_FILE
        return inner if not os.path.lexists(outer) and inner.is_file() else outer

    def check_there(self) -> None:
        """Raise WorkspaceNotFound where its folder is gone: none is made in the place of one that moved.

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

    def daily(self, day: date) -> Path:
        """Return the daily note of `day`, whether it exists or not."""
        return self.memory_dir / f"{day:%Y-%m-%d}.md"


def user_config_dir(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder of the user's settings: XDG on Linux, the usual one on macOS and Windows."""
    mac = Path("Library", "Application Support")
    return _user_dir(environ, "XDG_CONFIG_HOME", Path(".config"), mac, "APPDATA")


def user_cache_dir(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder of the user's caches: XDG on Linux, the usual one on macOS and Windows."""
    return _user_dir(environ, "XDG_CACHE_HOME", Path(".cache"), Path("Library", "Caches"), "LOCALAPPDATA")


def signing_key(environ: Mapping[str, str] | None = None) -> bytes:
    """Return the key that marks records of ours; it lies among the user's settings, else in the cache."""
    return known_keys(environ)[0]


def known_keys(environ: Mapping[str, str] | None = None) -> tuple[bytes, ...]:
    """Return that key, and those of the user's other machines."""
    return load_keys((user_config_dir(environ), user_cache_dir(environ)))


def keyless(environ: Mapping[str, str] | None = None) -> str:
    """Say that no key can be kept, and what helps."""
    where = shown(user_config_dir(environ) / KEY_FILE)
    return f"no key can be read from or kept in {where}, so what is yours is not known again; mend that file"


def keeps_key(environ: Mapping[str, str] | None = None) -> bool:
    """Tell whether the key that marks records of ours lies on disk: without it none is known again."""
    return is_kept((user_config_dir(environ), user_cache_dir(environ)))


def default_workspace(environ: Mapping[str, str] | None = None) -> Path:
    """Return the user's own workspace, used where no other is found."""
    return home(environ) / APPLICATION


def fallback_index(root: Path, environ: Mapping[str, str] | None = None) -> Path:
    """Return where the index of a read-only workspace lies: in the cache, by a hash of its real path."""
    digest = sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:20]
    return user_cache_dir(environ) / "indexes" / digest / "index.sqlite"


def server_folder(workspace: Workspace, environ: Mapping[str, str] | None = None) -> Path:
    """Return where a server keeps its record: in the workspace, or in the cache where that is read-only."""
    place = workspace.derived if workspace.derived.is_dir() else workspace.root
    is_open = os.access(place, os.W_OK)
    return workspace.derived if is_open else fallback_index(workspace.root, environ).parent


def server_note(workspace: Workspace, environ: Mapping[str, str] | None = None) -> Path:
    """Return where a running server is noted: with the user's settings, or in the cache if these are closed.

    Never in the workspace: who may write there alone could lead the user's programs, with the token that they
    send, to a server of his own.
    """
    name = f"{sha256(os.fsencode(os.path.realpath(workspace.root))).hexdigest()[:20]}.json"
    own = user_config_dir(environ)
    there = next((folder for folder in (own, *own.parents) if folder.is_dir()), own)
    kept = own if os.access(there, os.W_OK) else user_cache_dir(environ)
    return kept / _SERVERS / name


def server_token(workspace: Workspace, environ: Mapping[str, str] | None = None, agent: str = "") -> Path:
    """Return where the token of a workspace's server is kept: with the user's settings, by its real path.

    Never in the workspace: a folder that comes from somebody else must not bring a token that he knows. A
    server for an agent has another one, which lets nobody in where the owner serves the same workspace.
    """
    served = os.fsencode(os.path.realpath(workspace.root)) + (b"\0" + os.fsencode(agent) if agent else b"")
    digest = sha256(served).hexdigest()[:20]
    return user_config_dir(environ) / _SERVERS / f"{digest}.token"


def find_workspace(start: Path, environ: Mapping[str, str] | None = None) -> Path | None:
    """Return the nearest workspace at or above `start`, or None."""
    base = os.path.realpath(home(environ))
    folder = Path(os.path.abspath(start))
    for candidate in (folder, *folder.parents):
        if _is_workspace(candidate, base):
            return candidate
    return None


def resolve_workspace(explicit: str | None, environ: Mapping[str, str], cwd: Path | None = None) -> Path:
    """Return the workspace asked for: flag, environment, upward from `cwd` (here), else the user's own.

    Any existing folder may be named outright, but one within another workspace, or within the clone that this
    program runs from, only if it is a workspace already; of one that may not be looked into nothing is known
    (`check_open`). Raises WorkspaceNotFound, ConfigError.
    """
    named = explicit or environ.get(WORKSPACE_VARIABLE)
    expanded = named or ""
    if expanded == "~" or expanded.startswith(("~/", "~" + os.sep)):
        expanded = str(home(environ)) + expanded[1:]
    expanded = os.path.expanduser(expanded)
    if os.path.isabs(expanded):
        cwd = Path(expanded)  # which needs no current folder, and there may be none any more
    try:
        cwd = cwd or Path.cwd()
    except OSError as error:
        raise WorkspaceNotFound("the current folder, which is gone") from error
    if named:
        folder = Path(os.path.abspath(cwd / expanded))
        if barrier(folder):
            return folder  # whoever asks it for something is told, and one among several is a warning
        if os.path.isfile(folder):
            raise ConfigError("workspace", f"{shown(folder)} is a file; name its folder")
        if not os.path.isdir(folder):
            raise WorkspaceNotFound(shown(folder), missing=True)
        check_usable(folder, environ)
        return folder
    found = find_workspace(cwd, environ)
    if found is not None:
        return found
    own = default_workspace(environ)
    if own.is_dir():
        return own
    raise WorkspaceNotFound(shown(cwd))


def check_open(folder: Path) -> None:
    """Raise NoteUnreadable where this user may not look into a folder, with whose it is, and the remedy."""
    if place := barrier(folder):
        why, remedy = barred(place)
        told = why if place == folder else f"{shown(place)} {why}"
        raise NoteUnreadable(shown(folder), f"{told}; {remedy}")


def barrier(folder: Path) -> Path | None:
    """Return the folder that this user may not enter, on the way into one; None where nothing bars it."""
    if os.access(folder, os.X_OK):
        return None
    for place in (folder, *folder.parents):
        try:
            entered = os.access(place, os.X_OK) or not stat.S_ISDIR(os.stat(place).st_mode)
        except PermissionError:
            continue
        except OSError:
            return None
        return None if entered else place
    return None


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
    mode = "rwx" if place.is_dir() else "rw"
    return message("place.closed", "is closed"), f"chmod u+{mode} {shlex.quote(os.fspath(place))}"


def another_user(number: int) -> str:
    """Return the name of a user, or the number where he has none; empty for whoever runs this program."""
    if not hasattr(os, "geteuid") or number == os.geteuid():
        return ""
    import pwd

    try:
        return f"another user ({pwd.getpwuid(number).pw_name})"
    except KeyError:
        return f"another user ({number})"


def check_usable(folder: Path, environ: Mapping[str, str] | None = None) -> None:
    """Raise WorkspaceNotFound for a folder that lies in a workspace, ConfigError for one in the clone.

    Unless it is a workspace: an index would make it one, and hide the one around from whoever stands there.
    """
    if _is_workspace(folder, os.path.realpath(home(environ))):
        return
    check_outside_clone(folder)
    around = find_workspace(Path(os.path.realpath(folder)).parent, environ)
    if around is not None:
        raise WorkspaceNotFound(shown(folder), shown(around))


def check_outside_clone(folder: Path, instead: str = "") -> None:
    """Raise ConfigError for a folder in the clone that this program runs from: notes are not made there.

    `instead` is a command that works.
    """
    from commonplace.base import installation, remedies

    clone = installation.checkout()
    if clone is not None and is_within(os.path.realpath(folder), os.path.realpath(clone)):
        raise ConfigError(
            "workspace",
            f"{shown(folder)} lies in the clone of commonplace itself; name a folder outside it, such as"
            f" `{instead or remedies.say('init.elsewhere')}`, or go there",
        )


def prepare_derived(workspace: Workspace, *within: Path) -> list[Path]:
    """Make `.commonplace/` with its own .gitignore; return what was missing.

    Raises OutsideRoots where the folder, or one `within` it that is about to be used, is a link,
    NoteUnreadable where it cannot be made.
    """
    folder, ignore, files = workspace.derived, workspace.derived / ".gitignore", workspace.files
    made: list[Path] = []
    try:
        if not files.is_folder(folder):
            files.make_folder(folder)
            made.append(folder)
        for used in within:
            with suppress(FileNotFoundError):
                files.names(used)
        with suppress(FileExistsError):
            files.create(ignore, b"*\n")
            made.append(ignore)
    except Unsafe as error:
        raise OutsideRoots(shown(error.filename), to_remove(reason(error))) from error
    except OSError as error:
        raise NoteUnreadable(shown(folder), reason(error)) from error
    return made


def closed(workspace: Workspace) -> str:
    """Say why our folder in a workspace, or the one of the history, cannot be read; empty where it can."""
    for folder in (workspace.derived, workspace.history):
        try:
            workspace.files.names(folder)
        except PermissionError as error:
            with suppress(OSError):
                if user := another_user(workspace.files.stat(folder).st_uid):
                    return f"{shown(folder)} cannot be read: it belongs to {user}"
            return f"{shown(folder)} cannot be read: {reason(error)}"
        except OSError:  # a link or no folder, which is said where it is used
            return ""
    return ""


def own_folders(workspace: Workspace | None, environ: Mapping[str, str] | None = None) -> list[Path]:
    """Return the folders that are ours alone: of a workspace, and the user's settings and caches."""
    own = [workspace.derived, workspace.sessions] if workspace else []
    return [*own, user_config_dir(environ), user_cache_dir(environ)]


def is_open(path: Path, is_kind: Callable[[int], bool] = stat.S_ISDIR) -> bool:
    """Tell whether others may enter or read a folder (or file) of this user; false where modes do not say."""
    with suppress(OSError):
        status = os.lstat(path)
        own = hasattr(os, "getuid") and status.st_uid == os.getuid()
        return own and is_kind(status.st_mode) and bool(status.st_mode & 0o077)
    return False


def tighten(workspace: Workspace | None, environ: Mapping[str, str] | None = None) -> list[str]:
    """Close our folders, with all that is in them, to others; return a line for each that was open.

    Notes are their owner's and stay as they are. Where nothing is to be done this is a look at each folder.
    """
    told = []
    for folder in filter(is_open, own_folders(workspace, environ)):
        # In a workspace the folder itself may become a link between a look and the change.
        inside = workspace is not None and folder.parent == workspace.root
        root, name = (Root(folder.parent), folder.name) if inside else (Root(folder), "")
        with suppress(OSError):  # the folder is not ours to change, or nothing can be written there
            if not (count := len(root.tighten(name))):
                continue
            files = "1 file or folder" if count == 1 else f"{count:,} files and folders"
            told.append(f"others could look into {shown(folder)}: now it is yours alone ({files})")
    files_of_ours = [user_config_dir(environ) / KEY_FILE, *([workspace.index] if workspace else [])]
    for file in files_of_ours:
        with suppress(OSError):
            if is_open(file, stat.S_ISREG) and root_of(file).tighten(file):
                told.append(f"others could open {shown(file)}: now it is yours alone")
    return told


def root_of(path: Path | str) -> Root:
    """Return the root that a file of ours lies below: its workspace, or the folder of the user's own ones.

    A link above the root is the owner's and followed, one below it is not.
    """
    folder = Path(os.path.abspath(path)).parent
    for name in (DERIVED_FOLDER, APPLICATION):
        for above in (folder, *folder.parents):
            if above.name == name:
                return Root(above.parent)
    return Root(folder)


def lock_file(workspace: Workspace, name: str) -> Path:
    """Return the lock file of one kind of work, such as `notes` or `sync`."""
    return workspace.locks / f"{name}.lock"


def is_within(path: str, root: str) -> bool:
    """Tell whether `path` is `root` or lies below it; both real or both normalised."""
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


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
            raise OutsideRoots(name, _why_outside(path, roots))
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

    What we refuse ourselves (`root.Unsafe`) has a sentence of its own.
    """
    import errno

    if isinstance(error.strerror, Message):
        return error.strerror
    text = (error.strerror or type(error).__name__).lower()
    if isinstance(error, Unsafe):
        return Message(text, "file.unfit", {})
    return Message(text, f"os.{errno.errorcode.get(error.errno or 0, 'other')}", {})


def no_file(path: Path | str) -> Message:
    """Say that nothing has this path."""
    return message("path.neither", "{path} is neither a file nor a folder", path=shown(path))


def to_remove(reason: str) -> Message:
    """Say of something in the way what it is, and to remove it."""
    return message("file.remove", "{reason}; remove it", reason=reason)


def shown(path: Path | str) -> str:
    """Return a path fit for one line of a message."""
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(path))
    return text if len(text) <= 200 else f"{text[:120]}…{text[-60:]}"


def _user_dir(environ: Mapping[str, str] | None, variable: str, linux: Path, mac: Path, windows: str) -> Path:
    values = os.environ if environ is None else environ
    if sys.platform == "win32":
        base = values.get(windows)
        return Path(base or home(environ), APPLICATION)
    if sys.platform == "darwin":
        return home(environ) / mac / APPLICATION
    base = values.get(variable, "")
    # The XDG specification: a relative path is invalid and is to be ignored.
    return (Path(base) if os.path.isabs(base) else home(environ) / linux) / APPLICATION


def home(environ: Mapping[str, str] | None = None) -> Path:
    """Return the user's home folder."""
    values = os.environ if environ is None else environ
    named = values.get("USERPROFILE" if sys.platform == "win32" else "HOME")
    return Path(named or os.path.expanduser("~"))


def _is_workspace(folder: Path, home: str) -> bool:
    if os.path.isfile(folder / SETTINGS_FILE):
        return True
    # A tool's own dot folder in the home directory must not make all of it a workspace.
    if os.path.isdir(folder / DERIVED_FOLDER) and os.path.realpath(folder) != home:
        return True
    memory = folder / MEMORY_FOLDER
    if os.path.isfile(memory / MEMORY_FILE):
        return True
    if os.path.isfile(folder / MEMORY_FILE):
        # memory/MEMORY.md seen from inside memory/: the workspace is the folder above.
        return folder.name != MEMORY_FOLDER or os.path.isdir(memory)
    with suppress(OSError), os.scandir(memory) as entries:
        return any(re.fullmatch(_DAILY_NAME, entry.name) for entry in entries)
    return False


def _leads_to_hidden(real: str, path: Path, roots: Sequence[Path], bases: Sequence[str]) -> bool:
    """Whether a plain name stands for a file that is hidden below its root, such as `.env`."""
    spelled = os.path.normpath(os.path.join(roots[0], path))
    for root, base in zip(roots, bases, strict=True):
        if is_within(real, base) and is_hidden(real[len(base) :]):
            named = (os.path.normpath(root), base)
            return not any(is_within(spelled, one) and is_hidden(spelled[len(one) :]) for one in named)
    return False


def _why_outside(path: Path, roots: Sequence[Path]) -> str:
    plain = os.path.normpath(os.path.join(roots[0], path))
    bases = {os.path.normpath(root) for root in roots} | {os.path.realpath(root) for root in roots}
    if any(is_within(plain, base) for base in bases):
        return message("path.link", "a symlink that leaves the workspace and its collections")
    if ".." in Path(path).parts:
        return message("path.up", "'..' leaves the workspace and its collections")
    return "lies outside the workspace and its collections"
