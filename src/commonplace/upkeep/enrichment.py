"""Types, concepts and better titles for observations, by a language model: optional and batched.

What is sent are entries as they would be written, so nothing that is not redacted leaves. What comes back
are words from two lists and a title; the entry is composed here, and whatever fails, it stays as it was.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from commonplace.base.deadline import Deadline
from commonplace.base.errors import BudgetExceeded, CommonplaceError, ProviderError
from commonplace.markdown import comments
from commonplace.providers.llm import prompting
from commonplace.providers.llm.base import Message, Schema
from commonplace.upkeep import dialogue, excerpts
from commonplace.upkeep.observations import HEADING

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.providers.llm.client import Client
    from commonplace.types import Entry

PROMPT = PURPOSE = "observe"
TYPES = ("bugfix", "feature", "refactor", "change", "discovery", "decision", "security")
CONCEPTS = (
    "how-it-works", "why-it-exists", "what-changed", "problem-solution", "gotcha", "pattern", "trade-off",
)  # fmt: skip
TITLE = 80  # characters
_TOKENS = 90  # of an answer, for each observation
_SENT = 2000  # characters of an observation that are sent
FAILURES = 3  # in a row, after which the model is not asked again by this process
logger = logging.getLogger("commonplace.enrichment")


class Enricher:
    """Asks a language model about observations, a batch at a time; safe with several threads."""

    def __init__(
        self, open_llm: Callable[[], Client | None], *, batch: int = 10, deadline_s: float = 20.0
    ) -> None:
        """Take what opens the model at its first use; without a model entries stay as they are."""
        self._open, self._batch, self._deadline_s = open_llm, batch, deadline_s
        self._llm: Client | None = None
        self._failures = 0
        self._opened = False
        self._lock = threading.Lock()

    def enrich(self, entries: Sequence[Entry]) -> tuple[Entry, ...]:
        """Return the entries with types, concepts and titles, inside the deadline; never raises.

        Only observations are asked about, and those that the model says nothing of stay as they were.
        """
        enriched = list(entries)
        places = [place for place, entry in enumerate(enriched) if _is_plain(entry)]
        deadline = Deadline(self._deadline_s)
        for start in range(0, len(places), self._batch):
            llm = self._model()
            if llm is None or not deadline.left_s():
                break
            some = places[start : start + self._batch]
            for place, entry in zip(
                some, self._asked(llm, [enriched[p] for p in some], deadline), strict=True
            ):
                enriched[place] = entry
        return tuple(enriched)

    def _model(self) -> Client | None:
        with self._lock:
            if not self._opened:
                self._opened = True
                try:
                    self._llm = self._open()
                except CommonplaceError as error:
                    logger.warning("observations stay as they are: %s", error)
            return self._llm if self._failures < FAILURES else None

    def _asked(self, llm: Client, entries: Sequence[Entry], deadline: Deadline) -> Sequence[Entry]:
        try:
            answer = llm.complete(
                _messages(entries),
                schema(len(entries)),
                max_tokens=_TOKENS * len(entries) + 100,
                deadline_s=deadline.left_s(),
                purpose=PURPOSE,
            )
        except CommonplaceError as error:
            final = isinstance(error, BudgetExceeded) or (
                isinstance(error, ProviderError) and error.permanent
            )
            self._failures = FAILURES if final else self._failures + 1
            logger.warning("observations stay as they are: %s", error)
            return entries
        self._failures = 0
        return _taken(entries, answer.data)


def of_memory(memory: Memory) -> Enricher | None:
    """The enricher that a memory's settings ask for, or None where they do not, which is the default."""
    settings = memory.settings.observe
    if not settings.enrich:
        return None

    def opened() -> Client | None:
        from commonplace.providers import opening
        from commonplace.redaction.redact import holds_secret

        return opening.open_llm(memory.workspace, memory.settings, holds_secret=holds_secret)

    return Enricher(opened, batch=settings.enrich_batch, deadline_s=settings.enrich_deadline_s)


def schema(count: int) -> Schema:
    """The answer that is wanted for some observations."""
    observation: Mapping[str, object] = {
        "type": "object",
        "properties": {
            "number": {"type": "integer", "minimum": 1, "maximum": count},
            "type": {"type": "string", "enum": list(TYPES)},
            "concepts": {"type": "array", "maxItems": 3, "items": {"type": "string", "enum": list(CONCEPTS)}},
            "title": {"type": "string", "maxLength": 200},
        },
        "required": ["number", "type", "concepts", "title"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"observations": {"type": "array", "maxItems": count, "items": observation}},
        "required": ["observations"],
        "additionalProperties": False,
    }


def _is_plain(entry: Entry) -> bool:
    """Whether an entry is an observation that nobody was asked about yet."""
    facts = entry.text.split("\n", 2)[1:2]
    return entry.heading == HEADING and bool(facts) and not any(f"; {name}" in facts[0] for name in TYPES)


def _messages(entries: Sequence[Entry]) -> tuple[Message, ...]:
    texts = (dialogue.unframed(excerpts.public(entry.text)[:_SENT]) for entry in entries)
    blocks = (
        f'<observation number="{number}">\n{text}\n</observation>' for number, text in enumerate(texts, 1)
    )
    return prompting.load(PROMPT).messages(observations="\n".join(blocks))


def _taken(entries: Sequence[Entry], data: Any) -> Sequence[Entry]:  # noqa: ANN401 - JSON that fits the schema
    answers = {answer["number"]: answer for answer in reversed(data["observations"])}
    return [
        _composed(entry, answers[number]) if number in answers else entry
        for number, entry in enumerate(entries, 1)
    ]


def _composed(entry: Entry, said: Mapping[str, Any]) -> Entry:
    """An entry with what was said of it: words of our lists behind the facts, and the new title."""
    title, facts, *rest = entry.text.split("\n", 2)
    said_words = facts.replace(",", " ").replace(";", " ").split()
    concepts = dict.fromkeys(concept for concept in said["concepts"] if concept not in said_words)
    words = [said["type"], ", ".join(concepts)]
    lines = [_title(said["title"]) or title, "; ".join([facts, *filter(None, words)]), *rest]
    return replace(entry, text="\n".join(lines))


def _title(text: str) -> str:
    """A title of one line that is nothing else: no markup, no label, no comment, no secret."""
    plain = " ".join(comments.disarmed(excerpts.public(text), entirely=True).split())
    plain = plain.lstrip("#>*+- `").replace("：", ":").replace(": ", ", ")
    return excerpts.cut(plain.rstrip(" .。:"), TITLE) if any(map(str.isalnum, plain)) else ""
