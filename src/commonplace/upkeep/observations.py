"""Tool calls turned into entries of today's note: which are significant, and how an entry reads.

An entry says what ran, on what, and whether it failed: a title, a line of facts, and, in a code block, the
error, and what was given as far as the title lacks it. Every word is redacted before it is put together. What
a tool gave back is not kept. Rules alone decide what is; docs/agents.md lists them.

Hosts call the same thing by many names, so names of tools are compared without case and without the server
that a tool belongs to (`mcp__files__write_file` is `write_file`), and arguments by the keys that are usual.

Of failures, noise is left out: what the owner or the host broke off, what took too long, a network that was
away for a moment, a search without a match, an exit code without a word, and a tool that was called wrongly.
The rest is kept, once a session for each kind.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Literal

from commonplace.base import clock, paths
from commonplace.base.paths import APPLICATION
from commonplace.base.root import Root
from commonplace.base.tuples import NamedTuple
from commonplace.types import Entry, Provenance
from commonplace.upkeep import excerpts

if TYPE_CHECKING:
    from commonplace.config import Settings
    from commonplace.config.settings import Observe
    from commonplace.types import ToolExecution

HEADING = "Observations"
GOTCHA = "gotcha"
_READ, _EXCERPT, _ARGUMENTS = 4000, 500, 300  # characters: a long result; most of an error, of arguments
_TITLE, _SAID = 80, 60  # characters of a title, and of a command that it says whole
_FILES, _PATH = 5, 80  # files that are named, and characters of each path
_SESSIONS, _KINDS = 100, 500  # that are remembered in a process; kinds of failure of each
_FOREIGN = "strangers' words"
_VERBS = {
    "write": ("Edited", "Failed to edit"),
    "make": ("Wrote", "Failed to write"),
    "run": ("Ran", "Failed to run"),
    "read": ("Read", "Failed to read"),
    "other": ("Used", "Failed to use"),
}
Kind = Literal["write", "run", "read", "other"]

_MOST_FILES, _MOST_WORDS = 50, 300  # of a call that are looked at
_OWN_FOLDERS = frozenset((paths.MEMORY_FOLDER, paths.DERIVED_FOLDER, "sessions"))
_COMMAND, _HEAD = 4000, 4000  # characters of a command, and at either end of a failure, that are looked at


@cache
def _tools() -> Mapping[str, Any]:
    """Return the tables of names that programs and hosts use."""
    import tomllib

    return tomllib.loads(Root(Path(__file__).parent).read("tools.toml").decode("utf-8"))


def _names(name: str) -> list[str]:
    names: list[str] = _tools()[name]
    return names


@cache
def _pattern(name: str) -> re.Pattern[str]:
    """Return the pattern of a name, for calls and their results; `noise` joins several kinds."""
    kinds = "|".join(_tools()["noise"].values())
    return re.compile(_tools()["patterns"][name].replace("KINDS_OF_NOISE", kinds))


class Observer:
    """Observes sessions: calls repeated in a row yield one entry, a kind of failure one a session.

    Safe with several threads. Other processes are not known of.
    """

    def __init__(self, settings: Settings, root: Path | None = None) -> None:
        """Take the settings, and the workspace that paths are shown relative to."""
        self._settings, self._root = settings, root
        self._sessions: OrderedDict[str, set[str]] = OrderedDict()  # noted kinds of failures of each
        self._last: dict[str, str] = {}
        self._lock = threading.Lock()

    def observe(self, execution: ToolExecution) -> Entry | None:
        """Return the entry of a tool that ran; None if it is not worth keeping or already kept.

        The first call of a session that brings in strangers' words gets an entry however small it was: what
        the session says from then on may be theirs.
        """
        settings = self._settings.observe
        if not settings.enabled or not execution.tool.strip() or is_own(execution.tool):
            return None
        action = action_of(execution.tool, execution.arguments)
        if is_of_memory(action, execution.folder, self._root):
            return None
        report = _Report(execution, action, settings, self._root, _is_foreign(execution, action, settings))
        error, call = failure(execution.error, execution.result), _digest(execution)
        with self._lock:
            told = self._sessions.setdefault(execution.session, set())
            self._sessions.move_to_end(execution.session)
            while len(self._sessions) > _SESSIONS:
                self._last.pop(self._sessions.popitem(last=False)[0], None)
            if self._last.get(execution.session) == call:
                return None
            self._last[execution.session] = call
            entry = _entry(told, report, error)
            if report.is_foreign and _FOREIGN not in told:
                told.add(_FOREIGN)
                entry = entry or report.entry()
        return entry


def _entry(told: set[str], report: _Report, error: str) -> Entry | None:
    """Return the entry of a call: the first failure of its kind, or a result that is significant."""
    tool, action, settings = report.execution.tool, report.action, report.settings
    is_listed = is_named(tool, settings.tools)
    if not error:
        read_much = len(report.execution.result) > _READ
        return report.entry() if (read_much if action.kind == "read" else is_listed) else None
    if action.kind == "read" or not is_listed:
        return None
    error = excerpts.public(error)
    kind = f"{bare(tool).lower()}: {failure_kind(error)}"
    if kind in told or len(told) >= _KINDS or not teaches(error):
        return None
    told.add(kind)
    return report.entry(without_code(error))


def observation(execution: ToolExecution, settings: Settings, root: Path | None = None) -> Entry | None:
    """Return the entry of a tool that ran, without knowledge of earlier calls."""
    return Observer(settings, root).observe(execution)


def _is_foreign(execution: ToolExecution, action: Action, settings: Observe) -> bool:
    """Return True if a tool's result may hold a stranger's words: from the network, or read by a server."""
    if execution.untrusted or action.network or is_named(execution.tool, settings.network_tools):
        return True
    acts = action.kind in ("write", "run") or is_named(execution.tool, settings.tools)
    return is_of_a_server(execution.tool) and not acts


def _digest(execution: ToolExecution) -> str:
    arguments = json.dumps(dict(execution.arguments), sort_keys=True, default=repr)
    said = repr((execution.tool, arguments, execution.result, execution.error))
    return hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


# --- how it reads ---------------------------------------------------------------------------------------


class _Report(NamedTuple):
    """A tool that ran, on its way to an entry: a title, a line of facts, an excerpt."""

    execution: ToolExecution
    action: Action
    settings: Observe
    root: Path | None
    is_foreign: bool

    def entry(self, error: str = "") -> Entry:
        """Put the entry together, of a failure where there is an error."""
        execution = self.execution
        lines = [self._title(bool(error)), self._facts(bool(error))]
        # Once more: what stands together now may read as a secret.
        shown = [*self._given(), *excerpts.lines_of(error, _EXCERPT)] if error else self._given()
        text = excerpts.public("\n".join([*lines, *excerpts.fenced(shown)]))
        at = clock.local(execution.at)
        by = Provenance(
            "untrusted" if self.is_foreign else "tool",
            execution.agent,
            execution.session,
            at.isoformat(timespec="seconds"),
        )
        return Entry(text, at, HEADING, by)

    def _title(self, failed: bool) -> str:
        """Name what was done and to what."""
        kind: str = self.action.kind
        if kind == "write" and not self.execution.arguments.keys().isdisjoint(_names("made")):
            kind = "make"
        return excerpts.cut(f"{_VERBS[kind][failed]} {self._object()}", _TITLE)

    def _object(self) -> str:
        """The command, the file, the address, or the tool itself."""
        action, arguments = self.action, self.execution.arguments
        if action.command:
            return _flat(without_folder(excerpts.public(action.command)))
        if files := action.modified or action.read:
            name = _flat(excerpts.public(files[0])).rstrip("/\\").replace("\\", "/").rsplit("/", 1)[-1]
            return f"{name} and {len(files) - 1} more" if files[1:] else name
        address = next((v for v in arguments.values() if isinstance(v, str) and "://" in v), "")
        return _flat(excerpts.public(address)) or _flat(excerpts.public(bare(self.execution.tool)))

    def _facts(self, failed: bool) -> str:
        ran, took = self.execution, _duration(self.execution.duration_ms)
        names = (ran.tool, took, ran.subagent and f"by subagent {ran.subagent}")
        parts = [", ".join(_flat(excerpts.public(name))[:_TITLE] for name in names if name)]
        if failed:
            parts.append(f"failed, {GOTCHA}")
        for verb, files in (("read", self.action.read), ("modified", self.action.modified)):
            if files:
                more = f" and {len(files) - _FILES} more" if len(files) > _FILES else ""
                parts.append(f"{verb} {', '.join(_path(path, self.root) for path in files[:_FILES])}{more}")
        return "; ".join(parts)

    def _given(self) -> list[str]:
        """The command, where the title does not say all of it; of a tool that is not known, its arguments."""
        action = self.action
        if action.command:
            command = excerpts.public(action.command)
            is_said = "\n" not in command.strip() and len(command) <= _SAID
            return [] if is_said else [f"$ {line}" for line in excerpts.lines_of(command, _ARGUMENTS)]
        if action.kind != "other":
            return []
        spelled = "\n".join(
            f"{key} = {v if isinstance(v, str) else json.dumps(v, ensure_ascii=False, default=repr)}"
            for key, v in self.execution.arguments.items()
        )
        return excerpts.lines_of(excerpts.public(spelled), _ARGUMENTS)


def _flat(text: str) -> str:
    """The first line that is not blank, with single blanks."""
    return next((" ".join(line.split()) for line in text.split("\n") if line.strip()), "")


def _path(path: str, root: Path | None) -> str:
    plain = excerpts.cut(_flat(excerpts.public(shown(path, root))), _PATH)
    return plain if "`" in plain else f"`{plain}`"


def _duration(duration_ms: float) -> str:
    if not 0 < duration_ms < float("inf"):
        return ""
    if duration_ms < 1000:
        return f"{max(1, round(duration_ms))} ms"
    seconds = duration_ms / 1000
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{seconds // 60:.0f} min {seconds % 60:.0f} s" if seconds < 86_400 else f"{seconds / 3600:.0f} h"


# --- what a tool did ----------------------------------------------------------------------------------------


class Action(NamedTuple):
    """The action of a tool: its kind, its command, and its files, named as in the call."""

    kind: Kind
    command: str = ""
    read: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    network: bool = False


def bare(tool: str) -> str:
    """The name of a tool without that of its server."""
    return _pattern("server").split(tool.strip())[-1]


def is_named(tool: str, globs: Iterable[str]) -> bool:
    """Return True if a tool's name, with or without that of its server, matches a glob."""
    names = {tool.strip().lower(), bare(tool).lower()}
    return any(fnmatchcase(name, glob.lower()) for name in names for glob in globs)


