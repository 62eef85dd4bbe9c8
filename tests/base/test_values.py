"""Frozen dataclasses are those of the library, for less."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Mapping
from dataclasses import field
from typing import Any

import pytest

from commonplace.base.values import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """A place."""

    name: str
    rows: tuple[int, ...]
    is_open: bool = False
    times: Mapping[str, float] = field(default_factory=dict)

    LIMIT = 3

    @property
    def count(self) -> int:
        return len(self.rows)


@dataclasses.dataclass(frozen=True, slots=True)
class Plain:
    """A place."""

    name: str
    rows: tuple[int, ...]
    is_open: bool = False
    times: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Single:
    """One field."""

    name: str


def test_it_is_a_dataclass_as_that_of_the_library() -> None:
    assert dataclasses.is_dataclass(Place)
    for mine, theirs in zip(dataclasses.fields(Place), dataclasses.fields(Plain), strict=True):
        assert (mine.name, mine.type, mine.default) == (theirs.name, theirs.type, theirs.default)
    for name in ("__slots__", "__match_args__", "__doc__"):
        assert getattr(Place, name) == getattr(Plain, name), name
    assert (Place.LIMIT, Place("a", (1, 2)).count) == (3, 2)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        (("a", (1,)), {}),
        (("a", (1,), True, {"b": 1.0}), {}),
        (("a",), {"rows": (2,), "times": {}}),
        ((), {"rows": (), "name": "d", "is_open": True}),
    ],
)
def test_values_are_those_of_the_library(values: tuple[Any, ...], named: dict[str, Any]) -> None:
    place, plain = Place(*values, **named), Plain(*values, **named)
    assert repr(place) == repr(plain).replace("Plain", "Place")
    assert dataclasses.asdict(place) == dataclasses.asdict(plain)
    assert place == Place(*values, **named)
    assert place != plain
    assert place != dataclasses.replace(place, name="other")
    assert dataclasses.asdict(dataclasses.replace(place, name="m")) == {
        **dataclasses.asdict(plain),
        "name": "m",
    }
    for made in (copy.copy(place), copy.deepcopy(place), pickle.loads(pickle.dumps(place))):
        assert (type(made), made) == (Place, place)


def test_hashes_follow_equality() -> None:
    assert len({Single("a"), Single("a"), Single("b")}) == 2
    with pytest.raises(TypeError):
        hash(Place("a", (), times={}))  # as a dictionary has none


def test_left_out_values_are_made_anew() -> None:
    assert Place("a", ()).times is not Place("a", ()).times


@pytest.mark.parametrize("make", [Place, Plain])
def test_wrong_fields_are_errors(make: Any) -> None:
    for values, named in (
        (("a",), {}),
        (("a", (), False, {}, 5), {}),
        (("a", ()), {"none": 1}),
        (("a", ()), {"name": 1}),
    ):
        with pytest.raises(TypeError):
            make(*values, **named)
    made = make("a", ())
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.name = "b"
    with pytest.raises(dataclasses.FrozenInstanceError):
        del made.name
    with pytest.raises((dataclasses.FrozenInstanceError, AttributeError, TypeError)):
        made.other = "b"
