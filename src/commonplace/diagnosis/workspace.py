"""The workspace: its folder, its notes, the clock compared with their days, and leftover files."""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from commonplace.base import paths, remedies
from commonplace.base.locks import is_held
from commonplace.base.messages import message
from commonplace.base.tuples import NamedTuple
from commonplace.diagnosis.examination import Case, barred, listed
from commonplace.markdown import conflicts
from commonplace.markdown.document import decode
from commonplace.notes import layout, scan
from commonplace.redaction.redact import redact, strip_private
from commonplace.storage import keyvalue, overwritten
from commonplace.types import Finding, State

WALK_S = 2.0  # how long the folders are walked


class Walk(NamedTuple):
    """Obstacles below some folders: folders that cannot be read, links that leave."""

    closed: list[str]
    leaving: list[str]
    whole: bool


def folder(case: Case) -> Iterator[Finding]:
    """See that there is a workspace, that it can be written to, and that git leaves what is derived alone."""
    workspace = case.workspace
    if workspace is None:
        if case.barred:
            yield barred("workspace.folder", case.barred)
        elif case.around:
            lies = "{folder} is no workspace, it lies in the workspace {around}"
            told = message("workspace.lies_in", lies, folder=case.missing, around=case.around)
            use = "use -w {around}, or commonplace init {folder}"
            remedy: str = message("workspace.use", use, folder=case.missing, around=case.around)
            yield Finding("workspace.folder", "wrong", told, remedy)
        elif case.named:
            told = message("workspace.no_folder", "there is no folder {folder}", folder=case.missing)
            remedy = f"commonplace init {case.missing}"
            yield Finding("workspace.folder", "wrong", told, remedy)
        else:
            nowhere = "there is no workspace at or above {folder}, nor one of your own"
            told = message("workspace.nowhere", nowhere, folder=case.missing)
            yield Finding("workspace.folder", "warning", told, "commonplace init")
        return
    shown = paths.shown(workspace.root)
    if not os.access(workspace.root, os.R_OK):
        yield barred("workspace.folder", workspace.root)
        return
    yield Finding("workspace.folder", "ok", shown)
    yield from _leading_out(workspace)
    closed = [
        place
        for place in (workspace.root, workspace.memory_dir)
        if place.exists() and not os.access(place, os.W_OK)
    ]
    if closed:
        told = message(
            "workspace.closed",
            "nothing can be written to {places}",
            places=[paths.shown(one) for one in closed],
        )
        yield Finding("workspace.writable", "warning", told, _writing(closed[0]))
    else:
        yield Finding("workspace.writable", "ok", message("workspace.open", "notes can be written"))


def _writing(place: Path) -> str:
    """Return the remedy for a folder that cannot be written, unless that is intended."""
    if os.statvfs(place).f_flag & os.ST_RDONLY:
        remedy = remedies.say("files.readonly")
        return message("unless_meant.remedy", "{remedy}, if that is not meant", remedy=remedy)
    if paths.another_user(os.stat(place).st_uid):
        return remedies.say("workspace.collect")
    command = f"chmod u+w {shlex.quote(paths.shown(place))}"
    return message("unless_meant", "{command}, if that is not meant", command=command)


def _leading_out(workspace: paths.Workspace) -> Iterator[Finding]:
    """Name what stands for a folder or note that is written to, and is a link that leaves the workspace."""
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


