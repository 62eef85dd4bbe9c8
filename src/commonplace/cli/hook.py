"""`commonplace hook`: an event of a coding client's session, read from standard input.

Whatever happens, the exit code is 0 and nothing is said about trouble: an agent must not stop, and its user
must not lose a message, because of a memory. The last trouble is kept where `doctor` finds it. Events that a
client waits for have a deadline: a warm server answers them, otherwise full text does, otherwise nobody. All
others are handed over and not waited for.
"""

from __future__ import annotations

import gc
import os
import time
from _thread import start_new_thread

from commonplace.servers import local

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import Any

    from commonplace.config import Settings
    from commonplace.memory import Memory

    Work = Callable[[], object]

DEADLINE_MS = 300  # of all of it
STARTS, STARTING = b'"SessionStart"', 4  # the start of a session, and how many times as long that may take
SERVER_SHARE = 0.6  # of it, for a warm server; what is left is enough for full text
LONGEST = local.LONGEST - 8192  # bytes of an event; a server takes no longer line
_OPTIONS = {"-w": "workspace", "--workspace": "workspace", "--agent": "agent", "--deadline": "deadline"}
ANSWERED = ("SessionStart", "UserPromptSubmit")  # as `agent.client_events` has them
LONGEST_TROUBLE = 4096  # bytes of a line about what went wrong
TAKEN = b"ok "  # what the answer of a server begins with; what follows is printed


def parse(arguments: Sequence[str]) -> dict[str, Any] | None:
    """Read the arguments of `hook`; None for what is left to click."""
    options: dict[str, Any] = {}
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if word == "hook" and "is_named" not in options:
            options["is_named"] = True
        elif word == "--debug":
            options["debug"] = True
        elif name in _OPTIONS and _OPTIONS[name] in options:
            return None  # which of two counts, click knows
        elif name in _OPTIONS and (equals or rest) and not (equals and name == "-w"):
            options[_OPTIONS[name]] = value if equals else rest.pop(0)
        else:
            return None
    named, deadline = options.pop("is_named", False), options.get("deadline", "1")
    if not named or not deadline.isdecimal() or len(deadline) > 6 or not int(deadline):
        return None
    return {**options, "deadline": int(deadline)} if "deadline" in options else options


def is_called(arguments: Sequence[str]) -> bool:
    """Tell whether the command is `hook`, whatever its options are, and nobody wants help or a traceback.

    Where an option lacks its value, `hook` stands in the place of that; a client gives it no terminal.
    """
    if {"-h", "--help", "--debug"} & {*arguments}:
        return False
    rest = iter(arguments)
    for word in rest:
        if word in _OPTIONS:
            next(rest, None)
        elif not word.startswith("-"):
            return word == "hook"
    return arguments[-1] == "hook" and not os.isatty(0)


def run_quietly(command: Callable[[], object]) -> int:
    """Run what click makes of arguments that `parse` leaves to it, and return 0 whatever it says of them.

    What a hook answers does not come by way of `sys.stdout`.
    """
    import io
    from contextlib import redirect_stderr, redirect_stdout, suppress

    said, shown = io.StringIO(), io.StringIO()
    with redirect_stderr(said), redirect_stdout(shown), suppress(BaseException):
        command()
    missing = "an option lacks its value, and `hook` was taken for it" if shown.getvalue() else ""
    note_trouble(said.getvalue().removeprefix("commonplace: error: ") or missing)
    return 0


def run(
    workspace: str | None = None,
    agent: str | None = None,
    *,
    deadline: int = DEADLINE_MS,
    debug: bool = False,
) -> int:
    """Read an event, and print what goes into the conversation; return 0.

    It ends after `deadline` milliseconds, whatever it does by then. With `debug` it does not, and what goes
    wrong is raised.
    """
    began, limit_s = time.monotonic(), deadline / 1000
    end = [began + limit_s]
    try:
        if not debug:
            # A thread ends the process whatever this one hangs in; what was printed by then stands.
            start_new_thread(_end_at, (end,))
        event = _read()
        if STARTS in event:  # once a session, and nobody has written anything yet
            end[0] = began + STARTING * limit_s
        name = os.environ.get("COMMONPLACE_AGENT", "") if agent is None else agent
        root = _root(workspace, name)
        is_named = bool(workspace or os.environ.get("COMMONPLACE_WORKSPACE"))
        if event and root is not None:
            left_s = began + SERVER_SHARE * limit_s - time.monotonic()
            answer = _ask_server(root, name, event, max(0.02, left_s), is_named=is_named)
            _print(answer if answer is not None else _without_server(root, name, event, is_named=is_named))
    except BaseException as error:
        if debug:
            raise
        # Of what nobody foresaw the words may be those of a tool, or of its user.
        is_ours = type(error).__module__ == "commonplace.base.errors"
        note_trouble(str(error) if is_ours else type(error).__name__)
    return 0


