"""Work in a process of its own, whose peak memory is that of the work: nothing else is imported here."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")


def apart(work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> tuple[_T, int]:
    """Run a function in a fresh process; return its result and the process's peak memory in bytes."""
    # A fresh process is started with `-c`, which would import from the current folder.
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            result = pool.submit(work, *args, **kwargs).result()
            return result, pool.submit(peak_memory).result()
    finally:
        os.environ.pop("PYTHONSAFEPATH")
        os.environ.update({"PYTHONSAFEPATH": before} if before else {})


def peak_memory() -> int:
    """Return the largest memory this process ever held, in bytes; 0 where the system does not say."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        pass
    try:
        import resource
    except ImportError:
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
