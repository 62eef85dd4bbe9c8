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
from typing import NoReturn, cast

from commonplace.base import paths
from commonplace.base.errors import CommonplaceError, ConfigError
from commonplace.providers.http import outgoing
from commonplace.providers.llm.base import Message, Role

SHIPPED = Path(__file__).with_name("prompts")
MAX_BYTES = 64_000
_MARKER = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_ROLE = re.compile(r"^# (system|user)[ \t]*$", re.MULTILINE)


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
    rows = [line.partition(":") for line in head.splitlines()[1:] if line.strip()]
    header = {key.strip(): value.strip() for key, _, value in rows}
    if sorted(header) != ["purpose", "variables"]:
        _refuse(path, f"the header must hold purpose, variables, not {_listed(header)}")
    before, *parts = _ROLE.split(rest)
    pairs = [(cast(Role, role), text.strip()) for role, text in zip(parts[::2], parts[1::2], strict=True)]
    if before.strip() or not pairs or not all(text for _, text in pairs):
        _refuse(path, "the text must stand under `# system` or `# user`")
    variables = frozenset(header["variables"].replace(",", " ").split())
    used = {marker for _, text in pairs for marker in _MARKER.findall(text)}
    if used != variables:
        _refuse(path, f"declares {_listed(variables)} and uses {_listed(used)}")
    return Prompt(name, path, header["purpose"], variables, tuple(pairs))


def _text(name: str, path: Path) -> str:
    try:
        data = paths.read_contained(path, [Path(path.resolve()).parent])
    except CommonplaceError as error:
        raise ConfigError(f"prompt {name}", str(error)) from error
    if len(data) > MAX_BYTES:
        _refuse(path, f"larger than {MAX_BYTES:,} bytes")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ConfigError(paths.shown(path), "not UTF-8") from error


def _listed(names: object) -> str:
    return ", ".join(sorted(names)) or "none"  # type: ignore[call-overload]


def _refuse(path: Path, message: str) -> NoReturn:
    raise ConfigError(paths.shown(path), message)
