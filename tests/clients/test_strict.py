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
    grown = strict.value(text)
    strict.table(grown, ("new", "memory"))["x"] = NEW
    changed = strict.written(text, grown)
    assert strict.value(changed) == {**value, "new": {"memory": {"x": NEW}}}
    assert strict.written(changed, grown) == changed
    del grown["new"]["memory"]["x"]
    strict.drop_empty(grown, ("new", "memory"))
    assert strict.value(strict.written(changed, grown)) == value
    assert changed.startswith("\ufeff") == text.startswith("\ufeff")


@given(OBJECTS)
def test_plain_files_keep_their_layout(value: dict[str, object]) -> None:
    for indent in (1, 2, 4, "\t"):
        text = json.dumps({**value, "x": 1}, indent=indent, ensure_ascii=False) + "\n"
        grown = strict.written(text, {**strict.value(text), "list of ours": [NEW]})
        assert strict.written(grown, strict.value(text)) == text


def test_line_ends_and_surrogates_stay() -> None:
    def with_b(text: str) -> str:
        return strict.written(text, {**strict.value(text), "b": 1})

    assert with_b('{\r\n\t"a": "\\ud800"\r\n}') == '{\r\n\t"a": "\\ud800",\r\n\t"b": 1\r\n}'
    assert with_b("") == '{\n  "b": 1\n}\n'
    assert with_b('{"a": 1}') == '{"a": 1, "b": 1}'


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
        strict.table(strict.value(text), ("a",))
