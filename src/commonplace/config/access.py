"""What an agent reads, and where it writes: `reads` and `writes` of `[agents.NAME]` in the user's own file.

A workspace is named by its path or by the name that `[workspaces."/path"]` gives it. `here` is the one that
an agent is started in, `none` is nowhere to write. What is not named is not read, whoever asks for it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from commonplace.base import paths, remedies
from commonplace.base.errors import AccessDenied, ConfigError, NoteUnreadable
from commonplace.base.expressions import lazy
from commonplace.base.tuples import NamedTuple
from commonplace.config import keys

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any

HERE, NOWHERE = "here", "none"
KEYS = ("reads", "writes")
NAME = "name"
_NAME = lazy(r"[^\W_][\w.-]{0,63}")
_LIST, _LARGEST = "workspaces", 1 << 20  # bytes
_NO_NAMES = frozenset({HERE, NOWHERE, "memory"})  # which mean something else where a name may stand


class Access(NamedTuple):
    """What an agent may do: workspaces by real path, or `HERE`; `writes` may be `NOWHERE`.

    Without `reads` and `writes` it uses what it asks for.
    """

    agent: str = ""
    reads: tuple[str, ...] | None = None
    writes: str = ""

    @property
    def is_limited(self) -> bool:
        """Whether anything is said about this agent."""
        return self.reads is not None or bool(self.writes)

    @property
    def home(self) -> str:
        """The workspace that it writes to wherever it is started; empty where that is none in particular."""
        return "" if self.writes in ("", HERE, NOWHERE) else self.writes

    @property
    def readable(self) -> tuple[str, ...]:
        """What it reads, the one that it writes to first, each once."""
        reads = self.reads
        if reads is None:
            reads = () if self.home else (HERE,)
        written = (self.home,) if self.home else (HERE,) if self.writes == HERE else ()
        return tuple(dict.fromkeys((*written, *reads)))

    def may_read(self, root: str | Path, *, is_here: bool = True) -> bool:
        """Whether it may read a workspace that it is started in, or (not `is_here`) any other one."""
        return (
            not self.is_limited
            or (is_here and HERE in self.readable)
            or os.path.realpath(root) in self.readable
        )

    def may_write(self, root: str | Path) -> bool:
        """Whether it may write to a workspace that it is started in."""
        if self.home:
            return os.path.realpath(root) == self.home
        return self.writes != NOWHERE and self.may_read(root)

    def check(self, root: str | Path, *, is_here: bool = True) -> None:
        """Raise AccessDenied for a workspace that it may not read; no other is named."""
        if not self.may_read(root, is_here=is_here):
            raise AccessDenied(
                self.agent, f"may not read {paths.shown(root)}: [agents.{self.agent}] does not name it"
            )


def check_apart(
    access: Access, root: Path, folders: Iterable[str], others: Iterable[str], known: Iterable[str]
) -> None:
    """Raise AccessDenied where the notes of a workspace overlap with those of one that an agent may not read.

    `folders` are where its notes lie, `others` all workspaces that are anybody's, `known` those of this
    machine, which may lie around it but not in it; none of these is named.
    """
    if not access.is_limited:
        return
    own = {os.path.realpath(root), *access.readable}
    real = [os.path.realpath(folder) for folder in folders]
    around = [other for other in {*others} - own if any(paths.is_within(one, other) for one in real)]
    inside = [other for other in {*others, *known} - own if any(paths.is_within(other, one) for one in real)]
    if any(map(os.path.isdir, (*around, *inside))):  # one that is gone has nothing to hide
        raise AccessDenied(
            access.agent,
            f"may not read {paths.shown(root)} as it is: its folder, or a collection, overlaps with a"
            f" workspace that [agents.{access.agent}] does not name; keep them side by side",
        )


def access_in(
    content: Mapping[str, Any], agent: str, names: Mapping[str, str], path: Path, home: Path
) -> Access:
    """Return what a user's file allows an agent, `content` being its table; `names` are workspaces by name.

    `home` is the user's. Raises ConfigError.
    """
    reads, writes = content.get(KEYS[0]), content.get(KEYS[1], "")
    place, where = f"agents.{agent}", f"in {paths.shown(path)}"
    if reads is not None and not (isinstance(reads, list) and all(isinstance(one, str) for one in reads)):
        wrong = f"{keys.quoted(reads)} {where} is not allowed; it must be a list of workspaces"
        raise ConfigError(f"{place}.{KEYS[0]}", wrong)
    if not isinstance(writes, str) or (not writes and KEYS[1] in content):
        wrong = (
            f"{keys.quoted(writes)} {where} is not allowed; it must be a workspace, {HERE!r} or {NOWHERE!r}"
        )
        raise ConfigError(f"{place}.{KEYS[1]}", wrong)

    def real(key: str, text: str) -> str:
        if text in names:
            return names[text]
        expanded = os.path.join(home, text[2:]) if text.startswith("~/") else os.path.expanduser(text)
        if "\0" in text or not os.path.isabs(expanded):
            wrong = (
                f"{keys.quoted(text)} {where} is neither a full path nor a name that a workspace was given"
                f"; {remedies.say('workspace.name', text if _NAME.fullmatch(text) else 'NAME')}"
            )
            raise ConfigError(f"{place}.{key}", wrong)
        return os.path.realpath(expanded)

    read = None if reads is None else [one if one == HERE else real(KEYS[0], one) for one in reads]
    written = writes if writes in ("", HERE, NOWHERE) else real(KEYS[1], writes)
    return Access(agent, None if read is None else tuple(dict.fromkeys(read)), written)


def check_name(name: object, key: str, path: Path) -> str:
    """Return the name of a workspace. Raises ConfigError for what cannot be one."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name in _NO_NAMES:
        allowed = "letters, digits, - _ and ., at most 64, a letter or digit first"
        wrong = (
            f"{keys.quoted(name)} in {paths.shown(path)} is no name for a workspace; allowed are {allowed}"
        )
        raise ConfigError(key, wrong)
    return name


def label(root: str | Path) -> str:
    """Return what a workspace is called that nobody gave a name: its folder, as far as a name may be that."""
    folder = os.path.basename(os.path.realpath(root))
    called = re.sub(r"[^\w.-]+|^[\W_]+", "-", folder.encode("utf-8", "replace").decode()).strip("-.")[:64]
    return called if _NAME.fullmatch(called) and called not in _NO_NAMES else "workspace"


# --- the workspaces of this machine ---------------------------------------------------------------------


def list_file(environ: Mapping[str, str] | None = None) -> Path:
    """Return the list of workspaces that are noted: a real path a line, among the user's settings."""
    return paths.user_config_dir(environ) / _LIST


def listed(environ: Mapping[str, str] | None = None) -> list[str]:
    """Return the real paths of the workspaces that are noted, whether they are there or not.

    Raises NoteUnreadable: what nobody can read must not count as none.
    """
    path = list_file(environ)
    try:
        data = paths.root_of(path).read(path, limit=_LARGEST)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise NoteUnreadable(paths.shown(path), paths.reason(error)) from error
    return [line for line in data.decode("utf-8", "surrogateescape").split("\n") if os.path.isabs(line)]