def is_own(tool: str) -> bool:
    """Return True if a tool is this program's, whose results are memory already."""
    return is_named(tool, _names("own")) or "commonplace" in _pattern("server").split(tool.lower())


def is_of_memory(action: Action, folder: str, root: Path | None) -> bool:
    """Return True if a call works with this memory: it runs our program, or names a note of the workspace.

    A memory that observes these observes itself. `folder` is where the call ran; relative paths start there.
    """
    command = action.command[:_COMMAND]
    parts = [*filter(None, map(str.strip, _pattern("starting").split(command)))]
    if any(_program(part) == APPLICATION or _pattern("our_module").search(part) for part in parts):
        return True
    if root is None:
        return False
    named = [word for word in _pattern("between_words").split(command) if word][:_MOST_WORDS]
    names = [*action.read, *action.modified, *named]
    places = [os.path.normpath(os.path.join(folder or root, os.path.expanduser(name))) for name in names]
    bases = {os.path.normpath(root), os.path.realpath(root)}
    inside = (place[len(base) + 1 :] for place in places for base in bases if place.startswith(f"{base}/"))
    ours = any(paths.is_within(place, str(own)) for own in paths.own_folders(None) for place in places)
    return ours or any(name == paths.MEMORY_FILE or name.split("/", 1)[0] in _OWN_FOLDERS for name in inside)


