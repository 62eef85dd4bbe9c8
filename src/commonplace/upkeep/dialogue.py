"""Conversations on their way to a model: turns as its messages, and turns as a text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from commonplace.base.tokens import about
from commonplace.providers.llm.base import Message, ToolCall
from commonplace.types.events import Call, Turn

TURN_TOKENS = 800  # of one turn in a text; of a longer one beginning and end are shown
GAP = "[…]"
_FRAMES = "conversation|note|earlier|memory|statements|questions|observation"
_FRAME = re.compile(rf"<(?=\s*/?\s*(?:{_FRAMES})\b)", re.IGNORECASE)
# Arguments that say what a call is about, those first that say it best.
_TELLING = (
    "file_path", "path", "filename", "file", "notebook_path", "command", "cmd", "query", "pattern", "url",
    "name", "title",
)  # fmt: skip
_SHOWN = 80  # characters of an argument


def messages(turns: Iterable[Turn]) -> tuple[Message, ...]:
    """Return turns as a model is sent them.

    Two of the user in a row become one, since the templates of many models take only alternating ones.
    """
    sent: list[Message] = []
    for turn in turns:
        calls = tuple(ToolCall(call.id, call.name, call.arguments) for call in turn.calls)
        if turn.role == "user" and sent and sent[-1].role == "user":
            sent[-1] = Message("user", f"{sent[-1].content}\n\n{turn.text}")
        else:
            sent.append(Message(turn.role, turn.text, calls, turn.answers))
    return tuple(sent)


def tokens(conversation: Iterable[Turn]) -> int:
    """About how many tokens turns take in a request."""
    from commonplace.transcripts import session

    return sum(map(session.tokens, conversation))


# --- as a text ------------------------------------------------------------------------------------------


def clean(turns: Iterable[Turn]) -> list[Turn]:
    """Return turns fit to be sent and kept, without system turns, recalled notes, private parts, secrets."""
    from commonplace.transcripts.rendering import cleaned

    return [cleaned(turn) for turn in turns if turn.role != "system"]


def written(turns: Sequence[Turn], most_tokens: int, *, results: int = 0) -> str:
    """Write clean turns as a text for a prompt: who said what, and which tools were called, inside a budget.

    The first `results` characters of tool results are included. Turns that do not fit are left out of the
    middle: the first turn of the user names the topic, the newest turns the present state.
    """
    lines = [line for line in (_line(turn, results) for turn in turns) if line]
    place = next((place for place, line in enumerate(lines) if line.startswith("[user]")), 0)
    first, rest = lines[place : place + 1], lines[place + 1 :]
    room = most_tokens - sum(map(_size, first))
    newest: list[str] = []
    for line in reversed(rest):
        if (room := room - _size(line)) < 0:
            break
        newest.append(line)
    return "\n".join([*first, *([GAP] if len(newest) < len(rest) else []), *reversed(newest)])


def _size(line: str) -> int:
    return about(line) + 1


def _line(turn: Turn, results: int) -> str:
    """One turn as lines: further lines are indented, so that no text speaks for somebody else."""
    if turn.role == "tool":
        text = turn.text[:results].strip()
        return _lines(f"[answer of {turn.tool or 'a tool'}]", text) if text else ""
    lines = [_lines(f"[{turn.role}]", _cut(turn.text.strip()))] if turn.text.strip() else []
    lines += [f"[tool] {action(call)}" for call in turn.calls]
    return "\n".join(lines)


def _lines(who: str, text: str) -> str:
    return f"{who} " + "\n  ".join(unframed(text).splitlines())


def unframed(text: str) -> str:
    """Return a text that cannot end what it is put into."""
    return _FRAME.sub("‹", text)


def _cut(text: str) -> str:
    """Return a text, or the beginning and the end of one that is too long."""
    if (size := about(text)) <= TURN_TOKENS:
        return text
    half = len(text) * TURN_TOKENS // size // 2
    return f"{text[:half].rstrip()} {GAP} {text[-half:].lstrip()}"


def action(call: Call) -> str:
    """Tell a tool call in short: its name, and the argument that says most."""
    return f"{call.name} {subject(call)}".rstrip()


def subject(call: Call) -> str:
    """Return the object of a call: a file, a command, a question; empty if its arguments lack it."""
    values = arguments(call.arguments)
    named = [values[name] for name in _TELLING if isinstance(values.get(name), str)]
    short = " ".join(next(iter(named), "").split())
    return unframed(short if len(short) <= _SHOWN else f"{short[: _SHOWN - 1]}…")


def arguments(text: str) -> Mapping[str, Any]:
    """Return the arguments of a tool call; empty if they are not a JSON object."""
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