def tree(case: Case) -> Iterator[Finding]:
    """See that the folders of notes can be read, and that no link leads out of them."""
    if case.root is None:
        return
    collections = scan.sources(os.fspath(case.root), case.settings)
    missing = [
        f"{source.name} ({source.place})" for source in collections if not os.path.exists(source.place)
    ]
    if missing:
        yield Finding(
            "workspace.collections",
            "warning",
            message(
                "collection.gone", "the folder of a collection is missing: {places}", places=listed(missing)
            ),
            "commonplace collection remove NAME",
        )
    for told in scan.refused(case.settings, collections):
        yield Finding("workspace.collections", "warning", told, "commonplace collection remove NAME")
    memory = os.path.join(case.root, paths.MEMORY_FOLDER)
    found = walk([memory, *scan.places(collections[1:])], WALK_S)
    if found.closed:
        yield Finding(
            "workspace.folders",
            "wrong",
            message("folders.closed", "folders that cannot be read: {places}", places=listed(found.closed)),
            f"chmod u+rx {paths.shown(found.closed[0])}",
        )
    if found.leaving:
        yield Finding(
            "workspace.links",
            "warning",
            message(
                "links.leaving",
                "links that lead out or nowhere are not read: {places}",
                places=listed(found.leaving),
            ),
            message(
                "links.add", "add the folder they lead to with `commonplace collection add`, or delete them"
            ),
        )
    if not found.whole:
        many = message("folders.many", "the folders are too many to walk in {seconds:.0f} s", seconds=WALK_S)
        yield Finding("workspace.folders", "skipped", many)
    elif not any((found.closed, found.leaving, missing)):
        whole = "every folder of notes can be read, and no link leads out"
        yield Finding("workspace.folders", "ok", message("folders.fine", whole))


def walk(roots: list[str], limit_s: float) -> Walk:
    """Walk the folders that may hold notes, as a scan does; stop when the time is over."""
    until = time.monotonic() + limit_s
    errors: list[OSError] = []
    leaving: list[str] = []
    whole = True
    for root in roots:
        real = os.path.realpath(root)
        for folder, names, files in os.walk(root, onerror=errors.append):
            whole = time.monotonic() <= until
            if not whole:
                break
            places = (os.path.join(folder, name) for name in (*names, *files))
            leaving += [place for place in places if _leaves(place, real)]
            names[:] = [name for name in names if name[0] != "." and name not in scan.IGNORED_FOLDERS]
    closed = [str(error.filename) for error in errors if not isinstance(error, FileNotFoundError)]
    return Walk(closed, leaving, whole)


def _leaves(path: str, root: str) -> bool:
    """Return True for a link to a note or a folder that leads out of a root or is broken."""
    if not os.path.islink(path):
        return False
    target = os.path.realpath(path)
    leads_to_notes = path.endswith(".md") or os.path.isdir(target)
    return leads_to_notes and not (paths.is_within(target, root) and os.path.exists(target))


# --- the text and the names of notes ------------------------------------------------------------------

READ_S = 2.5  # how long notes are read
LARGEST = 4 << 20  # bytes of a note in which secrets are looked for


def text(case: Case) -> Iterator[Finding]:
    """Read the notes, newest first, until the time is up; show only the places of secrets."""
    if case.root is None:
        return
    states = [s for s in scan.scan(scan.sources(os.fspath(case.root), case.settings)) if not s.format]
    unreadable, secret, done = read(states, READ_S)
    secrets = "change the secrets, and take them out of the notes; answers show [REDACTED] in their place"
    rows: list[tuple[str, State, Sequence[str], str, str]] = [
        ("readable", "wrong", unreadable, "{n:note} cannot be read", "chmod u+r the files"),
        ("secrets", "warning", secret, "{n:line} with what looks like a secret", secrets),
    ]
    for check, state, places, problem, remedy in (row for row in rows if row[2]):
        told = message(f"notes.{check}", f"{problem}: {{places}}", n=len(places), places=listed(places))
        yield Finding(f"notes.{check}", state, told, message(f"notes.{check}.mend", remedy))
    if done < len(states):
        some = "{n:,} of {of:,} notes were read in the {seconds:g} s that this may take"
        told = message("notes.some", some, n=done, of=len(states), seconds=READ_S)
        yield Finding("notes.readable", "skipped", told)
    elif not unreadable and not secret:
        fine = message("notes.fine", "{n:note} read: no secret seen", n=len(states))
        yield Finding("notes.readable", "ok", fine)


