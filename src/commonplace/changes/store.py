"""The record of generated changes as a store: how it forgets what runs keep of notes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from commonplace.base import paths, records
from commonplace.base.locks import locked
from commonplace.changes import diffs, runs, transaction
from commonplace.types.changes import ChangedFile, Erased
from commonplace.types.store import Site, Targets

FORGOTTEN = "[forgotten]"  # stands for the path of a note that was forgotten


class HistoryStore:
    """Forgets in the bytes kept of notes, and in titles and reasons.

    Undoing a run stays exact: the bytes after it are changed as the note itself was, and hashed anew. A note
    that is forgotten as a whole is not brought back. `run.json` is written before the bytes: a process that
    is killed in between leaves hashes that are those of the bytes once they are cleaned, and the next one
    cleans them.
    """

    def __init__(self, site: Site) -> None:
        self._site, self._workspace, self._files = site, site.workspace, site.workspace.files

    def find(self, targets: Targets) -> list[Erased]:
        """Return the runs that hold any of it, and in how many files."""
        return self._sweep(targets, change=False)

    def forget(self, targets: Targets) -> list[Erased]:
        """Remove it from runs; one that cannot be read, and so not be undone either, goes whole."""
        with locked(paths.lock_file(self._workspace, "notes")):
            runs.sweep(self._workspace)
            return self._sweep(targets, change=True)

    def _sweep(self, targets: Targets, *, change: bool) -> list[Erased]:
        erased = []
        for name in runs.names(self._workspace):
            folder = self._workspace.history / name
            if count := self._clean(name, folder, targets, change=change):
                erased.append(Erased("history", self._site.shown(folder), count=count))
        return erased

    def _clean(self, name: str, folder: Path, targets: Targets, *, change: bool) -> int:
        """How many files of a run hold any of it; at least 1 where its record does."""
        with records.translated(folder):
            inside = self._files.names(folder) if self._files.is_folder(folder) else []
        files = [folder / one for one in inside if self._files.is_file(folder / one)]
        run = runs.load(self._workspace, name)
        if run is None:
            if not any(self._holds(path, targets) for path in files):
                return 0
            if change:
                runs.remove(self._workspace, name)
            return len(files)
        sides: dict[Path, bytes | None] = {}
        kept = [self._file(folder, place, file, targets, sides) for place, file in enumerate(run.files)]
        # Beside the bytes of notes a killed writer may have left others.
        others = (p for p in files if p.name != runs.RECORD and p.suffix not in (".before", ".after"))
        sides |= {path: None for path in others if self._holds(path, targets)}

        def unnamed(text: str) -> str:
            for path in targets.notes:
                text = text.replace(path, FORGOTTEN)
            return targets.mask(text)

        about = replace(
            run.about,
            title=unnamed(run.about.title),
            why=unnamed(run.about.why),
            agent=targets.mask(run.about.agent),
            session="" if run.about.session in targets.session_names else targets.mask(run.about.session),
        )
        cleaned = replace(run, files=tuple(kept), about=about, uncommitted=unnamed(run.uncommitted))
        if cleaned == run and not sides:
            return 0
        if change:
            runs.save(self._workspace, cleaned)
            for path, data in sides.items():
                with records.translated(path):
                    if data is None:
                        self._files.unlink(path)
                    else:
                        self._files.exchange(path, data, alone=True)
        return max(1, len(sides))

    def _holds(self, path: Path, targets: Targets) -> bool:
        with records.translated(path):
            return targets.matches(self._files.read(path).decode("utf-8", "replace"))

    def _file(
        self, folder: Path, place: int, file: ChangedFile, targets: Targets, sides: dict[Path, bytes | None]
    ) -> ChangedFile:
        """A file of a run as it is to be recorded; its bytes that change are added to `sides`."""
        known = {side: path for side in runs.SIDES if self._files.is_file(path := folder / f"{place}.{side}")}
        if targets.owns(file.path):
            sides |= dict.fromkeys(known.values())
            return ChangedFile(FORGOTTEN, "", "", "was forgotten")
        digests = {"before": file.before, "after": file.after}
        now: dict[str, bytes] = {}
        is_changed = False
        for side, path in known.items():
            with records.translated(path):
                data = self._files.read(path)
            after = self._without(file.path, data, targets)
            if after != data:
                sides[path], is_changed = after, True
            now[side] = after or b""
            if digests[side] == runs.digest(data):
                digests[side] = runs.digest(after)
        left = targets.mask(file.left)
        file = replace(file, before=digests["before"], after=digests["after"], left=left)
        if is_changed:
            added, removed = diffs.counted(now.get("before", b""), now.get("after", b""))
            file = replace(file, added=added, removed=removed)
        return file

    def _without(self, path: str, data: bytes, targets: Targets) -> bytes | None:
        """Bytes of a note without it: exactly as the note itself became, where they were its bytes."""
        for known in targets.known:
            if known.path == path and known.before == runs.digest(data):
                now = transaction.read(self._workspace, path)
                if runs.digest(now) == known.after:
                    return now
        return targets.edit(path, data)
