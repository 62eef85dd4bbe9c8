"""Prompts that people pick in their client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from commonplace.base.tuples import NamedTuple
from commonplace.servers.protocol import PARAMS, Refusal

if TYPE_CHECKING:
    from commonplace.memory import Memory

MOST_CHARACTERS = 20_000  # of an argument, which comes back with the prompt
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


class PromptTemplate(NamedTuple):
    """A prompt: its one argument, whether that must be given, and what composes the text."""

    name: str
    description: str
    argument: str
    about: str
    required: bool
    compose: Callable[[Memory, str], str]

    def text(self, memory: Memory, arguments: Mapping[str, str]) -> str:
        """Compose the text from arguments. Raises Refusal."""
        if unknown := sorted(arguments.keys() - {self.argument}):
            wrong = f"unknown argument {unknown[0][:64]!r}; there is {self.argument}"
            raise Refusal(PARAMS, f"{self.name}: {wrong}")
        given = arguments.get(self.argument, "")
        if self.required and not given.strip():
            raise Refusal(PARAMS, f"{self.name}: the argument {self.argument} is missing")
        if len(given) > MOST_CHARACTERS:
            raise Refusal(
                PARAMS, f"{self.name}: {self.argument} is longer than {MOST_CHARACTERS:,} characters"
            )
        return self.compose(memory, given)


def _recall(memory: Memory, query: str) -> str:
    recall = memory.recall(query)
    known = recall.text or f"(My notes hold nothing {'sure ' * bool(recall.tentative)}about it.)"
    guesses = f"{recall.tentative} tentative passage{'s' * (recall.tentative != 1)}"
    left_out = [f"({guesses} left out; memory_search finds them.)"] if recall.tentative else []
    return "\n\n".join([query.strip(), known, *left_out, _RECALL])


def _reflect(memory: Memory, focus: str) -> str:
    focus = " ".join(focus.split())
    return _REFLECT.format(about=f", above all {focus}," if focus else "")


PROMPTS = (
    PromptTemplate(
        "recall",
        "Answer a question from the notes, with the passages that tell.",
        "query",
        "What to recall",
        True,
        _recall,
    ),
    PromptTemplate(
        "reflect",
        "Look back over the conversation and write down what is worth keeping.",
        "focus",
        "What to look at above all",
        False,
        _reflect,
    ),
)
