"""Import of another memory, and export of all notes to one file."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from commonplace.actions.incoming import IMPORT
from commonplace.base import paths
from commonplace.base.errors import ConfigError
from commonplace.imports import kinds
from commonplace.imports.kinds import Kind
from commonplace.panel import text
from commonplace.panel.actions import UNCHANGED, carry_out
from commonplace.panel.dialogs import Choice, Located, Location, Review
from commonplace.panel.host import Host
from commonplace.panel.rows import Row
from commonplace.render import count, screen
from commonplace.upkeep import export as exporting


async def bring_in(host: Host) -> None:
    """Ask for a path, show what would be written of it, and write just that."""
    kind, path = await _source(host)
    if kind is None:
        host.tell(UNCHANGED)
        return
    host.tell(f"reading {path} …")
    await carry_out(host, IMPORT, path=os.fspath(path), kind=kind.name)


async def _source(host: Host) -> tuple[Kind | None, Path]:
    """Ask for a path until it exists, and for its kind if unclear; return None as the kind if cancelled."""
    title, hint, typed = (
        "Bring in what another memory holds",
        "its file or folder, such as ~/.openclaw",
        Located(),
    )
    while asked := await host.push_screen_wait(Location(title, hint, "", typed)):
        path = Path(os.path.abspath(os.path.expanduser(asked.path)))
        try:
            return await host.ask(partial(kinds.of, path)), path
        except ConfigError as error:
            if os.path.lexists(path):
                return await _picked(host, path), path
            typed = asked._replace(wrong=str(error))
    return None, Path()


async def _picked(host: Host, path: Path) -> Kind | None:
    rows = [Row(text.joined((kind.title, "bold"), kind.what), kind, hang=2) for kind in kinds.KINDS]
    picked = await host.push_screen_wait(Choice(f"What is {paths.shown(path)}? Nothing in it says.", rows))
    return picked if isinstance(picked, Kind) else None


async def export(host: Host) -> None:
    """Ask for a file, and write all own notes into it; one that is there is replaced after a question."""
    title, hint, typed = (
        "Write all notes into one file",
        "outside the notes: name.md, name.json, name.zip",
        Located(),
    )
    while asked := await host.push_screen_wait(Location(title, hint, "", typed)):
        try:
            await _export(host, exporting.target_of(asked.path))
            return
        except ConfigError as error:
            typed = asked._replace(wrong=str(error))
    host.tell(UNCHANGED)


async def _export(host: Host, target: Path) -> None:
    """Write an export to a file. Raises as `upkeep.export.write` does."""
    is_there = target.is_file() or target.is_symlink()
    if is_there:
        size = "a symlink" if target.is_symlink() else screen.size(target.stat().st_size)
        lines = [text.plain(f"{paths.shown(target)}, {size}")]
        if not await host.push_screen_wait(Review("This file is there already", lines, "Replace it?")):
            host.tell(UNCHANGED)
            return
    exported = await host.ask(partial(exporting.export, host.memory, exporting.form_of(target)))
    await host.ask(partial(exporting.write, host.memory, target, exported, force=is_there))
    size = screen.size(len(exported.data))
    told = [f"{count(exported.files, 'note')} written to {paths.shown(target)}, {size}"]
    if exported.failures:
        names = ", ".join(failure.path for failure in exported.failures)
        told.append(f"left out, as they cannot be read: {names}")
    host.tell("; ".join(told), wrong=bool(exported.failures))
