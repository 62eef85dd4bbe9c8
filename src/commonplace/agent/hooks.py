"""Hooks: a host calls listeners when a message came, a tool ran, an answer is about to go out."""

from __future__ import annotations

import contextvars
import logging
import threading
import time
import traceback
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from commonplace.base import fork
from commonplace.base.tuples import NamedTuple

if TYPE_CHECKING:
    import asyncio

    from commonplace.config.settings import Hooks as Settings
    from commonplace.types import CompactionEvent, MessageEvent, SessionEvent, ToolExecution

Result = Awaitable[None] | None
GROUP = "commonplace.hooks"  # the entry points of other packages
DEADLINE_S, SUSPEND_AFTER, RESUME_AFTER_S = 5.0, 3, 300.0
LONGEST_LINE = 100  # queued events of one hook that runs late
LONGEST_S = threading.TIMEOUT_MAX  # what a thread can wait at most
DEEPEST = 3  # of events emitted by a hook that runs for a hook's event: deeper ones are a loop
_depth: contextvars.ContextVar[int] = contextvars.ContextVar("depth of hooks", default=0)
logger = logging.getLogger("commonplace.hooks")


class AgentHook:
    """A listener to what happens; every method may be left out, and may be plain or async."""

    deadline_s: float | None = None  # how long this one may take, where it is not what the manager says

    def on_session_start(self, event: SessionEvent) -> Result:
        """A session begins."""

    def on_message_received(self, event: MessageEvent) -> Result:
        """A message of the user came in."""

    def on_tool_executed(self, execution: ToolExecution) -> Result:
        """A tool ran, well or not."""

    def on_response_ready(self, event: MessageEvent) -> Result:
        """An answer is about to go out."""

    def on_session_idle(self, event: SessionEvent) -> Result:
        """A session was idle for a while."""

    def on_session_end(self, event: SessionEvent) -> Result:
        """A session is over."""

    def on_before_compaction(self, event: CompactionEvent) -> Result:
        """A conversation is about to be shortened; what must not be lost is to be written now."""


EVENTS = tuple(name for name in vars(AgentHook) if name.startswith("on_"))


class HookManager:
    """Calls hooks with what happens, in order, and keeps their faults away from the host.

    A hook gets one event at a time, in the order in which they were emitted, on a thread of its own;
    coroutines run there too, on a loop of their own. One that fails, or takes longer than its deadline, is
    logged and counted, and after some failures in a row it is left out for a while.
    """

    def __init__(
        self,
        hooks: Iterable[object] = (),
        *,
        deadline_s: float = DEADLINE_S,
        suspend_after: int = SUSPEND_AFTER,
        resume_after_s: float = RESUME_AFTER_S,
        entry_points: bool = True,
        disabled: Iterable[str] = (),
    ) -> None:
        """Take hooks, in the order in which they are called; those of entry points follow at the first event.

        `disabled` are globs of names of entry points that are left out.
        """
        self._limits = Limits(deadline_s, suspend_after, resume_after_s)
        self._disabled = tuple(disabled)
        self._lanes: list[Lane] = []
        self._looks_up = entry_points
        self._lock = threading.Lock()
        self._unknown: set[str] = set()
        for hook in hooks:
            self.add(hook)
        fork.renew_in_child(self, HookManager.renew)

    @classmethod
    def configured(cls, settings: Settings, hooks: Iterable[object] = ()) -> Self:
        """Make one with those hooks of other packages that the owner's settings load."""
        return cls(hooks, disabled=settings.disabled)

    def add(self, hook: object) -> None:
        """Take one more hook, which is called after the others."""
        self._add(type(hook).__name__, lambda: hook).take(hook)

    def emit(self, name: str, event: object) -> None:
        """Call all hooks with an event, and wait for each at most its deadline. Never raises."""
        for lane in self._listeners(name):
            done = threading.Event()
            call = lane.offer(name, event, done.set)
            if call is not None and not done.wait(lane.deadline_s):
                lane.give_up(call)

    async def emit_async(self, name: str, event: object) -> None:
        """Do as `emit` does without holding up the event loop. Never raises."""
        import asyncio

        loop = asyncio.get_running_loop()
        listeners = self._listeners
        for lane in await asyncio.to_thread(listeners, name) if self._looks_up else listeners(name):
            done = asyncio.Event()

            def finish(done: asyncio.Event = done) -> None:
                with suppress(RuntimeError):  # the loop of the host is closed by now
                    loop.call_soon_threadsafe(done.set)

            call = lane.offer(name, event, finish)
            if call is None:
                continue
            try:
                async with asyncio.timeout(lane.deadline_s):
                    await done.wait()
            except TimeoutError:
                lane.give_up(call)

    @property
    def counts(self) -> dict[tuple[str, str], Count]:
        """How the hooks fared, by name of the hook and event."""
        return {(lane.name, event): replace(count) for lane in self._lanes for event, count in lane.counts()}

    @property
    def suspended(self) -> tuple[str, ...]:
        """The names of the hooks that rest after repeated failures."""
        return tuple(lane.name for lane in self._lanes if lane.suspended)

    def close(self, deadline_s: float = DEADLINE_S) -> None:
        """Take no more events, and give what is in line until the deadline. Never raises."""
        deadline = time.monotonic() + deadline_s
        for lane in self._lanes:
            lane.close(deadline)

    def renew(self) -> None:
        """Start afresh in a child after a fork, where the threads are gone and a lock may still be held."""
        self._lock = threading.Lock()
        for lane in self._lanes:
            lane.renew()

    def _add(self, name: str, make: Callable[[], object]) -> Lane:
        """Add a lane for a hook, under a unique name: hooks of one class are numbered."""
        taken = {lane.name for lane in self._lanes}
        names = (name, *(f"{name}#{number}" for number in range(2, len(taken) + 2)))
        lane = Lane(next(free for free in names if free not in taken), make, self._limits)
        self._lanes = [*self._lanes, lane]
        return lane

    def _listeners(self, name: str) -> list[Lane]:
        """Return the lanes of an event; hooks of entry points are looked up at the first one."""
        with self._lock if self._looks_up else nullcontext():
            if self._looks_up:
                self._look_up()
                self._looks_up = False
        if name not in EVENTS and name not in self._unknown:
            self._unknown.add(name)
            logger.warning("no hook is told of %s; the events are %s", name, ", ".join(EVENTS))
        return [lane for lane in self._lanes if name in EVENTS and lane.hears(name)]

    def _look_up(self) -> None:
        """Add a lane for each entry point; its target is imported on the thread of its hook."""
        from fnmatch import fnmatchcase
        from importlib.metadata import entry_points

        try:
            points = list(entry_points(group=GROUP))
        # The metadata of any package may be damaged, in any way.
        except Exception as error:  # noqa: BLE001
            logger.warning("the entry points of %s cannot be listed: %s", GROUP, type(error).__name__)
            return
        for point in points:
            if not any(fnmatchcase(point.name, glob) for glob in self._disabled):
                self._add(point.name, lambda load=point.load: load()())  # type: ignore[misc]


