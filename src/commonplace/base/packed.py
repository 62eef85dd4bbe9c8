"""Compressed files: gzip always, zstd where Python (3.14) or a package reads it."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import IO, Any, cast

from commonplace.base import installation
from commonplace.base.messages import Message, message

ENDINGS = (".gz", ".zst", ".zstd")


def without_ending(path: str) -> str:
    """Return the path of a file as it is called before it is compressed."""
    return next((path[: -len(end)] for end in ENDINGS if path.lower().endswith(end)), path)


def trouble(path: str) -> Message | None:
    """Return why a file cannot be unpacked here and what helps; None for one that can be, and for others."""
    if not path.lower().endswith(ENDINGS[1:]) or _zstd():
        return None
    lacks = "compressed with zstd, which Python {version} does not read; to have it read: {command}"
    version, command = "{}.{}".format(*sys.version_info), installation.add(["backports.zstd"])
    return message("file.zstd", lacks, version=version, command=command)


def errors(*others: type[Exception]) -> tuple[type[Exception], ...]:
    """Return what reading a damaged file raises, with some others."""
    return *others, gzip.BadGzipFile, zlib.error, EOFError, getattr(_zstd(), "ZstdError", EOFError)


def opened(file: IO[bytes], path: str) -> IO[bytes]:
    """Return what is in a compressed file of which there is no `trouble`, to be read forwards."""
    if path.lower().endswith(ENDINGS[0]):
        return cast(IO[bytes], gzip.GzipFile(fileobj=file))
    zstd: Any = _zstd()
    own = not hasattr(zstd, "ZstdFile")  # `zstandard` ends with the first frame unless it is asked otherwise
    reader = (
        zstd.ZstdDecompressor().stream_reader(file, read_across_frames=True) if own else zstd.ZstdFile(file)
    )
    return io.BufferedReader(reader)


@cache
def _zstd() -> object:
    for name in ("compression.zstd", "backports.zstd", "zstandard"):
        with suppress(ImportError):
            return import_module(name)
    return None
