"""`commonplace hook`: an event of a coding client's session, read from standard input.

On any trouble the exit code is still 0 and no error is printed: an agent must not stop, and its user must not
lose a message, because of a memory. The last trouble is kept for `doctor`. Events that a client waits for
have a deadline that fits the machine: a warm server answers them, otherwise full text does. Late answers are
counted, and given with the next message. All other events are passed on without waiting for the result.
"""

from __future__ import annotations

import os
import time
from _thread import start_new_thread

from commonplace.servers import local

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import Any

    from commonplace.memory import Memory

    Tell = Callable[[bytes], object]

DEADLINE_MS, LONGEST_MS = 300, 3000  # of all of it, on a machine at rest and on any
# How many times as long as this process took to begin, which is 30 ms on a machine at rest.
BEGINNINGS = 10
STARTS, STARTING = b'"SessionStart"', 4  # the start of a session, and how many times as long that may take
SERVER_SHARE = 0.6  # of it, for a warm server; what is left is enough for full text
LONGEST = local.LONGEST - 8192  # bytes of an event; a server takes no longer body
_OPTIONS = {"-w": "workspace", "--workspace": "workspace", "--agent": "agent", "--deadline": "deadline"} | {
    "--state-dir": "state_dir"
}
ANSWERED = ("SessionStart", "UserPromptSubmit")  # as `agent.client_events` has them
LONGEST_TROUBLE = 4096  # bytes of a line about what went wrong
DONE, BY_WORDS = b"d", b"w"  # how an event was answered: as it should be, without a server
_PATH = f"{local.PREFIX}hook"
PAUSE_S = 0.03  # after which what reads as a whole event is one
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
    """Tell whether the command is `hook`, with any options except those for help or a traceback.

    If an option lacks its value, `hook` was parsed as that value; a client gives it no terminal.
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
    """Run click on arguments that `parse` does not handle; return 0 whatever it reports.

    The answer of a hook is not written through `sys.stdout`, which is redirected here.
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
    state_dir: str | None = None,
    *,
    deadline: int | None = None,
    debug: bool = False,
) -> int:
    """Read an event, and print what goes into the conversation; return 0.

    It ends after `deadline` milliseconds, or as many as fit the machine, whatever it does by then. With
    `debug` it does not, and what goes wrong is raised.
    """
    began, limit_s = time.monotonic(), (deadline or fitting_ms(_age_s())) / 1000
    if state_dir:  # as `files.move_state`, which is not imported here
        os.environ["COMMONPLACE_STATE_DIR"] = os.path.abspath(os.path.expanduser(state_dir))
    name = os.environ.get("COMMONPLACE_AGENT", "") if agent is None else agent
    is_named = bool(workspace or os.environ.get("COMMONPLACE_WORKSPACE"))
    tell: Tell = lambda how: None  # noqa: E731
    try:
        event = _read(None if debug else began + limit_s)
        if STARTS in event:  # once a session, before the user wrote anything
            limit_s *= STARTING
        if any(one.encode() in event for one in ANSWERED):
            tell = _watched(workspace, name, event, is_named=is_named)
        if not debug:
            # A thread ends the process whatever this one hangs in; what was printed by then stands.
            start_new_thread(_end_at, (began + limit_s,))
        root = _root(workspace, name)
        if event and root is not None:
            left_s = began + SERVER_SHARE * limit_s - time.monotonic()
            answer = _ask_server(root, name, event, max(0.02, left_s), is_named=is_named)
            if answer is None:
                _without_server(root, name, event, tell, is_named=is_named)
            else:
                _print(answer)
                tell(DONE)
    except BaseException as error:
        if debug:
            raise
        tell(DONE)  # what went wrong is kept: it was not too late
        # The text of an unforeseen error may quote a tool or its user.
        is_ours = type(error).__module__ == "commonplace.base.errors"
        note_trouble(str(error) if is_ours else type(error).__name__)
    return 0


def fitting_ms(age_s: float) -> float:
    """Return the deadline for a machine on which a process has taken so long to begin."""
    return min(LONGEST_MS, max(DEADLINE_MS, 1000 * BEGINNINGS * age_s))


def _age_s() -> float:
    """Seconds since this process was started; its time on the processor where the system does not say."""
    try:
        status = os.open("/proc/self/stat", os.O_RDONLY)
        # proc(5): field 22; the name before may hold blanks
        ticks = int(os.read(status, 4096).rpartition(b")")[2].split()[19])
        os.close(status)
        return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return time.process_time()


def trouble_file() -> Path:
    """Return where the last trouble of a hook is kept."""
    from commonplace.base import paths

    return paths.user_cache_dir() / "hook.trouble"


def note_trouble(text: str) -> None:
    """Replace the recorded trouble; a failure of that is silent."""
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


def _read(end: float | None) -> bytes:
    """Return the event on one line, as far as it has arrived by `end`; empty if it is too long.

    A client may leave its end of the pipe open: what reads as a whole event is taken all the same.
    """
    data = bytearray()
    while _has_more(data, end) and (part := os.read(0, 1 << 16)):
        data += part
        if len(data) > LONGEST:
            return b""
    # Line breaks stand between the values of JSON alone, since in texts they are escaped.
    return bytes(data).replace(b"\n", b" ").strip()


