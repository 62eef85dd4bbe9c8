"""The `commonplace` program: a plain search takes the short way, everything else goes through click."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from types import ModuleType

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import NoReturn


class Deferred(ModuleType):
    """A module that becomes the real one when something is looked up in it.

    `importlib.util.LazyLoader` would do the same, but a second `import` statement already wakes it up
    before Python 3.12.
    """

    def __getattr__(self, name: str) -> object:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        from importlib import import_module

        real = import_module(self.__name__)
        self.__dict__.update(real.__dict__)
        return getattr(real, name)


def defer(*names: str) -> None:
    """Put off the import of standard modules that others import and hardly use, unless it has happened."""
    for name in names:
        if name not in sys.modules:
            sys.modules[name] = Deferred(name)


# click and dataclasses import inspect, which takes longer than either, for things not done here; pathlib
# imports how Windows writes paths and, through urllib, IP addresses.
defer("inspect", "ipaddress", "ntpath")


def main() -> NoReturn:
    """Run the program on the arguments of the process."""
    gc.set_threshold(50_000)  # hardly anything here is a cycle: looking for more takes 6 % of a build
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by our parent; its output is discarded
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - as long as the process
        # Notes are UTF-8 whatever the locale says; names of files that are not come out as they are.
        getattr(sys, name).reconfigure(encoding="utf-8", errors="surrogateescape")
    if "hook" in sys.argv:
        from commonplace.cli import hook

        if (options := hook.parse(sys.argv[1:])) is not None:
            os._exit(hook.run(**options))
        if hook.is_called(sys.argv[1:]):
            from commonplace.cli.application import cli

            os._exit(hook.run_quietly(cli.main))
    from commonplace.cli import failures, shortcut

    code = shortcut.run(sys.argv[1:])
    if code is not None:
        # At once: ending the interpreter would take 10 ms, and no file or thread is left to close.
        os._exit(failures.flush(code))
    ends: list[int] = []  # the exit code, once the command has come to its end
    # Registered first and thus called last: a thread that loads a model in native code would be unwound
    # through it when the interpreter is taken apart, and C++ aborts the process for that.
    atexit.register(lambda: os._exit(failures.flush(ends[0])) if ends else None)
    from commonplace.cli.application import cli

    try:
        cli.main()
    except SystemExit as end:
        ends.append(failures.flush(end.code if isinstance(end.code, int) else 0))
    sys.exit(ends[0] if ends else failures.flush(0))
