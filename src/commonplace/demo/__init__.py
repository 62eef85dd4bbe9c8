"""The workspace that ships with the package: where it lies, how it is copied, what is asked of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from commonplace.base.errors import ConfigError
from commonplace.base.root import Root

COLLECTION = "kestrel"
COLLECTION_FOLDER = "projects/kestrel"
_PACKAGE = Root(Path(__file__).parent)


@dataclass(frozen=True, slots=True)
class Expected:
    """A passage that answers a question: the note it stands in, and words it holds."""

    path: str
    contains: str


@dataclass(frozen=True, slots=True)
class TourQuestion:
    """A question of the tour, what kind of question it is, and what it shows."""

    text: str
    kind: str
    why: str
    expected: tuple[Expected, ...]


def questions() -> tuple[TourQuestion, ...]:
    """Read the questions that ship with the workspace."""
    import tomllib

    data = tomllib.loads(_PACKAGE.read("questions.toml").decode("utf-8"))
    return tuple(
        TourQuestion(
            entry["text"],
            entry["kind"],
            entry["why"],
            tuple(Expected(one["path"], one["contains"]) for one in entry["expect"]),
        )
        for entry in data["question"]
    )


def unpack(folder: Path) -> None:
    """Copy the workspace into a folder that is empty or missing, and add its collection.

    Raises ConfigError for a folder that holds something.
    """
    from commonplace import config
    from commonplace.memory import create

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError("--keep", f"{folder} exists and is not empty; name a new folder")
    _copy(Root(_PACKAGE.absolute("workspace")), Root(folder))
    create(folder)
    config.add_collection(folder, COLLECTION, os.fspath(folder / COLLECTION_FOLDER))


def _copy(source: Root, target: Root, path: str = "") -> None:
    """Copy the files of a folder and of those in it."""
    for name in source.names(path):
        inner = os.path.join(path, name)
        if source.is_folder(inner):
            _copy(source, target, inner)
        else:
            target.create(inner, source.read(inner))


def notes(folder: Path) -> Iterator[str]:
    """Yield the text of every note of an unpacked workspace: what loading everything would load."""
    for path in sorted(folder.rglob("*.md")):
        if os.path.basename(path.parent) != ".commonplace":
            yield Root(folder).read(path).decode("utf-8")