def is_of_a_server(tool: str) -> bool:
    """Return True if a tool belongs to a server that the host is connected to: `mcp__mail__search`."""
    return "__" in tool.strip()


def action_of(tool: str, arguments: Mapping[str, object]) -> Action:
    """Tell what a tool did."""
    commands = (_command_text(arguments.get(key)) for key in _names("commands"))
    command = next((text for text in commands if text.strip()), "")
    files = tuple(dict.fromkeys(_files(arguments)))[:_MOST_FILES]
    kind = _kind(tool, command, arguments, files)
    if kind == "run":
        programs = map(_program, _pattern("starting").split(command[:_COMMAND]))
        fetches = not set(_names("fetching")).isdisjoint(programs)
        network = fetches or _pattern("address").search(command) is not None
        return Action(_run(command), command, network=network)
    network = any(isinstance(value, str) and _pattern("address").match(value) for value in arguments.values())
    if kind == "read":
        return Action("read", read=files, network=network)
    if kind == "other":
        return Action("other", read=files, network=network)
    return Action(kind, modified=files)


def shown(path: str, root: Path | None) -> str:
    """A path relative to the workspace where it lies inside, with forward slashes."""
    plain = path.strip().replace("\n", " ")
    if root is None or not os.path.isabs(plain):
        return plain.removeprefix("./")
    for base in (str(root), os.path.realpath(root)):
        within = os.path.relpath(os.path.normpath(plain), base)
        if within != os.curdir and within.split(os.sep, 1)[0] != os.pardir:
            return PurePath(within).as_posix()
    return plain


