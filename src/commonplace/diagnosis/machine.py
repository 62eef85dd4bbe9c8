"""This machine: Python, libraries and programs, what SQLite can do, room on the disks, the bundled model."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import struct
import sys
from collections.abc import Iterator
from contextlib import closing
from importlib import metadata, util
from pathlib import Path

import apsw

import commonplace
from commonplace.base import installation, paths
from commonplace.base.database import memory
from commonplace.base.errors import CommonplaceError
from commonplace.base.messages import message
from commonplace.base.root import open_named
from commonplace.base.tuples import NamedTuple
from commonplace.diagnosis.examination import Case, size
from commonplace.index.sqlite import vectors
from commonplace.providers.embedding import builtin, chinese
from commonplace.types import Finding, State

LEAST_PYTHON = (3, 11)


class Library(NamedTuple):
    """A distribution, the module that it brings, and the least version that will do."""

    name: str
    module: str
    least: str


# The requirements of pyproject.toml; a test compares them.
NEEDED = (
    Library("apsw", "apsw", "3.46"),
    Library("click", "click", "8.1"),
    Library("h11", "h11", "0.14"),
    Library("httpx", "httpx", "0.27"),
    Library("numpy", "numpy", "2"),
    Library("onnxruntime", "onnxruntime", "1.19"),
    Library("pyyaml", "yaml", "6.0"),
    Library("rich", "rich", "13.7"),
    Library("sqlite-vec", "sqlite_vec", "0.1.6"),
    Library("starlette", "starlette", "0.41"),
    Library("tokenizers", "tokenizers", "0.20"),
    Library("tomlkit", "tomlkit", "0.13"),
    Library("uvicorn", "uvicorn", "0.30"),
    Library("watchfiles", "watchfiles", "0.24"),
)


def libraries(case: Case) -> Iterator[Finding]:
    """See that Python and every library that is needed are there and new enough."""
    folder = paths.shown(Path(commonplace.__file__).parent)
    own = message("versions.own", "commonplace {version} in {folder}",
                  version=commonplace.__version__, folder=folder)  # fmt: skip
    yield Finding("versions.commonplace", "ok", own)
    told: str = message("versions.python", "Python {version} on {system}", version=platform.python_version(),
                        system=f"{platform.system()} {platform.machine()}")  # fmt: skip
    if sys.version_info[:2] < LEAST_PYTHON:
        newer = message("versions.newer", "install Python 3.11 or newer")
        yield Finding("versions.python", "wrong", told, newer)
    else:
        yield Finding("versions.python", "ok", told)
    for library in NEEDED:
        check, version = f"versions.{library.name}", installed(library)
        state: State = "wrong"
        told = f"{library.name} {version}"
        if not version or util.find_spec(library.module) is None:
            told = message("versions.missing", "{name} is not installed", name=library.name)
        elif as_numbers(version) < as_numbers(library.least):
            older = "{name} is older than {least}"
            told = message("versions.older", older, name=told, least=library.least)
        else:
            state = "ok"
        remedy = "" if state == "ok" else installation.add([f"{library.name}>={library.least}"])
        yield Finding(check, state, told, remedy)


def installed(library: Library) -> str:
    """Return the installed version of a library, or an empty text."""
    try:
        return metadata.version(library.name)
    except metadata.PackageNotFoundError:
        return ""


def as_numbers(version: str) -> tuple[int, ...]:
    """Return the numbers that a version starts with: `1.19.0rc1` is 1, 19, 0."""
    leading = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, leading[0].split("."))) if leading else ()


# --- what SQLite can do -------------------------------------------------------------------------------

# Full text without content that can be deleted from (3.43), checked by `PRAGMA integrity_check` (3.44).
LEAST = (3, 44)


def features(case: Case) -> Iterator[Finding]:
    """See that SQLite is new enough."""
    told = message("sqlite.version", "SQLite {version} in apsw {apsw}",
                   version=apsw.sqlite_lib_version(), apsw=apsw.apsw_version())  # fmt: skip
    if as_numbers(apsw.sqlite_lib_version()) < LEAST:
        least = ".".join(map(str, LEAST))
        older = message("versions.older", "{name} is older than {least}", name=told, least=least)
        yield Finding("sqlite.version", "wrong", older, installation.add(["apsw"], again=True))
    else:
        yield Finding("sqlite.version", "ok", told)


def extension(case: Case) -> Iterator[Finding]:
    """See that the vector extension loads and computes; without it vectors are searched by numpy, level 1."""
    with closing(memory()) as connection:
        told = _distance(connection)
    if not told:
        fine = message("extension.fine", "the vector extension loads and computes (level 0)")
        yield Finding("sqlite.extension", "ok", fine)
        return
    yield Finding(
        "sqlite.extension",
        "warning",
        message(
            "extension.fails",
            "the vector extension {what}; numpy answers in its place (level 1), the first search slower",
            what=told,
        ),
        installation.add(["sqlite-vec"], again=True),
    )


def _distance(connection: apsw.Connection) -> str:
    """Load the extension and compute the cosine distance of two vectors at right angles; say what fails."""
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


# --- room on the disks --------------------------------------------------------------------------------

LITTLE, TOO_LITTLE = 1_000_000_000, 100_000_000  # bytes
TIMES_INDEX = 10


def space(case: Case) -> Iterator[Finding]:
    """See that there is room where notes, index, caches and settings are written, each disk once."""
    places = [(paths.user_cache_dir(case.environ), 0), (paths.user_config_dir(case.environ), 0)]
    if case.workspace is not None:
        index = case.workspace.index
        places.insert(0, (case.workspace.root, index.stat().st_size if index.exists() else 0))
    seen: set[int] = set()
    for folder, index_bytes in places:
        there = existing(folder)
        if there is None or (device := os.stat(there).st_dev) in seen:
            continue
        seen.add(device)
        yield bytes_left(there, shutil.disk_usage(there).free, index_bytes)


def existing(folder: Path) -> Path | None:
    """Return a folder, or the nearest above it that exists."""
    return next((place for place in (folder, *folder.parents) if place.is_dir()), None)


def bytes_left(folder: Path, free: int, index: int = 0) -> Finding:
    """Judge how many bytes are free; a rebuild needs room for a second index and its log."""
    told = message("disk.free", "{size} free at {folder}", size=size(free), folder=paths.shown(folder))
    if free < TOO_LITTLE:
        full = message("disk.full", "make room: nothing more can be written soon")
        return Finding("disk.space", "wrong", told, full)
    if free < max(LITTLE, TIMES_INDEX * index):
        tight = message("disk.tight", "make room: a rebuild of the index may not fit")
        return Finding("disk.space", "warning", told, tight)
    return Finding("disk.space", "ok", told)


_TEXTS = ("The passport is in a drawer.", "The deploy is late.", "where is my passport", "我的护照在哪里")


def model_files(case: Case) -> Iterator[Finding]:
    """See that every file of the model is there, whole and unchanged."""
    for folder, files in ((case.model_folder, builtin.FILES), (case.chinese_folder, chinese.FILES)):
        for name, expected in files.items():
            yield _file(folder / name, expected)


def _file(path: Path, expected: str) -> Finding:
    check = f"model.{path.stem}"
    try:
        with open_named(path) as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        told = message("model.unreadable", "{file} cannot be read ({reason})",
                       file=paths.shown(path), reason=paths.reason(error))  # fmt: skip
        return Finding(check, "wrong", told, installation.reinstall())
    if found != expected:
        other = "{file} is not the file that ships (SHA-256 {found}…, not {expected}…)"
        told = message("model.other", other, file=paths.shown(path), found=found[:12], expected=expected[:12])
        return Finding(check, "wrong", told, installation.reinstall())
    ships = "{file} is the file that ships (SHA-256 {found}…)"
    return Finding(check, "ok", message("model.ships", ships, file=path.name, found=found[:12]))


def model_vectors(case: Case) -> Iterator[Finding]:
    """Embed a question in both languages and two sentences, where the files are those that ship."""
    state, told = _vectors(case)
    yield Finding("model.vectors", state, told, "" if state == "ok" else installation.reinstall())


def _vectors(case: Case) -> tuple[State, str]:
    """See that its vectors are unit vectors, and that of the right sentence is nearer."""
    import numpy as np

    if others := [file.told for file in model_files(case) if file.state != "ok"]:
        return "wrong", others[0]
    try:
        model = builtin.BuiltinEmbedder(case.model_folder, case.chinese_folder)
        rows = model.embed(_TEXTS, "passage")
    except CommonplaceError as error:
        return "wrong", str(error)
    lengths = np.linalg.norm(rows, axis=1)
    # Of the question that tells them apart worse.
    near, far = min((rows[2:] @ rows[:2].T).tolist(), key=lambda cosines: cosines[0] - cosines[1])
    if abs(lengths - 1).max() > 1e-3 or rows.shape[1] != builtin.DIMENSIONS:
        return "wrong", f"its vectors have lengths of {lengths.round(3)} in {rows.shape[1]} dimensions"
    if near < far + 0.2:
        unrelated = "it finds an unrelated sentence as near as a related one ({far:.2f}, {near:.2f})"
        return "wrong", message("model.blind", unrelated, near=near, far=far)
    nearer = "a question is nearer to its answer ({near:.2f}) than to another sentence ({far:.2f})"
    return "ok", message("model.near", nearer, near=near, far=far)
