"""The workspace: its folder, its collections, and the notes in it."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from commonplace.base import paths, remedies
from commonplace.base.messages import message
from commonplace.diagnosis.examination import Case, barred, listed
from commonplace.markdown import conflicts
from commonplace.markdown.document import decode
from commonplace.notes import layout, scan
from commonplace.redaction.redact import redact, strip_private
from commonplace.types import Finding

WALK_S = 2.0  # how long the folders are walked


def folder(case: Case) -> Iterator[Finding]:
    """See that there is a workspace, that it can be written to, and that nothing in it leads outside."""
    workspace, check = case.workspace, "workspace.folder"
    if workspace is None:
        yield barred(check, case.barred) if case.barred else _missing(case)
        return
    if not os.access(workspace.root, os.R_OK):
        yield barred(check, workspace.root)
        return
    root = os.path.realpath(workspace.root)
    for place in (workspace.memory_dir, workspace.memory_file, workspace.sessions):
        target = os.path.realpath(place)
        if os.path.islink(place) and not paths.is_within(target, root):
            leaves = "{place} is a link that leaves the workspace: nothing is written through it"
            told = message("workspace.leaves", leaves, place=paths.shown(place))
            remedy = f"rm {shlex.quote(os.fspath(place))}"
            if os.path.isdir(target):
                remedy += f" && commonplace collection add linked {shlex.quote(target)}, which searches it"
            yield Finding("workspace.leading_out", "wrong", told, remedy)
    places = [place for place in (workspace.root, workspace.memory_dir) if place.exists()]
    if closed := [place for place in places if not os.access(place, os.W_OK)]:
        shown = [paths.shown(place) for place in closed]
        told = message("workspace.closed", "nothing can be written to {places}", places=shown)
        yield Finding("workspace.writable", "warning", told, _opening(closed[0]))


def _missing(case: Case) -> Finding:
    check, missing = "workspace.folder", case.missing
    if case.around:
        lies = "{folder} is no workspace, it lies in the workspace {around}"
        told = message("workspace.lies_in", lies, folder=missing, around=case.around)
        use = "use -w {around}, or commonplace init {folder}"
        remedy = message("workspace.use", use, folder=missing, around=case.around)
        return Finding(check, "wrong", told, remedy)
    if case.named:
        told = message("workspace.no_folder", "there is no folder {folder}", folder=missing)
        return Finding(check, "wrong", told, f"commonplace init {missing}")
    nowhere = "there is no workspace at or above {folder}, nor one of your own"
    told = message("workspace.nowhere", nowhere, folder=missing)
    return Finding(check, "warning", told, "commonplace init")


def _opening(place: Path) -> str:
    """Return the remedy for a folder that cannot be written, unless that is intended."""
    if os.statvfs(place).f_flag & os.ST_RDONLY:
        remedy = remedies.say("files.readonly")
        return message("unless_meant.remedy", "{remedy}, if that is not meant", remedy=remedy)
    if paths.another_user(os.stat(place).st_uid):
        return remedies.say("workspace.collect")
    command = f"chmod u+w {shlex.quote(paths.shown(place))}"
    return message("unless_meant", "{command}, if that is not meant", command=command)


def collections(case: Case) -> Iterator[Finding]:
    """See that the folder of each collection is there, and is none of our own."""
    if case.root is None:
        return
    check, remedy = "workspace.collections", "commonplace collection remove NAME"
    sources = scan.sources(os.fspath(case.root), case.settings)
    if missing := [f"{one.name} ({one.place})" for one in sources if not os.path.exists(one.place)]:
        gone = "the folder of a collection is missing: {places}"
        yield Finding(check, "warning", message("collection.gone", gone, places=listed(missing)), remedy)
    yield from (Finding(check, "warning", told, remedy) for told in scan.refused(case.settings, sources))


def folders(case: Case) -> Iterator[Finding]:
    """See that the folders of notes can be read, and that no link leads out of them."""
    if case.root is None:
        return
    others = scan.places(scan.sources(os.fspath(case.root), case.settings)[1:])
    closed, leaving, is_whole = walk([os.path.join(case.root, paths.MEMORY_FOLDER), *others], WALK_S)
    if closed:
        told = message("folders.closed", "folders that cannot be read: {places}", places=listed(closed))
        yield Finding("workspace.folders", "wrong", told, f"chmod u+rx {paths.shown(closed[0])}")
    if leaving:
        out = "links that lead out or nowhere are not read: {places}"
        add = "add the folder they lead to with `commonplace collection add`, or delete them"
        told = message("links.leaving", out, places=listed(leaving))
        yield Finding("workspace.links", "warning", told, message("links.add", add))
    if not is_whole:
        many = message("folders.many", "the folders are too many to walk in {seconds:.0f} s", seconds=WALK_S)
        yield Finding("workspace.folders", "skipped", many)


def walk(roots: list[str], limit_s: float) -> tuple[list[str], list[str], bool]:
    """Return the unreadable folders, the links that lead out, and whether the time was enough for all."""
    until, errors, leaving = time.monotonic() + limit_s, list[OSError](), list[str]()
    for root in roots:
        real = os.path.realpath(root)
        for place, names, files in os.walk(root, onerror=errors.append):
            if time.monotonic() > until:
                return _paths_of(errors), leaving, False
            leaving += [path for name in (*names, *files) if _leaves(path := os.path.join(place, name), real)]
            names[:] = [name for name in names if name[0] != "." and name not in scan.IGNORED_FOLDERS]
    return _paths_of(errors), leaving, True


def _paths_of(errors: Sequence[OSError]) -> list[str]:
    return [str(error.filename) for error in errors if not isinstance(error, FileNotFoundError)]


def _leaves(path: str, root: str) -> bool:
    """Tell whether a path is a link to a note or a folder that leads out of a root or is broken."""
    if not os.path.islink(path):
        return False
    target = os.path.realpath(path)
    leads_to_notes = path.endswith(".md") or os.path.isdir(target)
    return leads_to_notes and not (paths.is_within(target, root) and os.path.exists(target))


# --- the notes ----------------------------------------------------------------------------------------

READ_S = 2.5  # how long notes are read
LARGEST = 4 << 20  # bytes of a note in which secrets are looked for


def text(case: Case) -> Iterator[Finding]:
    """Read the notes, newest first, until the time is up; name the unreadable ones and lines with secrets."""
    if case.root is None:
        return
    states = [s for s in scan.scan(scan.sources(os.fspath(case.root), case.settings)) if not s.format]
    unreadable, secrets, done = read(states, READ_S)
    if unreadable:
        told = message("notes.readable", "{n:note} cannot be read: {places}", n=len(unreadable),
                       places=listed(unreadable))  # fmt: skip
        mend = message("notes.readable.mend", "chmod u+r the files")
        yield Finding("notes.readable", "wrong", told, mend)
    if secrets:
        found = "{n:line} with what looks like a secret: {places}"
        told = message("notes.secrets", found, n=len(secrets), places=listed(secrets))
        change = "change the secrets, and take them out of the notes; answers show [REDACTED] in their place"
        yield Finding("notes.secrets", "warning", told, message("notes.secrets.mend", change))
    if done < len(states):
        some = "{n:,} of {of:,} notes were read in the {seconds:g} s that this may take"
        told = message("notes.some", some, n=done, of=len(states), seconds=READ_S)
        yield Finding("notes.readable", "skipped", told)


def read(states: Sequence[scan.FileState], limit_s: float) -> tuple[list[str], list[str], int]:
    """Read files, newest first, until the time is over: the unreadable ones, places of secrets, the count."""
    until = time.monotonic() + limit_s
    unreadable, secrets, done = list[str](), list[str](), 0
    for state in sorted(states, key=lambda state: state.mtime_ns, reverse=True):
        if time.monotonic() > until:
            break
        done += 1
        try:
            with state.open() as file:
                note = decode(file.read(LARGEST))
        except OSError:
            unreadable.append(state.shown)
            continue
        secrets += [f"{state.shown}:{line}" for line in secret_lines(note)]
    return unreadable, secrets, done


def secret_lines(note: str) -> list[int]:
    """Return the numbers of the lines that redaction would change; private parts are skipped."""
    note = strip_private(note)
    redacted, kinds = redact(note)
    if not kinds:
        return []
    pairs = zip(note.splitlines(), redacted.splitlines(), strict=False)
    return [number for number, (before, after) in enumerate(pairs, 1) if before != after]


def long_term(case: Case) -> Iterator[Finding]:
    """Compare the size of MEMORY.md with the tokens that a session gets of it."""
    budget = case.settings.prompt.long_term
    if case.workspace is not None and (told := layout.outgrown(case.workspace, budget)):
        more = "`commonplace config set prompt.long_term TOKENS` gives sessions more"
        yield Finding("notes.long_term", "warning", told, message("long_term.raise", more))


def conflict_copies(case: Case) -> Iterator[Finding]:
    """Name the copies of notes that a sync program left."""
    if case.root is None:
        return
    states = scan.scan(scan.sources(os.fspath(case.root), case.settings))
    by_name = {state.shown: state for state in states}
    for copy, note in conflicts.copies(by_name, lambda name: decode(by_name[name].read())).items():
        left = "{copy} is a copy of {note} that a sync program left"
        told = message("conflict.copy", left, copy=copy, note=note)
        yield Finding("notes.conflicts", "warning", told, remedies.say("merge"))
