"""Plain JSON of settings files: what is changed says what it should, in the manner of the file."""

from __future__ import annotations

import json

import pytest
from hypothesis import assume, given

from commonplace.clients import strict
from tests.clients.settings import OBJECTS, client_settings

NEW = {"command": "c", "args": ["-w", "中"]}


@given(client_settings())
def test_a_member_is_set_and_taken_out_again(text: str) -> None:
    value = strict.value(text)
    assume("new" not in value)
    changed = strict.assign(text, ("new", "memory"), NEW)
    assert strict.value(changed) == {**value, "new": {"memory": NEW}}
    assert strict.assign(changed, ("new", "memory"), NEW) == changed
    assert strict.value(strict.remove(changed, ("new",))) == value
    assert changed.startswith("\ufeff") == text.startswith("\ufeff")


@given(OBJECTS)
def test_plain_files_keep_their_layout(value: dict[str, object]) -> None:
    for indent in (1, 2, 4, "\t"):
        text = json.dumps({**value, "x": 1}, indent=indent, ensure_ascii=False) + "\n"
        grown = strict.append(text, ("list of ours",), NEW)
        assert strict.remove(grown, ("list of ours",)) == text


def test_line_ends_and_surrogates_stay() -> None:
    changed = strict.assign('{\r\n\t"a": "\\ud800"\r\n}', ("b",), 1)
    assert changed == '{\r\n\t"a": "\\ud800",\r\n\t"b": 1\r\n}'
    assert strict.assign("", ("b",), 1) == '{\n  "b": 1\n}\n'
    assert strict.assign('{"a": 1}', ("b",), 1) == '{"a": 1, "b": 1}'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"a": 1,}', "add the entry by hand"),
        ('{\n  // mine\n  "a": 1}', "line 2, column 3"),
        ('{"a" 1}', "line 1, column 6"),
        ("[" * 100_000, "."),
        ('{"a": ' + "9" * 5000 + "}", "."),
    ],
)
def test_what_is_no_plain_json_is_told_with_its_place(text: str, told: str) -> None:
    with pytest.raises(strict.Broken, match=told):
        strict.value(text)


@pytest.mark.parametrize("text", ["[]", '{"a": null}', '{"a": []}', "3"])
def test_something_else_on_the_way_is_told(text: str) -> None:
    with pytest.raises(strict.Broken, match="is no object"):
        strict.assign(text, ("a", "b"), 1)
