"""The workspace's folder: there, writable, what is derived kept out of git, its folders readable."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from commonplace import paths
from commonplace.diagnosis.case import Case
from commonplace.diagnosis.checks import listed
from commonplace.notes.scan import IGNORED_FOLDERS
from commonplace.types import Finding

WALK_S = 2.0  # how long the folders are walked


class Walk(NamedTuple):
    """What stands in the way below some folders: folders that cannot be read, links that leave."""

    closed: list[str]
    leaving: list[str]
    whole: bool


def folder(case: Case) -> Iterator[Finding]:
    """See that there is a workspace, that it can be written to, and that git leaves what is derived alone."""
    workspace = case.workspace
    if workspace is None:
        yield _missing(case)
        return
    shown = paths.shown(workspace.root)
    if not os.access(workspace.root, os.R_OK | os.X_OK):
        yield Finding("workspace.folder", "wrong", f"{shown} cannot be read", f"chmod u+rwx {shown}")
        return
    yield Finding("workspace.folder", "ok", shown)
    yield from _leading_out(workspace)
    closed = [
        paths.shown(place)
        for place in (workspace.root, workspace.memory_dir, workspace.derived)
        if place.exists() and not os.access(place, os.W_OK)
    ]
    if closed:
        told = f"nothing can be written to {', '.join(closed)}; the index is kept in your folder of caches"
        yield Finding("workspace.writable", "warning", told, f"chmod u+w {closed[0]}, if that is not meant")
    else:
        yield Finding("workspace.writable", "ok", "notes and index can be written")
    yield from _ignored(workspace)


def _leading_out(workspace: paths.Workspace) -> Iterator[Finding]:
    """Name what stands for a folder or note that is written to, and is a link that leaves the workspace."""
    root = os.path.realpath(workspace.root)
    for place in (workspace.memory_dir, workspace.memory_file, workspace.sessions):
        target = os.path.realpath(place)
        if os.path.islink(place) and not paths.is_within(target, root):
            told = f"{paths.shown(place)} is a link that leaves the workspace: nothing is written through it"
            remedy = f"rm {shlex.quote(os.fspath(place))}"
            if os.path.isdir(target):
                remedy += f" && commonplace collection add linked {shlex.quote(target)}, which searches it"
            yield Finding("workspace.leading_out", "wrong", told, remedy)


def _missing(case: Case) -> Finding:
    if case.named:
        told, remedy = f"there is no folder {case.missing}", f"commonplace init {case.missing}"
        return Finding("workspace.folder", "wrong", told, remedy)
    told = f"there is no workspace at or above {case.missing}, nor one of your own"
    return Finding("workspace.folder", "warning", told, "commonplace init")


def _ignored(workspace: paths.Workspace) -> Iterator[Finding]:
    derived, ignore = workspace.derived, workspace.derived / ".gitignore"
    if not derived.exists():
        yield Finding(
            "workspace.ignore", "ok", f"no {paths.DERIVED_FOLDER} folder yet: the first sync makes it"
        )
    elif not os.access(derived, os.X_OK):
        told = f"{paths.shown(derived)} is another user's: you can search these notes, not write them"
        remedy = "keep a workspace of your own and add this folder to it as a collection"
        yield Finding("workspace.ignore", "warning", told, remedy)
    elif not paths.is_within(os.path.realpath(derived), os.path.realpath(workspace.root)):
        told = f"{paths.shown(derived)} is a link that leaves the workspace"
        yield Finding("workspace.ignore", "wrong", told, f"delete the link {paths.shown(derived)}")
    elif ignore.is_file():
        yield Finding("workspace.ignore", "ok", f"git leaves {paths.DERIVED_FOLDER} alone")
    else:
        told = f"{paths.shown(ignore)} is missing: git would take the index in"
        yield Finding("workspace.ignore", "warning", told, "commonplace init")


def tree(case: Case) -> Iterator[Finding]:
    """See that the folders of notes can be read, and that no link leads out of them."""
    from commonplace.notes.scan import sources

    if case.root is None:
        return
    places = sources(os.fspath(case.root), case.settings)
    if gone := [f"{source.name} ({source.root})" for source in places if not os.path.isdir(source.root)]:
        told = f"the folder of a collection is missing: {listed(gone)}"
        yield Finding("workspace.collections", "warning", told, "commonplace collection remove NAME")
    own = [os.path.join(case.root, paths.MEMORY_FOLDER)]
    found = walk([*own, *(source.root for source in places[1:])], WALK_S)
    if found.closed:
        told = f"folders that cannot be read: {listed(found.closed)}"
        yield Finding("workspace.folders", "wrong", told, f"chmod u+rx {paths.shown(found.closed[0])}")
    if found.leaving:
        told = f"links that lead out or nowhere are not read: {listed(found.leaving)}"
        remedy = "add the folder they lead to with `commonplace collection add`, or delete them"
        yield Finding("workspace.links", "warning", told, remedy)
    if not found.whole:
        told = f"the folders are too many to walk in {WALK_S:.0f} s"
        yield Finding("workspace.folders", "skipped", told)
    elif not (found.closed or found.leaving or gone):
        yield Finding("workspace.folders", "ok", "every folder of notes can be read, and no link leads out")


def walk(roots: list[str], limit_s: float) -> Walk:
    """Walk the folders that may hold notes, as a scan does; stop when the time is over."""
    until = time.monotonic() + limit_s
    found = Walk([], [], whole=True)
    for root in roots:
        real = os.path.realpath(root)

        def denied(error: OSError) -> None:
            if not isinstance(error, FileNotFoundError):
                found.closed.append(str(error.filename))

        for folder, names, files in os.walk(root, onerror=denied):
            if time.monotonic() > until:
                return found._replace(whole=False)
            links = [name for name in (*names, *files) if os.path.islink(os.path.join(folder, name))]
            places = (os.path.join(folder, name) for name in links)
            found.leaving.extend(place for place in places if _leaves(place, real))
            names[:] = [name for name in names if name[0] != "." and name not in IGNORED_FOLDERS]
    return found


def _leaves(link: str, root: str) -> bool:
    """Whether a link to a note or a folder of notes leads out of a root, or to nothing."""
    target = os.path.realpath(link)
    wanted = link.endswith(".md") or os.path.isdir(target)
    return wanted and not (paths.is_within(target, root) and Path(target).exists())
