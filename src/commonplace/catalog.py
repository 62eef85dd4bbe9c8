"""Providers of one kind by name: a table of rows, those that other packages bring, and what they make.

A provider's module is imported when something of it is asked for; of one specification one thing is made.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Hashable, Iterable, Mapping
from importlib import import_module
from typing import Generic, Protocol, TypeVar
from weakref import WeakSet

from commonplace.errors import ConfigError


class Row(Protocol):
    """What a row has at least; `factory` is `module:function`, a function of a specification."""

    @property
    def name(self) -> str:
        """What it is asked for by."""

    @property
    def factory(self) -> str:
        """Who makes it."""


class _Named(Hashable, Protocol):
    @property
    def provider(self) -> str:
        """The name of a row."""


R = TypeVar("R", bound=Row)
S = TypeVar("S", bound=_Named)
T = TypeVar("T")
_catalogs: WeakSet[Catalog[Row, _Named, object]] = WeakSet()


class Catalog(Generic[R, S, T]):
    """Rows `R` by name, and what was made `T` by specification `S`; safe to use from several threads."""

    def __init__(self, rows: Iterable[R], kind: type[R], group: str, key: str, noun: str) -> None:
        """Take the built-in rows. Others come as objects of `kind` from an entry point group.

        `key` is the setting that names one, `noun` what people call it.
        """
        self.rows: Mapping[str, R] = {row.name: row for row in rows}
        self.made: dict[S, T] = {}
        self.lock = threading.Lock()
        self._kind, self._group, self._key, self._noun = kind, group, key, noun
        _catalogs.add(self)  # type: ignore[arg-type]

    def find(self, name: str) -> R:
        """Return the row of a name, built in or installed. Raises ConfigError, with the known names."""
        row = self.rows.get(name) or self._installed().get(name)
        if row is None:
            known = ", ".join([*self.rows, *self._installed(), "none"])
            raise ConfigError(self._key, f"unknown {self._noun} {name!r}; known: {known}")
        return row

    def create(self, spec: S) -> T:
        """Return what a specification asks for, made once a process. Raises what its factory raises."""
        module, _, function = self.find(spec.provider).factory.partition(":")
        with self.lock:
            if spec not in self.made:
                self.made[spec] = getattr(import_module(module), function)(spec)
            return self.made[spec]

    def _installed(self) -> dict[str, R]:
        """Rows that other packages bring."""
        from importlib.metadata import entry_points

        found = (point.load() for point in entry_points(group=self._group))
        return {row.name: row for row in found if isinstance(row, self._kind)}


def _after_fork() -> None:
    """Begin a forked child with locks that no thread of its parent holds."""
    for catalog in list(_catalogs):
        catalog.lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
