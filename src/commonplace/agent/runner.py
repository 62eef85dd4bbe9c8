"""One hook: the line of its events, the thread that tells it of them, and how it fared."""

from __future__ import annotations

import contextvars
import logging
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

logger = logging.getLogger("commonplace.hooks")
LONGEST_LINE = 100  # events in the line of one hook that nobody waits for
LONGEST_S = threading.TIMEOUT_MAX  # what a thread can wait at most
DEEPEST = 3  # an event told from inside a hook told from inside a hook: further down it only goes round
_depth: contextvars.ContextVar[int] = contextvars.ContextVar("depth of hooks", default=0)


@dataclass(frozen=True, slots=True)
class Count:
    """How often a hook was told of an event, failed at it, was too late, and what never reached it."""

    told: int = 0
    failed: int = 0
    late: int = 0
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a hook may take, after how many failures in a row it rests, and for how many seconds."""

    deadline_s: float
    suspend_after: int
    resume_after_s: float


@dataclass(eq=False, slots=True)
class Call:
    """One event on its way to one hook; `on_done` is called when it was told, or never will be."""

    event: str
    value: object
    context: contextvars.Context
    on_done: Callable[[], None]
    late: bool = False
    done: bool = False


class Lane:
    """What stands between one hook and its host: events come in order, one at a time, on one thread.

    There is never a second thread, so a hook that hangs costs one, whatever it is told afterwards.
    """

    def __init__(
        self, name: str, make: Callable[[], object], limits: Limits, events: tuple[str, ...]
    ) -> None:
        """Name a hook and what makes it; that is called on its thread, with the first event."""
        self.name, self._make, self._limits, self._all = name, make, limits, events
        self.deadline_s = min(limits.deadline_s, LONGEST_S)  # unless the hook wishes for another
        self._hook: object = None
        self._heard: frozenset[str] | None = None  # None: not loaded yet
        self._counts: dict[str, Count] = {}
        self._in_a_row = 0
        self._rests_until = 0.0
        self._runner: asyncio.Runner | None = None
        self._closed = False
        self.renew()

    def renew(self) -> None:
        """Begin with an empty line and no thread: new, or in a child after a fork."""
        self._changed = threading.Condition()
        self._line: deque[Call] = deque()
        self._thread: threading.Thread | None = None
        self._overrun = 0  # calls past their deadline that are not done
        self._runner = None

    def take(self, hook: object, absent: object) -> None:
        """Bind to a hook that is there; what it did not override of `absent`, a class, is never told it."""
        own = getattr(hook, "deadline_s", None)
        self._hook = hook
        self.deadline_s = min(float(own), LONGEST_S) if isinstance(own, int | float) else self.deadline_s
        self._heard = frozenset(name for name in self._all if _overrides(hook, name, absent))

    @property
    def suspended(self) -> bool:
        """Whether the hook rests after repeated failures."""
        with self._changed:
            return self._is_suspended()

    @property
    def counts(self) -> dict[str, Count]:
        """How the hook fared, by event."""
        with self._changed:
            return dict(self._counts)

    def hears(self, event: str) -> bool:
        """Tell whether the hook has a method for an event; one that is not loaded yet may have."""
        return self._heard is None or event in self._heard

    def offer(self, event: str, value: object, on_done: Callable[[], None]) -> Call | None:
        """Put an event in line; return the call to wait for, or None where nobody is to wait.

        Nobody waits for a hook that rests or is behind already, nor from inside a hook.
        """
        told = ""
        depth = _depth.get()
        with self._changed:
            waited = depth == 0 and not self._overrun
            if self._closed:
                return None
            if self._is_suspended() or depth >= DEEPEST or (not waited and len(self._line) >= LONGEST_LINE):
                self._count(event, dropped=1)
                return None
            call = Call(event, value, contextvars.copy_context(), on_done)
            if trouble := self._start():
                self._count(event, failed=1)
                told, waited = self._failed(event, trouble), False
            else:
                self._line.append(call)
                self._changed.notify_all()
                if self._overrun:
                    told = self._miss(call)
        _log(told)
        return call if waited else None

    def give_up(self, call: Call) -> None:
        """Leave a call behind whose deadline is over."""
        with self._changed:
            told = "" if call.done else self._miss(call)
        _log(told)

    def close(self, deadline: float) -> None:
        """Take no more events, and wait until `deadline` (monotonic) for those in line."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(max(0.0, deadline - time.monotonic()))

    # --- on the thread of the hook ------------------------------------------------------------------

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

    def _run(self) -> None:
        while call := self._next():
            error = self._tell(call)
            self._finish(call, error)
        if self._runner is not None:
            self._runner.close()

    def _next(self) -> Call | None:
        with self._changed:
            while not self._line:
                if self._closed:
                    return None
                self._changed.wait()
            self._count(self._line[0].event, told=1)
            return self._line.popleft()

    def _tell(self, call: Call) -> BaseException | None:
        try:
            call.context.run(self._invoke, call)
        # Whatever a hook raises ends here, sys.exit() too: it is not the hook's to end its host.
        except BaseException as error:  # noqa: BLE001
            return error
        return None

    def _invoke(self, call: Call) -> None:
        import inspect

        _depth.set(_depth.get() + 1)
        if self._heard is None:
            self._load()
        if not self.hears(call.event):
            return
        told = getattr(self._hook, call.event)(call.value)
        if inspect.isawaitable(told):
            self._await(told)

    def _load(self) -> None:
        from commonplace.agent.hooks import AgentHook

        try:
            self.take(self._make(), AgentHook)
        except BaseException:
            self._heard = frozenset()  # it is not tried again
            raise

    def _await(self, told: Awaitable[object]) -> None:
        """Let a coroutine run on the hook's own loop, the same for all of its events, until its deadline."""
        import asyncio

        async def bounded() -> None:
            async with asyncio.timeout(self.deadline_s):
                await told

        if self._runner is None:
            self._runner = asyncio.Runner()
        self._runner.run(bounded(), context=contextvars.copy_context())

    def _finish(self, call: Call, error: BaseException | None) -> None:
        told = ""
        with self._changed:
            call.done = True
            if call.late:  # counted already; that it came to an end after all mends nothing
                self._overrun -= 1
            elif error is None:
                self._in_a_row = 0
            else:
                self._count(call.event, failed=1)
                told = self._failed(call.event, f"failed: {_place(error)}")
        _log(told)
        call.on_done()

    # --- how it fares; the lock is held -------------------------------------------------------------

    def _is_suspended(self) -> bool:
        return self._in_a_row >= self._limits.suspend_after and (
            time.monotonic() < self._rests_until or self._overrun > 0
        )

    def _miss(self, call: Call) -> str:
        call.late = True
        self._overrun += 1
        self._count(call.event, late=1)
        return self._failed(call.event, f"took longer than {self.deadline_s:g} s and was left behind")

    def _failed(self, event: str, how: str) -> str:
        """Note a failure; return the line to log, once the lock is free."""
        self._in_a_row += 1
        told = f"hook {self.name}, {event}: {how}"
        if self._in_a_row < self._limits.suspend_after:
            return told
        self._rests_until = time.monotonic() + self._limits.resume_after_s
        left, self._line = self._line, deque()
        for call in left:
            call.done = True
            self._overrun -= call.late
            self._count(call.event, dropped=1)
            call.on_done()
        rest = f"suspended for {self._limits.resume_after_s:g} s"
        return f"{told}; {rest} after {self._in_a_row} failures in a row"

    def _count(self, event: str, *, told: int = 0, failed: int = 0, late: int = 0, dropped: int = 0) -> None:
        was = self._counts.get(event, Count())
        self._counts[event] = replace(
            was,
            told=was.told + told,
            failed=was.failed + failed,
            late=was.late + late,
            dropped=was.dropped + dropped,
        )


def _log(told: str) -> None:
    if told:
        logger.warning("%s", told)


def _place(error: BaseException) -> str:
    """Say what was raised and where: the message is left out, since it may hold what was said or a key."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else ""
    return f"{type(error).__name__}{where}"


def _overrides(hook: object, name: str, absent: object) -> bool:
    method = getattr(hook, name, None)
    return callable(method) and getattr(method, "__func__", method) is not getattr(absent, name, None)
