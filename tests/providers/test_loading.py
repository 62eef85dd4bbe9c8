"""Models in memory: loaded once however many ask, kept while in use, let go of when idle, anew in a child."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref

import pytest

from commonplace.providers.runtime import Shared


class Model:
    """Stands for something large."""


def test_it_is_loaded_at_its_first_use_and_kept() -> None:
    made: list[Model] = []
    shared = Shared(lambda: made.append(Model()) or made[-1])
    assert not shared.loaded
    with shared.use() as first, shared.use() as second:
        assert first is second
    with shared.use() as third:
        assert third is first
    assert len(made) == 1


def test_it_is_forgotten_when_nobody_uses_it() -> None:
    shared = Shared(Model, idle_s=300)
    with shared.use() as model:
        with shared.use():
            pass
        shared.expire()
        assert shared.loaded
    gone = weakref.ref(model)
    del model
    shared.expire()
    assert not shared.loaded
    gc.collect()
    assert gone() is None
    with shared.use():
        assert shared.loaded


def test_a_failure_to_load_is_raised_and_tried_again() -> None:
    results: list[Model | Exception] = [OSError("no memory"), Model()]

    def load() -> Model:
        result = results.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    shared = Shared(load)
    with pytest.raises(OSError, match="no memory"), shared.use():
        raise AssertionError("not reached")
    with shared.use():
        assert shared.loaded


FORK = """
import os, sys, threading, time
from commonplace.providers.runtime import Shared

made = []
def load():
    made.append(os.getpid())
    return object()

shared = Shared(load, idle_s=0.2)
with shared.use():
    pass
inside, leave = threading.Event(), threading.Event()
def hold():
    with shared.use():
        inside.set()
        leave.wait()
holder = threading.Thread(target=hold)
holder.start()
inside.wait()
shared._lock.acquire()  # as if another thread were just at it
child = os.fork()
if child == 0:
    assert not shared.loaded
    with shared.use():
        assert made[-1] == os.getpid()
    while shared.loaded:
        time.sleep(0.01)
    with shared.use():
        assert made.count(os.getpid()) == 2
    os._exit(0)
shared._lock.release()
leave.set()
holder.join()
assert os.waitpid(child, 0)[1] == 0
assert made == [os.getpid()]
"""

BUILTIN_FORK = """
import os, threading
from commonplace.providers.catalog import EMBEDDERS

model = EMBEDDERS.create("builtin")
texts = [f"text number {number}" for number in range(40)]
before = model.embed(texts, "passage").tobytes()
busy = threading.Thread(target=lambda: [model.embed(texts, "passage") for _ in range(5)])
busy.start()
EMBEDDERS.lock.acquire()
children = []
for _ in range(3):
    child = os.fork()
    if child == 0:
        again = EMBEDDERS.create("builtin")
        os._exit(0 if again is model and again.embed(texts, "passage").tobytes() == before else 1)
    children.append(child)
EMBEDDERS.lock.release()
busy.join()
assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
"""


@pytest.mark.parametrize("program", [FORK, BUILTIN_FORK], ids=["anything", "builtin"])
def test_a_forked_child_begins_anew(program: str) -> None:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
