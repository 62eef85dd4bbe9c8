"""A silent turn before a conversation is shortened: what must not be lost goes to today's note.

The model may only append to that note, by one tool or by plain text; any other call is refused. Code decides
what is written: no secrets, no repetition of the note, only facts that the conversation speaks of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from commonplace.base.errors import ConfigError
from commonplace.base.tokens import about
from commonplace.base.tuples import NamedTuple
from commonplace.markdown import statements
from commonplace.markdown.structure import ITEM
from commonplace.providers.llm import prompting
from commonplace.providers.llm.base import Completion, Message, ToolSpec, without_thoughts
from commonplace.redaction.redact import redact, strip_private
from commonplace.types import Entry, Provenance, Turn
from commonplace.upkeep import dialogue, prose
from commonplace.upkeep.summaries import NAMES, day_note

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.providers.llm.client import Client as Llm
    from commonplace.types import Written

PURPOSE = "flush"
NOTHING = "NO_REPLY"
TOOL = ToolSpec(
    "append_today",
    "Append facts to today's note, one a line. The only thing you may do now.",
    {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
        "additionalProperties": False,
    },
)
MOST_ENTRIES, ENTRY_WORDS = 12, 60
MAX_TOKENS = 1500
_NOTE_TOKENS = 2000  # of today's note that are shown, the newest
_NOTHING = NOTHING.replace("_", "")  # however it is set off


@dataclass(frozen=True, slots=True)
class Flushed:
    """The result of a silent turn: entries written, the number that the note held already, refused tools."""

    written: tuple[Written, ...] = ()
    repeated: int = 0
    refused: tuple[str, ...] = ()


class Wanted(NamedTuple):
    """The facts that a model wants written, one text a fact, and the tools that it is refused."""

    texts: tuple[str, ...]
    refused: tuple[str, ...]


def flush(
    memory: Memory,
    turns: Sequence[Turn],
    llm: Llm,
    *,
    session: str = "",
    agent: str = "",
    now: datetime | None = None,
    max_tokens: int = 100_000,
    deadline_s: float = 60.0,
) -> Flushed:
    """Let the model write down what of these turns must not be lost; `max_tokens` of them are sent.

    Raises ProviderError, BudgetExceeded, and NoteUnreadable or OutsideRoots for the note.
    """
    now = now or datetime.now()
    clean = dialogue.clean(turns)
    language = prose.language(turn.text for turn in clean if turn.role == "user")
    note = day_note(memory, now.date())
    conversation = dialogue.written(clean, max_tokens, results=400)
    messages = prompting.load("flush").messages(
        conversation=conversation, note=_shown(note), date=f"{now:%Y-%m-%d}", language=NAMES[language]
    )
    asked = wanted(_answer(llm, messages, deadline_s))
    facts = [text for text in asked.texts if prose.is_about(text, prose.terms(conversation))]
    fresh = prose.news(facts, note)
    provenance = Provenance("agent", agent, session, f"{now.astimezone().isoformat(timespec='seconds')}")
    written = memory.capture([Entry(text, now, provenance=provenance) for text in fresh]) if fresh else ()
    return Flushed(written, len(facts) - len(fresh), asked.refused)


def _answer(llm: Llm, messages: Sequence[Message], deadline_s: float) -> Completion:
    def ask(tools: Sequence[ToolSpec]) -> Completion:
        return llm.complete(
            messages, tools=tools, max_tokens=MAX_TOKENS, deadline_s=deadline_s, purpose=PURPOSE
        )

    try:
        return ask([TOOL])
    except ConfigError:  # a model that is a program or a file calls no tools: request plain text
        return ask([])


def wanted(completion: Completion) -> Wanted:
    """Return a model's facts to write, out of calls of its tool or, without calls, out of its text."""
    if not completion.calls:
        return Wanted(_facts(without_thoughts(completion.text)), ())
    refused = tuple(call.name for call in completion.calls if call.name != TOOL.name)
    texts: list[str] = []
    for call in completion.calls:
        if call.name == TOOL.name:
            text = dialogue.arguments(call.arguments).get("text")
            texts += _facts(text) if isinstance(text, str) else ()
    return Wanted(tuple(texts[:MOST_ENTRIES]), refused)


def _facts(text: str) -> tuple[str, ...]:
    """Return the facts of a text, one a line, without marks, headings, fences and `NO_REPLY`.

    A line that leads in to a list ("These facts are worth keeping:") is not a fact.
    """
    lines = [
        line for line in text.splitlines() if line.strip() and not line.lstrip().startswith(("```", "~~~"))
    ]
    facts = [
        _fact(line) for line, after in pairwise([*lines, ""]) if ITEM.match(line) or not ITEM.match(after)
    ]
    return tuple(prose.within(fact, ENTRY_WORDS) for fact in filter(None, facts))[:MOST_ENTRIES]


def _fact(line: str) -> str:
    """Return the text of a line without marks and hour; empty for a heading and for `NO_REPLY`."""
    if line.lstrip().startswith("#") or "".join(filter(str.isalnum, line)).upper() == _NOTHING:
        return ""
    hour, rest = statements.leading_time(fact := prose.plain(line))
    return rest.lstrip() if hour and rest.startswith(" ") else fact


def _shown(note: str) -> str:
    """The newest lines of a note as they may be sent."""
    lines: list[str] = []
    room = _NOTE_TOKENS
    for line in reversed(redact(strip_private(note))[0].splitlines()):
        if (room := room - about(line) - 1) < 0:
            break
        lines.append(dialogue.unframed(line))
    return "\n".join(reversed(lines))
