"""Records that are not this user's: how many there are, and whether a key for our own can be kept."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from commonplace import paths, records
from commonplace.base.root import Root
from commonplace.base.signature import KEY_FILE
from commonplace.diagnosis.case import Case
from commonplace.diagnosis.checks import listed
from commonplace.render import count
from commonplace.types import Finding


def signatures(case: Case) -> Iterator[Finding]:
    """See that records can be signed, and that all that stand here are."""
    folders = (paths.user_config_dir(case.environ), paths.user_cache_dir(case.environ))
    if case.workspace is None:
        return
    has_key = any(Root(folder).is_file(KEY_FILE) for folder in folders)
    if not has_key and not any(map(_can_be_made, folders)):
        told = f"no key can be kept in {paths.shown(folders[0])} or {paths.shown(folders[1])}"
        remedy = "make one of them writable: until then each program takes the records of others for foreign"
        yield Finding("stores.key", "warning", told, remedy)
    files = case.workspace.files
    # Without a key nothing can be told apart, and making one would change something.
    aside, unsigned = records.foreign(files), records.unsigned(files) if has_key else []
    if unsigned:
        told = f"{count(len(unsigned), 'record')} not signed by you, and not acted upon: {listed(unsigned)}"
        first = shlex.quote(os.fspath(case.workspace.derived / unsigned[0]))
        remedy = f"{records.SHARE}; if nobody did, delete them: rm -r {first}"
        yield Finding("stores.unsigned", "warning", told, remedy)
    if aside:
        told = f"{count(len(aside), 'record')} set aside, not signed by you: {listed(aside)}"
        folder = shlex.quote(os.fspath(case.workspace.derived / records.FOREIGN_FOLDER))
        remedy = f"`commonplace trust` shows them; {records.SHARE}; rm -r {folder} deletes them all"
        yield Finding("stores.foreign", "warning", told, remedy)
    if not (aside or unsigned):
        yield Finding("stores.foreign", "ok", "all records are signed by you")


def _can_be_made(folder: Path) -> bool:
    place = next(place for place in (folder, *folder.parents) if place.exists())
    return os.access(place, os.W_OK)
