"""Room on the disks that are written to: bytes and names of files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from commonplace import paths
from commonplace.diagnosis.case import Case
from commonplace.diagnosis.checks import size
from commonplace.types import Finding

LITTLE, TOO_LITTLE = 1_000_000_000, 100_000_000  # bytes
TIMES_INDEX = 10
FEW_FILES, TOO_FEW_FILES = 10_000, 100


def space(case: Case) -> Iterator[Finding]:
    """See that there is room where notes, index, caches and settings are written, each disk once."""
    places = {
        "workspace": case.root,
        "caches": paths.user_cache_dir(case.environ),
        "settings": paths.user_config_dir(case.environ),
    }
    seen: set[int] = set()
    for name, folder in places.items():
        there = None if folder is None else existing(folder)
        if there is None or (device := os.stat(there).st_dev) in seen:
            continue
        seen.add(device)
        index = case.workspace.index if case.workspace and name == "workspace" else None
        held = os.stat(index).st_size if index is not None and os.path.exists(index) else 0
        yield bytes_left(there, shutil.disk_usage(there).free, held)
        if hasattr(os, "statvfs") and (status := os.statvfs(there)).f_files:
            yield files_left(there, status.f_favail)


def existing(folder: Path) -> Path | None:
    """Return a folder, or the nearest above it that exists."""
    return next((place for place in (folder, *folder.parents) if place.is_dir()), None)


def bytes_left(folder: Path, free: int, index: int = 0) -> Finding:
    """Judge how many bytes are free; a rebuild needs room for a second index and its log."""
    told = f"{size(free)} free at {paths.shown(folder)}"
    if free < TOO_LITTLE:
        return Finding("disk.space", "wrong", told, "make room: nothing more can be written soon")
    if free < max(LITTLE, TIMES_INDEX * index):
        return Finding("disk.space", "warning", told, "make room: a rebuild of the index may not fit")
    return Finding("disk.space", "ok", told)


def files_left(folder: Path, free: int) -> Finding:
    """Judge how many files can still be made."""
    told = f"room for {free:,} more files at {paths.shown(folder)}"
    if free < TOO_FEW_FILES:
        return Finding(
            "disk.files", "wrong", told, "delete files that are not needed: the disk has no inodes left"
        )
    if free < FEW_FILES:
        return Finding("disk.files", "warning", told, "delete files that are not needed: inodes run out")
    return Finding("disk.files", "ok", told)
