"""Ask a language model whether a source says a statement; a yes needs a literal quotation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from commonplace import language
from commonplace.base.errors import CommonplaceError
from commonplace.providers.llm import prompting
from commonplace.upkeep import dialogue
from commonplace.upkeep.consolidation import plan
from commonplace.upkeep.consolidation.evidence import Said

if TYPE_CHECKING:
    from commonplace.config.settings import Consolidate
    from commonplace.providers.llm.client import Client as Llm
    from commonplace.upkeep.consolidation.page import Page

PURPOSE = "verify"
MOST = 12  # questions of one request
_YES_NO = {"enum": ["yes", "no"]}
_TEXT = {"type": "string"}
_FIELDS: Mapping[str, Any] = {
    "number": {"type": "integer"}, "answer": _YES_NO, "quotation": _TEXT, "alone": _YES_NO, "repeats": _TEXT,
    "ends": _YES_NO,
}  # fmt: skip
_ANSWER = {"type": "object", "properties": _FIELDS, "required": [*_FIELDS], "additionalProperties": False}
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"answers": {"type": "array", "items": _ANSWER}},
    "required": ["answers"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Question:
    """A statement, what it rests on, and the entry that it ends, replaces or speaks against, if any."""

    statement: str
    sources: tuple[Said, ...]
    entry: str = ""
    kind: Literal["", "replaced", "ended", "conflict"] = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The model's verdict on a statement; `repeats` is the label of an entry that says the same."""

    says: bool
    alone: bool = True
    repeats: str = ""
    ends: bool = True


def ask(
    llm: Llm, questions: Sequence[Question], page: Page, settings: Consolidate
) -> tuple[dict[Question, Verdict], str]:
    """Ask about statements, some at a time; return the verdicts, and why some are missing.

    A quotation that is missing from the source counts as a no. Answers are cached.
    """
    verdicts: dict[Question, Verdict] = {}
    memory = "\n".join(plan.entry_lines(page.labelled)) or "(empty)"
    for start in range(0, len(questions), MOST):
        batch = questions[start : start + MOST]
        written = "\n\n".join(_written(number, question) for number, question in enumerate(batch, 1))
        try:
            completion = llm.complete(
                prompting.load("verify").messages(memory=memory, questions=written), SCHEMA,
                max_tokens=plan.ANSWER_TOKENS, deadline_s=settings.deadline_s, purpose=PURPOSE,
            )  # fmt: skip
        except CommonplaceError as error:
            return verdicts, f"{len(questions) - start} statements were not verified ({error})"
        verdicts |= _read(completion.data, batch)
    lacking = sum(question not in verdicts for question in questions)
    return verdicts, f"{lacking} statements were not verified (no answer)" if lacking else ""


def _read(data: object, batch: Sequence[Question]) -> dict[Question, Verdict]:
    """Return the verdicts of an answer that fits the schema; empty for any other."""
    answers = data.get("answers") if isinstance(data, dict) else None
    verdicts: dict[Question, Verdict] = {}
    for answer in answers if isinstance(answers, list) else ():
        if 1 <= answer["number"] <= len(batch):
            question = batch[answer["number"] - 1]
            verdicts[question] = Verdict(
                answer["answer"] == "yes" and _is_quoted(answer["quotation"], question),
                answer["alone"] == "yes",
                answer["repeats"].strip(),
                answer["ends"] == "yes",
            )
    return verdicts


def _written(number: int, question: Question) -> str:
    lines = [f"{number}. statement: {question.statement}"]
    for said in question.sources:
        above = " > ".join(filter(None, (said.day.isoformat() if said.day else "", *said.headings)))
        who = f", {said.speaker} says" if said.speaker else ""
        lines.append(f"   source ({above}{who}): {said.text}")
    if question.kind == "conflict":
        lines.append(f"   conflict with the entry: {question.entry}")
    elif question.kind:
        lines.append(f"   entry to be {question.kind}: {question.entry}")
    return dialogue.unframed("\n".join(lines))


def _is_quoted(quotation: str, question: Question) -> bool:
    """Return True if a quotation occurs in a source, ignoring the width of characters and blanks."""
    plain = [
        " ".join(language.fold_width(text).split())
        for text in (quotation.strip(" \"'“”「」"), *(said.text for said in question.sources))
    ]
    return bool(plain[0]) and any(plain[0] in text for text in plain[1:])
