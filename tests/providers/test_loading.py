"""Models in memory: loaded once however many ask, and anew in a child."""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from commonplace.providers.runtime import Shared


class Model:
    """Stands for something large."""


def test_it_is_loaded_at_its_first_use_and_kept() -> None:
    made: list[Model] = []

    def load() -> Model:
        time.sleep(0.05)
        made.append(Model())
        return made[-1]

    shared = Shared(load)
    assert not shared.loaded
    with ThreadPoolExecutor(4) as pool:
        assert len({id(model) for model in pool.map(lambda _: shared.use(), range(4))}) == 1
    assert shared.use() is made[0]
    assert len(made) == 1


def test_a_failure_to_load_is_raised_and_tried_again() -> None:
    results: list[Model | Exception] = [OSError("no memory"), Model()]

    def load() -> Model:
        result = results.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    shared = Shared(load)
    with pytest.raises(OSError, match="no memory"):
        shared.use()
    assert shared.use() is shared.use()


FORK = """
import os
from commonplace.providers.runtime import Shared

made = []
def load():
    made.append(os.getpid())
    return object()

shared = Shared(load)
shared.use()
shared._lock.acquire()  # as if another thread were just at it
child = os.fork()
if child == 0:
    assert not shared.loaded
    shared.use()
    os._exit(0 if made[-1] == os.getpid() else 1)
shared._lock.release()
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