def _has_more(data: bytearray, end: float | None) -> bool:
    """Wait for input, or the end of it; return whether there is any."""
    from select import select

    waits = [] if end is None else [max(0.0, end - time.monotonic())]
    if data.rstrip().endswith(b"}"):
        waits.append(PAUSE_S)
    return bool(select([0], [], [], min(waits, default=None))[0])


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


def _end_at(end: float) -> None:
    while (left_s := end - time.monotonic()) > 0:
        time.sleep(left_s)
    os._exit(0)


def _ask_server(root: str, agent: str, event: bytes, wait_s: float, *, is_named: bool) -> bytes | None:
    """Return the answer of a warm server; None without one."""
    connection = local.connect(root, wait_s)
    if connection is None:
        return None
    # The event is passed on as it came: reading JSON would cost more than all else here.
    named = b', "named": true}' if is_named else b"}"
    try:
        answer = local.exchange(connection, _PATH, agent, b'{"event": ' + event + named, wait_s)
    except local.NoAnswer:
        return None
    if not answer.startswith(TAKEN):
        import json

        note_trouble(" ".join(map(str, json.loads(answer).values())))
        return b""
    return answer[len(TAKEN) :].strip()


def _without_server(root: str, agent: str, data: bytes, tell: Tell, *, is_named: bool) -> None:
    """Answer an event in this process, by full text; or in a child process if the client does not wait."""
    # At once, before all else is imported: reading JSON takes a third of what the client waits for. None
    # writes the letters of a name in another way than as they are.
    is_answered = any(name.encode() in data for name in ANSWERED)
    is_alone = not is_answered and _forked()
    if not (is_answered or is_alone):
        return
    import json

    event = json.loads(data)
    if not isinstance(event, dict):
        return
    if is_answered and event.get("hook_event_name") not in ANSWERED and not (is_alone := _forked()):
        return
    from commonplace.agent.client_events import ClientEvents

    if is_alone:
        with open_memory(root, agent, is_named=is_named) as memory:
            if memory.settings.server.start != "never":
                local.launch(root)
            ClientEvents(memory, agent).answer(event)
        os._exit(0)
    with open_memory(root, agent, is_named=is_named, words_alone=True) as memory:
        # The queue of sessions is left to whoever is not waited for.
        text, given = ClientEvents(memory, agent, later=lambda work: None).compose(event)
        _print(text.encode())
        tell(BY_WORDS)
        given()


# Without a server, texts are not embedded and models not loaded while a client waits.
_WORDS_ALONE = {"embedding.provider": "none", "search.rerank": "off", "index.sync_on_search": False}


def open_memory(
    root: str | os.PathLike[str], agent: str, *, is_named: bool, words_alone: bool = False
) -> Memory:
    """Open the memory that an agent asks, with `words_alone` without a model. Raises CommonplaceError."""
    from commonplace import config
    from commonplace.base import paths
    from commonplace.memory import reaching

    folder = paths.resolve_workspace(os.fspath(root), os.environ)
    reach = config.reach([os.fspath(folder)] if is_named else [], agent, started=folder)
    return reaching(reach, agent, _WORDS_ALONE if words_alone else None)


def _watched(workspace: str | None, agent: str, event: bytes, *, is_named: bool) -> Tell:
    """Have another process see how this one ends; return what says how it answered.

    That process waits for the end of this one. It counts an answer that came too late, and hands the event
    to a server, which loads its models now and gives what is missing with the next message.
    """
    ends, begins = os.pipe()
    if not _forked():
        os.close(ends)
        return lambda how: os.write(begins, how)
    try:
        os.close(begins)
        how = os.read(ends, 1)
        while how and os.read(ends, 1):
            pass
        root = None if how == DONE else _root(workspace, agent)
        if root is not None:
            _follow_up(root, agent, event, is_late=not how, is_named=is_named)
    finally:
        os._exit(0)


def _follow_up(root: str, agent: str, event: bytes, *, is_late: bool, is_named: bool) -> None:
    from commonplace import config
    from commonplace.base import paths
    from commonplace.memory import count_late

    workspace = paths.Workspace(paths.resolve_workspace(root, os.environ))
    if is_late:
        count_late(workspace)
    if config.load(workspace.root, agent=agent).server.start == "never":
        return
    if (connection := local.connect_or_launch(root)) is not None:
        asked = b'{"event": %b, "is_late": %b, "named": %b}' % (event, _BOOL[is_late], _BOOL[is_named])
        local.exchange(connection, _PATH, agent, asked, local.START_WAIT_S)


_BOOL = {True: b"true", False: b"false"}


def _forked() -> bool:
    """Go on in a process of its own, which the client does not wait for; False in this one."""
    if os.fork():
        return False
    os.setsid()
    nobody = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nobody, standard)
    return True


def _print(output: bytes) -> None:
    """Write an answer in one call: whole, or not at all."""
    if output:
        os.write(1, output + b"\n")
