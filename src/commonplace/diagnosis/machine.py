"""This machine: Python, libraries and programs, what SQLite can do, room on the disks, the bundled model."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
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
from commonplace.base.snapshot import written_as
from commonplace.base.tuples import NamedTuple
from commonplace.diagnosis.examination import Case, listed, size
from commonplace.index.sqlite import vectors
from commonplace.language import lexicon
from commonplace.providers.embedding import builtin, chinese
from commonplace.providers.embedding.shipped import Shipped
from commonplace.providers.runtime import NO_TELEMETRY
from commonplace.render import screen
from commonplace.types import Finding, State

LEAST_PYTHON = (3, 11)
IMPORT_S = 30.0  # an extra that takes longer to import is as good as broken


class Library(NamedTuple):
    """A distribution, the module that it brings, and the least version that will do."""

    name: str
    module: str
    least: str


# Both tables say what pyproject.toml says; a test compares them.
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
EXTRAS: Mapping[str, Library] = {
    "anthropic": Library("anthropic", "anthropic", "0.125"),
    "code": Library("tree-sitter", "tree_sitter", "0.24"),
    "fastembed": Library("fastembed", "fastembed", "0.6"),
    "keyring": Library("keyring", "keyring", "25"),
    "langgraph": Library("langgraph", "langgraph", "1.2"),
    "nanobot": Library("nanobot-ai", "nanobot", "0.3.5"),
    "openai-agents": Library("openai-agents", "agents", "0.24"),
    "pydantic-ai": Library("pydantic-ai-slim", "pydantic_ai", "2.68"),
    "tui": Library("textual", "textual", "8.0"),
}


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


def extras(case: Case) -> Iterator[Finding]:
    """See that the extras that are installed can be imported.

    What was compiled for another processor ends the process that imports it, so each that holds compiled code
    is imported in a process of its own. Of one in Python alone it is enough that all it requires is there.
    """
    present = {extra: library for extra, library in EXTRAS.items() if installed(library)}
    running = {extra: _importing(library) for extra, library in present.items() if not is_pure(library)}
    for extra, library in present.items():
        yield _extra(extra, library, running.get(extra))
    if missing := [extra for extra in EXTRAS if extra not in present]:
        told = message("extras.missing", "not installed: {extras}", extras=tuple(missing))
        yield Finding("versions.extras", "skipped", told)


def is_pure(library: Library) -> bool:
    """Whether a distribution says which files it has, and none of them is compiled."""
    files = metadata.files(library.name)
    return bool(files) and not any(file.suffix in (".so", ".pyd", ".dylib", ".dll") for file in files or ())


def lacking(library: Library) -> list[str]:
    """Return the distributions that one requires wherever it runs, and that are not installed."""
    required = (line for line in metadata.requires(library.name) or () if ";" not in line)
    names = (leading[0] for line in required if (leading := re.match(r"[\w.-]+", line)))
    return [name for name in names if not installed(Library(name, name, ""))]


def _importing(library: Library) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        installation.python("-c", f"import {library.module}"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=os.sep,
        env={**installation.environment(), **NO_TELEMETRY},
    )


def _extra(extra: str, library: Library, process: subprocess.Popen[bytes] | None) -> Finding:
    name = message("extra.name", "{name} {version} (extra {extra})",
                   name=library.name, version=installed(library), extra=extra)  # fmt: skip
    trouble = ""
    if process is None:
        missing = lacking(library)
        if missing or util.find_spec(library.module) is None:
            lacks = "{extra} cannot be imported: {what} is missing"
            trouble = message("extra.lacks", lacks, extra=name, what=", ".join(missing) or library.module)
    else:
        try:
            _, said = process.communicate(timeout=IMPORT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            slow = "{extra} takes more than {seconds:.0f} s to import"
            trouble = message("extra.slow", slow, extra=name, seconds=IMPORT_S)
        else:
            lines = said.decode("utf-8", "replace").strip().splitlines() or [f"code {process.returncode}"]
            if process.returncode:
                last = screen.shorten(screen.one_line(lines[-1]), 200)
                trouble = message("extra.broken", "{extra} cannot be imported: {what}", extra=name, what=last)
    remedy = installation.add(installation.requirements(extra) or [library.name], again=True)
    if trouble:
        return Finding(f"versions.{extra}", "warning", trouble, remedy)
    return Finding(f"versions.{extra}", "ok", name)


def programs(case: Case) -> Iterator[Finding]:
    """See that PATH leads to one `commonplace` and no other."""
    found = on_path(case.environ)
    if not found:
        none = message("path.none", "no commonplace on PATH; this one was started otherwise")
        yield Finding("versions.programs", "ok", none)
    elif len(found) == 1:
        one = message("path.one", "one commonplace on PATH: {place}", place=paths.shown(found[0]))
        yield Finding("versions.programs", "ok", one)
    else:
        yield Finding(
            "versions.programs",
            "warning",
            message(
                "path.several",
                "{n} commonplace on PATH, the first is used: {places}",
                n=len(found),
                places=listed(found),
            ),
            message("path.uninstall", "uninstall those you do not use"),
        )


def on_path(environ: Mapping[str, str]) -> list[str]:
    """Return the programs of that name on PATH, the one that is started first; links to the same are one."""
    suffix = ".exe" if sys.platform == "win32" else ""
    candidates = [
        os.path.join(folder, f"commonplace{suffix}")
        for folder in environ.get("PATH", "").split(os.pathsep)
        if folder
    ]
    programs = (path for path in candidates if os.path.isfile(path) and os.access(path, os.X_OK))
    return list({os.path.realpath(path): path for path in reversed(list(programs))}.values())[::-1]


# --- what SQLite can do -------------------------------------------------------------------------------

# Whose locks and shared memory SQLite cannot trust (https://sqlite.org/wal.html, "Disadvantages").
NETWORK = frozenset(
    "nfs nfs4 cifs smb smb2 smb3 smbfs afs ceph glusterfs lustre 9p ncpfs davfs fuse.sshfs fuse.rclone"
    " fuse.s3fs fuse.glusterfs fuse.davfs2 vboxsf fuse.vmhgfs-fuse drvfs".split()
)
MOUNTS = Path("/proc/self/mounts")
# Full text without content that can be deleted from (3.43), checked by `PRAGMA integrity_check` (3.44).
LEAST = (3, 44)
WAL_FORMAT = 2  # bytes 18 and 19 of the file: https://sqlite.org/fileformat.html
_FTS = (
    "CREATE VIRTUAL TABLE t USING fts5(x, content='', contentless_delete=1,"
    f' tokenize="{lexicon.TOKENIZER}")'
)


class Mount(NamedTuple):
    """A mounted file system: where, and of which type."""

    folder: str
    kind: str


def features(case: Case) -> Iterator[Finding]:
    """See that SQLite has full text as the index uses it, and JSON."""
    told = message("sqlite.version", "SQLite {version} in apsw {apsw}",
                   version=apsw.sqlite_lib_version(), apsw=apsw.apsw_version())  # fmt: skip
    if as_numbers(apsw.sqlite_lib_version()) < LEAST:
        least = ".".join(map(str, LEAST))
        older = message("versions.older", "{name} is older than {least}", name=told, least=least)
        yield Finding("sqlite.version", "wrong", older, installation.add(["apsw"], again=True))
    else:
        yield Finding("sqlite.version", "ok", told)
    trials = {
        "FTS5": (f"{_FTS}; INSERT INTO t(rowid, x) VALUES(1, 'walnut desks'); SELECT 1 FROM t('desk')", 1),
        "JSON": ("SELECT sum(value) FROM json_each('[1, 2]')", 3),
    }
    for name, (sql, expected) in trials.items():
        yield trial(name, sql, expected)


def trial(name: str, sql: str, expected: object) -> Finding:
    """See that a feature of SQLite gives what is expected of it."""
    check = f"sqlite.{name.lower()}"
    with closing(memory()) as connection:
        try:
            result = connection.execute(sql).get
        except apsw.Error as error:
            result = error
    if result == expected:
        return Finding(check, "ok", message("sqlite.works", "{name} works", name=name))
    told = message("sqlite.fails", "{name} does not work ({result})", name=name, result=str(result))
    return Finding(check, "wrong", told, installation.reinstall())


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


def file_system(case: Case) -> Iterator[Finding]:
    """See that the index lies where several processes may share it, and is kept in the form for that."""
    workspace = case.workspace
    if workspace is None:
        return
    kind = kind_of(workspace.derived if workspace.derived.exists() else workspace.root, mounts())
    if kind in NETWORK:
        yield Finding(
            "sqlite.files",
            "warning",
            message(
                "files.network",
                "the workspace lies on a network file system ({kind}), where SQLite's locks may not hold",
                kind=kind,
            ),
            message("files.local", "keep the workspace on a local disk, or let one machine alone use it"),
        )
    else:
        told = message("files.unknown", "the type of the file system is not known")
        if kind:
            told = message("files.fine", "the file system ({kind}) is a local one", kind=kind)
        yield Finding("sqlite.files", "ok" if kind else "skipped", told)
    if (found := written_as(workspace.index)) not in (0, WAL_FORMAT):
        yield Finding(
            "sqlite.wal",
            "warning",
            message("wal.off", "the index is not in WAL mode: a search waits while it is written"),
            "commonplace sync",
        )
    elif found:
        told = message("wal.on", "the index is in WAL mode: searches do not wait for writers")
        yield Finding("sqlite.wal", "ok", told)


def kind_of(folder: Path, mounted: Sequence[Mount]) -> str:
    """Return the type of the file system that a folder lies on, as far as it is known."""
    real = os.path.realpath(folder)
    over = [mount for mount in mounted if paths.is_within(real, mount.folder)]
    # Of two mounts on one folder the later one is seen.
    return max(enumerate(over), key=lambda pair: (len(pair[1].folder), pair[0]))[1].kind if over else ""


def mounts(table: Path = MOUNTS) -> list[Mount]:
    """Return what is mounted, where the system tells."""
    try:
        lines = table.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return []
    rows = [line.split(" ") for line in lines]
    # The table writes a blank in a name as `\040`.
    return [
        Mount(re.sub(r"\\(040|011|012|134)", lambda code: chr(int(code[1], 8)), row[1]), row[2])
        for row in rows
        if len(row) > 2
    ]


# --- room on the disks --------------------------------------------------------------------------------

LITTLE, TOO_LITTLE = 1_000_000_000, 100_000_000  # bytes
TIMES_INDEX = 10
FEW_FILES, TOO_FEW_FILES = 10_000, 100


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
        if hasattr(os, "statvfs") and (status := os.statvfs(there)).f_files:
            yield files_left(there, status.f_favail)


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


def files_left(folder: Path, free: int) -> Finding:
    """Judge how many files can still be made."""
    told = message("disk.files", "room for {n:,} more files at {folder}", n=free, folder=paths.shown(folder))
    if free < TOO_FEW_FILES:
        none = message("disk.no_inodes", "delete files that are not needed: the disk has no inodes left")
        return Finding("disk.files", "wrong", told, none)
    if free < FEW_FILES:
        few = message("disk.few_inodes", "delete files that are not needed: inodes run out")
        return Finding("disk.files", "warning", told, few)
    return Finding("disk.files", "ok", told)


_QUESTIONS = ("where is my passport", "我的护照在哪里")
_NEAR = "The passport lies in the top drawer of the desk."
_FAR = "The deploy moved to Thursday."


def model_files(case: Case) -> Iterator[Finding]:
    """See that every file of the model is there, whole and unchanged."""
    for model in (Shipped(case.model_folder, builtin.FILES), Shipped(case.chinese_folder, chinese.FILES)):
        for name, file in model.files.items():
            yield _file(model.folder / name, file.sha256)


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
    """Embed a question in both languages and two sentences: unit vectors, the right sentence nearer."""
    import numpy as np

    try:
        model = builtin.BuiltinEmbedder(case.model_folder, case.chinese_folder)
        rows = model.embed((_NEAR, _FAR, *_QUESTIONS), "passage")
    except CommonplaceError as error:
        yield Finding("model.vectors", "wrong", str(error), installation.reinstall())
        return
    lengths = np.linalg.norm(rows, axis=1)
    # Of the question that tells them apart worse.
    near, far = min((rows[2:] @ rows[:2].T).tolist(), key=lambda cosines: cosines[0] - cosines[1])
    if abs(lengths - 1).max() > 1e-3 or rows.shape[1] != builtin.DIMENSIONS:
        told = (
            f"its vectors are no unit vectors of {builtin.DIMENSIONS} dimensions (lengths {lengths.round(3)})"
        )
        yield Finding("model.vectors", "wrong", told, installation.reinstall())
    elif near < far + 0.2:
        unrelated = "it finds an unrelated sentence as near as a related one ({far:.2f}, {near:.2f})"
        told = message("model.blind", unrelated, near=near, far=far)
        yield Finding("model.vectors", "wrong", told, installation.reinstall())
    else:
        nearer = "a question is nearer to its answer ({near:.2f}) than to another sentence ({far:.2f})"
        told = message("model.near", nearer, near=near, far=far)
        yield Finding("model.vectors", "ok", told)
