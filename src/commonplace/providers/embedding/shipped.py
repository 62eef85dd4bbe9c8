"""Files of a model that come with the program: there, whole, and what they were when they were measured."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from commonplace.base.errors import ProviderError
from commonplace.base.root import read_named
from commonplace.base.tuples import NamedTuple


class File(NamedTuple):
    """The expected size and hash of a file."""

    size: int  # bytes; one that was cut short is noticed at once
    sha256: str


class Shipped(NamedTuple):
    """The files of one model in one folder."""

    folder: Path
    files: Mapping[str, File]

    def check(self) -> None:
        """See that every file is there with its size. Raises ProviderError."""
        for name, file in self.files.items():
            try:
                whole = (self.folder / name).stat().st_size == file.size
            except OSError as error:
                raise damaged(f"{name} cannot be read ({error.strerror})") from error
            if not whole:
                raise damaged(f"{name} is damaged or was changed")

    def read(self, name: str) -> bytes:
        """Read a file and compare its hash. Raises ProviderError."""
        try:
            data = read_named(self.folder / name)
        except OSError as error:
            raise damaged(f"{name} cannot be read ({error.strerror})") from error
        if hashlib.sha256(data).hexdigest() != self.files[name].sha256:
            raise damaged(f"{name} is damaged or was changed")
        return data


def damaged(message: str) -> ProviderError:
    """Return the error for a shipped file that cannot be used."""
    return ProviderError("builtin", f"{message}; reinstall commonplace", permanent=True)
