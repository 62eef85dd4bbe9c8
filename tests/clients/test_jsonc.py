"""JSON of settings files: read as it is meant, and changed with nothing else touched."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.clients import jsonc
from tests.clients.settings import OBJECTS, VALUES, trivia, written


@given(st.data(), VALUES)
def test_any_layout_says_what_it_was_written_from(data: st.DataObject, value: object) -> None:
    text = data.draw(trivia()) + data.draw(written(value)) + data.draw(trivia())
    assert jsonc.value(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{a: 'it''s' }".replace("''", "\\'"), {"a": "it's"}),
        (
            "{$b_1: .5, c: +1, d: 0xFF, e: 5., 'f': -Infinity}",
            {"$b_1": 0.5, "c": 1, "d": 255, "e": 5.0, "f": float("-inf")},
        ),
        ('{"a": "\\u4e2d\\x41\\\n"}', {"a": "中A"}),
        ('{"a": 1, "a": 2}', {"a": 2}),
        ("", {}),
        (" // nothing\n", {}),
    ],
)
def test_what_json5_allows_is_read(text: str, value: object) -> None:
    assert jsonc.value(text) == value


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"a": 1', "line 1, column 8"),
        ('{\n  "a": 1\n  "b": 2\n}', "line 3, column 3"),
        ("{} {}", "line 1, column 4"),
        ('{"a": }', "line 1, column 7"),
        ('{"a": tru}', "line 1, column 7"),
        ('{"a\n": 1}', "line 1, column 2"),
        ("{/* }", "line 1, column 2"),
        ("[" * 5_000, "line 1, column 102"),
        ("{1,}", "line 1, column 3"),
    ],
)
def test_what_is_broken_is_named_with_its_place(text: str, place: str) -> None:
    with pytest.raises(jsonc.Broken, match=place):
        jsonc.read(text)


@given(st.data(), OBJECTS, st.sampled_from([("new",), ("mcpServers", "memory"), ("a", "b", "c")]))
def test_a_value_assigned_is_the_only_difference(
    data: st.DataObject, value: dict, path: tuple[str, ...]
) -> None:
    value.pop(path[0], None)
    text = data.draw(written(value))
    changed = jsonc.assign(text, path, {"command": "c", "args": ["-w", "中"]})
    expected: object = {"command": "c", "args": ["-w", "中"]}
    for key in reversed(path):
        expected = {key: expected}
    assert jsonc.value(changed) == {**value, **expected}
    assert jsonc.assign(changed, path, {"command": "c", "args": ["-w", "中"]}) == changed
    assert jsonc.value(jsonc.remove(changed, path[:1])) == value


@given(st.data(), OBJECTS)
def test_what_is_removed_is_the_only_difference(data: st.DataObject, value: dict) -> None:
    text = data.draw(written(value))
    for key in value:
        rest = {other: value[other] for other in value if other != key}
        assert jsonc.value(jsonc.remove(text, (key,))) == rest


@given(st.data(), st.lists(VALUES, max_size=4), VALUES)
def test_arrays_grow_at_their_end_and_shrink_anywhere(data: st.DataObject, values: list, new: object) -> None:
    text = data.draw(written({"a": values}))
    grown = jsonc.append(text, ("a",), new)
    assert jsonc.value(grown) == {"a": [*values, new]}
    for place in range(len(values) + 1):
        rest = [*values, new]
        del rest[place]
        assert jsonc.value(jsonc.remove(grown, ("a", place))) == {"a": rest}


def test_the_layout_of_a_file_is_kept() -> None:
    text = '{\r\n\t"a": 1, // one\r\n\t"b": {"x": 1},\r\n}\r\n'
    changed = jsonc.assign(text, ("servers", "memory"), {"args": ["-w"]})
    assert changed == (
        '{\r\n\t"a": 1, // one\r\n\t"b": {"x": 1},\r\n'
        '\t"servers": {\r\n\t\t"memory": {\r\n\t\t\t"args": [\r\n\t\t\t\t"-w"\r\n\t\t\t]\r\n\t\t}\r\n\t},\r\n}\r\n'
    )
    assert jsonc.remove(changed, ("servers",)) == text
    assert jsonc.assign('{"a":1}', ("b",), [1]) == '{"a":1, "b": [1]}'


def test_members_beside_what_is_assigned_stay() -> None:
    text = '{"memory": {"command": "old", "env": {"A": "b"} /* mine */}}'
    changed = jsonc.assign(text, ("memory",), {"command": "new", "args": []})
    assert changed == '{"memory": {"command": "new", "env": {"A": "b"}, "args": [] /* mine */}}'


@pytest.mark.parametrize("text", ["[]", '"text"', '{"a": 1}', '{"a": []}'])
def test_nothing_is_put_where_no_object_is(text: str) -> None:
    with pytest.raises(jsonc.Broken, match="no object"):
        jsonc.assign(text, ("a", "b"), 1)


def test_what_was_read_is_what_json_reads() -> None:
    text = json.dumps({"a": [1, 2.5, "x\ud83d\ude00", None, True]})
    assert jsonc.value(text) == json.loads(text)
