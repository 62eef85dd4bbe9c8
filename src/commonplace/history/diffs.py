"""Generated changes as unified diffs, as they may be shown: private parts blanked, secrets redacted."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from difflib import unified_diff

from commonplace import paths, screen
from commonplace.errors import NoteUnreadable
from commonplace.history import lines, runs
from commonplace.notes.redact import redact, strip_private
from commonplace.types.revisions import Change, Run

CONTEXT = 3
LARGEST = 1_000_000  # bytes of one side; what is larger is nothing that anybody reads
_BOMS = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"), (b"\xef\xbb\xbf", "utf-8"))
_NO_NEWLINE = "\\ No newline at end of file"


def of_run(workspace: paths.Workspace, run: Run) -> str:
    """Return the diff of a run, file by file; what is no longer kept is told in a line."""
    if not run.kept:
        return "\n".join(_unkept(file.path) for file in run.files)
    parts = []
    for place, file in enumerate(run.files):
        try:
            before, after = (runs.content(workspace, run, place, side) for side in runs.SIDES)
        except NoteUnreadable as error:
            parts.append(f"# {screen.one_line(file.path)}: {screen.one_line(error.reason)}")
            continue
        parts.append(_of_file(Change(file.path, before, after)))
        if file.left:
            parts.append(f"# {screen.one_line(file.path)} {file.left}")
    return "\n".join(parts)


def of_changes(changes: Sequence[Change]) -> str:
    """Return the diff of some changes, file by file; empty where nothing changes."""
    return "\n".join(_of_file(change) for change in changes if change.before != change.after)


def digest(changes: Sequence[Change]) -> str:
    """Tell changes from all others by the lines that they take out and put in, wherever these stand.

    What others write around them does not count.
    """
    told = hashlib.sha256()
    for change in sorted(changes, key=lambda change: change.path):
        if change.before == change.after:
            continue
        before, after = lines.split(change.before or b""), lines.split(change.after or b"")
        told.update(repr((change.path, change.before is None, change.after is None)).encode())
        for hunk in lines.hunks(before, after):
            sides = before[hunk.first : hunk.last], after[hunk.other_first : hunk.other_last]
            told.update(repr(sides).encode())
    return told.hexdigest()


def _unkept(path: str) -> str:
    return f"# {screen.one_line(path)}: what it was before is not kept"


def _of_file(change: Change) -> str:
    path = screen.one_line(change.path)
    if any(side is not None and len(side) > LARGEST for side in (change.before, change.after)):
        return f"# {path}: too large to be shown ({_sizes(change)})"
    before, after = _shown(change.before), _shown(change.after)
    if before is None or after is None:
        return f"# {path}: not a text ({_sizes(change)})"
    names = [
        "/dev/null" if side is None else f"{letter}/{path}"
        for letter, side in (("a", change.before), ("b", change.after))
    ]
    found = [*_diff(before, after, names)]
    if found:
        return "\n".join(found)
    told = "made empty" if change.before is None else "removed, empty" if change.after is None else ""
    return f"# {path}: {told or 'only what is not shown has changed (private parts, secrets, line ends)'}"


def _sizes(change: Change) -> str:
    sides = (change.before, change.after)
    before, after = ("no file" if side is None else screen.size(len(side)) for side in sides)
    return f"{before}, then {after}"


def _shown(data: bytes | None) -> str | None:
    """A file as it may be shown, its lines kept; None for what is no text."""
    data = data or b""
    encoding = next((name for mark, name in _BOMS if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding, "replace" if encoding == "utf-8" else "strict")
    except UnicodeDecodeError:
        return None
    if "\0" in text:
        return None
    return redact(strip_private(text.removeprefix("\ufeff")))[0]


def _diff(before: str, after: str, names: Sequence[str]) -> Iterator[str]:
    for line in unified_diff(_lines(before), _lines(after), names[0], names[1], n=CONTEXT, lineterm=""):
        text, mark, _ = line.partition(_NO_END)
        yield screen.clean(text)
        if mark:
            yield _NO_NEWLINE


_NO_END = "\udcff"  # stands behind a last line that has no end; no text that was decoded holds it


def _lines(text: str) -> list[str]:
    """The lines of a text without their ends, the last one marked where it has none."""
    found = text.split("\n")
    last = found.pop()
    return [*found, last + _NO_END] if last else found
