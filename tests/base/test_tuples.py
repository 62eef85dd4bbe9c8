"""Named tuples are those of `typing`, for less."""

from __future__ import annotations

import copy
import pickle
import typing

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


class Shown(NamedTuple):
    text: str

    def __repr__(self) -> str:
        return self.text


def test_fields_are_those_of_typing() -> None:
    for name in ("_fields", "_field_defaults", "__match_args__", "__doc__", "__slots__"):
        assert getattr(Place, name) == getattr(Typed, name), name
    assert Place.__mro__ == (Place, tuple, object)
    assert (Place.limit, Place.empty("a").count, Place("a", (1, 2)).count) == (3, 0, 2)
    assert type(Place) is type


@pytest.mark.parametrize(
    ("values", "named"),
    [
        (("a", (1,)), {}),
        (("a", (1,), True, "b"), {}),
        (("a",), {"rows": (2,), "note": "c"}),
        ((), {"rows": (), "name": "d", "is_open": True}),
    ],
)
def test_values_are_those_of_typing(values: tuple[typing.Any, ...], named: dict[str, typing.Any]) -> None:
    place, typed = Place(*values, **named), Typed(*values, **named)
    assert place == typed
    assert hash(place) == hash(typed)
    assert repr(place) == repr(typed).replace("Typed", "Place")
    assert place._asdict() == typed._asdict()
    assert (place.name, place.rows, place.is_open, place.note) == tuple(typed)
    assert place._replace(note="n", name="m") == typed._replace(note="n", name="m")
    assert type(place._replace(note="n")) is type(Place._make(typed)) is Place
    for made in (copy.copy(place), copy.deepcopy(place), pickle.loads(pickle.dumps(place))):
        assert (type(made), made) == (Place, place)


@pytest.mark.parametrize("make", [Place, Typed])
def test_wrong_fields_are_errors(make: typing.Any) -> None:
    for values, named in (
        (("a",), {}),
        (("a", (), False, "", 5), {}),
        (("a", ()), {"none": 1}),
        (("a", ()), {"name": 1}),
    ):
        with pytest.raises(TypeError):
            make(*values, **named)
    with pytest.raises((TypeError, ValueError), match="other"):
        make("a", ())._replace(other=1)
    with pytest.raises(AttributeError):
        make("a", ()).name = "b"
    with pytest.raises(AttributeError):
        make("a", ()).other = "b"


def test_a_class_has_its_own_text_and_a_pattern_its_places() -> None:
    assert repr(Shown("as it is")) == "as it is"
    match Place("a", (1,), note="n"):
        case Place(name, rows, note=note):
            assert (name, rows, note) == ("a", (1,), "n")
        case _:
            raise AssertionError
