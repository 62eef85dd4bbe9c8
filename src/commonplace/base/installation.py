"""Where this program is installed: its Python, the command that adds a library to it, its clone."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

DISTRIBUTION = "commonplace-memory"  # `commonplace` is somebody else's package on PyPI
_MARKER = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")


def add_extra(extra: str) -> str:
    """Return the command that installs what an extra asks for; empty for an extra that is not ours."""
    needed = requirements(extra)
    return add(needed) if needed else ""


def requirements(extra: str = "") -> list[str]:
    """Return the requirements of this distribution, or of one of its extras, by its metadata."""
    from importlib import metadata

    lines: list[str] = []
    with suppress(metadata.PackageNotFoundError):  # run from its source, never installed
        lines = metadata.requires(DISTRIBUTION) or []
    parts = [line.partition(";") for line in lines]
    return [need.strip() for need, _, marker in parts if (_MARKER.findall(marker) or [""])[0] == extra]


def add(needed: Sequence[str], *, again: bool = False) -> str:
    """Return the command that installs requirements into the environment of this program, by pip or else uv.

    `again` replaces what is installed.
    """
    from importlib.util import find_spec

    words, python = " ".join(map(shlex.quote, needed)), shlex.quote(sys.executable)
    if find_spec("pip") is not None:
        return f"{python} -m pip install {'--force-reinstall ' if again else ''}{words}"
    return f"uv pip install --python {python} {'--reinstall ' if again else ''}{words}"


def reinstall() -> str:
    """Return the command that installs this program again, from where it came (PEP 610)."""
    import json
    from importlib import metadata

    if (folder := checkout()) is not None:
        return add(["-e", os.fspath(folder)], again=True)
    origin = {}
    with suppress(metadata.PackageNotFoundError, ValueError):
        origin = json.loads(metadata.distribution(DISTRIBUTION).read_text("direct_url.json") or "{}")
    by = f"{origin['vcs_info']['vcs']}+" if "vcs_info" in origin else ""
    return add([f"{by}{origin['url']}" if "url" in origin else DISTRIBUTION], again=True)


def python(*arguments: str) -> list[str]:
    """Return what starts this Python, with `environment()`, without imports from the current folder."""
    return [sys.executable, "-P", *arguments]


def program() -> list[str]:
    """Return what starts this program from anywhere: its script if it is installed, else this Python.

    Of several links to the script the one on PATH, which an upgrade leaves where it is (pipx, uv).
    """
    import shutil
    import sysconfig

    beside = shutil.which("commonplace", path=sysconfig.get_path("scripts"))
    if beside is None:
        return python("-m", "commonplace")
    found = shutil.which("commonplace")
    same = found is not None and os.path.realpath(found) == os.path.realpath(beside)
    return [os.path.abspath(found if found and same else beside)]


def typed() -> str:
    """Return what somebody types for this program: its name, or `run` of its clone if that is not on PATH."""
    import shutil

    clone = checkout()
    if clone is None or shutil.which("commonplace") is not None:
        return "commonplace"
    return shlex.quote(os.fspath(clone / "run"))


def environment(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return an environment without what a Python would import from the folder it is started in.

    An empty entry of PYTHONPATH stands for that folder; a relative one leads elsewhere from another folder.
    """
    values = dict(os.environ if environ is None else environ)
    entries = values.pop("PYTHONPATH", "").split(os.pathsep)
    places = os.pathsep.join(os.path.abspath(entry) for entry in entries if entry)
    return {**values, "PYTHONPATH": places} if places else values


def checkout() -> Path | None:
    """Return the clone that this program is imported from, or None where it is installed on its own."""
    package = Path(os.path.realpath(__file__)).parent.parent
    folder = package.parent.parent
    with suppress(OSError):
        declared = (folder / "pyproject.toml").read_text("utf-8") if package.parent.name == "src" else ""
        return folder if re.search(rf'^name = "{DISTRIBUTION}"$', declared, re.MULTILINE) else None
    return None
