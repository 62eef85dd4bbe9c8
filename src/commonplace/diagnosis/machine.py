"""This machine: Python, libraries, what SQLite can do, the files of the bundled models, room on the disks."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import struct
from collections.abc import Iterator
from contextlib import closing
from importlib import metadata
from pathlib import Path

import apsw

import commonplace
from commonplace.base import installation, paths
from commonplace.base.database import memory
from commonplace.base.messages import message
from commonplace.base.root import open_named
from commonplace.diagnosis.examination import Case
from commonplace.index.sqlite import vectors
from commonplace.providers.embedding import builtin, chinese
from commonplace.render import screen
from commonplace.types import Finding

# Full text without content that can be deleted from (3.43), checked by `PRAGMA integrity_check` (3.44).
LEAST_SQLITE = "3.44"
_REQUIREMENT = re.compile(r"([\w.-]+)[^>]*>=([\d.]+)")


def libraries(case: Case) -> Iterator[Finding]:
    """Name the versions at work, and each library that is missing or older than this program needs."""
    told = "commonplace {version} in {folder}, Python {python} on {system}, SQLite {sqlite}"
    yield Finding("versions.own", "ok", message(
        "versions.own", told, version=commonplace.__version__, python=platform.python_version(),
        folder=paths.shown(Path(commonplace.__file__).parent),
        system=f"{platform.system()} {platform.machine()}", sqlite=apsw.sqlite_lib_version(),
    ))  # fmt: skip
    needed = filter(None, map(_REQUIREMENT.match, installation.requirements()))
    rows = [(found[1], installed(found[1]), found[2], found[0]) for found in needed]
    rows.append(("SQLite", apsw.sqlite_lib_version(), LEAST_SQLITE, "apsw"))
    for name, version, least, requirement in rows:
        if as_numbers(version) >= as_numbers(least):
            continue
        told = message("versions.missing", "{name} is not installed", name=name)
        if version:
            older = "{name} is older than {least}"
            told = message("versions.older", older, name=f"{name} {version}", least=least)
        remedy = installation.add([requirement], again=bool(version))
        yield Finding("versions.libraries", "wrong", told, remedy)


def installed(name: str) -> str:
    """Return the installed version of a library, or an empty text."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def as_numbers(version: str) -> tuple[int, ...]:
    """Return the numbers that a version starts with: `1.19.0rc1` is 1, 19, 0."""
    leading = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, leading[0].split("."))) if leading else ()


def extension(case: Case) -> Iterator[Finding]:
    """See that the vector extension loads and computes; without it numpy compares vectors (level 1)."""
    with closing(memory()) as connection:
        if what := _distance(connection):
            fails = (
                "the vector extension {what}; numpy answers in its place (level 1), the first search slower"
            )
            remedy = installation.add(["sqlite-vec"], again=True)
            yield Finding("sqlite.extension", "warning", message("extension.fails", fails, what=what), remedy)


def _distance(connection: apsw.Connection) -> str:
    """Load the extension and compute the cosine distance of two vectors at right angles; return the fault."""
    path = vectors.extension_path()
    if path is None:
        return message("extension.missing", "is not installed")
    try:
        connection.enable_load_extension(True)
        connection.load_extension(path)
        sql = "SELECT vec_distance_cosine(vec_int8(?), vec_int8(?))"
        found = connection.execute(sql, (struct.pack("2b", 100, 0), struct.pack("2b", 0, 100))).get
    except (apsw.Error, AttributeError) as error:  # a SQLite built without extensions lacks the method
        return f"cannot be loaded ({error})"
    return "" if abs(found - 1.0) < 1e-6 else f"computes a wrong distance ({found})"


def model_files(case: Case) -> Iterator[Finding]:
    """Compare every file of the bundled models with the SHA-256 of the file that ships."""
    for folder, files in ((builtin.FOLDER, builtin.FILES), (chinese.FOLDER, chinese.FILES)):
        for path, expected in ((folder / name, digest) for name, digest in files.items()):
            try:
                with open_named(path) as file:
                    if hashlib.file_digest(file, "sha256").hexdigest() == expected:
                        continue
                told = message("model.other", "{file} is not the file that ships", file=paths.shown(path))
            except OSError as error:
                unread, why = "{file} cannot be read ({reason})", paths.reason(error)
                told = message("model.unreadable", unread, file=paths.shown(path), reason=why)
            yield Finding("model.files", "wrong", told, installation.reinstall())


# --- room on the disks --------------------------------------------------------------------------------

LITTLE, TOO_LITTLE = 1_000_000_000, 100_000_000  # bytes
TIMES_INDEX = 10  # a rebuild needs room for a second index and its log


def space(case: Case) -> Iterator[Finding]:
    """See that there is room where notes, index, caches and settings are written, each disk once."""
    places = {paths.user_cache_dir(case.environ): 0, paths.user_config_dir(case.environ): 0}
    if case.workspace is not None:
        index = case.workspace.index
        places = {case.workspace.root: index.stat().st_size if index.exists() else 0, **places}
    seen: set[int] = set()
    for folder, index_bytes in places.items():
        there = next((place for place in (folder, *folder.parents) if place.is_dir()), None)
        if there is None or (device := os.stat(there).st_dev) in seen:
            continue
        seen.add(device)
        free = shutil.disk_usage(there).free
        if free < max(LITTLE, TIMES_INDEX * index_bytes):
            size = screen.size(free)
            told = message("disk.free", "{size} free at {folder}", size=size, folder=paths.shown(there))
            full = message("disk.full", "make room: nothing more can be written soon")
            tight = message("disk.tight", "make room: a rebuild of the index may not fit")
            is_full = free < TOO_LITTLE
            remedy = full if is_full else tight
            yield Finding("disk.space", "wrong" if is_full else "warning", told, remedy)
