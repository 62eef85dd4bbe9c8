"""Standard modules that are imported by others and then hardly used, loaded on their first real use."""

from __future__ import annotations

import sys
from types import ModuleType


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
    """Put off the import of modules, unless it has happened."""
    for name in names:
        if name not in sys.modules:
            sys.modules[name] = Deferred(name)
