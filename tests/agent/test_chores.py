"""Things done in the background: when called for, again after a failure, once more before the end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from commonplace.agent.worker import Chore

Make = Callable[..., Chore]


@pytest.fixture
def chore() -> Iterator[Make]:
    made: list[Chore] = []

    def make(work: Callable[[], bool], **named: float) -> Chore:
        made.append(Chore("test", work, **named))
        return made[-1]

    yield make
    for one in made:
        one.end()
        assert one.join(time.monotonic() + 30)


def test_calls_that_come_meanwhile_are_answered_by_one_more(chore: Make) -> None:
    started, go, times = threading.Semaphore(0), threading.Event(), []

    def work() -> bool:
        times.append(1)
        started.release()
        return go.wait()

    one = chore(work)
    one.call()
    started.acquire()
    for _ in range(50):
        one.call()
    go.set()
    one.end()
    assert one.join(time.monotonic() + 30)
    assert len(times) == 2


def test_a_failure_is_tried_again(chore: Make) -> None:
    results, done = [False, False, True], threading.Event()

    def work() -> bool:
        result = results.pop(0)
        if not results:
            done.set()
        return result

    chore(work, first_pause_s=0.001).call()
    assert done.wait(30)


def test_a_mistake_of_ours_does_not_end_the_thread(chore: Make, caplog: pytest.LogCaptureFixture) -> None:
    errors: list[Exception] = [TypeError("with a secret")]
    done = threading.Event()

    def work() -> bool:
        if errors:
            raise errors.pop()
        done.set()
        return True

    chore(work, first_pause_s=0.001).call()
    assert done.wait(30)
    assert "TypeError" in caplog.text
    assert "secret" not in caplog.text


def test_a_pause_ends_with_the_thread_and_after_one_more_attempt(chore: Make) -> None:
    failed, times = threading.Event(), []

    def work() -> bool:
        times.append(1)
        failed.set()
        return False

    one = chore(work, first_pause_s=3600.0, longest_pause_s=3600.0)
    one.call()
    failed.wait(30)
    one.call()
    one.end()
    assert one.join(time.monotonic() + 30)
    assert len(times) == 2


def test_one_that_was_not_called_does_nothing(chore: Make) -> None:
    times: list[int] = []
    one = chore(lambda: bool(times.append(1)))
    one.end()
    assert one.join(time.monotonic())
    assert times == []


def test_it_can_be_called_after_its_end(chore: Make) -> None:
    done = threading.Semaphore(0)
    one = chore(lambda: done.release() is None)
    for _ in range(2):
        one.call()
        assert done.acquire(timeout=30)
        one.end()
        assert one.join(time.monotonic() + 30)


def test_calls_are_gathered_until_it_is_quiet(chore: Make) -> None:
    times, done = [], threading.Event()

    def work() -> bool:
        times.append(1)
        done.set()
        return True

    one = chore(work, quiet_s=0.3)
    for _ in range(5):
        one.call()
        time.sleep(0.001)
    assert done.wait(30)
    assert len(times) == 1


def test_it_is_not_put_off_for_ever(chore: Make) -> None:
    done = threading.Event()
    one = chore(lambda: done.set() is None, quiet_s=3600.0, at_most_s=0.05)
    until = time.monotonic() + 30
    while not done.is_set() and time.monotonic() < until:
        one.call()
        time.sleep(0.001)
    assert done.is_set()
