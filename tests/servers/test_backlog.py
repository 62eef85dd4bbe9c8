"""Work that nobody waits for: all of it is done, in order, on few threads, and what is the same only once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import cache

import pytest

from commonplace.servers import backlog
from commonplace.servers.backlog import THREADS, Backlog


def until(holds: Callable[[], object]) -> None:
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.005)


def threads() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name == "commonplace-backlog"]


def ignore(message: str) -> None:
    raise AssertionError(message)


def test_a_flood_of_works_is_done_on_few_threads_which_end() -> None:
    done: list[int] = []
    seen = 0

    @cache
    def work(number: int) -> Callable[[], object]:
        return lambda: (time.sleep(0.001), done.append(number))

    queue = Backlog(ignore)
    for number in range(300):
        queue.add(work(number))
        seen = max(seen, len(threads()))
    until(lambda: len(done) == 300)
    assert set(done) == set(range(300))
    assert seen <= THREADS
    until(lambda: not threads())


def test_what_waits_already_is_done_once_and_never_twice_at_the_same_time() -> None:
    free, began = threading.Event(), threading.Event()
    running: list[int] = []

    def work() -> None:
        running.append(threading.active_count())
        began.set()
        assert free.wait(30)

    queue = Backlog(ignore)
    queue.add(work)
    assert began.wait(30)
    for _ in range(50):
        queue.add(work)  # comes after what the first one began with
    assert len(running) == 1
    other = threading.Event()
    queue.add(other.set)
    assert other.wait(30)  # is not kept waiting by the first
    free.set()
    until(lambda: not threads())
    assert len(running) == 2


def test_a_work_that_fails_is_told_of_without_its_words_and_keeps_no_other_back() -> None:
    told: list[str] = []
    done = threading.Event()
    queue = Backlog(told.append)
    queue.add(lambda: {}["the words of a tool"])
    queue.add(done.set)
    assert done.wait(30)
    until(lambda: told)
    assert told == ["KeyError while an event of a client was noted"]


def test_one_too_many_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlog, "LONGEST", 2)
    told: list[str] = []
    free = threading.Event()
    queue = Backlog(told.append)
    for _ in range(THREADS):
        queue.add(lambda: free.wait(30))
    until(lambda: not queue._waiting)
    works = [lambda number=number: number for number in range(3)]
    for work in [*works, works[0]]:
        queue.add(work)
    assert told == ["2 works wait already; one more was not taken"]
    free.set()
    until(lambda: not threads())


def test_without_threads_the_next_call_tries_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    done = threading.Event()
    queue = Backlog(ignore)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refused)
        queue.add(done.set)
    queue.add(lambda: None)
    assert done.wait(30)
