"""Conversations in which every tool call has its answer, as the servers of models demand it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from commonplace.types.events import Call, Turn

INTERRUPTED = "interrupted: there is no result"
NOT_KEPT = "the result was not kept"  # that of a search is left out of a transcript


def paired(turns: Iterable[Turn]) -> list[Turn]:
    """Return turns without answers to calls that are not there, and with one for each call that has none.

    So a transcript can be gone on with that was cut, at its beginning for a budget or at its end by a crash.
    """
    kept: list[Turn] = []
    waiting: list[Call] = []
    for turn in turns:
        if turn.role == "tool":
            known = [call for call in waiting if call.id == turn.answers]
            if known:
                waiting.remove(known[0])
                kept.append(turn if turn.text else replace(turn, text=NOT_KEPT))
            continue
        kept += map(_interrupted, waiting)
        waiting = list(turn.calls)
        kept.append(turn)
    return kept + list(map(_interrupted, waiting))


def _interrupted(call: Call) -> Turn:
    return Turn("tool", INTERRUPTED, answers=call.id, tool=call.name)