# --- one hook: the line of its events, the thread that calls it, and how it fares -------------------------


@dataclass(slots=True)
class Count:
    """How often a hook got an event, failed at it, was too late, and how often one never reached it."""

    told: int = 0
    failed: int = 0
    late: int = 0
    dropped: int = 0


class Limits(NamedTuple):
    """How long a hook may take, after how many failures in a row it rests, and for how many seconds."""

    deadline_s: float
    suspend_after: int
    resume_after_s: float


@dataclass(eq=False, slots=True)
class Call:
    """One event on its way to one hook; `on_done` is called when the hook has run, or never will."""

    event: str
    value: object
    context: contextvars.Context
    on_done: Callable[[], None]
    late: bool = False
    done: bool = False


class Lane:
    """The queue between one hook and its host: events come in order, one at a time, on one thread.

    There is never a second thread, so a hook that hangs costs one, however many events follow.
    """

    def __init__(self, name: str, make: Callable[[], object], limits: Limits) -> None:
        """Name a hook and what makes it; that is called on its thread, with the first event."""
        self.name, self._make, self._limits = name, make, limits
        self.deadline_s = min(limits.deadline_s, LONGEST_S)  # unless the hook wishes for another
        self._hook: object = None
        self._heard: frozenset[str] | None = None  # None: not loaded yet
        self._counts: defaultdict[str, Count] = defaultdict(Count)
        self._in_a_row, self._rests_until = 0, 0.0
        self._closed = False
        self.renew()

    def renew(self) -> None:
        """Begin with an empty line and no thread: new, or in a child after a fork."""
        self._changed = threading.Condition()
        self._line: deque[Call] = deque()
        self._thread: threading.Thread | None = None
        self._overrun = 0  # calls past their deadline that are not done
        self._runner: asyncio.Runner | None = None
        self._troubles: list[str] = []

    def take(self, hook: object) -> None:
        """Bind to a hook; methods of `AgentHook` that it did not override are never called."""
        limit_s = getattr(hook, "deadline_s", None)
        if isinstance(limit_s, int | float):
            self.deadline_s = min(float(limit_s), LONGEST_S)
        self._hook = hook
        methods = {name: getattr(hook, name, None) for name in EVENTS}
        self._heard = frozenset(
            name
            for name, method in methods.items()
            if callable(method) and getattr(method, "__func__", method) is not getattr(AgentHook, name)
        )

    @property
    def suspended(self) -> bool:
        """Tell whether the hook is suspended after repeated failures."""
        with self._changed:
            return self._in_a_row >= self._limits.suspend_after and (
                time.monotonic() < self._rests_until or self._overrun > 0
            )

    def counts(self) -> list[tuple[str, Count]]:
        """Return how the hook fared, by event."""
        with self._changed:
            return list(self._counts.items())

    def hears(self, event: str) -> bool:
        """Tell whether the hook has a method for an event; one that is not loaded yet may have."""
        return self._heard is None or event in self._heard

    def offer(self, event: str, value: object, on_done: Callable[[], None]) -> Call | None:
        """Queue an event; return the call to wait for, or None if the caller must not wait.

        Callers do not wait for a hook that is suspended or late already, nor from inside a hook.
        """
        depth = _depth.get()
        with self._noting():
            waited = depth == 0 and not self._overrun
            if self._closed:
                return None
            if self.suspended or depth >= DEEPEST or (not waited and len(self._line) >= LONGEST_LINE):
                self._counts[event].dropped += 1
                return None
            if trouble := self._start():
                self._counts[event].failed += 1
                self._fail(event, trouble)
                return None
            call = Call(event, value, contextvars.copy_context(), on_done)
            self._line.append(call)
            self._changed.notify_all()
            if self._overrun:
                self._miss(call)
        return call if waited else None

    def _start(self) -> str:
        """Start the thread if it does not run; return why that cannot be."""
        if self._thread is None or not self._thread.is_alive():
            thread = threading.Thread(target=self._run, name=f"hook {self.name}", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:  # no more threads, or the interpreter is about to end
                return f"no thread for it: {error}"
            self._thread = thread
        return ""

    def give_up(self, call: Call) -> None:
        """Leave a call behind whose deadline is over."""
        with self._noting():
            if not call.done:
                self._miss(call)

    def close(self, deadline: float) -> None:
        """Take no more events, and wait until `deadline` (monotonic) for those in line."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(max(0.0, deadline - time.monotonic()))

    def _run(self) -> None:
        """Call the hook with queued events, on its thread, until it is closed."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._line or self._closed)
                if not self._line:
                    break
                call = self._line.popleft()
                self._counts[call.event].told += 1
            error: BaseException | None = None
            try:
                call.context.run(self._call, call)
            # Whatever a hook raises ends here, sys.exit() too: it is not the hook's to end its host.
            except BaseException as raised:  # noqa: BLE001
                error = raised
            with self._noting():
                call.done = True
                if call.late:  # counted already as late; its end does not change that
                    self._overrun -= 1
                elif error is None:
                    self._in_a_row = 0
                else:
                    self._counts[call.event].failed += 1
                    self._fail(call.event, f"failed: {_place(error)}")
            call.on_done()
        if self._runner is not None:
            self._runner.close()

    def _call(self, call: Call) -> None:
        """Call the method of the hook, which may be loaded first; a coroutine runs to its deadline."""
        import inspect

        _depth.set(_depth.get() + 1)
        if self._heard is None:
            try:
                self.take(self._make())
            except BaseException:
                self._heard = frozenset()  # it is not tried again
                raise
        if not self.hears(call.event):
            return
        result = getattr(self._hook, call.event)(call.value)
        if inspect.isawaitable(result):
            import asyncio

            async def bounded() -> None:
                async with asyncio.timeout(self.deadline_s):
                    await result

            if self._runner is None:
                self._runner = asyncio.Runner()  # a loop of the hook's own, the same for all of its events
            self._runner.run(bounded(), context=contextvars.copy_context())

    # --- how it fares; the lock is held -------------------------------------------------------------

    @contextmanager
    def _noting(self) -> Iterator[None]:
        """Hold the lock, and log what went wrong once it is free: who handles records may tell hooks, too."""
        with self._changed:
            yield
            troubles, self._troubles = self._troubles, []
        for trouble in troubles:
            logger.warning("%s", trouble)

    def _miss(self, call: Call) -> None:
        call.late = True
        self._overrun += 1
        self._counts[call.event].late += 1
        self._fail(call.event, f"took longer than {self.deadline_s:g} s and was left behind")

    def _fail(self, event: str, how: str) -> None:
        """Note a failure; after some in a row the hook rests, and what is in line is dropped."""
        self._in_a_row += 1
        trouble = f"hook {self.name}, {event}: {how}"
        if self._in_a_row >= self._limits.suspend_after:
            self._rests_until = time.monotonic() + self._limits.resume_after_s
            line, self._line = self._line, deque()
            for call in line:
                call.done = True
                self._overrun -= call.late
                self._counts[call.event].dropped += 1
                call.on_done()
            rest = f"suspended for {self._limits.resume_after_s:g} s"
            trouble += f"; {rest} after {self._in_a_row} failures in a row"
        self._troubles.append(trouble)


def _place(error: BaseException) -> str:
    """Return the class and place of an error, without its message, which may hold user text or a key."""
    frames = list(traceback.walk_tb(error.__traceback__))
    where = f" at {frames[-1][0].f_code.co_filename}:{frames[-1][1]}" if frames else ""
    return f"{type(error).__name__}{where}"
