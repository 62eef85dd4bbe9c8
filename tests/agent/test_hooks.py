"""Hooks that fail, hang and flood, plain and async, from both doors; and those that other packages bring."""

from __future__ import annotations

import asyncio
import contextvars
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from commonplace.agent import hooks as hooking
from commonplace.agent.hooks import EVENTS, AgentHook, Count, HookManager, Result
from commonplace.config import load
from commonplace.types import MessageEvent, SessionEvent, ToolExecution, Turn
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
        return super().on_session_start(event)


class AsyncHanging(AgentHook):
    deadline_s = 0.05

    def __init__(self) -> None:
        self.cancelled = threading.Event()

    async def on_session_start(self, event: SessionEvent) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise


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
    assert manager.counts == {}


def test_a_hook_need_not_be_ours(managed: Callable[..., HookManager], emit: Emit) -> None:
    class Duck:
        def __init__(self) -> None:
            self.heard: list[ToolExecution] = []

        def on_tool_executed(self, execution: ToolExecution) -> None:
            self.heard.append(execution)

    duck = Duck()
    manager = managed(duck)
    emit(manager, "on_tool_executed", ToolExecution("s1", "write"))
    emit(manager, "on_session_end", EVENT)
    assert [execution.tool for execution in duck.heard] == ["write"]


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
    assert manager.counts[kind.__name__, "on_session_start"] == Count(told=1, failed=1)
    (record,) = caplog.records
    assert record.name == "commonplace.hooks"
    assert kind.__name__ in record.getMessage()
    assert SAID not in caplog.text


def test_the_log_holds_nothing_of_the_conversation(
    managed: Callable[..., HookManager], emit: Emit, caplog: pytest.LogCaptureFixture
) -> None:
    class Quoting(AgentHook):
        def on_message_received(self, event: MessageEvent) -> Result:
            raise RuntimeError(event.turn.text)

    emit(managed(Quoting()), "on_message_received", MessageEvent("s1", Turn("user", SAID)))
    assert "RuntimeError" in caplog.text
    assert SAID not in caplog.text


@pytest.mark.parametrize("kind", [Failing, AsyncFailing])
def test_repeated_failures_suspend(
    managed: Callable[..., HookManager], emit: Emit, kind: type[Failing], caplog: pytest.LogCaptureFixture
) -> None:
    listener = Listener()
    manager = managed(kind(ValueError()), listener, suspend_after=2)
    for _ in range(5):
        emit(manager, "on_session_start", EVENT)
    assert manager.suspended == (kind.__name__,)
    assert manager.counts[kind.__name__, "on_session_start"] == Count(told=2, failed=2, dropped=3)
    assert len(listener.heard) == 5
    assert "suspended" in caplog.records[-1].getMessage()


def test_one_that_mends_itself_is_not_suspended(managed: Callable[..., HookManager]) -> None:
    class Flickering(AgentHook):
        calls = 0

        def on_session_start(self, event: SessionEvent) -> Result:
            self.calls += 1
            if self.calls % 2:
                raise ValueError
            return None

    manager = managed(Flickering(), suspend_after=2)
    for _ in range(6):
        manager.emit("on_session_start", EVENT)
    assert manager.suspended == ()
    assert manager.counts["Flickering", "on_session_start"] == Count(told=6, failed=3)


