"""What is installed: this package, Python, the libraries it needs, the extras, and the programs on PATH."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib import metadata, util
from pathlib import Path
from typing import NamedTuple

import commonplace
from commonplace import installation, paths, screen
from commonplace.diagnosis.case import Case
from commonplace.diagnosis.checks import listed
from commonplace.embedding.runtime import NO_TELEMETRY
from commonplace.types import Finding

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
    Library("numpy", "numpy", "1.26"),
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
    "code": Library("tree-sitter", "tree_sitter", "0.24"),
    "fastembed": Library("fastembed", "fastembed", "0.6"),
    "gguf": Library("llama-cpp-python", "llama_cpp", "0.3.9"),
    "keyring": Library("keyring", "keyring", "25"),
    "openai": Library("openai", "openai", "2"),
}


def libraries(case: Case) -> Iterator[Finding]:
    """See that Python and every library that is needed are there and new enough."""
    folder = paths.shown(Path(commonplace.__file__).parent)
    yield Finding("versions.commonplace", "ok", f"commonplace {commonplace.__version__} in {folder}")
    told = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    if sys.version_info[:2] < LEAST_PYTHON:
        yield Finding("versions.python", "wrong", told, "install Python 3.11 or newer")
    else:
        yield Finding("versions.python", "ok", told)
    for library in NEEDED:
        yield _needed(library)


def _needed(library: Library) -> Finding:
    check = f"versions.{library.name}"
    found = installed(library)
    remedy = installation.add([f"{library.name}>={library.least}"])
    if not found or util.find_spec(library.module) is None:
        return Finding(check, "wrong", f"{library.name} is not installed", remedy)
    if as_numbers(found) < as_numbers(library.least):
        told = f"{library.name} {found} is older than {library.least}"
        return Finding(check, "wrong", told, remedy)
    return Finding(check, "ok", f"{library.name} {found}")


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
    """See that the extras that are installed can be imported, each in a process of its own.

    What was compiled for another processor ends the process that imports it.
    """
    present = {extra: library for extra, library in EXTRAS.items() if installed(library)}
    running = {extra: _importing(library.module) for extra, library in present.items()}
    for extra, library in present.items():
        yield _extra(extra, library, running[extra])
    if missing := [extra for extra in EXTRAS if extra not in present]:
        yield Finding("versions.extras", "skipped", f"not installed: {', '.join(missing)}")


def _importing(module: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        installation.python("-c", f"import {module}"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=os.sep,
        env={**installation.environment(), **NO_TELEMETRY},
    )


def _extra(extra: str, library: Library, process: subprocess.Popen[bytes]) -> Finding:
    check, told = f"versions.{extra}", f"{library.name} {installed(library)} (extra {extra})"
    remedy = installation.add(installation.requirements(extra) or [library.name], again=True)
    try:
        _, said = process.communicate(timeout=IMPORT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return Finding(check, "warning", f"{told} takes more than {IMPORT_S:.0f} s to import", remedy)
    if process.returncode:
        last = (said.decode("utf-8", "replace").strip().splitlines() or [f"code {process.returncode}"])[-1]
        reason = screen.shorten(screen.one_line(last), 200)
        return Finding(check, "warning", f"{told} cannot be imported: {reason}", remedy)
    return Finding(check, "ok", told)


def programs(case: Case) -> Iterator[Finding]:
    """See that PATH leads to one `commonplace` and no other."""
    found = on_path(case.environ)
    if not found:
        yield Finding("versions.programs", "ok", "no commonplace on PATH; this one was started otherwise")
    elif len(found) == 1:
        yield Finding("versions.programs", "ok", f"one commonplace on PATH: {paths.shown(found[0])}")
    else:
        told = f"{len(found)} commonplace on PATH, the first is used: {listed(found)}"
        yield Finding("versions.programs", "warning", told, "uninstall those you do not use")


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
