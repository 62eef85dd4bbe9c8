"""Prompts from the files in `prompts`, whose header between two lines of `---` is for people.

`# system` and `# user` each have a text in which `{{name}}` stands for a variable.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

from commonplace.base import paths
from commonplace.providers.llm.base import Message, Role
from commonplace.redaction.redact import public

FOLDER = Path(__file__).with_name("prompts")
_MARKER = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_ROLE = re.compile(r"^# (system|user)[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt; `parts` are roles and texts with their markers."""

    parts: tuple[tuple[Role, str], ...]

    def messages(self, **values: str) -> tuple[Message, ...]:
        """Fill in the variables; what they hold is not looked at for markers."""
        # Each by itself: a private part that is never closed hides the rest of a value, not of the prompt.
        given = {name: public(value) for name, value in values.items()}
        return tuple(Message(role, _MARKER.sub(lambda m: given[m[1]], text)) for role, text in self.parts)


@cache
def load(name: str) -> Prompt:
    """Read a prompt."""
    text = paths.read_contained(FOLDER / f"{name}.md", [FOLDER]).decode()
    _, *parts = _ROLE.split(text.partition("\n---\n")[2])
    return Prompt(
        tuple((cast(Role, role), said.strip()) for role, said in zip(parts[::2], parts[1::2], strict=True))
    )
