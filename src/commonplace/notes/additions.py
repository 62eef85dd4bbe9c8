"""Collections and contexts that an import adds to the settings, and that its undo removes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from commonplace import config
from commonplace.base import paths
from commonplace.base.errors import CommonplaceError, ConfigError
from commonplace.config.collections import check_name, normal_prefix
from commonplace.config.editing import check_foreign, no_folder
from commonplace.config.settings import DEFAULT_GLOBS, Collection
from commonplace.notes import scan
from commonplace.storage import journal
from commonplace.storage.receipts import Receipts
from commonplace.types import FileFailure, Run
from commonplace.types.imports import Description, Folder, ImportedSetting, Outcome


def add(
    root: Path,
    source: str,
    folders: Iterable[Folder],
    descriptions: Iterable[Description],
    *,
    dry_run: bool = False,
) -> tuple[list[ImportedSetting], list[FileFailure]]:
    """Add the missing collections and contexts; existing settings stay as they are.

    Return the settings, and the failures with their reasons. Raises ConfigError if loading fails.
    """
    done: list[ImportedSetting] = []
    failed: list[FileFailure] = []
    settings = config.load(root)
    names: dict[str, str] = {}  # of collections, by the name of the imported folder
    taken = dict(settings.collections)
    for folder in folders:
        try:
            setting = _collected(root, source, folder, taken, dry_run=dry_run)
        except CommonplaceError as error:
            failed.append(FileFailure(paths.shown(folder.name), str(error)))
        else:
            names[folder.name] = setting.name
            done.append(setting)
    for one in descriptions:
        if one.folder and one.folder not in names:
            continue  # its collection failed, and is reported
        prefix = normal_prefix("/".join(filter(None, (names.get(one.folder, ""), one.prefix))))
        there, text = settings.contexts.get(prefix), one.text.strip()
        outcome: Outcome = "new" if there is None else "same" if there == text else "edited"
        try:
            if outcome == "new" and not dry_run:
                config.add_context(root, prefix, text)
        except CommonplaceError as error:
            failed.append(FileFailure(paths.shown(f"context {prefix}"), str(error)))
        else:
            done.append(ImportedSetting("context", prefix, text, outcome))
    return done, failed


def _collected(
    root: Path, source: str, folder: Folder, taken: dict[str, Collection], *, dry_run: bool
) -> ImportedSetting:
    """Add a collection, unless one has its folder and globs. Raises ConfigError, NoteUnreadable."""
    real = os.path.realpath(os.path.expanduser(folder.path))
    globs = folder.globs or DEFAULT_GLOBS
    for name, one in taken.items():
        if os.path.realpath(one.path) == real and one.glob == globs:
            return ImportedSetting("collection", name, real, "same")
    if not os.path.isdir(real):
        raise ConfigError("collection", no_folder(folder.path))
    check_foreign(real, Path(os.path.realpath(root)))
    name = _free_name(folder.name, source, taken)
    new = scan.CollectionFiles(name, real, globs, folder.ignore, folder.format)
    places = scan.sources(os.path.realpath(root), config.load(root))
    around = [one for one in places if paths.is_within(real, os.path.realpath(one.root))]
    if around and scan.scan([new]) and all(one.collection != name for one in scan.scan([*around, new])):
        raise ConfigError("collection", f"{paths.shown(real)} is searched where it lies already")
    if not dry_run:
        config.add_collection(
            root, name, real, glob=globs, ignore=folder.ignore, format=folder.format, weight=folder.weight
        )
        if not folder.by_default:
            config.set_collection(root, name, by_default=False)
    taken[name] = Collection(name, real, globs)
    return ImportedSetting("collection", name, real, "new")


def _free_name(name: str, source: str, taken: Mapping[str, object]) -> str:
    """Return a valid name for a collection that is not taken. Raises ConfigError."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "-" for c in name.lower())
    plain = plain.strip("-_")[:50] or source
    free = next((one for one in (plain, f"{plain}-{source}") if one not in taken), "")
    if not free:
        raise ConfigError(
            "collection", f"{plain!r} and {f'{plain}-{source}'!r} are taken; rename one of them"
        )
    check_name(free)
    return free


def withdraw(workspace: paths.Workspace, undone: Iterable[Run]) -> list[ImportedSetting]:
    """Remove and return the settings that undone imports added; settings changed since stay.

    Raises ConfigError, NoteUnreadable.
    """
    gone, _ = Receipts(workspace).added((run.about.undoes for run in undone), _standing(workspace))
    for one in gone:  # contexts first: removing a collection removes its contexts
        remove = config.remove_context if one.kind == "context" else config.remove_collection
        remove(workspace.root, one.name)
    return gone


def lacking(workspace: paths.Workspace, redone: Iterable[Run]) -> int:
    """Count the settings that redone imports had added and that are missing: only hashes are kept.

    Raises ConfigError.
    """
    undoings = [run for redo in redone if (run := journal.load(workspace, redo.about.undoes))]
    return Receipts(workspace).added((run.about.undoes for run in undoings), _standing(workspace))[1]


def _standing(workspace: paths.Workspace) -> list[ImportedSetting]:
    """Return the contexts and collections of a workspace as imported settings, with outcome `gone`."""
    settings = config.load(workspace.root)
    contexts = [ImportedSetting("context", *pair, "gone") for pair in settings.contexts.items()]
    collections = [
        ImportedSetting("collection", name, os.path.realpath(one.path), "gone")
        for name, one in settings.collections.items()
    ]
    return contexts + collections