def read(states: Sequence[scan.FileState], limit_s: float) -> tuple[list[str], list[str], int]:
    """Read files, newest first, until the time is over: those unreadable, places of secrets, how many."""
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
    """Compare the size of MEMORY.md with what a session is given of it."""
    budget, workspace = case.settings.prompt.long_term, case.workspace
    if workspace is None:
        return
    if told := layout.outgrown(workspace, budget):
        remedy = message(
            "long_term.raise", "`commonplace config set prompt.long_term TOKENS` gives sessions more"
        )
        yield Finding("notes.long_term", "warning", told, remedy)
    else:
        size = layout.long_term_tokens(workspace)
        told = message(
            "long_term.fits", "MEMORY.md has about {size:,} of {budget:,} tokens", size=size, budget=budget
        )
        yield Finding("notes.long_term", "ok", told)


def names(case: Case) -> Iterator[Finding]:
    """See that no name of a note says that a sync program left it."""
    if case.root is None:
        return
    states = scan.scan(scan.sources(os.fspath(case.root), case.settings))
    by_name = {state.shown: state for state in states}
    for copy, note in conflicts.copies(by_name, lambda name: decode(by_name[name].read())).items():
        yield Finding(
            "notes.conflicts",
            "warning",
            message(
                "conflict.copy", "{copy} is a copy of {note} that a sync program left", copy=copy, note=note
            ),
            remedies.say("merge"),
        )


# --- what was left behind -----------------------------------------------------------------------------

OLD_S = 60.0  # a temporary file stands for the blink of an eye
_TEMPORARY = re.compile(r"\..{1,40}\.[0-9a-f]{12}\.tmp")  # as `storage.files` names them


def leftovers(case: Case) -> Iterator[Finding]:
    """Look for temporary files and held locks; a lock whose holder died is free again by itself."""
    workspace = case.workspace
    if workspace is None:
        return
    if files := temporary(workspace, case.now_s):
        killed = "{n:temporary file} of programs that were killed: {places}"
        told = message("leftovers", killed, n=len(files), places=listed(files))
        yield Finding("index.leftovers", "warning", told, message("leftovers.delete", "delete them"))
    else:
        yield Finding("index.leftovers", "ok", message("leftovers.none", "no temporary files are left"))
    yield from _unfinished(workspace)


def _unfinished(workspace: paths.Workspace) -> Iterator[Finding]:
    """Name what was begun and not done, lines that were overwritten, and locks that are held."""
    if begun := [name for name, _ in keyvalue.each(workspace, "erasing")]:
        told = message(
            "erasing", "{n:forgetting} begun and not done: {places}", n=len(begun), places=listed(begun)
        )
        yield Finding("index.erasing", "warning", told, "commonplace forget --resume")
    if copies := [copy.name for copy in overwritten.copies(workspace)]:
        over = "{n:version} of ours that other programs overwrote: {places}"
        shows = "`commonplace restore` shows them and puts them back; with --discard it deletes them"
        yield Finding(
            "index.overwritten",
            "warning",
            message("overwritten", over, n=len(copies), places=listed(copies)),
            message("overwritten.restore", shows),
        )
    with suppress(OSError):
        locks = sorted(workspace.locks.glob("*.lock"))
        if held := [path.stem for path in locks if is_held(path)]:
            told = message("locks.held", "another process is at work now ({places})", places=listed(held))
            yield Finding("index.locks", "ok", told)


def temporary(workspace: paths.Workspace, now_s: float) -> list[str]:
    """Return the temporary files of killed programs, relative to the workspace."""
    found = []
    for folder in (workspace.root, workspace.memory_dir, workspace.state):
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if (
                _TEMPORARY.fullmatch(entry.name)
                and now_s - entry.stat(follow_symlinks=False).st_mtime > OLD_S
            ):
                found.append(os.path.relpath(entry.path, workspace.root))
    return found
