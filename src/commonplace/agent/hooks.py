"""Hooks: a host calls listeners when a message came, a tool ran, an answer is about to go out."""

from __future__ import annotations

import contextvars
import inspect
import logging
import threading
import time
import traceback
from collections import deque
from collections.abc import Awaitable, Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Self

from commonplace.agent.background import Background
from commonplace.base import fork

if TYPE_CHECKING:
    from commonplace.config.settings import Hooks as Settings
    from commonplace.types import CompactionEvent, MessageEvent, SessionEvent, ToolExecution

Result = Awaitable[None] | None
GROUP = "commonplace.hooks"  # the entry points of other packages
DEADLINE_S = 5.0
DEEPEST, LONGEST_LINE = 3, 100  # of events that hooks emit: level, and number that wait
_depth: contextvars.ContextVar[int] = contextvars.ContextVar("depth of hooks", default=0)
logger = logging.getLogger("commonplace.hooks")


class AgentHook:
    """A listener to what happens; every method may be left out, and may be plain or async."""

    deadline_s: float | None = None  # how long a host waits for this one, if not as long as for others

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


@dataclass(eq=False, slots=True)
class _Event:
    """An event, with the hooks that have not been called with it yet."""

    name: str
    value: object
    hooks: deque[object]
    done: threading.Event = field(default_factory=threading.Event)


class HookManager:
    """Calls hooks with what happens, in order, and keeps their faults away from the host.

    All hooks share one thread, and their coroutines one event loop on it. What a hook raises is logged; one
    that takes longer than its deadline is left behind on that thread, and not called again.
    """

    def __init__(
        self,
        hooks: Iterable[object] = (),
        *,
        deadline_s: float = DEADLINE_S,
        entry_points: bool = True,
        disabled: Iterable[str] = (),
    ) -> None:
        """Take hooks, in the order in which they are called; those of entry points follow at the first event.

        `disabled` are globs of names of entry points that are left out.
        """
        self._hooks, self._deadline_s = [*hooks], deadline_s
        self._disabled, self._is_loaded = tuple(disabled), not entry_points
        self._renew()
        fork.renew_in_child(self, HookManager._renew)

    def _renew(self) -> None:
        self._lock = threading.Lock()
        self._background, self._of_thread = Background("hooks"), threading.local()
        self._running: tuple[_Event, object, float] | None = None  # the event, the hook, and until when

    @classmethod
    def configured(cls, settings: Settings, hooks: Iterable[object] = ()) -> Self:
        """Make one with those hooks of other packages that the owner's settings load."""
        return cls(hooks, disabled=settings.disabled)

    def add(self, hook: object) -> None:
        """Take one more hook, which is called after the others."""
        self._hooks = [*self._hooks, hook]

    def emit(self, name: str, event: object) -> None:
        """Call all hooks with an event, and wait for each at most its deadline. Never raises.

        An event that a hook emits is not waited for, and dropped from the third level down.
        """
        if name not in EVENTS:
            logger.warning("unknown event %s; the events are %s", name, ", ".join(EVENTS))
            return
        self._load()
        depth, background = _depth.get(), self._background
        hooks = deque(hook for hook in self._hooks if _hears(hook, name))
        if not hooks or depth >= DEEPEST or (depth and background.due >= LONGEST_LINE):
            return
        call, context = _Event(name, event, hooks), contextvars.copy_context()
        if background.put(partial(context.run, self._call, call)) and not depth:
            while not call.done.wait(self._left_s()):
                self._leave_behind()

    async def emit_async(self, name: str, event: object) -> None:
        """Do as `emit` does without holding up the event loop. Never raises."""
        import asyncio

        await asyncio.to_thread(self.emit, name, event)

    def close(self, deadline_s: float = DEADLINE_S) -> None:
        """Take no more events, and give hooks what is in line until the deadline. Never raises."""
        self._background.put(self._end_loop)
        self._background.close(deadline_s)

    def _load(self) -> None:
        """Add the hooks of entry points, once."""
        with self._lock:
            if self._is_loaded:
                return
            self._is_loaded = True
            # What other packages bring may fail in any way, and so may their metadata.
            try:
                points = [*entry_points(group=GROUP)]
            except Exception as error:  # noqa: BLE001
                logger.warning("the entry points of %s cannot be listed: %s", GROUP, type(error).__name__)
                return
            for point in points:
                if not any(fnmatchcase(point.name, glob) for glob in self._disabled):
                    try:
                        self.add(point.load()())
                    except (Exception, SystemExit) as error:  # noqa: BLE001
                        logger.warning("hook %s is not loaded: %s", point.name, _place(error))

    def _limit_s(self, hook: object) -> float:
        limit_s = getattr(hook, "deadline_s", None)
        limit_s = limit_s if isinstance(limit_s, int | float) else self._deadline_s
        return min(limit_s, threading.TIMEOUT_MAX)

    def _left_s(self) -> float:
        """The seconds that the hook which runs now has left; between two hooks as many as any may have."""
        if (running := self._running) is None:
            return min(map(self._limit_s, self._hooks), default=self._deadline_s)
        return max(0.0, running[2] - time.monotonic())

    def _leave_behind(self) -> None:
        """Drop the hook that runs, if its time is over; another thread goes on with those after it."""
        with self._lock:
            if self._running is None or self._left_s():
                return
            event, slow, _ = self._running
            self._running, self._background = None, self._background.moved()
            self._hooks = [hook for hook in self._hooks if hook is not slow]
            self._background.put(partial(contextvars.copy_context().run, self._call, event), -1.0)
        late = "hook %s, %s: took too long and is not called again"
        logger.warning(late, type(slow).__name__, event.name)

    # --- on the thread of hooks ---------------------------------------------------------------------

    def _call(self, event: _Event) -> None:
        """Call the hooks of an event, until the thread is left behind."""
        background = self._background
        _depth.set(_depth.get() + 1)
        while event.hooks:
            hook = event.hooks.popleft()
            self._running = (event, hook, time.monotonic() + self._limit_s(hook))
            try:
                result = getattr(hook, event.name)(event.value)
                if inspect.isawaitable(result):
                    self._run(result)
            # Whatever a hook raises ends here, sys.exit() too: it is not the hook's to end its host.
            except BaseException as error:  # noqa: BLE001
                logger.warning("hook %s, %s: failed: %s", type(hook).__name__, event.name, _place(error))
            with self._lock:
                if self._background is not background:
                    break
                self._running = None
        else:
            event.done.set()
            return
        self._end_loop()

    def _run(self, result: Awaitable[None]) -> None:
        import asyncio

        async def awaited() -> None:
            await result

        self._of_thread.runner = runner = getattr(self._of_thread, "runner", None) or asyncio.Runner()
        runner.run(awaited(), context=contextvars.copy_context())

    def _end_loop(self) -> None:
        if (runner := self._of_thread.__dict__.pop("runner", None)) is not None:
            runner.close()


def _hears(hook: object, event: str) -> bool:
    """Tell whether a hook has a method for an event that is not the empty one of `AgentHook`."""
    method = getattr(hook, event, None)
    return callable(method) and getattr(method, "__func__", method) is not getattr(AgentHook, event)


def _place(error: BaseException) -> str:
    """Return the class and place of an error, without its message, which may hold user text or a key."""
    frames = list(traceback.walk_tb(error.__traceback__))
    where = f" at {frames[-1][0].f_code.co_filename}:{frames[-1][1]}" if frames else ""
    return f"{type(error).__name__}{where}"
