"""Which statements will matter in a month, by rules in two languages: of what kind they are, or none.

The rules are in `durable.txt`, beside this module: regular expressions by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from commonplace.base.root import Root

Kind = Literal["lesson", "preference", "decision", "procedure", "person", "date", "fact", "recalled"]

LONGEST = 600  # characters; what is longer is a story, not a statement
_LEAST = 2  # words that carry something; a CJK character counts half
_RULES = Path(__file__).with_name("durable.txt")
_MACRO = re.compile(r"\{([a-z_]+)\}")
_NOISE = ("question", "todo", "error", "instruction", "chatter")
# What happens now is no fact, whatever verb it is told with; a decision or a date of today is one.
_LASTING = frozenset(("fact", "person", "procedure", "preference"))


def kind_of(text: str, day: date | None = None) -> Kind | None:
    """Return the kind of a durable statement, None for any other; `day` is the one it was written on."""
    text = " ".join(text.replace("**", "").split())
    if not text or len(text) > LONGEST or is_noise(text):
        return None
    kind = next((kind for kind in get_args(Kind)[:-1] if _found(kind, text)), None)
    if kind is None and _is_plan(text, day):
        kind = "date"
    if kind is None or is_over(text, day):
        return None
    if kind in _LASTING and _found("mood", text):
        return None
    if kind == "fact" and (_found("passing", text) or _found("narration", text)):
        return None
    found: Kind = kind
    return found


def is_noise(text: str) -> bool:
    """Whether a text states nothing: a question, a todo, an error, chatter, words to a model, an opening."""
    from commonplace.search import wording

    if text.rstrip().endswith((":", "：")) or wording.weight(wording.read(text).tokens) < _LEAST:
        return True
    return any(_found(name, text) for name in _NOISE)


def instructs(text: str) -> bool:
    """Whether a text speaks to a model rather than of something."""
    return _found("instruction", text)


def ends(text: str) -> bool:
    """Whether a text says that something is over."""
    return _found("ends", text)


def plans(text: str) -> bool:
    """Whether a text speaks of an appointment or another thing that is over once its day is."""
    return _found("planned", text)


def is_over(text: str, day: date | None) -> bool:
    """Whether all dates of a plan lie on its own day or the next: what comes and is gone."""
    if not _found("plan", text):
        return False
    if day is None:
        return _found("tomorrow", text)
    from commonplace.search import dates

    found = dates.spans(text, day)
    return bool(found) and all(day <= span.first and span.last <= day + timedelta(1) for span in found)


def _is_plan(text: str, day: date | None) -> bool:
    """Whether a text plans something for a day that comes, told from its own: next Tuesday, 下周三."""
    if day is None or not _found("plan", text):
        return False
    from commonplace.search import dates

    return any(span.first > day + timedelta(1) for span in dates.spans(text, day))


def _found(name: str, text: str) -> bool:
    return any(pattern.search(text) for pattern in _patterns(name))


@cache
def _patterns(name: str) -> tuple[re.Pattern[str], ...]:
    """The expressions of a name: one of those that mind case, one of those that do not."""
    alternatives = [_MACRO.sub(lambda found: _macro(found[1]), line) for line in _groups()[name]]
    strict = [line for line in alternatives if "[A-Z]" in line]
    free = [line for line in alternatives if "[A-Z]" not in line]
    made = [re.compile("|".join(free), re.IGNORECASE)] if free else []
    return (*made, *(re.compile(line) for line in strict))


def _macro(name: str) -> str:
    return f"(?:{'|'.join(_groups()[name])})"


@cache
def _groups() -> Mapping[str, tuple[str, ...]]:
    """The lines of each name."""
    found: dict[str, list[str]] = {}
    for name, line in _lines():
        found.setdefault(name, []).append(line)
    return {name: tuple(lines) for name, lines in found.items()}


def _lines() -> Iterator[tuple[str, str]]:
    name = ""
    for line in Root(_RULES.parent).read(_RULES.name).decode("utf-8").split("\n"):
        if re.fullmatch(r"\[[a-z_]+\]", line):
            name = line[1:-1]
        elif line and not line.startswith("%"):
            yield name, line
