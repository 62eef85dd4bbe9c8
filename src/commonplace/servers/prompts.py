"""Prompts that people pick in their client: recall something, reflect on a conversation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from commonplace.memory import Memory

_RECALL = (
    "Answer from my notes, cite as path#L12, and say so where they do not tell. Look further with "
    "memory_search and memory_get where this is not enough."
)
_REFLECT = """\
Look back over this conversation{about} and keep what will matter in later ones.

1. Name what was decided, learned, preferred or promised: with who, what, when and why. Leave out what is \
obvious, passing, guessed, or secret.
2. Look with memory_search whether each is known already, or changes something that is.
3. Write each with memory_write as one statement that stands by itself, names and dates written out; \
long_term only for what stays true, tentative for what is not sure. What changes something known goes to \
memory_correct instead.
4. Tell me in a few lines what you wrote, and where. If nothing is worth keeping, write nothing and say so."""


class Prompt(NamedTuple):
    """A prompt: its one argument, whether that must be given, and what composes the text."""

    name: str
    description: str
    argument: str
    about: str
    required: bool
    compose: Callable[[Memory, Mapping[str, str]], str]

    @property
    def listed(self) -> dict[str, Any]:
        """The prompt as clients list it."""
        argument = {"name": self.argument, "description": self.about, "required": self.required}
        return {"name": self.name, "description": self.description, "arguments": [argument]}

    def problem(self, arguments: Mapping[str, str]) -> str:
        """Return what is wrong with arguments, or an empty text."""
        unknown = sorted(arguments.keys() - {self.argument})
        if unknown:
            return f"unknown argument {unknown[0][:64]!r}; there is {self.argument}"
        missing = self.required and not arguments.get(self.argument, "").strip()
        return f"the argument {self.argument} is missing" if missing else ""


def _recall(memory: Memory, arguments: Mapping[str, str]) -> str:
    query = arguments["query"]
    found = memory.recall(query)
    return "\n\n".join([query.strip(), found.text or "(My notes hold nothing about it.)", _RECALL])


def _reflect(memory: Memory, arguments: Mapping[str, str]) -> str:
    focus = " ".join(arguments.get("focus", "").split())
    return _REFLECT.format(about=f", above all {focus}," if focus else "")


PROMPTS = (
    Prompt(
        "recall",
        "Answer a question from the notes, with the passages that tell.",
        "query",
        "What to recall",
        True,
        _recall,
    ),
    Prompt(
        "reflect",
        "Look back over the conversation and write down what is worth keeping.",
        "focus",
        "What to look at above all",
        False,
        _reflect,
    ),
)
