"""From a tool that ran to an entry of today's note, or to nothing: what is significant, and how it reads.

An entry is a title, a line of facts, and an excerpt in a code block, every word of it redacted before it is
put together. What is kept and what is not is decided by rules alone; docs/agents.md lists them.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.types import Entry, Provenance
from commonplace.upkeep import actions, excerpts, failures
from commonplace.upkeep.actions import Action

if TYPE_CHECKING:
    from commonplace.config import Settings
    from commonplace.config.settings import Observe
    from commonplace.types import ToolExecution

HEADING = "Observations"
GOTCHA = "gotcha"
_TITLE, _SAID = 80, 60  # characters of a title, and of a command that it says whole
_FILES, _PATH = 5, 80  # files that are named, and characters of each path
# Sessions that are remembered, kinds of failure of each, characters of what failed.
_SESSIONS, _KINDS, _TARGET = 100, 500, 500
_VERBS = {
    "write": ("Edited", "Failed to edit"),
    "run": ("Ran", "Failed to run"),
    "read": ("Read", "Failed to read"),
    "other": ("Used", "Failed to use"),
}
_MADE = ("content", "file_text")  # a whole file, where an edit has a part
_REPLACED = (("old_string", "new_string"), ("old_str", "new_str"), ("old_text", "new_text"))
_PATCHES = ("patch", "input", "diff", "patch_text")
_NEW = ("new_source", "insert_text", *_MADE)


@dataclass(slots=True)
class _Session:
    """What was observed in a session: the last call, kinds of failure, and failures of what is not mended.

    `marked` says that an entry tells of strangers' words in it.
    """

    last: bytes = b""
    marked: bool = False
    kinds: set[tuple[str, str]] = field(default_factory=set)
    failed: dict[str, int] = field(default_factory=dict)


class Observer:
    """Observes sessions: says nothing twice, and notices when something works that had failed.

    Safe with several threads.
    """

    def __init__(self, settings: Settings, root: Path | None = None) -> None:
        """Take the settings, and the workspace that paths are shown relative to."""
        self._settings, self._root = settings, root
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._lock = threading.Lock()

    def observe(self, execution: ToolExecution) -> Entry | None:
        """Return the entry of a tool that ran, or None where nothing is worth keeping, or is kept already.

        The first time that a session takes in what strangers write is told however little it was: what the
        session says from then on may be theirs.
        """
        settings = self._settings.observe
        if not _is_wanted(execution, settings):
            return None
        action = actions.of(execution.tool, execution.arguments)
        foreign = _is_foreign(execution, action, settings)
        told = failures.reason(execution.error, execution.result)
        with self._lock:
            session = self._session(execution)
            last, session.last = session.last, _digest(execution)
            if session.last == last:
                return None
            before = session.failed.get(action.target[:_TARGET], 0)
            if told:
                entry = self._failure(session, execution, action, told)
            else:
                session.failed.pop(action.target[:_TARGET], None)
                entry = None
                if _is_significant(execution, action, settings):
                    entry = _entry(execution, action, settings, self._root, mended=before)
            if foreign and not session.marked:
                session.marked = True
                entry = entry or _entry(execution, action, settings, self._root, alone=True)
        return entry

    def _failure(
        self, session: _Session, execution: ToolExecution, action: Action, told: str
    ) -> Entry | None:
        if action.kind == "read" or not actions.is_named(execution.tool, self._settings.observe.tools):
            return None
        if len(session.failed) < _KINDS:
            target = action.target[:_TARGET]
            session.failed[target] = session.failed.get(target, 0) + 1
        told = excerpts.public(told)
        kind = (actions.bare(execution.tool).lower(), failures.kind(told))
        if kind in session.kinds or len(session.kinds) >= _KINDS or not failures.teaches(told):
            return None
        session.kinds.add(kind)
        return _entry(execution, action, self._settings.observe, self._root, told=failures.words(told))

    def _session(self, execution: ToolExecution) -> _Session:
        session = self._sessions.setdefault(execution.session, _Session())
        self._sessions.move_to_end(execution.session)
        while len(self._sessions) > _SESSIONS:
            self._sessions.popitem(last=False)
        return session


def observation(execution: ToolExecution, settings: Settings, root: Path | None = None) -> Entry | None:
    """Return the entry of a tool that ran, by itself: nothing is known of what ran before it."""
    return Observer(settings, root).observe(execution)


def _is_wanted(execution: ToolExecution, settings: Observe) -> bool:
    return settings.enabled and bool(execution.tool.strip()) and not actions.is_own(execution.tool)


def _is_significant(execution: ToolExecution, action: Action, settings: Observe) -> bool:
    """Whether a tool that did not fail is kept: it is on the list, or it read much."""
    if action.kind == "read":
        return len(execution.result) > settings.read_chars
    return actions.is_named(execution.tool, settings.tools)


def _is_foreign(execution: ToolExecution, action: Action, settings: Observe) -> bool:
    """Whether what a tool brought home may be a stranger's: of the network, or read by a server."""
    if execution.untrusted or action.network or actions.is_named(execution.tool, settings.network_tools):
        return True
    acts = action.kind in ("write", "run") or actions.is_named(execution.tool, settings.tools)
    return actions.is_of_a_server(execution.tool) and not acts


def _digest(execution: ToolExecution) -> bytes:
    digest = blake2b(digest_size=16)
    arguments = json.dumps(dict(execution.arguments), sort_keys=True, default=repr)
    for part in (execution.tool, arguments, execution.result, execution.error):
        digest.update(f"{len(part)}:{part}".encode("utf-8", "surrogatepass"))
    return digest.digest()


