"""Collections in the panel: folders added, weighed, left out of searches, removed."""

from __future__ import annotations

from functools import partial

from commonplace import config
from commonplace.base.errors import ConfigError
from commonplace.config import Collection
from commonplace.panel import text
from commonplace.panel.actions import UNCHANGED
from commonplace.panel.dialogs import Choice, Located, Location, Review
from commonplace.panel.host import Host
from commonplace.panel.rows import Row
from commonplace.render import count, reports, screen
from commonplace.types import SyncReport

_OTHER = {"own": "reference", "reference": "own"}


async def add(host: Host) -> None:
    """Ask for a folder, search it from now on, read it at once, and say what it holds."""
    added = await _added(host)
    if added is None:
        host.tell(UNCHANGED)
        return
    await host.reopen()
    host.tell(f"{added.name} is searched from now on; reading it …")
    report = await host.ask(partial(host.memory.sync, embed=False))
    await _tell(host, added.name, report)


async def _added(host: Host) -> Collection | None:
    """Ask for a folder until it can be added, and add it; return None if the dialog is cancelled."""
    title, hint = "Search a further folder as well: Markdown, or code", "its path, such as ../recipes"
    name, root, typed = "its name (may stay empty: the folder's own)", host.memory.workspace.root, Located()
    while asked := await host.push_screen_wait(Location(title, hint, name, typed, folders=True)):
        try:
            return await host.ask(partial(config.add_collection, root, asked.name or None, asked.path))
        except ConfigError as error:
            typed = asked._replace(wrong=str(error))
    return None


async def _tell(host: Host, name: str, report: SyncReport) -> None:
    """Say what a folder holds that was just read, and what is missing."""
    state = await host.ask(host.memory.status)
    held = next((one for one in state.collections if one.name == name), None)
    told = [f"{name}: nothing to search lies there yet"]
    if held and held.notes:
        holds = f"{count(held.notes, 'note')}, {count(held.passages, 'passage')}"
        told = [f"{name}: {holds}, searched from now on", reports.WEIGHTS[held.weight]]
    if report.failed:
        told.append(f"{count(len(report.failed), 'file')} could not be read: {report.failed[0].path}")
    if report.pending:
        told.append(f"{report.pending:,} without a vector: `commonplace sync` computes them")
    host.tell("; ".join([*told, *report.warnings]), wrong=bool(report.failed))
    host.changed()


async def choose(host: Host, name: str) -> None:
    """Ask what is to be done with a collection, and do it."""
    root = host.memory.workspace.root
    noted = host.memory.settings.collections[name]
    other = _OTHER[noted.weight]
    by_default = "leave it out of searches that do not name it" if noted.by_default else "search it again"
    rows = [
        Row(text.joined((by_default, "bold"), f"in:{name} names it" if noted.by_default else ""), "search"),
        Row(text.joined((f"weigh it as {other}", "bold"), reports.WEIGHTS[other]), "weigh"),
        Row(text.joined(("remove it", "bold"), "its files are not touched"), "remove"),
    ]
    picked = await host.push_screen_wait(Choice(f"{name}: {noted.path}", rows))
    if picked == "search":
        await host.ask(partial(config.set_collection, root, name, by_default=not noted.by_default))
        told = f"searched if in:{name} names it" if noted.by_default else "searched by default"
    elif picked == "weigh":
        await host.ask(partial(config.set_collection, root, name, weight=other))
        told = f"{other}: {reports.WEIGHTS[other]}"
    elif picked == "remove" and await _removed(host, name, str(noted.path)):
        told = "searched no longer; its files are untouched"
    else:
        host.tell(UNCHANGED)
        return
    await host.reopen()
    host.tell(f"{name}: {told}")
    host.changed()


async def _removed(host: Host, name: str, path: str) -> bool:
    """Ask whether a collection is to go, and take it out of the settings."""
    lines = [
        text.plain(screen.one_line(path)),
        text.plain("Its notes are searched no longer, and what describes them is removed as well."),
        text.plain("Its files are not touched."),
    ]
    if not await host.push_screen_wait(Review(f"Remove the collection {name}", lines, "Remove it?")):
        return False
    await host.ask(partial(config.remove_collection, host.memory.workspace.root, name))
    return True
