"""Hooks that fail, hang and flood, plain and async, from both doors; and those that other packages bring."""

from __future__ import annotations

import asyncio
import contextvars
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from commonplace.agent import hooks as hooking
from commonplace.agent.hooks import EVENTS, AgentHook, HookManager, Result
from commonplace.config import load
from commonplace.types import SessionEvent
from tests.places import settings_file

Emit = Callable[[HookManager, str, object], None]
EVENT = SessionEvent("s1")
SAID = "the words of the conversation"


def _plain(manager: HookManager, name: str, event: object) -> None:
    manager.emit(name, event)


def _async(manager: HookManager, name: str, event: object) -> None:
    asyncio.run(manager.emit_async(name, event))


@pytest.fixture(params=[_plain, _async], ids=["emit", "emit_async"])
def emit(request: pytest.FixtureRequest) -> Emit:
    door: Emit = request.param
    return door


@pytest.fixture
def managed() -> Iterator[Callable[..., HookManager]]:
    """Make managers, without the entry points of this machine, and close them."""
    made: list[HookManager] = []

    def make(*hooks: object, **named: object) -> HookManager:
        options = {"entry_points": False, "deadline_s": 30.0, **named}
        made.append(HookManager(hooks, **options))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for manager in made:
        manager.close(30.0)


class Listener(AgentHook):
    """Notes what it is told of, with its name, in a list that may be shared."""

    def __init__(self, name: str = "", heard: list[tuple[str, object]] | None = None) -> None:
        self.name, self.heard = name, [] if heard is None else heard

    def on_session_start(self, event: SessionEvent) -> Result:
        self.heard.append((self.name, event))
        return None


class AsyncListener(Listener):
    def on_session_start(self, event: SessionEvent) -> Result:
        return self.later(event)

    async def later(self, event: SessionEvent) -> None:
        await asyncio.sleep(0)
        self.heard.append((self.name, event))


class Failing(AgentHook):
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def on_session_start(self, event: SessionEvent) -> Result:
        raise self.error


class AsyncFailing(Failing):
    def on_session_start(self, event: SessionEvent) -> Result:
        return self.later()

    async def later(self) -> None:
        raise self.error


class Hanging(Listener):
    """Hangs until it is let go."""

    def __init__(self, deadline_s: float | None = None) -> None:
        super().__init__()
        self.go, self.deadline_s = threading.Event(), deadline_s

    def on_session_start(self, event: SessionEvent) -> Result:
        self.go.wait()
        self.heard.append(("", event))
        return None


class AsyncHanging(Hanging):
    def on_session_start(self, event: SessionEvent) -> Result:
        return self.later(event)

    async def later(self, event: SessionEvent) -> None:
        self.heard.append(("", event))
        while not self.go.is_set():
            await asyncio.sleep(0.01)


def test_both_kinds_are_told_in_the_order_of_registration(
    managed: Callable[..., HookManager], emit: Emit
) -> None:
    heard: list[tuple[str, object]] = []
    manager = managed(Listener("a", heard), AsyncListener("b", heard), Listener("c", heard))
    events = [SessionEvent("s1"), SessionEvent("s2")]
    for event in events:
        emit(manager, "on_session_start", event)
    assert heard == [(name, event) for event in events for name in "abc"]


def test_a_method_that_is_left_out_costs_nothing(managed: Callable[..., HookManager], emit: Emit) -> None:
    before = set(threading.enumerate())
    manager = managed(Listener())
    for name in set(EVENTS) - {"on_session_start"}:
        emit(manager, name, EVENT)
    assert set(threading.enumerate()) <= before


@pytest.mark.parametrize("kind", [Failing, AsyncFailing])
@pytest.mark.parametrize(
    "error", [ValueError(SAID), SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError(), TimeoutError()]
)
def test_whatever_a_hook_raises_stays_with_it(
    managed: Callable[..., HookManager],
    emit: Emit,
    kind: type[Failing],
    error: BaseException,
    caplog: pytest.LogCaptureFixture,
) -> None:
    listener = Listener()
    manager = managed(kind(error), listener)
    emit(manager, "on_session_start", EVENT)
    assert len(listener.heard) == 1
    (record,) = caplog.records
    assert record.name == "commonplace.hooks"
    assert kind.__name__ in record.getMessage()
    assert SAID not in caplog.text


