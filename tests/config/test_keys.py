"""The table of settings, and the check of every kind of value from every place."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.base.errors import ConfigError
from commonplace.config import KEYS, keys

BY_NAME = {key.name: key for key in KEYS}
LISTS = ("texts", "names")


def test_the_rows_of_the_table() -> None:
    for key in KEYS:
        assert re.fullmatch(r"[a-z]+\.[a-z_]+", key.name)
        assert key.doc.endswith("."), key.name
        variable = "" if key.kind in LISTS else "COMMONPLACE_" + key.name.replace(".", "_").upper()
        assert key.variable == variable
        assert key.default is None or keys.checked(key, key.default, "as default") == key.default
        if key.low is not None and key.high is not None:
            for value in (key.low, key.high):
                assert keys.checked(key, value if key.kind == "number" else int(value), "here") == value
            for value in (key.low - 1, key.high + 1, math.inf, -math.inf, math.nan):
                with pytest.raises(
                    ConfigError, match=f"{key.name}: .*from {key.low:.15g} to {key.high:.15g}"
                ):
                    keys.checked(key, value, "here")


@given(
    st.sampled_from(KEYS),
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers()),
)
def test_a_value_is_taken_as_it_is_or_refused_in_one_line(key: Any, value: object) -> None:
    types = {"integer": int, "number": float, "boolean": bool, "text": str} | dict.fromkeys(LISTS, tuple)
    for check in (keys.checked, keys.from_text):
        given_ = value if check is keys.checked else str(value)
        found, against = None, ""
        try:
            found = check(key, given_, "here")  # type: ignore[arg-type]
        except ConfigError as error:
            against = str(error)
        right = isinstance(found, types[key.kind]) or (key.kind == "number" and type(found) is int)
        assert right or re.match(rf"{key.name}: .*\Z", against)


def test_values_that_are_given_as_text() -> None:
    boolean, globs = BY_NAME["index.sync_on_search"], BY_NAME["index.include"]
    for value, texts in ((True, "1 true YES On"), (False, "0 False no OFF")):
        assert {keys.from_text(boolean, text, "here") for text in texts.split()} == {value}
    for text in ("", "2", "maybe", "truee"):
        with pytest.raises(ConfigError, match="true or false"):
            keys.from_text(boolean, text, "here")
    for text, listed in (
        ('["**/*.md"]', ("**/*.md",)), ("['a.md', \"b.md\"]", ("a.md", "b.md")), ("[a-f].md", ("[a-f].md",)),
        ("[a-f]", ("[a-f]",)), ("[" * 5000 + "]", ("[" * 5000 + "]",)),
    ):  # fmt: skip
        assert keys.checked(globs, keys.listed(text) or text) == listed
    for name, right, wrong in (("embedding.fallback", ["ollama", "ollama/x"], ["olama"]),):
        assert keys.checked(BY_NAME[name], right) == tuple(right)
        with pytest.raises(ConfigError, match="did you mean ollama"):
            keys.checked(BY_NAME[name], wrong)


def test_globs_are_taken_in_one_spelling_and_do_not_climb() -> None:
    for written, globs in (
        ("a.md", ("a.md",)), (["././a//b/./c.md"], ("a/b/c.md",)), (["./a/"], ("a/",)), ([".hidden/*.md"], (".hidden/*.md",)),
        (["..a/b.md", "a./b"], ("..a/b.md", "a./b")), ([], ()),
    ):  # fmt: skip
        assert keys.globs("index.include", written, "here") == globs
    for written in (3, None, {"a": "b"}, [""], ["a", 3], "", ["./"], [".//"], [["a"]]):
        with pytest.raises(ConfigError, match="must be a list of globs"):
            keys.globs("index.include", written, "here")
    for glob in ("/a", "~/a", "..", "../a", "a/../b", "a/..", "a\\..\\b", "~"):
        with pytest.raises(ConfigError, match="must be relative and without"):
            keys.globs("index.include", ["a.md", glob], "here")


def test_an_unknown_key_suggests_the_nearest_or_what_lists_all() -> None:
    assert keys.find("search.limit", "here") is BY_NAME["search.limit"]
    with pytest.raises(ConfigError, match=r"did you mean search\.limit"):
        keys.find("search.limits", "here")
    with pytest.raises(ConfigError, match=r"^zzz: unknown key here; the table of settings shows all$"):
        keys.find("zzz", "here")
    assert keys.quoted("x" * 1000) == "'" + "x" * 75 + "…"
    assert keys.quoted("\x1b") == "'\\x1b'"
