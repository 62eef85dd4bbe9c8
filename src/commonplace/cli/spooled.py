"""What hooks left on disk for the notes: written down before a sync, and told of in `status`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from commonplace import paths, records
from commonplace.cli import failures
from commonplace.render import count

if TYPE_CHECKING:
    from commonplace.memory import Memory

_WAIT_S = 10.0  # for another process that writes the same spool down


def write_down(memory: Memory) -> None:
    """Write what waits in the spool into notes, and say what could not be."""
    if not memory.workspace.files.is_folder(memory.workspace.spool):
        return
    from commonplace.lifecycle.spool import Spool

    spool = Spool(memory.workspace)
    done = spool.drain(memory.capture, wait_s=_WAIT_S)
    if done.trouble:
        failures.warn(f"entries wait in the spool: {done.trouble}")
    if done.damaged:
        failures.warn(f"{count(done.damaged, 'damaged line')} of the spool: see {paths.shown(spool.aside)}")
    if done.refused:
        failures.warn(f"{count(done.refused, 'entry', 'entries')} could not be kept: the spool was full")


def waiting(memory: Memory) -> Iterator[str]:
    """Say what waits in the spool, is damaged there, or found no room, and which records are set aside."""
    if aside := records.foreign(memory.workspace.files):
        yield f"{count(len(aside), 'record')} set aside, not signed by you; {records.ADOPT}"
    if not memory.workspace.files.is_folder(memory.workspace.spool):
        return
    from commonplace.lifecycle.spool import Spool

    spool = Spool(memory.workspace)
    found = spool.waiting()
    if found.entries:
        number = count(found.entries, "entry", "entries")
        yield f"{number} wait in the spool; `commonplace sync` writes them into the notes"
    if found.oversized:
        number = count(found.oversized, "file")
        yield f"{number} of the spool larger than a spool may be; `commonplace sync` sets it aside, unread"
    if found.damaged:
        yield f"{count(found.damaged, 'line')} of the spool could not be used: {paths.shown(spool.aside)}"
    if found.refused:
        yield f"{count(found.refused, 'entry', 'entries')} could not be kept: the spool was full"
