"""The plan of a consolidation: what a model is shown, what it may answer, and the answer as operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, get_args

from commonplace.estimates import about
from commonplace.lifecycle import dialogue, prose
from commonplace.lifecycle.consolidation import candidates as candidate_list
from commonplace.llm import prompting

if TYPE_CHECKING:
    from commonplace.config.settings import Consolidate
    from commonplace.lifecycle.consolidation.candidates import Candidate
    from commonplace.lifecycle.consolidation.standing import Page
    from commonplace.llm.base import Llm, Message

PURPOSE = "consolidate"
ANSWER_TOKENS = 4096
MOST_OPERATIONS = 100  # of an answer that are looked at
Op = Literal["add", "merge", "supersede", "expire", "keep"]
TOUCHING = ("merge", "supersede", "expire")
_TEXT = {"type": "string"}
_LABELS = {"type": "array", "items": _TEXT}
_FIELDS = ("op", "targets", "sources", "section", "text", "reason")
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "operations": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "op": {"enum": list(get_args(Op))},
                    "targets": _LABELS,
                    "sources": _LABELS,
                    "section": _TEXT,
                    "text": _TEXT,
                    "reason": _TEXT,
                },
                "required": list(_FIELDS),
                "additionalProperties": False,
            },
        }
    },
    "required": ["operations"],
    "additionalProperties": False,
}
# Sections that may be made, by the kind of what opens them.
SECTIONS: Mapping[prose.Language, Mapping[str, str]] = {
    "en": {"preference": "Preferences", "decision": "Decisions", "person": "People", "fact": "Facts",
           "date": "Dates", "procedure": "Procedures", "lesson": "Lessons", "recalled": "Facts"},
    "zh": {"preference": "偏好", "decision": "决定", "person": "人物", "fact": "事实", "date": "日期",
           "procedure": "流程", "lesson": "教训", "recalled": "事实"},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Operation:
    """One change that is proposed, as it was said: labels are not looked up yet."""

    op: Op
    targets: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    section: str = ""
    text: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """What a model is asked: the messages, the candidates in them, and how many did not fit."""

    messages: tuple[Message, ...]
    shown: tuple[Candidate, ...]
    left_out: int = 0


def question(
    page: Page, found: Sequence[Candidate], settings: Consolidate, now: datetime, days: str
) -> Question:
    """Put the entries and as many candidates as fit into the prompt, the newest and most recalled first."""
    language = language_of(page, found)
    memory = "\n".join(_entries(page))
    fixed = prompting.load("consolidate").messages(
        memory=memory, candidates="", days=days, today=f"{now:%Y-%m-%d}",
        language={"en": "English", "zh": "Chinese"}[language], sections=", ".join(sections(page, language)),
    )  # fmt: skip
    left = settings.max_tokens - sum(about(message.content) for message in fixed)
    shown: list[Candidate] = []
    for candidate in candidate_list.shown(found):
        left -= about(_line(candidate)) + 1
        if left < 0:
            break
        shown.append(candidate)
    shown.sort(key=lambda c: (c.day, c.statement.path, c.statement.first))
    messages = prompting.load("consolidate").messages(
        memory=memory, candidates="\n".join(map(_line, shown)), days=days, today=f"{now:%Y-%m-%d}",
        language={"en": "English", "zh": "Chinese"}[language], sections=", ".join(sections(page, language)),
    )  # fmt: skip
    return Question(messages, tuple(shown), len(found) - len(shown))


def language_of(page: Page, found: Sequence[Candidate]) -> prose.Language:
    """The language of long-term memory, or of the notes where that is empty."""
    told = [entry.text for entry in page.labelled] or [candidate.text for candidate in found]
    return prose.language(told)


def sections(page: Page, language: prose.Language) -> list[str]:
    """The sections that entries may be added to: those there are, and those that may be made."""
    there = [title for title in page.sections if title not in page.pinned]
    known = {title.casefold() for title in page.sections}
    made = (title for title in dict.fromkeys(SECTIONS[language].values()) if title.casefold() not in known)
    return [*there, *made]


def _entries(page: Page) -> list[str]:
    told, section = [], None
    for entry in page.labelled:
        if entry.section != section:
            section = entry.section
            told.append(f"## {dialogue.unframed(section)}")
        marks = ["pinned" if entry.pinned else "fixed"] if entry.kept else []
        marks += [f"since {entry.since}"] if entry.since else []
        said = f" ({', '.join(marks)})" if marks else ""
        told.append(f"{entry.label}{said}: {dialogue.unframed(entry.text)}")
    return told or ["(empty)"]


def _line(candidate: Candidate) -> str:
    often = f", asked for {candidate.asked} times" if candidate.asked else ""
    said = dialogue.unframed(candidate.text)
    return f"{candidate.label} ({candidate.day}, {candidate.kind}{often}): {said}"


def ask(llm: Llm, asked: Question, settings: Consolidate) -> list[Operation]:
    """Let the model plan. Raises ProviderError, BudgetExceeded, ConfigError as `Llm.complete` does."""
    completion = llm.complete(
        asked.messages, SCHEMA, max_tokens=ANSWER_TOKENS, deadline_s=settings.deadline_s, purpose=PURPOSE
    )
    return read(completion.data)


def read(data: object) -> list[Operation]:
    """Make operations of an answer that fits the schema; nothing of any other."""
    operations = data.get("operations") if isinstance(data, dict) else None
    if not isinstance(operations, list):
        return []
    return [
        Operation(
            told["op"],
            tuple(dict.fromkeys(told["targets"])),
            tuple(dict.fromkeys(told["sources"])),
            " ".join(told["section"].split())[:100],
            told["text"].strip(),
            " ".join(told["reason"].split())[:300],
        )
        for told in operations
    ]
