"""Filters of the store for LangGraph: compared as its own stores compare them, or refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("langgraph", reason="no langgraph here; ./run test --clients makes an environment for it")

from commonplace.integrations.langgraph import NoteStore
from tests.life.conftest import Owner

ITEMS: dict[str, dict[str, Any]] = {
    "a": {"day": "2026-01-05", "n": 3, "meta": {"day": "2026-01-05", "by": {"name": "Ann"}}},
    "b": {"day": "2026-02-10T08:00:00", "n": 10, "meta": {"day": "2026-02-10", "by": {"name": "Ben"}}},
    "c": {"day": "2026-03-20", "n": 7.5, "meta": {"day": "2026-03-20", "by": {"name": "Ann"}}},
    "d": {"text": "no day"},
}


@pytest.fixture
def store(owner: Owner) -> Iterator[NoteStore]:
    store = NoteStore(owner.folder)
    for key, value in ITEMS.items():
        store.put(("x",), key, value)
    yield store
    store.close()


def test_values_are_compared_by_their_kind(store: NoteStore) -> None:
    wanted: list[tuple[dict[str, Any], str]] = [
        ({"day": {"$gt": "2026-02-01"}}, "bc"), ({"day": {"$gte": "2026-01-05", "$lt": "2026-03-01"}}, "ab"),
        ({"day": {"$lte": "2026-01-05"}}, "a"), ({"meta.day": {"$gt": "2026-02-01"}}, "bc"),
        ({"meta": {"day": {"$gt": "2026-02-01"}}}, "bc"), ({"meta.by.name": "Ann"}, "ac"),
        ({"meta.by.name": {"$eq": "Ben"}}, "b"), ({"n": {"$gt": 5}}, "bc"), ({"n": {"$gt": 5}, "meta.by.name": "Ann"}, "c"),
        ({"day": "2026-03-20"}, "c"), ({"meta.missing": "x"}, ""),
    ]  # fmt: skip
    found = [
        ("".join(sorted(item.key for item in store.search(("x",), filter=one))), keys) for one, keys in wanted
    ]
    assert [one for one, keys in found] == [keys for one, keys in found]


@pytest.mark.parametrize("filters", [
    {"$or": [{"n": 3}, {"n": 10}]}, {"$and": [{"n": 3}]}, {"n": {"$in": [3]}}, {"n": {"$not": {"$gt": 3}}},
    {"meta": {"$or": [{"day": "x"}]}}, {"meta": {"by": {"$regex": "A"}}}, {"n": {"$gt": [3]}}, {"n": {"$gt": None}},
    {"a key": 1}, {"": 1},
])  # fmt: skip
def test_filters_that_are_not_known_are_refused_not_empty(store: NoteStore, filters: dict[str, Any]) -> None:
    for place in (("x",), ("nothing", "here")):
        with pytest.raises(ValueError, match=r"filter key|operator|compares"):
            store.search(place, filter=filters)
