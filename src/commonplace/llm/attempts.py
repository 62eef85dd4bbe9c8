"""Running a call to a provider before its deadline, and again after faults that pass.

A call runs in a thread that is left behind when the deadline comes: neither a name server nor a server that
sends one byte a second respects a timeout.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Iterator
from typing import TypeVar, cast

from commonplace import refusals
from commonplace.deadline import Deadline
from commonplace.errors import ProviderError
from commonplace.llm.base import Unanswered

ATTEMPTS = 4
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 8.0  # doubled from one attempt to the next
_AHEAD = 256  # pieces that a stream may be ahead of its reader
_TICK_S = 0.2  # how soon a stream notices that its reader went away
_Result = TypeVar("_Result")


def repeated(work: Callable[[], _Result], deadline: Deadline) -> _Result:
    """Run work, again after a refusal that passes, until it succeeds or time does not allow another attempt.

    What was sent and not answered is not sent again: it may have been paid for. Raises ProviderError.
    """
    for attempt in range(1, ATTEMPTS):
        try:
            return work()
        except ProviderError as error:
            wait = refusals.pause_s(error, attempt, FIRST_PAUSE_S, LONGEST_PAUSE_S)
            if error.permanent or isinstance(error, Unanswered) or wait >= deadline.left_s():
                raise
            deadline.pause(wait)
    return work()


def within(provider: str, work: Callable[[], _Result], deadline: Deadline) -> _Result:
    """Run work and return its result, or raise Unanswered when the deadline comes first."""

    def once() -> Iterator[_Result]:
        yield work()

    return next(relayed(provider, once, deadline))


def relayed(
    provider: str, produce: Callable[[], Iterator[_Result]], deadline: Deadline
) -> Generator[_Result, None, None]:
    """Yield what a thread produces; raise Unanswered when the deadline comes first.

    A reader that stops early ends the producer at its next piece.
    """
    pieces: queue.Queue[tuple[_Result | None, BaseException | None]] = queue.Queue(_AHEAD)
    gone = threading.Event()
    thread = threading.Thread(
        target=_produce, args=(produce, pieces, gone), name="commonplace-llm", daemon=True
    )
    thread.start()
    try:
        while True:
            try:
                piece, error = pieces.get(timeout=max(deadline.left_s(), 0.001))
            except queue.Empty:
                raise Unanswered(provider, f"no answer within {round(deadline.seconds, 1):g} s") from None
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield cast(_Result, piece)
    finally:
        gone.set()


def drained(stream: Generator[object, None, _Result]) -> _Result:
    """Read a stream to its end and return what it returns."""
    while True:
        try:
            next(stream)
        except StopIteration as end:
            whole: _Result = end.value
            return whole


def _produce(
    produce: Callable[[], Iterator[_Result]],
    pieces: queue.Queue[tuple[_Result | None, BaseException | None]],
    gone: threading.Event,
) -> None:
    def put(piece: _Result | None, error: BaseException | None) -> bool:
        while not gone.is_set():
            try:
                pieces.put((piece, error), timeout=_TICK_S)
            except queue.Full:
                continue
            return True
        return False

    try:
        source = produce()
        for piece in source:
            if not put(piece, None):
                if isinstance(source, Generator):
                    source.close()
                return
        put(None, StopIteration())
    except BaseException as error:  # noqa: BLE001 - raised again where the reader waits
        put(None, error)
