"""One thread for jobs: in order, when they are due, whatever one of them does."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest

from commonplace.agent.background import Background


@pytest.fixture
def background() -> Iterator[Background]:
    made = Background("test")
    yield made
    assert made.close(30)


def run(background: Background) -> None:
    """Wait until all that is due has run."""
    done = threading.Event()
    background.put(done.set)
    assert done.wait(30)


def test_jobs_run_in_order_on_one_thread_and_a_failure_ends_nothing(
    background: Background, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[tuple[int, str]] = []

    def fail() -> None:
        raise TypeError("with a secret")

    for number in range(3):
        background.put(lambda number=number: seen.append((number, threading.current_thread().name)))  # type: ignore[misc]
        background.put(fail)
    run(background)
    assert seen == [(number, "commonplace test") for number in range(3)]
    assert "TypeError" in caplog.text
    assert "secret" not in caplog.text


def test_a_key_stands_for_the_last_job_and_what_is_not_due_waits_or_goes(background: Background) -> None:
    seen: list[str] = []
    for name in ("first", "second"):
        background.put(lambda name=name: seen.append(name), 0.05, key="k")  # type: ignore[misc]
    background.put(lambda: seen.append("never"), 3600)
    while "second" not in seen:
        run(background)
    assert seen == ["second"]
    assert background.close(30)
    assert seen == ["second"]
    assert not background.put(lambda: None)


def test_waiting_jobs_are_moved_away_from_one_that_hangs() -> None:
    hanging, go, done = Background("test"), threading.Event(), threading.Event()
    begun = threading.Event()
    hanging.put(lambda: (begun.set(), go.wait(30)))
    hanging.put(done.set)
    assert begun.wait(30)
    other = hanging.moved()
    assert done.wait(30)
    go.set()
    assert hanging.close(30)
    assert other.close(30)


def test_without_a_thread_a_job_is_refused(background: Background, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        assert not background.put(lambda: None)
    run(background)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_after_a_fork_begins_anew(background: Background) -> None:
    run(background)
    child = os.fork()
    if not child:
        done = threading.Event()
        os._exit(0 if background.put(done.set) and done.wait(30) else 1)
    assert os.waitpid(child, 0)[1] == 0
