"""The workspace that ships, with its index and its vectors: embedded once in a process, copied by each test."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from commonplace import Memory, config
from commonplace.demo import unpack
from tests.copies import Template


@cache
def indexed() -> Template:
    """Unpack the workspace and index it with the bundled model; leave it as it is."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    unpack(folder / "demo")
    with Memory.open(folder / "demo", overrides={"usage.record": False}) as memory:
        memory.sync()
    return Template(folder / "demo")


def copied(folder: Path) -> Path:
    """Copy the indexed workspace into a folder that is not there yet."""
    made = indexed().copied(folder)
    config.add_collection(made, "kestrel", str(made / "projects/kestrel"))
    return made
