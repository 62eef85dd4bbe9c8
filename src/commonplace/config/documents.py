"""Settings files as documents: changed under a lock, as a whole or not at all; comments and order stay."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace import paths
from commonplace.config.loading import check, parse, user_file
from commonplace.errors import ConfigError

if TYPE_CHECKING:
    from tomlkit import TOMLDocument


def location(workspace: Path | None, environ: Mapping[str, str] | None) -> Path:
    """Return the settings file of a workspace, or the user's own for None."""
    return user_file(environ) if workspace is None else paths.Workspace(workspace).settings


def edit(
    workspace: Path | None, environ: Mapping[str, str] | None, change: Callable[[TOMLDocument], None]
) -> None:
    """Change one settings file as a document.

    Raises ConfigError where it could not be loaded afterwards or is written in a way that cannot be changed.
    """
    import tomlkit

    file = location(workspace, environ)

    def compose(data: bytes) -> bytes:
        parse(data, file)
        document = tomlkit.parse(data.decode("utf-8-sig"))
        change(document)
        text = tomlkit.dumps(document)
        if not _says(text, document):
            way = "is written in a way that cannot be changed from here (dotted keys?); edit it by hand"
            raise ConfigError("settings", f"{paths.shown(file)} {way}")
        try:
            changed = text.encode()
        except UnicodeEncodeError as error:  # a name on Linux may be any bytes, TOML is UTF-8
            raise ConfigError("settings", "a path that is not UTF-8 cannot be noted; rename it") from error
        check(changed, file, workspace)
        return changed

    replace(workspace, environ, compose)


def replace(
    workspace: Path | None, environ: Mapping[str, str] | None, compose: Callable[[bytes], bytes]
) -> None:
    """Put what `compose` makes of a settings file into its place, under its lock. Raises NoteUnreadable."""
    from commonplace import atomic

    own_lock = paths.user_config_dir(environ) / "config.lock"
    lock = own_lock if workspace is None else paths.lock_file(paths.Workspace(workspace), "settings")
    atomic.replace(location(workspace, environ), compose, lock=lock)


def _says(text: str, document: TOMLDocument) -> bool:
    """Tell whether a text says what a document does: a table put between dotted keys swallows those below."""
    import tomlkit

    try:
        return _filled(tomlkit.parse(text).unwrap()) == _filled(document.unwrap())
    except ValueError:
        return False


def _filled(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table without the empty ones in it, which may leave no trace in a text."""
    inner = {key: _filled(value) if isinstance(value, Mapping) else value for key, value in table.items()}
    return {key: value for key, value in inner.items() if value != {}}


def nested(document: TOMLDocument, *steps: str) -> Any:  # noqa: ANN401 - tomlkit's own
    """Return a table of tables, made where it is missing."""
    import tomlkit
    from tomlkit.items import InlineTable

    table: Any = document
    for depth, name in enumerate(steps):
        if name not in table:
            inline = isinstance(table, InlineTable)  # which can hold no other kind of table
            super_table = depth < len(steps) - 1
            table[name] = tomlkit.inline_table() if inline else tomlkit.table(is_super_table=super_table)
        table = table[name]
    return table


def drop(home: MutableMapping[str, Any], name: str, unwanted: Callable[[str], bool]) -> None:
    """Remove keys of a table, and the table itself once it is empty."""
    table = home.get(name, {})
    for key in [key for key in table if unwanted(key)]:
        del table[key]
    if name in home and not table:
        del home[name]


def discard(document: TOMLDocument, *steps: str) -> None:
    """Remove what the last step names, where it is there, and every table that is empty without it."""
    for depth in range(len(steps), 0, -1):
        table: Any = document
        for name in steps[: depth - 1]:
            if name not in table:
                return
            table = table[name]
        if steps[depth - 1] in table and (depth == len(steps) or not table[steps[depth - 1]]):
            del table[steps[depth - 1]]
