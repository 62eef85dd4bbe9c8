"""Files of a model that come with the program: there, and what they were when they were measured."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from commonplace.base.errors import ProviderError
from commonplace.base.root import read_named


def check(folder: Path, names: Iterable[str]) -> None:
    """See that every file is there, without reading it. Raises ProviderError."""
    for name in names:
        if not (folder / name).is_file():
            raise damaged(f"{name} is missing")


def read(folder: Path, name: str, sha256: str) -> bytes:
    """Read a file and compare its hash. Raises ProviderError."""
    try:
        data = read_named(folder / name)
    except OSError as error:
        raise damaged(f"{name} cannot be read ({error.strerror})") from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise damaged(f"{name} is damaged or was changed")
    return data


def damaged(message: str) -> ProviderError:
    """Return the error for a shipped file that cannot be used."""
    return ProviderError("builtin", f"{message}; reinstall commonplace", permanent=True)