def without_folder(command: str) -> str:
    """A command without the change of folder that it may begin with."""
    return _pattern("folder").sub("", command)


def _kind(tool: str, command: str, arguments: Mapping[str, object], files: tuple[str, ...]) -> Kind:
    if files and (kind := _tools()["subcommands"].get(command)):
        return "read" if kind == "read" else "write"
    if command and not is_named(tool, ("write*", "edit*")):
        return "run"
    if is_named(tool, _names("reading")):
        return "read"
    writes = not arguments.keys().isdisjoint([*_names("content"), *_names("patches")])
    return "write" if files and (writes or is_named(tool, _names("writing"))) else "other"


def _run(command: str) -> Kind:
    """A command that only looks is a read."""
    plain = _pattern("silenced").sub("", _pattern("quoted").sub("''", command[:_COMMAND]))
    parts = [*filter(None, map(str.strip, _pattern("split").split(plain)))]
    if len(command) > _COMMAND or not parts or _pattern("writing_shell").search(plain):
        return "run"
    looks = (_program(part) in _names("looking") or _pattern("looking_at").match(part) for part in parts)
    return "read" if all(looks) else "run"


def _program(part: str) -> str:
    """The name of the program that a part of a command line starts; settings before it are passed over."""
    words = [
        word for word in part.split() if not _pattern("setting").match(word) and word not in ("sudo", "time")
    ]
    return words[0].rsplit("/", 1)[-1].lower() if words else ""


def _files(arguments: Mapping[str, object]) -> Iterator[str]:
    for key in _names("paths"):
        value = arguments.get(key)
        yield from filter(None, map(_path_of, value if isinstance(value, list | tuple) else [value]))
    for text in (arguments.get(key) for key in _names("patches")):
        if isinstance(text, str):
            named = (found["path"].strip() for found in _pattern("in_patch").finditer(text))
            yield from (path for path in named if path != "/dev/null")


def _path_of(value: object) -> str:
    """The path that an argument names, by itself or as a part of it; empty for an address."""
    path = value.get("path") or value.get("file_path") if isinstance(value, Mapping) else value
    return path if isinstance(path, str) and path.strip() and "://" not in path else ""


def _command_text(value: object) -> str:
    if isinstance(value, list | tuple):
        parts = [part for part in value if isinstance(part, str)]
        if (
            len(parts) == 3
            and parts[0].rsplit("/", 1)[-1] in ("bash", "sh", "zsh")
            and parts[1].startswith("-")
        ):
            return parts[2]
        return " ".join(parts)
    return value if isinstance(value, str) else ""


# --- which failures teach something -------------------------------------------------------------------------


def failure(error: str, result: str) -> str:
    """Return what a tool failed with, or an empty text where it did not fail.

    Some hosts put an exit code at the head of the result; one that is not 0 is a failure.
    """
    if error.strip():
        return error if result.strip() in error else f"{error}\n{result}"
    code = _pattern("exit").match(result.lstrip())
    return result if code and int(code["code"]) else ""


def teaches(told: str) -> bool:
    """Return True if a failure is worth keeping."""
    lines = _failure_lines(told)
    # Words of noise count where the reason stands: the output of a test may hold any of them.
    return any(map(str.isalnum, "".join(lines))) and not any(map(_pattern("noise").search, _reasons(lines)))


def without_code(told: str) -> str:
    """Return the text of a failure without its exit code."""
    return _pattern("exit").sub("", told.strip(), count=1).strip()


def failure_kind(told: str) -> str:
    """Name a failure so that the same one has the same name: numbers, paths and addresses are left out."""
    line = next(iter(_reasons(_failure_lines(told))), "")
    line = _pattern("digits_of_kind").sub("#", line[:400].lower())
    line = _pattern("folders_of_kind").sub("", line)
    return _pattern("numbers_of_kind").sub("#", line)[:160]


def _failure_lines(told: str) -> list[str]:
    text = without_code(told)
    ends = text if len(text) <= 2 * _HEAD else f"{text[:_HEAD]}\n{text[-_HEAD:]}"
    return [line.strip() for line in ends.split("\n") if line.strip()]


def _reasons(lines: list[str]) -> list[str]:
    """The last line that tells of a failure, then the first and the last of all."""
    telling = [line for line in lines if _pattern("telling").search(line)]
    return [*telling[-1:], *lines[-1:], *lines[:1]]
