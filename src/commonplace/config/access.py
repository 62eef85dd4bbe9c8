"""The workspaces that an agent reads and writes: `reads` and `writes` of `[agents.NAME]` in the user's file.

A workspace is given by its path or by its name in `[workspaces."/path"]`. `here` is the one in which an agent
is started, `none` forbids writing. Without `reads`, an agent reads its home, or else `here`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from commonplace.base import paths, remedies
from commonplace.base.errors import AccessDenied, ConfigError, NoteUnreadable
from commonplace.base.expressions import lazy
from commonplace.base.tuples import NamedTuple
from commonplace.config import files, keys
from commonplace.config.files import File, table

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any

HERE, NOWHERE = "here", "none"
KEYS = ("reads", "writes")
NAME = "name"
_TABLES = ("collections", "contexts", "updates", NAME)  # of a workspace, in the user's file
_NAME = lazy(r"[^\W_][\w.-]{0,63}")
NOTED = "noted"  # an empty file in the state of a workspace that `init` made or its owner added
_NO_NAMES = frozenset({HERE, NOWHERE, "memory"})  # words with another meaning where a name may stand


class Access(NamedTuple):
    """The rights of an agent: workspaces by real path, or `HERE`; `writes` may be `NOWHERE`.

    Without `reads` and `writes` an agent is not limited.
    """

    agent: str = ""
    reads: tuple[str, ...] | None = None
    writes: str = ""

    @property
    def is_limited(self) -> bool:
        """True if the user's file limits this agent."""
        return self.reads is not None or bool(self.writes)

    @property
    def home(self) -> str:
        """The workspace that it writes to wherever it is started; empty for no particular one."""
        return "" if self.writes in ("", HERE, NOWHERE) else self.writes

    @property
    def readable(self) -> tuple[str, ...]:
        """The workspaces that it reads, its home first, each once."""
        reads = (() if self.home else (HERE,)) if self.reads is None else self.reads
        written = (self.home,) if self.home else (HERE,) if self.writes == HERE else ()
        return tuple(dict.fromkeys((*written, *reads)))

    def may_read(self, root: str | Path, *, is_here: bool = True) -> bool:
        """Tell whether it may read `root`; `is_here`: it was started there."""
        here = is_here and HERE in self.readable
        return not self.is_limited or here or os.path.realpath(root) in self.readable

    def may_write(self, root: str | Path) -> bool:
        """Tell whether it may write to `root`: its home, or else any it may read (`none`: not at all)."""
        if self.home:
            return os.path.realpath(root) == self.home
        return self.writes != NOWHERE and self.may_read(root)

    def check(self, root: str | Path, *, is_here: bool = True) -> None:
        """Raise AccessDenied for a workspace that it may not read; no other workspace is named."""
        if not self.may_read(root, is_here=is_here):
            denied = f"may not read {paths.shown(root)}: [agents.{self.agent}] does not name it"
            raise AccessDenied(self.agent, denied)


def check_apart(
    access: Access, root: Path, folders: Iterable[str], user: File, environ: Mapping[str, str]
) -> None:
    """Raise AccessDenied if note folders overlap a workspace that the agent may not read.

    A workspace that is only registered here may contain them, but not lie inside them. The message names no
    closed workspace.
    """
    if not access.is_limited:
        return
    agents = table("agents", user.content.get("agents", {}), user.path)
    readable = [one for name in agents for one in access_of(user, name, environ).readable]
    own = {HERE, os.path.realpath(root), *access.readable}
    named = {*folders_in(user), *readable} - own
    for folder in map(os.path.realpath, folders):
        around = [one for one in named if paths.is_within(folder, one)]
        inside = [one for one in {*named, *listed(environ)} - own if paths.is_within(one, folder)]
        if any(map(os.path.isdir, (*around, *inside))):  # a missing folder needs no protection
            raise AccessDenied(
                access.agent,
                f"may not read {paths.shown(root)} as it is: its folder, or a collection, overlaps with a"
                f" workspace that [agents.{access.agent}] does not name; keep them side by side",
            )


# --- the user's file ------------------------------------------------------------------------------------


def users(environ: Mapping[str, str] | None = None, agent: str = "") -> File:
    """Read the user's settings; fail if unreadable, since the agent's limits would be unknown.

    Raises ConfigError, without details for an agent.
    """
    with discreet(agent):
        return File(files.user_file(environ), True, files.read(files.user_file(environ)))


@contextmanager
def discreet(agent: str) -> Iterator[None]:
    """Hide mistakes in the user's file, which may be about other workspaces, from an agent."""
    try:
        yield
    except ConfigError:
        if agent:
            raise ConfigError(
                "settings", "config.toml has a mistake, which is shown to its owner alone"
            ) from None
        raise


