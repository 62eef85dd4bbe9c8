"""A forked child begins anew what was registered and is still alive."""

from __future__ import annotations

import os
import threading
import time

import pytest

from commonplace.base import fork


class _Owner:
    def __init__(self) -> None:
        self.renewed = 0

    def renew(self) -> None:
        self.renewed += 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_lives_is_renewed_in_the_child_alone() -> None:
    owner, forgotten = _Owner(), _Owner()
    fork.renew_in_child(owner, _Owner.renew)
    fork.renew_in_child(forgotten, _Owner.renew)
    del forgotten
    child = os.fork()
    if not child:
        os._exit(owner.renewed)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    assert owner.renewed == 0


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # threads beside it, from Python 3.12 on
def test_nothing_under_a_held_lock_is_cut_in_two_by_a_fork() -> None:
    lock, began, inside = fork.held(threading.RLock()), threading.Event(), [0]

    def work() -> None:
        with lock:
            inside[0] = 1
            began.set()
            time.sleep(0.2)
            inside[0] = 0

    thread = threading.Thread(target=work)
    thread.start()
    began.wait()
    child = os.fork()
    if not child:
        os._exit(inside[0])
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert lock.acquire(timeout=1.0)
    lock.release()
