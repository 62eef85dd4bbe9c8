"""Prompts from files: what ships, what the owner put in its place, and the variables each one takes.

A prompt is a Markdown file: `# system` and `# user`, each with a text in which `{{name}}` stands for a
variable. A header between two lines of `---` is for people.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from commonplace.base import paths
from commonplace.base.errors import CommonplaceError, ConfigError
from commonplace.providers.llm.base import Message, Role
from commonplace.redaction.redact import public

SHIPPED = Path(__file__).with_name("prompts")
_MARKER = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_ROLE = re.compile(r"^# (system|user)[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt; `parts` are roles and texts with their markers."""

    name: str
    parts: tuple[tuple[Role, str], ...]

    @property
    def variables(self) -> frozenset[str]:
        """The names of the values that the texts take."""
        return frozenset(marker for _, text in self.parts for marker in _MARKER.findall(text))

    def messages(self, **values: str) -> tuple[Message, ...]:
        """Fill in exactly the variables; what they hold is not looked at for markers.

        Raises ConfigError for a missing or an extra one.
        """
        if values.keys() != self.variables:
            raise ConfigError(
                f"prompt {self.name}", f"takes {_listed(self.variables)}, got {_listed(values)}"
            )
        # Each by itself: a private part that is never closed hides the rest of a value, not of the prompt.
        given = {name: public(value) for name, value in values.items()}
        return tuple(Message(role, _MARKER.sub(lambda m: given[m[1]], text)) for role, text in self.parts)


def names() -> tuple[str, ...]:
    """Names of the prompts that ship."""
    return tuple(sorted(path.stem for path in SHIPPED.glob("*.md")))


def load(name: str) -> Prompt:
    """Read a prompt, the owner's if it exists. Raises ConfigError, naming the file that is wrong."""
    shipped = _read(name, SHIPPED / f"{name}.md")
    path = paths.user_config_dir() / "prompts" / f"{name}.md"
    if not os.path.lexists(path):
        return shipped
    prompt = _read(name, path)
    if prompt.variables != shipped.variables:
        message = f"variables must be {_listed(shipped.variables)}, not {_listed(prompt.variables)}"
        raise ConfigError(paths.shown(path), message)
    return prompt


def _read(name: str, path: Path) -> Prompt:
    try:
        data = paths.read_contained(path, [path.resolve().parent])
        whole = data.decode("utf-8-sig").replace("\r\n", "\n")
    except (CommonplaceError, UnicodeDecodeError) as error:
        raise ConfigError(paths.shown(path), f"cannot be read ({error})") from error
    before, *parts = _ROLE.split(whole.partition("\n---\n")[2] if whole.startswith("---\n") else whole)
    pairs = [(cast(Role, role), text.strip()) for role, text in zip(parts[::2], parts[1::2], strict=True)]
    if before.strip() or not pairs or not all(text for _, text in pairs):
        raise ConfigError(paths.shown(path), "the text must stand under `# system` or `# user`")
    return Prompt(name, tuple(pairs))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
