"""Evaluation data: `SET/dev/workspaces/NAME/**` and `SET/dev/queries*.jsonl`, in part, as a section can afford."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from shell import aged


def sets(bench: Path) -> list[str]:
    """The names of all sets."""
    return sorted(path.parent.parent.name for path in bench.glob("*/dev/workspaces"))


def workspace(bench: Path, name: str, which: str = "") -> Path:
    """The folder of a workspace of a set; the first one, if none is named."""
    folder = bench / name / "dev/workspaces"
    return folder / which if which else min(path for path in folder.iterdir() if path.is_dir())


def queries(bench: Path, name: str) -> Iterator[tuple[str, list[dict]]]:
    """The query files of a set, each with its questions."""
    for path in sorted((bench / name / "dev").glob("queries*.jsonl")):
        yield path.stem, [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def spread(values: Sequence, count: int) -> list:
    """So many of a sequence, evenly spread over it."""
    if len(values) <= count:
        return list(values)
    return [values[place * len(values) // count] for place in range(count)]


def excerpt(source: Path, target: Path, first: Sequence[str], most: int, most_of_file: int) -> Path:
    """Copy a part of a workspace: some files, then others, whole lines of each, up to so many bytes."""
    names = sorted(path.relative_to(source).as_posix() for path in source.rglob("*.md"))
    left = most
    for name in dict.fromkeys([*(one for one in first if one in names), *spread(names, 40)]):
        if left <= 0:
            break
        data = (source / name).read_bytes()
        if len(data) > most_of_file:
            data = data[: data.rfind(b"\n", 0, most_of_file) + 1]
        left -= len(data)
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return aged(target)


def whole(source: Path, target: Path) -> Path:
    """Copy a workspace whole."""
    shutil.copytree(source, target)
    return aged(target)
