"""Expressions that wait until they are used."""

from __future__ import annotations

import re

import pytest

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
