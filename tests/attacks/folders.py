"""Folders that somebody else has made: a workspace whose records are links, planted, or without an end.

Each builder plants one kind of record in a workspace that otherwise is an ordinary one; `victim` is a folder
of the owner's outside it. None of them knows anything of the program but names and formats of its files.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

PLANTED = "PLANTED by somebody else"
SESSION = "s1"
RUN = "20260213-033000-000abc"
LATER_RUN = "20260213-033001-000abc"
LAST_RUN = "99991231-235959-fffabc"
NOTES = {
    "MEMORY.md": "# Memory\n\n## Tea\n\n- Aged white tea after lunch. <!-- cp: tentative -->\n",
    "memory/2026-02-13.md": "# 2026-02-13\n\n- The deploy moved to Thursday.\n- Lin signs it off.\n",
    "memory/2026-02-14.md": "# 2026-02-14\n\n- Nothing but rain.\n",
}
# The files of ours that hold a record, for a workspace in which the session `s1` was.
RECORDS = (
    "consolidated.json", "batches.json", "usage.missed", "schedule.log", "server.log",
    f"history/{RUN}/run.json", f"history/{RUN}/0.before", f"pending/{SESSION}.json", "erasing/a.json",
    f"injected/{hashlib.sha256(SESSION.encode()).hexdigest()[:24]}.txt",
    f"injected/{hashlib.sha256(SESSION.encode()).hexdigest()[:24]}.json",
    "spool/entries.jsonl", "spool/claimed-0.jsonl", "spool/claimed-0.done", "spool/damaged.jsonl",
    "spool/refused",
)  # fmt: skip
DATABASES = ("usage.sqlite", "ledger.sqlite")
FOLDERS = ("history", "spool", "pending", "erasing", "injected", "foreign")
Builder = Callable[[Path, Path], None]


def workspace(root: Path) -> Path:
    """Make a workspace with three notes and a transcript."""
    for name, text in NOTES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
        os.utime(root / name, (1_770_000_000, 1_770_000_000))
    (root / ".commonplace").mkdir()
    return root


def victim(home: Path) -> Path:
    """Make a folder of the owner's: a file that a shell obeys, notes, records by the names of ours, SQLite."""
    home.mkdir()
    (home / ".bashrc").write_text("export PATH=/opt/bin:$PATH\n# Lin, zebra\n")
    for name in ("notes", "notes/history-run"):
        (home / name).mkdir()
        for ending in ("md", "json", "jsonl", "txt", "before", "after", "tmp", "lock", "queue", "done"):
            (home / name / f"0.{ending}").write_text(json.dumps({"text": "Lin and the zebra"}) + "\n")
        for own in (f"{SESSION}.jsonl", f"{SESSION}.json", f"{SESSION}.lock", "run.json", ".a.tmp", "a.tmp"):
            (home / name / own).write_text("- Lin and the zebra\n")
    connection = sqlite3.connect(home / "app.sqlite")
    connection.executescript("CREATE TABLE accounts(name); INSERT INTO accounts VALUES('Lin'), ('zebra')")
    connection.close()
    return home


def state(folder: Path) -> dict[str, object]:
    """Return everything in a folder, to the byte, with its modes."""
    return {
        str(path.relative_to(folder)): (path.lstat().st_mode, path.read_bytes() if path.is_file() else None)
        for path in sorted(folder.rglob("*"))
    }


def digest(data: bytes) -> str:
    """Return what the record of a run says of the bytes of a file."""
    return hashlib.sha256(data).hexdigest()


def _put(root: Path, name: str, make: Callable[[Path], object]) -> None:
    path = root / ".commonplace" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    make(path)


def _write(root: Path, name: str, value: object) -> None:
    _put(root, name, lambda path: path.write_text(json.dumps(value) + "\n"))


# --- links ----------------------------------------------------------------------------------------------


def links_to_files(root: Path, victim: Path) -> None:
    """Every record leads to a file of the owner's (S4, S5)."""
    for name in RECORDS:
        _put(root, name, lambda path: path.symlink_to(victim / ".bashrc"))
    for name in DATABASES:
        _put(root, name, lambda path: path.symlink_to(victim / "app.sqlite"))
    (root / "sessions").mkdir()
    (root / "sessions" / f"{SESSION}.jsonl").symlink_to(victim / "notes" / f"{SESSION}.jsonl")


def links_to_folders(root: Path, victim: Path) -> None:
    """Every folder of records leads to a folder of the owner's (S4, S5)."""
    for name in FOLDERS:
        _put(root, name, lambda path: path.symlink_to(victim / "notes", target_is_directory=True))
    (root / "sessions").symlink_to(victim / "notes", target_is_directory=True)


def a_run_that_leads_out(root: Path, victim: Path) -> None:
    """The folder of a run leads out, and so do what was being made and what is beside it (S4)."""
    for name in (RUN, f"{LATER_RUN}.tmp"):
        _put(root, f"history/{name}", lambda path: path.symlink_to(victim / "notes" / "history-run"))
    _put(root, f"history/{LAST_RUN}", lambda path: path.symlink_to(victim / "notes" / "history-run"))


