"""Import of another memory into this one."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING
from unicodedata import category

from commonplace.actions.action import Action, Call, Param, Shown
from commonplace.actions.schema import text
from commonplace.base import paths
from commonplace.base.errors import ConfigError
from commonplace.base.messages import message
from commonplace.render import count, reports, screen
from commonplace.types import Import

if TYPE_CHECKING:
    from collections.abc import Iterator

    from commonplace.memory import Memory

_MOST = 200  # of what is left out
PATH = text("In full, from ~, or from the folder of the notes.", least=1, most=1000)


def place(memory: Memory, path: str) -> str:
    """Return a path in full: from the user's home, or from the folder of the notes. Raises ConfigError."""
    if not all(one.isprintable() or category(one) == "Zs" for one in path):  # such as a blank of Chinese
        raise ConfigError("path", message("path.unfit", "holds what no path can hold"))
    return os.path.join(os.path.realpath(memory.workspace.root), os.path.expanduser(path))


def _import(call: Call) -> Shown:
    from commonplace.imports import kinds
    from commonplace.upkeep import intake

    memory, now = call.memory, call.now
    path = place(memory, call.values["path"]) if call.values.get("path") else ""
    kind, found = kinds.chosen(call.values.get("kind", ""), path)
    origin = os.fspath(found)
    shown = intake.carry_out(memory, kind.name, origin, kind.read(found), dry_run=True, show=True, now=now)
    does = any(one.outcome in ("new", "changed") or one.added for one in shown.files)
    does |= any(one.outcome == "new" for one in shown.settings)

    def carry() -> Import:
        digest = intake.digest(shown)
        return intake.carry_out_shown(memory, kind.name, origin, kind.read(found), digest, now=now)

    outcome = reports.import_outcome(shown)
    if shown.is_empty and not shown.left_out:
        outcome = f"{kind.title}: nothing found in {paths.shown(found)}; looked for was {kind.what}"
    title, question = f"{kind.title}, {paths.shown(found)}", f"{outcome.partition(': ')[2]}. Write this?"
    listing = partial(reports.import_text, shown)
    if not does:
        return Shown(shown, None, outcome, text=listing, remarks=[*_remarks(shown)])
    return Shown(shown, carry, title, question, shown.diff, listing, [*_remarks(shown)])


def _remarks(shown: Import) -> Iterator[str]:
    """Yield the files left out, the redactions, and the remarks of an import."""
    for left in shown.left_out[:_MOST]:
        yield screen.one_line(f"left out: {left.path}: {left.reason}")
    if (more := len(shown.left_out) - _MOST) > 0:
        yield f"left out: {more:,} more"
    if shown.redacted:
        yield f"redacted {', '.join(shown.redacted)}"
    yield from map(screen.one_line, shown.remarks)


IMPORT = Action(
    "import", "Write it into the notes, as one change that undo takes back.", _import, Import,
    reports.import_outcome,
    (
        Param("path", {**PATH, "description": "Of a file or folder here; the usual one if missing."}),
        Param("kind", text("Its name; recognised by the path if missing.", least=1, most=50)),
    ),
    path="/api/import", preview="Show what would be written, and where.",
    beside=lambda done: [f"{count(len(done.left_out), 'part')} left out"] * bool(done.left_out),
    reopens=lambda done: bool(done.settings), owner=True, beyond="import PATH", lane="reading",
    refusals=(409, 503), doors=frozenset({"http"}),
)  # fmt: skip
ACTIONS = (IMPORT,)