@pytest.mark.parametrize("kind", [Hanging, AsyncHanging])
def test_a_hook_that_hangs_costs_one_wait_and_one_thread(
    managed: Callable[..., HookManager], emit: Emit, kind: type[Hanging], caplog: pytest.LogCaptureFixture
) -> None:
    hanging, listener = kind(0.05), Listener()
    before = {thread for thread in threading.enumerate() if thread.name == "commonplace hooks"}
    manager = managed(hanging, listener)
    events = [SessionEvent(f"s{number}") for number in range(4)]
    for event in events:
        emit(manager, "on_session_start", event)
    assert [event for _, event in listener.heard] == events  # everybody else goes on
    threads = {thread for thread in threading.enumerate() if thread.name == "commonplace hooks"}
    assert len(threads - before) == 2
    hanging.go.set()
    manager.close(30.0)
    for thread in threads - before:
        thread.join(30)
    assert [event for _, event in hanging.heard] == events[:1]  # not called again
    assert [record.getMessage() for record in caplog.records if "took too long" in record.getMessage()] == [
        f"hook {kind.__name__}, on_session_start: took too long and is not called again"
    ]


def test_a_slow_hook_is_not_blamed_on_others_that_wait(managed: Callable[..., HookManager]) -> None:
    """Emitters on many threads wait for their turn, however long the line is."""

    class Slow(Listener):
        def on_session_start(self, event: SessionEvent) -> Result:
            threading.Event().wait(0.02)
            return super().on_session_start(event)

    slow = Slow()
    manager = managed(slow, deadline_s=0.2)
    emitters = [threading.Thread(target=manager.emit, args=("on_session_start", EVENT)) for _ in range(30)]
    for emitter in emitters:
        emitter.start()
    for emitter in emitters:
        emitter.join(60)
    assert len(slow.heard) == 30


@pytest.mark.parametrize("is_async", [False, True])
def test_events_of_hooks_are_delivered_without_waiting_and_end(
    managed: Callable[..., HookManager], emit: Emit, is_async: bool
) -> None:
    class Echo(Listener):
        def on_session_start(self, event: SessionEvent) -> Result:
            super().on_session_start(event)
            if is_async:
                return manager.emit_async("on_session_start", event)
            for _ in range(2):
                manager.emit("on_session_start", event)
            return None

    echo = Echo()
    manager = managed(echo)
    emit(manager, "on_session_start", EVENT)
    most = hooking.DEEPEST if is_async else 2**hooking.DEEPEST - 1
    while len(echo.heard) < most:
        time.sleep(0.01)
    manager.close(30.0)
    assert len(echo.heard) == most


def test_a_flood_of_a_hook_is_bounded(managed: Callable[..., HookManager]) -> None:
    class Flood(Listener):
        def on_session_start(self, event: SessionEvent) -> Result:
            for _ in range(10 * hooking.LONGEST_LINE):
                manager.emit("on_session_end", event)
            return None

        def on_session_end(self, event: SessionEvent) -> Result:
            self.heard.append(("end", event))
            return None

    flood = Flood()
    manager = managed(flood)
    manager.emit("on_session_start", EVENT)
    manager.close(30.0)
    assert len(flood.heard) == hooking.LONGEST_LINE


def test_a_coroutine_that_blocks_does_not_hold_up_the_loop_of_its_host(
    managed: Callable[..., HookManager],
) -> None:
    go = threading.Event()

    class Blocking(AgentHook):
        async def on_session_start(self, event: SessionEvent) -> None:
            go.wait()

    async def host() -> str:
        telling = asyncio.create_task(manager.emit_async("on_session_start", EVENT))
        await asyncio.sleep(0.01)
        state = "still telling" if not telling.done() else "told"
        go.set()
        await telling
        return state

    manager = managed(Blocking())
    assert asyncio.run(host()) == "still telling"


def test_context_variables_of_the_host_reach_a_hook(managed: Callable[..., HookManager], emit: Emit) -> None:
    request = contextvars.ContextVar("request", default="")

    class Reading(Listener):
        async def on_session_start(self, event: SessionEvent) -> None:
            self.heard.append((request.get(), event))

    reading = Reading()
    manager = managed(reading)
    request.set("r1")
    emit(manager, "on_session_start", EVENT)
    assert reading.heard == [("r1", EVENT)]


def test_an_async_hook_keeps_one_loop_whoever_emits(managed: Callable[..., HookManager]) -> None:
    loops = []

    class Looping(AgentHook):
        async def on_session_start(self, event: SessionEvent) -> None:
            loops.append(asyncio.get_running_loop())

    manager = managed(Looping())
    _plain(manager, "on_session_start", EVENT)
    _async(manager, "on_session_start", EVENT)
    assert len(loops) == 2
    assert loops[0] is loops[1]