def temporary_names(root: Path, victim: Path) -> None:
    """Where the program writes aside before it exchanges, links wait for it (S1)."""
    begun(root, victim)
    for name in (f"history/{RUN}/run.json.tmp", f"history/{RUN}/.run.json.tmp"):
        _put(root, name, lambda path: path.symlink_to(victim / ".bashrc"))
    for name in ("erasing/a.tmp", "erasing/.a.json.tmp", "spool/claimed-0.tmp", "spool/.claimed-0.done.tmp"):
        _put(root, name, lambda path: path.symlink_to(victim / ".bashrc"))
    spooled(root, victim)


# --- records that make the program act --------------------------------------------------------------------


def begun(root: Path, victim: Path) -> None:
    """A run is begun that puts other words into a note (S1)."""
    before, after = NOTES["MEMORY.md"].encode(), f"# Memory\n\n- {PLANTED}\n".encode()
    digests = [digest(data) for data in (before, after)]
    file = {"path": "MEMORY.md", "before": digests[0], "after": digests[1]}
    about = {"kind": "write", "title": PLANTED, "by": "owner"}
    for name in (RUN, LAST_RUN):
        told = {"about": about, "at": "2026-02-13T03:30:00+01:00", "state": "begun", "files": [file]}
        _write(root, f"history/{name}/run.json", told)
        _put(root, f"history/{name}/0.before", lambda path: path.write_bytes(before))
        _put(root, f"history/{name}/0.after", lambda path: path.write_bytes(after))


def erasing(root: Path, victim: Path) -> None:
    """A person is being forgotten (S9)."""
    told: dict[str, object] = {
        name: [] for name in ("texts", "sentences", "blocks", "notes", "sessions", "vectors", "known")
    }
    _write(root, "erasing/20260213-033000-abcdef.json", {**told, "people": ["Lin"], "statements": 1})


def spooled(root: Path, victim: Path) -> None:
    """Entries wait in the owner's name."""
    by = {"by": "owner", "agent": "", "session": "", "at": ""}
    for name in ("entries", "claimed-0"):
        _write(root, f"spool/{name}.jsonl", {"at": "2026-02-13T09:30:00", "text": PLANTED, "provenance": by})


def under_way(root: Path, victim: Path) -> None:
    """A session is summed up, batches run, prompts were filled, a night is noted, folders were made."""
    (root / "sessions").mkdir()
    line = json.dumps({"role": "user", "content": "What of the deploy?"})
    (root / "sessions" / f"{SESSION}.jsonl").write_text(line + "\n")
    mark = {"session": SESSION, "agent": "", "done": 9, "writing": 0, "at": "", "size": -1, "held": False}
    _write(root, f"pending/{SESSION}.json", {**mark, "over": True})
    job = {"name": "../../admin", "fingerprint": "f", "keys": ["k"], "started": 0.0}
    _write(root, "batches.json", {"jobs": [job], "failures": 0, "failed": 0.0, "trouble": PLANTED})
    future = "2999-01-01T00:00:00+00:00"
    _write(root, "consolidated.json", {"at": future, "result": PLANTED, "seen": "x", "tried": future})
    (victim / "empty").mkdir(exist_ok=True)
    lines = root / ".commonplace" / RECORDS[10]
    lines.parent.mkdir()
    lines.write_text("0123456789abcdef\n" * 100)


def all_planted(root: Path, victim: Path) -> None:
    """Everything at once that makes the program act."""
    for build in (begun, erasing, spooled, under_way):
        build(root, victim)


# --- files without an end -----------------------------------------------------------------------------------


def fifos(root: Path, victim: Path) -> None:
    """Every record is a fifo, which nobody writes to (S17)."""
    _everywhere(root, os.mkfifo)


def zeros(root: Path, victim: Path) -> None:
    """Every record leads to a device that never ends (S17)."""
    _everywhere(root, lambda path: path.symlink_to("/dev/zero"))


def _everywhere(root: Path, make: Callable[[Path], object]) -> None:
    for name in (*RECORDS, *DATABASES):
        _put(root, name, make)
    (root / "sessions").mkdir()
    make(root / "sessions" / f"{SESSION}.jsonl")


# --- the folders that nothing can be written without ----------------------------------------------------------


def locks(root: Path, victim: Path) -> None:
    """The folder of locks leads out (S5)."""
    _put(root, "locks", lambda path: path.symlink_to(victim / "notes", target_is_directory=True))


def derived(root: Path, victim: Path) -> None:
    """All that is ours leads out (S5)."""
    (root / ".commonplace").rmdir()
    (root / ".commonplace").symlink_to(victim / "notes", target_is_directory=True)


ROWS: tuple[Builder, ...] = (
    links_to_files, links_to_folders, a_run_that_leads_out, temporary_names, all_planted, fifos, zeros,
)  # fmt: skip
CLOSED: tuple[Builder, ...] = (locks, derived)


def named(builders: tuple[Builder, ...]) -> Iterator[str]:
    """Yield the names of builders."""
    return (build.__name__ for build in builders)