# --- how it reads ---------------------------------------------------------------------------------------


def _entry(
    execution: ToolExecution,
    action: Action,
    settings: Observe,
    root: Path | None,
    *,
    told: str = "",
    mended: int = 0,
    alone: bool = False,
) -> Entry:
    """The entry of a tool that ran; `alone` leaves out what came of it."""
    untrusted = _is_foreign(execution, action, settings)
    lines = [
        _title(execution, action, bool(told)),
        _facts(execution, action, root, failed=bool(told), mended=mended),
        *([] if alone else _excerpt(execution, action, settings, told)),
    ]
    text = excerpts.public("\n".join(lines))  # once more: what stands together now may read as a secret
    at = execution.at.astimezone().replace(tzinfo=None) if execution.at.tzinfo else execution.at
    by = Provenance(
        "untrusted" if untrusted else "tool",
        execution.agent,
        execution.session,
        at.isoformat(timespec="seconds"),
    )
    return Entry(text, at, HEADING, by)


def _title(execution: ToolExecution, action: Action, failed: bool) -> str:
    verb = _VERBS[action.kind][failed]
    if action.kind == "write" and any(key in execution.arguments for key in _MADE):
        verb = "Failed to write" if failed else "Wrote"
    return excerpts.cut(f"{verb} {_object(execution, action)}", _TITLE)


def _object(execution: ToolExecution, action: Action) -> str:
    """What a title names: the command, the file, the address, or the tool itself."""
    if action.command:
        return _flat(actions.without_folder(excerpts.public(action.command)))
    if files := action.modified or action.read:
        name = _flat(excerpts.public(files[0])).rstrip("/\\").replace("\\", "/").rsplit("/", 1)[-1]
        return f"{name} and {len(files) - 1} more" if len(files) > 1 else name
    address = next((v for v in execution.arguments.values() if isinstance(v, str) and "://" in v), "")
    return _flat(excerpts.public(address)) or _flat(excerpts.public(actions.bare(execution.tool)))


def _flat(text: str) -> str:
    """The first line that says something, with single blanks."""
    return next((" ".join(line.split()) for line in text.split("\n") if line.strip()), "")


def _facts(execution: ToolExecution, action: Action, root: Path | None, *, failed: bool, mended: int) -> str:
    took = _duration(execution.duration_ms)
    parts = [f"{_flat(excerpts.public(execution.tool))[:_TITLE]}{f', {took}' if took else ''}"]
    if failed:
        parts.append(f"failed, {GOTCHA}")
    if mended:
        parts.append(f"works now, after {mended} failure{'s' if mended > 1 else ''}")
    for verb, files in (("read", action.read), ("modified", action.modified)):
        if files:
            parts.append(f"{verb} {_listed(files, root)}")
    return "; ".join(parts)


def _listed(files: tuple[str, ...], root: Path | None) -> str:
    named = [_path(path, root) for path in files[:_FILES]]
    more = len(files) - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")


def _path(path: str, root: Path | None) -> str:
    plain = excerpts.cut(_flat(excerpts.public(actions.shown(path, root))), _PATH)
    return plain if "`" in plain else f"`{plain}`"


def _duration(duration_ms: float) -> str:
    if not duration_ms > 0:
        return ""
    if duration_ms < 1000:
        return f"{max(1, round(duration_ms))} ms"
    seconds = duration_ms / 1000
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{seconds // 60:.0f} min {seconds % 60:.0f} s" if seconds < 86_400 else f"{seconds / 3600:.0f} h"


def _excerpt(execution: ToolExecution, action: Action, settings: Observe, told: str) -> list[str]:
    """What the tool was given and what came of it, as one block of code."""
    if action.kind == "write" and not told:
        lines = excerpts.lines_of("\n".join(_changes(execution.arguments)), settings.excerpt_chars)
        return excerpts.fenced(lines, "diff" if any(line[:1] in "+-" for line in lines) else "")
    result = excerpts.lines_of(told or excerpts.public(execution.result), settings.excerpt_chars)
    return excerpts.fenced([*_given(execution, action, settings), *result])


def _given(execution: ToolExecution, action: Action, settings: Observe) -> Iterator[str]:
    """The arguments that neither the title nor the facts say."""
    if action.command:
        command = excerpts.public(action.command)
        if "\n" in command.strip() or len(command) > _SAID:
            yield from (f"$ {line}" for line in excerpts.lines_of(command, settings.argument_chars))
    elif action.kind == "other":
        told = "\n".join(_spelled(execution.arguments))
        yield from excerpts.lines_of(excerpts.public(told), settings.argument_chars)


def _spelled(arguments: Mapping[str, object]) -> Iterator[str]:
    for key, value in arguments.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)
        yield f"{key} = {text}"


def _changes(arguments: Mapping[str, object]) -> Iterator[str]:
    """What was written, as lines that were taken out and put in, each redacted with its neighbours."""
    edits = arguments.get("edits")
    for edit in edits if isinstance(edits, list | tuple) else [arguments]:
        if not isinstance(edit, Mapping):
            continue
        for old, new in _REPLACED:
            yield from _marked("-", edit.get(old))
            yield from _marked("+", edit.get(new))
        for key in _NEW:
            yield from _marked("+", edit.get(key))
    for key in _PATCHES:
        if isinstance(patch := arguments.get(key), str):
            yield from excerpts.public(patch).split("\n")


def _marked(sign: str, text: object) -> Iterator[str]:
    if isinstance(text, str) and text.strip():
        yield from (f"{sign} {line}" for line in excerpts.public(text).split("\n") if line.strip())
