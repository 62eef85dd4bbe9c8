"""Compressed files: gzip always, zstd where Python (3.14) or a package reads it."""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import cache
from importlib import import_module

from commonplace.base.messages import Message, message

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import IO, Any
ENDINGS = (".gz", ".zst", ".zstd")


def without_ending(path: str) -> str:
    """Return the path of a file as it is called before it is compressed."""
    return next((path[: -len(end)] for end in ENDINGS if path.lower().endswith(end)), path)


def trouble(path: str) -> Message | None:
    """Return why a file cannot be unpacked here and what helps; None for one that can be, and for others."""
    if not path.lower().endswith(ENDINGS[1:]) or _zstd():
        return None
    from commonplace.base import installation

    lacks = "compressed with zstd, which Python {version} does not read; to have it read: {command}"
    version, command = "{}.{}".format(*sys.version_info), installation.add(["backports.zstd"])
    return message("file.zstd", lacks, version=version, command=command)


def errors(*others: type[Exception]) -> tuple[type[Exception], ...]:
    """Return what reading a damaged file raises, with some others."""
    import gzip
    import zlib

    return *others, gzip.BadGzipFile, zlib.error, EOFError, getattr(_zstd(), "ZstdError", EOFError)


def opened(file: IO[bytes], path: str) -> IO[bytes]:
    """Return what is in a compressed file of which there is no `trouble`, to be read forwards."""
    import gzip
    import io

    zstd: Any = _zstd()
    if path.lower().endswith(ENDINGS[0]):
        return gzip.GzipFile(fileobj=file)  # type: ignore[return-value]
    if hasattr(zstd, "ZstdFile"):
        return io.BufferedReader(zstd.ZstdFile(file))
    return io.BufferedReader(zstd.ZstdDecompressor().stream_reader(file, read_across_frames=True))


@cache
def _zstd() -> object:
    for name in ("compression.zstd", "backports.zstd", "zstandard"):
        with suppress(ImportError):
            return import_module(name)
    return None
