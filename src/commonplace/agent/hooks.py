"""What a host tells whoever wants to know: a message came, a tool ran, an answer is about to go out."""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from collections.abc import Awaitable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Self

from commonplace.agent.runner import Count, Lane, Limits

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from commonplace.config.settings import Hooks as Settings
    from commonplace.types import CompactionEvent, MessageEvent, SessionEvent, ToolExecution

Told = Awaitable[None] | None
GROUP = "commonplace.hooks"  # the entry points of other packages
DEADLINE_S, SUSPEND_AFTER, RESUME_AFTER_S = 5.0, 3, 300.0
logger = logging.getLogger("commonplace.hooks")


class AgentHook:
    """Somebody who is told what happens; every method may be left out, and may be plain or async."""

    deadline_s: float | None = None  # how long this one may take, where it is not what the manager says

    def on_session_start(self, event: SessionEvent) -> Told:
        """A session begins."""

    def on_message_received(self, event: MessageEvent) -> Told:
        """A message of the user came in."""

    def on_tool_executed(self, execution: ToolExecution) -> Told:
        """A tool ran, well or not."""

    def on_response_ready(self, event: MessageEvent) -> Told:
        """An answer is about to go out."""

    def on_session_idle(self, event: SessionEvent) -> Told:
        """Nothing was said for a while."""

    def on_session_end(self, event: SessionEvent) -> Told:
        """A session is over."""

    def on_before_compaction(self, event: CompactionEvent) -> Told:
        """A conversation is about to be shortened; what must not be lost is to be written now."""


EVENTS = tuple(name for name in vars(AgentHook) if name.startswith("on_"))


class HookManager:
    """Tells hooks what happens, in order, and keeps whatever they do away from the host.

    A hook is told of one event at a time, in the order in which they were emitted, on a thread of its own;
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
        """Take hooks, in the order in which they are told; those of entry points follow at the first event.

        `disabled` are globs of names of entry points that are left out.
        """
        self._limits = Limits(deadline_s, suspend_after, resume_after_s)
        self._disabled = tuple(disabled)
        self._lanes: list[Lane] = []
        self._wanted = entry_points
        self._lock = threading.Lock()
        self._unknown: set[str] = set()
        for hook in hooks:
            self.add(hook)
        _managers.add(self)

    @classmethod
    def configured(cls, settings: Settings, hooks: Iterable[object] = ()) -> Self:
        """Make one as the owner set it: limits, and which hooks of other packages are loaded."""
        return cls(
            hooks,
            deadline_s=settings.deadline_s,
            suspend_after=settings.suspend_after,
            resume_after_s=settings.resume_after_s,
            entry_points=settings.load,
            disabled=settings.disabled,
        )

    def add(self, hook: object) -> None:
        """Take one more hook, which is told after the others."""
        lane = Lane(self._free(type(hook).__name__), lambda: hook, self._limits, EVENTS)
        lane.take(hook, AgentHook)
        self._lanes = [*self._lanes, lane]

    def emit(self, name: str, event: object) -> None:
        """Tell all hooks of an event, and wait for each at most its deadline. Never raises."""
        for lane in self._told(name):
            done = threading.Event()
            call = lane.offer(name, event, done.set)
            if call is not None and not done.wait(lane.deadline_s):
                lane.give_up(call)

    async def emit_async(self, name: str, event: object) -> None:
        """Do as `emit` does without holding up the event loop. Never raises."""
        import asyncio
        from contextlib import suppress

        loop = asyncio.get_running_loop()
        lanes = await asyncio.to_thread(self._told, name) if self._wanted else self._told(name)
        for lane in lanes:
            done = asyncio.Event()

            def tell(done: asyncio.Event = done) -> None:
                with suppress(RuntimeError):  # the loop of the host is closed by now
                    loop.call_soon_threadsafe(done.set)

            call = lane.offer(name, event, tell)
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
        return {(lane.name, event): count for lane in self._lanes for event, count in lane.counts.items()}

    @property
    def suspended(self) -> tuple[str, ...]:
        """The names of the hooks that rest after repeated failures."""
        return tuple(lane.name for lane in self._lanes if lane.suspended)

    def close(self, deadline_s: float = DEADLINE_S) -> None:
        """Take no more events, and give what is in line until the deadline. Never raises."""
        deadline = time.monotonic() + deadline_s
        for lane in self._lanes:
            lane.close(deadline)

    def _free(self, name: str, more: Iterable[Lane] = ()) -> str:
        """Return a name that no other hook has: those of one class are numbered."""
        taken = {lane.name for lane in (*self._lanes, *more)}
        names = (name, *(f"{name}#{number}" for number in range(2, len(taken) + 2)))
        return next(free for free in names if free not in taken)

    def _told(self, name: str) -> list[Lane]:
        """Return the lanes of an event, of hooks whose entry points are looked up now if they were not."""
        if self._wanted:
            with self._lock:
                if self._wanted:
                    self._lanes = [*self._lanes, *self._installed()]
                    self._wanted = False
        if name not in EVENTS and name not in self._unknown:
            self._unknown.add(name)
            logger.warning("no hook is told of %s; the events are %s", name, ", ".join(EVENTS))
        return [lane for lane in self._lanes if name in EVENTS and lane.hears(name)]

    def _installed(self) -> list[Lane]:
        """Return a lane for each entry point; what it names is imported on the thread of its hook."""
        from fnmatch import fnmatchcase
        from importlib.metadata import entry_points

        try:
            points = [
                point
                for point in entry_points(group=GROUP)
                if not any(fnmatchcase(point.name, glob) for glob in self._disabled)
            ]
        # The metadata of any package may be damaged, in any way.
        except Exception as error:  # noqa: BLE001
            logger.warning("the entry points of %s cannot be listed: %s", GROUP, type(error).__name__)
            return []
        lanes: list[Lane] = []
        for point in points:
            name = self._free(point.name, lanes)
            lanes.append(Lane(name, partial(_made, point), self._limits, EVENTS))
        return lanes

    def renew(self) -> None:
        """Begin anew in a child after a fork, which has none of the threads and perhaps a lock of theirs."""
        self._lock = threading.Lock()
        for lane in self._lanes:
            lane.renew()


def _made(point: EntryPoint) -> object:
    made: object = point.load()()
    return made


def _after_fork() -> None:
    for manager in list(_managers):
        manager.renew()


_managers: weakref.WeakSet[HookManager] = weakref.WeakSet()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