def test_a_suspended_hook_is_tried_again_and_one_failure_suspends_it_again(
    managed: Callable[..., HookManager], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(hooking.time, "monotonic", lambda: now)
    failing = Failing(ValueError())
    manager = managed(failing, suspend_after=2, resume_after_s=60)
    for _ in range(3):
        manager.emit("on_session_start", EVENT)
    now += 61
    assert manager.suspended == ()
    for _ in range(2):
        manager.emit("on_session_start", EVENT)
    assert manager.suspended == ("Failing",)
    assert manager.counts["Failing", "on_session_start"] == Count(told=3, failed=3, dropped=2)
    monkeypatch.undo()


def test_a_hook_that_hangs_is_left_behind_and_told_in_order_when_it_is_back(
    managed: Callable[..., HookManager], emit: Emit
) -> None:
    hanging, listener = Hanging(0.05), Listener()
    manager = managed(hanging, listener, suspend_after=9)
    events = [SessionEvent(f"s{number}") for number in range(4)]
    for event in events:
        emit(manager, "on_session_start", event)
    assert hanging.heard == []  # it hangs still, and everybody else goes on
    assert [event for _, event in listener.heard] == events
    assert manager.counts["Hanging", "on_session_start"] == Count(told=1, late=4)
    hanging.go.set()
    manager.close(30.0)
    assert [event for _, event in hanging.heard] == events


def test_a_hook_that_hangs_for_ever_costs_one_thread_and_is_suspended(
    managed: Callable[..., HookManager], emit: Emit
) -> None:
    hanging = Hanging()
    manager = managed(hanging, deadline_s=0.05, resume_after_s=0)
    for _ in range(20):
        emit(manager, "on_session_start", EVENT)
    threads = [thread for thread in threading.enumerate() if thread.name == "hook Hanging"]
    assert len(threads) == 1
    # Its time of rest is over at once, but as long as it hangs there is nobody who could be told.
    assert manager.suspended == ("Hanging",)
    assert manager.counts["Hanging", "on_session_start"] == Count(told=1, late=3, dropped=19)
    hanging.go.set()


def test_a_coroutine_that_hangs_is_cancelled(managed: Callable[..., HookManager], emit: Emit) -> None:
    hanging, listener = AsyncHanging(), AsyncListener()
    manager = managed(hanging, listener)
    emit(manager, "on_session_start", EVENT)
    assert hanging.cancelled.wait(30)
    assert len(listener.heard) == 1
    counted = manager.counts["AsyncHanging", "on_session_start"]
    assert counted.late + counted.failed == 1


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
    assert manager.counts["Blocking", "on_session_start"] == Count(told=1)


def test_a_hook_that_emits_goes_round_only_so_often(managed: Callable[..., HookManager], emit: Emit) -> None:
    deepest = threading.Semaphore(0)

    class Echo(Listener):
        def on_session_start(self, event: SessionEvent) -> Result:
            manager.emit("on_session_start", event)
            deepest.release()
            return super().on_session_start(event)

    echo = Echo()
    manager = managed(echo)
    emit(manager, "on_session_start", EVENT)
    for _ in range(hooking.DEEPEST):
        assert deepest.acquire(timeout=30)
    manager.close(30.0)
    assert len(echo.heard) == hooking.DEEPEST
    assert manager.counts["Echo", "on_session_start"] == Count(told=hooking.DEEPEST, dropped=1)


def test_a_hook_that_floods_another_fills_a_line_of_bounded_length(
    managed: Callable[..., HookManager],
) -> None:
    flooded = threading.Event()

    class Flood(AgentHook):
        def on_session_start(self, event: SessionEvent) -> Result:
            for _ in range(10 * hooking.LONGEST_LINE):
                manager.emit("on_session_end", event)
            flooded.set()
            return None

    class Slow(AgentHook):
        heard = 0

        def on_session_end(self, event: SessionEvent) -> Result:
            flooded.wait()
            self.heard += 1
            return None

    slow = Slow()
    threads = set(threading.enumerate())
    manager = managed(Flood(), slow)
    manager.emit("on_session_start", EVENT)
    assert len(set(threading.enumerate()) - threads) <= 2
    manager.close(30.0)
    assert slow.heard in (hooking.LONGEST_LINE, hooking.LONGEST_LINE + 1)  # and the one that was on its way
    assert manager.suspended == ()  # it is not the one to blame


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


def test_a_host_that_is_cancelled_is_cancelled(managed: Callable[..., HookManager]) -> None:
    hanging = Hanging()
    manager = managed(hanging)

    async def host() -> None:
        telling = asyncio.create_task(manager.emit_async("on_session_start", EVENT))
        await asyncio.sleep(0.01)
        telling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await telling

    asyncio.run(host())
    hanging.go.set()  # and the hook says so to a loop that is closed
    manager.close(30.0)
    assert manager.counts["Hanging", "on_session_start"] == Count(told=1)


def test_an_event_that_nobody_knows_is_logged_once(
    managed: Callable[..., HookManager], emit: Emit, caplog: pytest.LogCaptureFixture
) -> None:
    manager = managed(Listener())
    for _ in range(3):
        emit(manager, "on_sesion_start", EVENT)
    assert len(caplog.records) == 1
    assert "on_session_start" in caplog.text


def test_hooks_of_one_class_are_counted_apart(managed: Callable[..., HookManager]) -> None:
    manager = managed(Listener(), Listener(), Failing(ValueError()))
    manager.emit("on_session_start", EVENT)
    assert [name for name, _ in manager.counts] == ["Listener", "Listener#2", "Failing"]


def test_closed_it_tells_nobody(managed: Callable[..., HookManager], emit: Emit) -> None:
    listener = Listener()
    manager = managed(listener)
    manager.close()
    emit(manager, "on_session_start", EVENT)
    assert listener.heard == []


def test_no_thread_to_be_had_is_a_failure_of_the_hook(
    managed: Callable[..., HookManager], emit: Emit, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Refused(threading.Thread):
        def start(self) -> None:
            raise RuntimeError("can't start new thread")

    listener = Listener()
    manager = managed(listener)
    with monkeypatch.context() as patched:
        patched.setattr(hooking.threading, "Thread", Refused)
        manager.emit("on_session_start", EVENT)
    assert manager.counts["Listener", "on_session_start"] == Count(failed=1)
    emit(manager, "on_session_start", EVENT)
    assert len(listener.heard) == 1


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
    logged = sorted(record.getMessage().split(",")[0] for record in caplog.records)
    assert logged == ["hook broken", "hook missing"]
    assert manager.counts["missing", "on_session_start"] == Count(told=1, failed=1)


def test_hooks_of_other_packages_can_be_left_out(
    managed: Callable[..., HookManager], installed: Path
) -> None:
    manager = managed(entry_points=True, disabled=["m*", "broken"])
    manager.emit("on_session_start", EVENT)
    assert _heard() == [("Hook", "s1")]
    assert [name for name, _ in manager.counts] == ["good"]


def test_settings_say_what_is_loaded(
    installed: Path, private_home: Path, tmp_path: Path, managed: Callable[..., HookManager]
) -> None:
    settings_file(tmp_path).write_text("")
    environ = {"HOME": str(private_home)}
    settings = load(tmp_path, environ, {"hooks.disabled": ["*"]}).hooks
    manager = HookManager.configured(settings, [Listener()])
    manager.emit("on_session_start", EVENT)
    assert "plugin_of_a_test" not in sys.modules
    assert len([*manager._listeners("on_session_start")]) == 1
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