def access_of(user: File, agent: str, environ: Mapping[str, str] | None = None) -> Access:
    """Return the rights of an agent by the user's file.

    Raises ConfigError, and AccessDenied for an agent without a table if others are limited: a misspelt name
    must not lift the limits.
    """
    agents = table("agents", user.content.get("agents", {}), user.path)
    if agent not in agents:
        if agent:
            _check_named(agent, agents)
        return Access(agent)
    content = table(f"agents.{agent}", agents[agent], user.path)
    if not any(key in content for key in KEYS):
        return Access(agent)
    names = {name: root for root, name in names_in(user).items()}
    where, home = f"in {paths.shown(user.path)}", paths.home(environ)
    reads, writes = content.get(KEYS[0]), content.get(KEYS[1], "")

    def real(key: str, text: str) -> str:
        if text in names:
            return names[text]
        expanded = os.path.join(home, text[2:]) if text.startswith("~/") else os.path.expanduser(text)
        if "\0" in text or not os.path.isabs(expanded):
            remedy = remedies.say("workspace.name", text if _NAME.fullmatch(text) else "NAME")
            rule = f"is neither a full path nor a name that a workspace was given; {remedy}"
            raise ConfigError(f"agents.{agent}.{key}", f"{keys.quoted(text)} {where} {rule}")
        return os.path.realpath(expanded)

    if reads is not None:
        if not isinstance(reads, list) or not all(isinstance(one, str) for one in reads):
            raise keys.not_allowed(f"agents.{agent}.{KEYS[0]}", reads, where, "a list of workspaces")
        reads = tuple(dict.fromkeys(one if one == HERE else real(KEYS[0], one) for one in reads))
    if not isinstance(writes, str) or (not writes and KEYS[1] in content):
        rule = f"a workspace, {HERE!r} or {NOWHERE!r}"
        raise keys.not_allowed(f"agents.{agent}.{KEYS[1]}", writes, where, rule)
    return Access(agent, reads, writes if writes in ("", HERE, NOWHERE) else real(KEYS[1], writes))


def _check_named(agent: str, agents: Mapping[str, Any]) -> None:
    """Raise AccessDenied for an agent without a table if the user's file limits another agent."""
    limited = [name for name, one in agents.items() if isinstance(one, Mapping) and {*KEYS} & {*one}]
    if not limited:
        return
    hint = keys.near(agent.casefold(), limited, remedies.say("agent.table", agent))
    raise AccessDenied(agent, f"has no table in your config.toml, which limits other agents{hint}")


def workspaces_in(user: File) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the tables of workspaces in the user's file, by their folder as written. Raises ConfigError."""
    for folder, content in table("workspaces", user.content.get("workspaces", {}), user.path).items():
        for name in table(f'workspaces."{folder}"', content, user.path):
            if name not in _TABLES:
                unknown = f"unknown table in {paths.shown(user.path)}{keys.near(name, _TABLES)}"
                raise ConfigError(f'workspaces."{folder}".{name}', unknown)
        yield folder, content


def real_path(folder: str) -> str:
    """Return the real path of a folder as written in the user's file."""
    return os.path.realpath(os.path.expanduser(folder))


def folders_in(user: File) -> list[str]:
    """Return the real paths of the workspaces in the user's file. Raises ConfigError."""
    return [real_path(folder) for folder, _ in workspaces_in(user)]


def names_in(user: File) -> dict[str, str]:
    """Return the names of workspaces in the user's file, by real path. Raises ConfigError."""
    found: dict[str, str] = {}
    for folder, content in workspaces_in(user):
        if NAME in content:
            key = f'workspaces."{folder}".{NAME}'
            if not os.path.isabs(os.path.expanduser(folder)):
                wrong = f"{keys.quoted(folder)} in {paths.shown(user.path)} must be a full path"
                raise ConfigError(key, wrong)
            name = check_name(content[NAME], key, user.path)
            if name in found.values():
                raise ConfigError(key, f"{name!r} is the name of two workspaces; choose another")
            found[real_path(folder)] = name
    return found


def check_name(name: object, key: str, path: Path) -> str:
    """Return the name of a workspace. Raises ConfigError for a name that is not allowed."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name in _NO_NAMES:
        allowed = "letters, digits, - _ and ., at most 64, a letter or digit first"
        wrong = f"{keys.quoted(name)} in {paths.shown(path)} is no name for a workspace"
        raise ConfigError(key, f"{wrong}; allowed are {allowed}")
    return name


def label(root: str | Path) -> str:
    """Return the name of a workspace without a given name: its folder's, with other characters replaced."""
    folder = os.path.basename(os.path.realpath(root))
    called = re.sub(r"[^\w.-]+|^[\W_]+", "-", folder.encode("utf-8", "replace").decode()).strip("-.")[:64]
    return called if _NAME.fullmatch(called) and called not in _NO_NAMES else "workspace"


def listed(environ: Mapping[str, str] | None = None) -> list[str]:
    """Return the real paths of the workspaces that were noted on this machine, whether these exist or not.

    Raises NoteUnreadable: an unreadable folder must not count as an empty one.
    """
    folder = paths.user_state_dir(environ)
    if os.path.lexists(folder) and not os.access(folder, os.R_OK | os.X_OK):
        raise NoteUnreadable(paths.shown(folder), "cannot be read")
    return sorted(os.fspath(root) for root, state in paths.known_states(environ) if (state / NOTED).exists())