def trouble_file() -> Path:
    """Return where the last trouble of a hook is kept."""
    from commonplace.base import paths

    return paths.user_cache_dir() / "hook.trouble"


def note_trouble(text: str) -> None:
    """Keep what went wrong in the place of what did before; nothing is said where that fails as well."""
    try:
        from commonplace.base import paths
        from commonplace.cli import failures

        if line := failures.one_line(text):
            path = trouble_file()
            door = paths.root_of(path)
            door.make_folder(path.parent)
            door.exchange(path, line.encode("utf-8", "surrogateescape"))
    except BaseException:  # noqa: BLE001, S110 - a client is waiting, and must not learn of it
        pass


def _read() -> bytes:
    """The event, on one line; nothing for one that is too long."""
    data = bytearray()
    while part := os.read(0, 1 << 16):
        data += part
        if len(data) > LONGEST:
            return b""
    # Line breaks stand between the values of JSON alone, since in texts they are escaped.
    return bytes(data).replace(b"\n", b" ").strip()


def _root(workspace: str | None, agent: str) -> str | None:
    """The folder of the workspace, as far as it takes no look at it."""
    named = workspace or os.environ.get("COMMONPLACE_WORKSPACE")
    if named and os.path.isabs(named):
        return named
    from commonplace.base import paths
    from commonplace.base.errors import WorkspaceNotFound

    try:
        return os.fspath(paths.resolve_workspace(workspace, os.environ))
    except WorkspaceNotFound:  # the name of one, or that of an agent
        from commonplace import config

        return os.fspath(config.reach([workspace] if workspace else [], agent).home)


def _end_at(end: Sequence[float]) -> None:
    while (left_s := end[0] - time.monotonic()) > 0:
        time.sleep(left_s)
    os._exit(0)


def _ask_server(root: str, agent: str, event: bytes, wait_s: float, *, is_named: bool) -> bytes | None:
    """What a warm server answers; None where none does."""
    connection = local.connect(root, wait_s)
    if connection is None:
        return None
    # The event is passed on as it came: reading JSON would cost more than all else here.
    named = b', "named": true}' if is_named else b"}"
    line = local.line_of("hook", root, agent, b'{"event": ' + event + named)
    try:
        answer = local.exchange(connection, line, wait_s)
    except local.Unanswered:
        return None
    if not answer.startswith(TAKEN):
        import json

        note_trouble(" ".join(map(str, json.loads(answer).values())))
        return b""
    return answer[len(TAKEN) :].strip()


def _without_server(root: str, agent: str, data: bytes, *, is_named: bool) -> bytes:
    """Answer an event in this process, by full text; or in another one, where nobody waits."""
    # At once, before all else is imported: reading JSON takes a third of what the client waits for. None
    # writes the letters of a name in another way than as they are.
    is_answered = any(name.encode() in data for name in ANSWERED)
    is_alone = not is_answered and _forked()
    if not (is_answered or is_alone):
        return b""
    import json

    event = json.loads(data)
    if not isinstance(event, dict):
        return b""
    if is_answered and event.get("hook_event_name") not in ANSWERED and not (is_alone := _forked()):
        return b""
    if not is_alone:
        gc.disable()  # what a tenth of a second leaves behind is not worth looking for
    from commonplace import config
    from commonplace.base import paths
    from commonplace.memory import Memory

    folder = paths.resolve_workspace(root, os.environ)
    reach = config.reach([os.fspath(folder)] if is_named else [], agent, started=folder)
    overrides = None if is_alone else _TEXT_ALONE
    settings = config.load(reach.home, overrides=overrides, agent=agent)
    memory = Memory(reach.home, settings, agent=agent, reach=reach, overrides=overrides)
    if is_alone:
        _start_server(folder, settings)
        _compose(memory, agent, event, later=lambda work: work())
        os._exit(0)
    # The queue of sessions is left to whoever is not waited for.
    _compose(memory, agent, event, later=lambda work: None)
    _start_server(folder, settings)
    return b""


# Without a server nothing is embedded and no model loaded while a client waits.
_TEXT_ALONE = {"embedding.provider": "none", "search.rerank": "off", "index.sync_on_search": False}


def _compose(memory: Memory, agent: str, event: dict[str, Any], *, later: Callable[[Work], object]) -> None:
    """Answer an event in this process: print what goes into the conversation, then note it as given."""
    from commonplace.agent.client_events import ClientEvents

    with memory:
        text, given = ClientEvents(memory, agent, later=later).compose(event)
        _print(text.encode())
        given()


def _start_server(root: Path, settings: Settings) -> None:
    if settings.server.start != "never":
        local.launch(root)


def _forked() -> bool:
    """Go on in a process of its own, which the client does not wait for; False in this one."""
    if not hasattr(os, "fork"):
        return True
    if os.fork():
        return False
    os.setsid()
    nobody = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nobody, standard)
    return True


def _print(output: bytes) -> None:
    """Write an answer at once: all of it or nothing."""
    if output:
        os.write(1, output + b"\n")
