"""Named tuples are those of `typing`, for less."""

from __future__ import annotations

import copy
import pickle
import typing
from concurrent.futures import ThreadPoolExecutor

import pytest

from commonplace.base.tuples import NamedTuple


class Place(NamedTuple):
    """A place."""

    name: str
    rows: tuple[int, ...]
    is_open: bool = False
    note: str = ""

    limit = 3  # no field: it has no annotation

    @property
    def count(self) -> int:
        return len(self.rows)

    @classmethod
    def empty(cls, name: str) -> Place:
        return cls(name, ())


class Typed(typing.NamedTuple):
    """A place."""

    name: str
    rows: tuple[int, ...]
    is_open: bool = False
    note: str = ""


def test_fields_and_values_are_those_of_typing() -> None:
    for name in ("_fields", "_field_defaults", "__match_args__", "__doc__", "__slots__"):
        assert getattr(Place, name) == getattr(Typed, name), name
    assert Place.__mro__ == (Place, tuple, object)
    assert (Place.limit, Place.empty("a").count, Place("a", (1, 2)).count) == (3, 0, 2)
    for values, named in ((("a", (1,), True, "b"), {}), (("a",), {"rows": (2,), "note": "c"})):
        place, typed = Place(*values, **named), Typed(*values, **named)  # type: ignore[arg-type]
        assert place == typed
        assert repr(place) == repr(typed).replace("Typed", "Place")
        assert place._replace(note="n") == typed._replace(note="n")
        for made in (copy.deepcopy(place), pickle.loads(pickle.dumps(place)), Place._make(typed)):
            assert (type(made), made) == (Place, place)
    with pytest.raises(TypeError):
        Place("a")  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        place.name = "b"  # type: ignore[misc]


def test_threads_may_make_the_first_one_at_once() -> None:
    with ThreadPoolExecutor(8) as pool:
        for _ in range(50):

            class Fresh(NamedTuple):
                first: int
                second: int = 2

            assert {*pool.map(Fresh, range(8))} == {(first, 2) for first in range(8)}
