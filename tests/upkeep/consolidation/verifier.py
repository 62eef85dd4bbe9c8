"""Scripted models: a plan answered as it stands, and a second look that says yes to everything, or as told."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from commonplace.providers.llm.base import Request
from commonplace.upkeep.consolidation import verify

_QUESTION = re.compile(r"^(\d+)\. statement: (.*)\n   source \([^\n]*?\): (.*)", re.MULTILINE)
NOTHING = '{"operations": []}'
Planner = Callable[[Request], Any]


def yes(request: Request) -> str:
    """Say yes to every question, with the whole of its first source as the quotation."""
    return answered(request, lambda statement, source: {})


def answered(request: Request, judge: Callable[[str, str], dict[str, Any]]) -> str:
    """Answer each question with yes, but for what a judge of its statement and source says otherwise."""
    return answer(request.messages[-1].content, judge)


def answer(prompt: str, judge: Callable[[str, str], dict[str, Any]] = lambda statement, source: {}) -> str:
    """Answer the questions of a prompt."""
    answers = []
    for number, statement, source in _QUESTION.findall(prompt):
        said = {"answer": "yes", "quotation": source, "alone": "yes", "repeats": "", "ends": "yes"}
        answers.append({"number": int(number), **said, **judge(statement, source)})
    return json.dumps({"answers": answers}, ensure_ascii=False)


def scripted(answer: str | Planner, verified: Planner = yes) -> Planner:
    """A model that answers the plan, and verifies."""

    def rule(request: Request) -> Any:
        if request.purpose == verify.PURPOSE:
            return verified(request)
        return answer if isinstance(answer, str) else answer(request)

    return rule
