"""Record one section: `section.py NAME OUT TREE BASE BENCH MATCH`; golden.py starts it with its environment."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from shell import Dump, inputs

# What records each: a module, whose name nothing else has, and a function of it.
SECTIONS = {
    "index": ("indexes", "record"),
    "redact": ("redactions", "record"),
    "search": ("searches", "record"),
    "commands": ("commands", "record"),
    "edits": ("lifecycle", "record_edits"),
    "lifecycle": ("lifecycle", "record"),
}


@dataclass(frozen=True)
class Section:
    """What a section is given: where it writes and works, the repository's inputs, evaluation data or None."""

    dump: Dump
    base: Path
    inputs: Path
    bench: Path | None
    match: str


def main() -> None:
    """Record a section anew."""
    name, out, tree, base, bench, match = sys.argv[1:]
    folder = Path(out) / name
    shutil.rmtree(folder, ignore_errors=True)
    dump = Dump(folder, Path(base), Path(tree))
    taken = inputs(Path(base) / "inputs")
    module, function = SECTIONS[name]
    bench_folder = Path(bench) if bench else None
    getattr(importlib.import_module(module), function)(Section(dump, Path(base), taken, bench_folder, match))
    print(f"{name}: {sum(os.times()[:4]):.0f} s of CPU", flush=True)


if __name__ == "__main__":
    main()
