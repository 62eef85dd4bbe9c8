"""A summary without a model: the first request, what was done with tools, the last answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from commonplace.types.events import Turn
from commonplace.upkeep import dialogue
from commonplace.upkeep.parts import Parts
from commonplace.upkeep.prose import Language, ended, joined, plain, sentences, within

REQUEST_WORDS, ANSWER_WORDS = 50, 70
MOST_ACTIONS = 8
_LOOKED_AT = 20_000  # characters of a turn, or of a part of it between code: far more than is shown
_FENCE = "```"
_MORE: dict[Language, str] = {"en": "{} more", "zh": "另有 {} 项"}
_BETWEEN: dict[Language, str] = {"en": "; ", "zh": "；"}


def extract(turns: Sequence[Turn], language: Language) -> Parts:
    """Take parts out of clean turns: their own words, cut at the ends of sentences."""
    asked = next(filter(None, (_said(turn) for turn in turns if turn.role == "user")), "")
    answers = (_said(turn) for turn in reversed(turns) if turn.role == "assistant")
    return Parts(
        request=within(asked, REQUEST_WORDS),
        done=_actions(turns, language),
        answer=_opening(next(filter(None, answers), ""), ANSWER_WORDS),
        extractive=True,
    )


def _said(turn: Turn) -> str:
    """What a turn says, without code; a line that ends without a mark is a sentence."""
    kept = turn.text.split(_FENCE)[::2] if _FENCE in turn.text else [turn.text]
    lines = (line for part in kept for line in part[:_LOOKED_AT].splitlines() if line.strip())
    return joined(ended(plain(line)) for line in lines)


def _opening(text: str, most: int) -> str:
    """The beginning of an answer, which says what came of it, without a mere "Done." before it."""
    found = sentences(text)
    if len(found) > 2 and len(found[0]) < 12:  # "Done." "Sure!" "好的。"
        text = " ".join(found[1:]) if found[0].isascii() else "".join(found[1:])
    return within(text, most)


def _actions(turns: Sequence[Turn], language: Language) -> str:
    """The calls of tools in short, each once with how often it was made, the most recent ones last."""
    calls = [plain(dialogue.action(call)) for turn in turns for call in turn.calls]
    told = [f"{call} ×{n}" if n > 1 else call for call, n in Counter(calls).items()]
    if (left := len(told) - MOST_ACTIONS) > 0:
        told = [_MORE[language].format(left), *told[-MOST_ACTIONS:]]
    return _BETWEEN[language].join(told)
