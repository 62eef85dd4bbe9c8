"""The summary of a stretch of a conversation as it would be written: by a model, or without one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from commonplace.base.errors import BudgetExceeded, ProviderError
from commonplace.providers.llm import prompting
from commonplace.types.events import Turn
from commonplace.upkeep import dialogue, prose
from commonplace.upkeep.extract import extract
from commonplace.upkeep.parts import Parts, compose, of
from commonplace.upkeep.prose import Language

if TYPE_CHECKING:
    from commonplace.config.settings import Summary as Settings
    from commonplace.providers.llm.base import Llm

PURPOSE = "summary"
_ROOM = 6  # tokens that a word may take in any script, JSON and the model's thoughts included
NAMES: Mapping[Language, str] = {
    "en": "the language that the user writes in (English, if that is not clear)",
    "zh": "Chinese",
}
_TEXT = {"type": "string"}
_LIST = {"type": "array", "items": _TEXT}
_PARTS = ("request", "done", "decisions", "learned", "open")
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "worth_keeping": {"type": "boolean"},
        "request": _TEXT,
        "done": _LIST,
        "decisions": _LIST,
        "learned": _LIST,
        "open": _LIST,
    },
    "required": ["worth_keeping", *_PARTS],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Draft:
    """The summary of a stretch: the entry as it would be written, none where nothing is worth keeping.

    `trouble` is why no model wrote it, empty where one did or none is set.
    """

    text: str
    language: Language
    extractive: bool = False
    trouble: str = ""


def draft(turns: Sequence[Turn], llm: Llm | None, settings: Settings) -> Draft:
    """Sum up turns by the model, or by an extract where there is none or it fails."""
    clean = dialogue.clean(turns)
    language = prose.language(turn.text for turn in clean if turn.role == "user")
    parts, trouble = _asked(clean, language, llm, settings)
    if parts is None:
        parts = extract(clean, language)
    text = compose(parts, language, settings.max_words) if parts else ""
    return Draft(text, language, parts.extractive, trouble)


def _asked(
    clean: Sequence[Turn], language: Language, llm: Llm | None, settings: Settings
) -> tuple[Parts | None, str]:
    """Let the model say the parts; None, and why, where it cannot."""
    if llm is None:
        return None, ""
    text = dialogue.written(clean, settings.max_tokens)
    try:
        messages = prompting.load("summary").messages(
            conversation=text, language=NAMES[language], words=str(settings.max_words)
        )
        completion = llm.complete(
            messages,
            SCHEMA,
            max_tokens=512 + _ROOM * settings.max_words,
            deadline_s=settings.deadline_s,
            purpose=PURPOSE,
        )
    except (ProviderError, BudgetExceeded) as error:
        return None, str(error)
    known = prose.terms("\n".join([text, *(call.arguments for turn in clean for call in turn.calls)]))
    return read(completion.data, known, language)


def read(data: object, known: frozenset[str], language: Language) -> tuple[Parts | None, str]:
    """Make parts of what a model answered; None, and why, where nothing of it can be used.

    A sentence that shares next to nothing with the conversation is left out: it is not about it.
    """
    if not isinstance(data, dict):
        return None, "the language model called a tool instead of answering"
    if not data["worth_keeping"]:
        return Parts(), ""
    lists = {name: data[name] if isinstance(data[name], list) else [data[name]] for name in _PARTS}
    plain = {name: [text for text in map(prose.plain, said) if text] for name, said in lists.items()}
    texts = [text for said in plain.values() for text in said]
    if texts and not prose.is_in(" ".join(texts), language):
        return None, "the language model answered in another language"
    kept = {name: [text for text in said if prose.is_about(text, known)] for name, said in plain.items()}
    parts = of({name: prose.joined(map(prose.ended, said)) for name, said in kept.items()})
    return (parts, "") if parts else (None, "the language model said nothing about the conversation")
