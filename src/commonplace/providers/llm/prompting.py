"""Prompts from files: what ships, what the owner put in its place, and the variables each one takes.

A prompt is a Markdown file: a header between two lines of `---` with `purpose:` and `variables:` (names with
commas between), then `# system` and `# user`, each with a text in which `{{name}}` stands for a variable.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from commonplace.base import paths
from commonplace.base.errors import CommonplaceError, ConfigError
from commonplace.providers.http import outgoing
from commonplace.providers.llm.base import Message, Role

SHIPPED = Path(__file__).with_name("prompts")
MAX_BYTES = 64_000
_MARKER = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_HEADER = ("purpose", "variables")
_ROLES: Mapping[str, Role] = {"# system": "system", "# user": "user"}


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt as read from `path`; `parts` are roles and texts with their markers."""

    name: str
    path: Path
    purpose: str
    variables: frozenset[str]
    parts: tuple[tuple[Role, str], ...]

    def messages(self, **values: str) -> tuple[Message, ...]:
        """Fill in exactly the declared variables; what they hold is not looked at for markers.

        Raises ConfigError for a missing or an extra one.
        """
        if values.keys() != self.variables:
            raise ConfigError(
                f"prompt {self.name}", f"takes {_listed(self.variables)}, got {_listed(values)}"
            )
        # Each by itself: a private part that is never closed hides the rest of a value, not of the prompt.
        given = {name: outgoing(value) for name, value in values.items()}
        return tuple(Message(role, _MARKER.sub(lambda m: given[m[1]], text)) for role, text in self.parts)


def names() -> tuple[str, ...]:
    """Names of the prompts that ship."""
    return tuple(sorted(path.stem for path in SHIPPED.glob("*.md")))


def own_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Return where the owner's prompts lie: a file there replaces the shipped one of the same name."""
    return paths.user_config_dir(environ) / "prompts"


def load(name: str, environ: Mapping[str, str] | None = None) -> Prompt:
    """Read a prompt, the owner's if it exists. Raises ConfigError, naming the file that is wrong."""
    shipped = _read(name, SHIPPED / f"{name}.md")
    path = own_folder(environ) / f"{name}.md"
    if not os.path.lexists(path):
        return shipped
    prompt = _read(name, path)
    if prompt.variables != shipped.variables:
        _refuse(path, f"variables must be {_listed(shipped.variables)}, not {_listed(prompt.variables)}")
    return prompt


def _read(name: str, path: Path) -> Prompt:
    head, end, rest = _text(name, path).partition("\n---\n")
    if not head.startswith("---\n") or not end:
        _refuse(path, "must begin with a header between two lines of ---")
    header = _header(path, head.splitlines()[1:])
    variables = frozenset(header["variables"].replace(",", " ").split())
    parts = _parts(rest)
    if not parts or not all(part for _, part in parts):
        _refuse(path, "the text must stand under `# system` or `# user`")
    used = {marker for _, part in parts for marker in _MARKER.findall(part)}
    if used != variables:
        _refuse(path, f"declares {_listed(variables)} and uses {_listed(used)}")
    return Prompt(name, path, header["purpose"], variables, parts)


def _header(path: Path, lines: list[str]) -> dict[str, str]:
    """The values of a header by their names, which must be those of `_HEADER`."""
    rows = [line.partition(":") for line in lines if line.strip()]
    header = {name.strip(): value.strip() for name, _, value in rows}
    if tuple(sorted(header)) != _HEADER:
        message = f"the header must hold {_listed(_HEADER)}, not {_listed(header)}"
        _refuse(path, message)
    return header


def _text(name: str, path: Path) -> str:
    try:
        data = paths.read_contained(path, [Path(path.resolve()).parent])
        if len(data) > MAX_BYTES:
            _refuse(path, f"larger than {MAX_BYTES:,} bytes")
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ConfigError(paths.shown(path), "not UTF-8") from error
    except ConfigError:
        raise
    except CommonplaceError as error:
        raise ConfigError(f"prompt {name}", str(error)) from error


def _parts(text: str) -> tuple[tuple[Role, str], ...]:
    """The texts below `# system` and `# user`; empty if text comes before the first of them."""
    parts: list[tuple[Role, list[str]]] = []
    for line in text.split("\n"):
        role = _ROLES.get(line.rstrip(" \t"))
        if role:
            parts.append((role, []))
        elif parts:
            parts[-1][1].append(line)
        elif line.strip():
            return ()
    return tuple((role, "\n".join(lines).strip()) for role, lines in parts)


def _listed(names: object) -> str:
    return ", ".join(sorted(names)) or "none"  # type: ignore[call-overload]


def _refuse(path: Path, message: str) -> NoReturn:
    raise ConfigError(paths.shown(path), message)