def test_an_unknown_event_is_logged(
    managed: Callable[..., HookManager], emit: Emit, caplog: pytest.LogCaptureFixture
) -> None:
    manager = managed(Listener())
    emit(manager, "on_sesion_start", EVENT)
    assert "on_session_start" in caplog.text


def test_closed_it_tells_nobody(managed: Callable[..., HookManager], emit: Emit) -> None:
    listener = Listener()
    manager = managed(listener)
    manager.close()
    emit(manager, "on_session_start", EVENT)
    assert listener.heard == []


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_child_after_a_fork_tells_hooks_as_well(managed: Callable[..., HookManager]) -> None:
    listener = Listener()
    manager = managed(listener)
    manager.emit("on_session_start", EVENT)
    child = os.fork()
    if not child:
        manager.emit("on_session_start", EVENT)
        os._exit(len(listener.heard))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2


# --- entry points -----------------------------------------------------------------------------------

PLUGIN = """
from commonplace.agent.hooks import AgentHook

heard = []

class Hook(AgentHook):
    def on_session_start(self, event):
        heard.append(("Hook", event.session))

def made():
    class Duck:
        async def on_session_start(self, event):
            heard.append(("Duck", event.session))
    return Duck()

def broken():
    raise SystemExit("no")
"""
POINTS = """[commonplace.hooks]
good = plugin_of_a_test:Hook
made = plugin_of_a_test:made
broken = plugin_of_a_test:broken
missing = plugin_that_is_not_there:Hook
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install a distribution that brings hooks, of which two cannot be had."""
    site = tmp_path / "site"
    metadata = site / "plugin_of_a_test-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin-of-a-test\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(POINTS)
    (site / "plugin_of_a_test.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.delitem(sys.modules, "plugin_of_a_test", raising=False)
    return site


def _heard() -> list[tuple[str, str]]:
    heard: list[tuple[str, str]] = sys.modules["plugin_of_a_test"].heard
    return heard


def test_hooks_of_other_packages_come_last_and_broken_ones_are_named(
    managed: Callable[..., HookManager], installed: Path, emit: Emit, caplog: pytest.LogCaptureFixture
) -> None:
    listener = Listener()
    manager = managed(listener, entry_points=True)
    assert "plugin_of_a_test" not in sys.modules  # before there is something to tell
    for _ in range(2):
        emit(manager, "on_session_start", EVENT)
    assert sorted(_heard()) == [("Duck", "s1")] * 2 + [("Hook", "s1")] * 2
    assert len(listener.heard) == 2
    logged = sorted(record.getMessage().split(":")[0] for record in caplog.records)
    assert logged == ["hook broken is not loaded", "hook missing is not loaded"]


def test_hooks_of_other_packages_can_be_left_out(
    managed: Callable[..., HookManager], installed: Path
) -> None:
    manager = managed(entry_points=True, disabled=["m*", "broken"])
    manager.emit("on_session_start", EVENT)
    assert _heard() == [("Hook", "s1")]


def test_settings_say_what_is_loaded(
    installed: Path, private_home: Path, tmp_path: Path, managed: Callable[..., HookManager]
) -> None:
    settings_file(tmp_path).write_text("")
    environ = {"HOME": str(private_home)}
    settings = load(tmp_path, environ, {"hooks.disabled": ["*"]}).hooks
    manager = HookManager.configured(settings, [Listener()])
    manager.emit("on_session_start", EVENT)
    assert "plugin_of_a_test" not in sys.modules
    manager.close()


def test_damaged_metadata_is_no_error(
    managed: Callable[..., HookManager],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    metadata = tmp_path / "odd-1.0.dist-info"
    metadata.mkdir()
    (metadata / "entry_points.txt").write_bytes(b"[commonplace.hooks]\n\xff\xfe\n= \n")
    monkeypatch.syspath_prepend(str(tmp_path))
    listener = Listener()
    managed(listener, entry_points=True).emit("on_session_start", EVENT)
    assert len(listener.heard) == 1
    assert "cannot be listed" in caplog.text


# --- the end of the host ----------------------------------------------------------------------------


def test_a_program_ends_whatever_its_hooks_do() -> None:
    program = """
import asyncio
from commonplace.agent.hooks import AgentHook, HookManager

class Hanging(AgentHook):
    def on_session_end(self, event):
        import time
        time.sleep(3600)

class Ending(AgentHook):
    async def on_session_end(self, event):
        raise SystemExit(7)

manager = HookManager([Hanging(), Ending()], deadline_s=0.1, entry_points=False)
manager.emit("on_session_end", None)
asyncio.run(manager.emit_async("on_session_end", None))
manager.close()
print("done")
"""
    source = Path(__file__).parents[2] / "src"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert "Traceback" not in done.stderr
