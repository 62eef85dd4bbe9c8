"""Sessions that rest are told of once, by one thread for all."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from commonplace.agent.hooks import AgentHook, HookManager
from commonplace.agent.lifecycle import IdleTimer
from commonplace.types.events import SessionEvent


class Told(AgentHook):
    def __init__(self) -> None:
        self.events: list[SessionEvent] = []

    def on_session_idle(self, event: SessionEvent) -> None:
        self.events.append(event)

    @property
    def sessions(self) -> list[str]:
        return [event.session for event in self.events]


def eventually(holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + 20
    while not holds() and time.monotonic() < until:
        time.sleep(0.005)
    return holds()


def test_a_rest_is_told_once() -> None:
    told = Told()
    timer = IdleTimer(HookManager([told], entry_points=False), 0.05)
    timer.touch("s1", "kestrel")
    assert eventually(lambda: len(told.events) == 1)
    assert (told.events[0].session, told.events[0].agent) == ("s1", "kestrel")
    timer.touch("s2")
    assert eventually(lambda: told.sessions == ["s1", "s2"])  # s1 was not told again meanwhile
    timer.touch("s1")
    assert eventually(lambda: told.sessions == ["s1", "s2", "s1"])
    timer.close()


def test_who_speaks_or_ends_does_not_rest() -> None:
    told = Told()
    timer = IdleTimer(HookManager([told], entry_points=False), 0.3)
    timer.touch("ended")
    timer.touch("quiet")
    timer.end("ended")
    while "quiet" not in told.sessions:
        timer.touch("busy")
        time.sleep(0.01)
    assert told.sessions == ["quiet"]
    timer.close()


def test_one_thread_for_all_and_none_after_it_is_closed() -> None:
    told = Told()
    timer = IdleTimer(HookManager([told], entry_points=False), 600)
    before = set(threading.enumerate())
    for number in range(50):
        timer.touch(f"s{number}")
    assert len(set(threading.enumerate()) - before) == 1
    timer.close()
    assert set(threading.enumerate()) <= before
    timer.touch("s1")
    assert set(threading.enumerate()) <= before
    assert told.events == []
