"""Expressions that wait until they are used."""

from __future__ import annotations

import importlib
import pkgutil
import re
import re._constants as constants
import re._parser as parser
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import pytest

import commonplace
from commonplace.base import expressions
from commonplace.base.expressions import lazy


def test_it_does_what_a_compiled_one_does() -> None:
    expression = lazy(r"(\w+)-(\d+)", re.IGNORECASE)
    assert [match[2] for match in expression.finditer("A-1 b-22")] == ["1", "22"]
    assert expression.sub(r"\2", "a-1") == "1"
    assert expression.pattern == r"(\w+)-(\d+)"
    assert expression.flags & re.IGNORECASE


def test_a_mistake_is_raised_by_the_first_use() -> None:
    expression = lazy("(")
    with pytest.raises(re.error):
        expression.match("")


# --- what Python before 3.11.5 gets wrong ------------------------------------------------------------------

_GROUP = re.compile(r"\)(?:[*+?]|\{[0-9,]+\})\+")  # a possessive quantifier behind a group
_CHARACTER = (constants.IN, constants.LITERAL, constants.NOT_LITERAL, constants.ANY)
_NEVER = repr(parser.parse("(?!)"))


def _expressions(value: object, depth: int = 0) -> Iterator[str]:
    """Texts within a value, those that may be expressions among them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, re.Pattern):
        yield from _expressions(value.pattern)
    elif isinstance(value, expressions._Lazy):
        yield from _expressions(value._source[0])
    elif depth < 4 and isinstance(value, Mapping):
        yield from (text for one in value.values() for text in _expressions(one, depth + 1))
    elif depth < 4 and isinstance(value, tuple | list):
        yield from (text for one in value for text in _expressions(one, depth + 1))


def _goes_on_wrongly(body: Sequence[Any]) -> bool:
    """Whether a round of a group may fail behind its first character, with no last alternative that puts it back."""
    while len(body) == 1 and body[0][0] is constants.SUBPATTERN:
        body = body[0][1][3]
    if len(body) == 1 and body[0][0] is constants.BRANCH and repr(body[0][1][1][-1]) == _NEVER:
        return False
    return _may_fail_late(body)


def _may_fail_late(body: Sequence[Any]) -> bool:
    for place, (kind, value) in enumerate(body):
        if kind in (constants.ASSERT, constants.ASSERT_NOT, constants.ATOMIC_GROUP):
            return True
        if kind in (constants.MAX_REPEAT, constants.MIN_REPEAT, constants.POSSESSIVE_REPEAT):
            is_character = len(value[2]) == 1 and value[2][0][0] in _CHARACTER
            if place < len(body) - 1 or not is_character:
                return True
        if kind is constants.BRANCH and (place or any(map(_may_fail_late, value[1]))):
            return True
        if kind is constants.SUBPATTERN and _may_fail_late(value[3]):
            return True
    return False


def _possessive(parsed: Iterable[Any]) -> Iterator[Sequence[Any]]:
    """The bodies of possessive groups of an expression, those within others too."""
    for kind, value in parsed:
        if kind is constants.POSSESSIVE_REPEAT:
            yield value[2]
        if kind in (constants.MAX_REPEAT, constants.MIN_REPEAT, constants.POSSESSIVE_REPEAT):
            yield from _possessive(value[2])
        elif kind is constants.SUBPATTERN:
            yield from _possessive(value[3])
        elif kind is constants.ATOMIC_GROUP:
            yield from _possessive(value)
        elif kind is constants.BRANCH:
            yield from (body for one in value[1] for body in _possessive(one))
        elif kind in (constants.ASSERT, constants.ASSERT_NOT):
            yield from _possessive(value[1])


def test_no_possessive_group_needs_a_later_python() -> None:
    wrong, seen = [], set[str]()
    for module in pkgutil.walk_packages(commonplace.__path__, "commonplace."):
        if ".integrations." in module.name or module.name.endswith("__main__"):
            continue
        for value in list(vars(importlib.import_module(module.name)).values()):
            seen.update(text for text in _expressions(value) if _GROUP.search(text))
    for text in seen:
        with suppress(re.error):
            if any(map(_goes_on_wrongly, _possessive(parser.parse(text)))):
                wrong.append(text)
    assert len(seen) > 15
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("expression", "text"), [(r"(?:(?!-->).|(?!))*+-->", "a -->"), (r"(?:ab?c|(?!))*+a", "aca")]
)
def test_an_alternative_that_never_matches_puts_a_round_back(expression: str, text: str) -> None:
    assert re.fullmatch(expression, text)
