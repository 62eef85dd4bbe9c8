"""The table of settings, and the check of every kind of value from every place."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.base.errors import ConfigError
from commonplace.config import KEYS, Key, keys
from commonplace.notes.scan import Globs

BY_NAME = {key.name: key for key in KEYS}
LISTS = ("texts", "names", "command")
EVERY_KIND = pytest.mark.parametrize("kind", sorted({key.kind for key in KEYS}))


def test_a_key_has_a_group_a_sentence_a_variable_and_a_default_that_its_rules_allow() -> None:
    for key in KEYS:
        assert re.fullmatch(r"[a-z]+\.[a-z_]+", key.name)
        assert key.doc.endswith("."), key.name
        variable = "" if key.kind in LISTS else "COMMONPLACE_" + key.name.replace(".", "_").upper()
        assert key.variable == variable
        assert key.default is None or keys.checked(key, key.default, "as default") == key.default
    assert len(BY_NAME) == len(KEYS)


def test_limits_are_inside_and_what_is_beyond_is_not() -> None:
    for key in [key for key in KEYS if key.low is not None]:
        assert key.low is not None
        assert key.high is not None
        for value in (key.low, key.high):
            assert keys.checked(key, value if key.kind == "number" else int(value), "here") == value
        for value in (key.low - 1, key.high + 1, math.inf, -math.inf, math.nan):
            with pytest.raises(ConfigError, match=f"{key.name}: .*from {key.low:.15g} to {key.high:.15g}"):
                keys.checked(key, value, "here")


def taken(check: Callable[[], object]) -> tuple[object, str]:
    """The value that a check lets through, or what it says against it."""
    try:
        return check(), ""
    except ConfigError as error:
        return None, str(error)


VALUES = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers()) | st.dates()
)


def key_of(data: st.DataObject, kind: str) -> Key:
    return data.draw(st.sampled_from([key for key in KEYS if key.kind == kind]))


@EVERY_KIND
@given(data=st.data(), value=VALUES)
def test_a_value_is_taken_as_it_is_or_refused_in_one_line(
    kind: str, data: st.DataObject, value: object
) -> None:
    key = key_of(data, kind)
    found, against = taken(lambda: keys.checked(key, value, "here"))
    assert "\n" not in against
    assert against.startswith(f"{key.name}: ") or not against
    if not against and kind not in LISTS:
        assert found is value


@EVERY_KIND
@given(
    data=st.data(),
    text=st.text() | st.sampled_from(["1", "0", "true", "nan", "inf", "1e3", "-0", "١", "1_0", " 5 "]),
)
def test_a_text_from_outside_is_taken_or_refused(kind: str, data: st.DataObject, text: str) -> None:
    found, against = taken(lambda: keys.from_text(key_of(data, kind), text, "in a variable"))
    types = {"integer": int, "number": float, "boolean": bool, "text": str} | dict.fromkeys(LISTS, tuple)
    assert "\n" not in against
    assert against or isinstance(found, types[kind])


def test_ways_to_say_yes_and_no() -> None:
    for value, texts in ((True, "1 true YES On"), (False, "0 False no OFF")):
        for text in texts.split():
            assert keys.from_text(BY_NAME["index.sync_on_search"], text, "here") is value, text
    for text in ("", "2", "maybe", "ja", "truee"):
        with pytest.raises(ConfigError, match="true or false"):
            keys.from_text(BY_NAME["index.sync_on_search"], text, "here")


def test_a_list_may_come_as_toml_writes_it() -> None:
    key = BY_NAME["index.include"]
    for text, globs in (
        ('["**/*.md"]', ("**/*.md",)), ("['a.md', \"b.md\"]", ("a.md", "b.md")), ("[a-f]", ("[a-f]",)),
        ("[a-f].md", ("[a-f].md",)), ("[" * 5000 + "]", ("[" * 5000 + "]",)),
    ):  # fmt: skip
        assert keys.checked(key, keys.listed(text) or text) == globs, text
    for text in ("[1]", "[['a']]", "[]\nread = ['a']"):
        taken(lambda text=text: keys.checked(key, keys.listed(text) or text))  # type: ignore[misc]


def test_globs_are_taken_in_one_spelling() -> None:
    for written, globs in (
        ("a.md", ("a.md",)),
        (["a.md", "b/*.md"], ("a.md", "b/*.md")),
        (["./a.md"], ("a.md",)),
        (["././a//b/./c.md"], ("a/b/c.md",)),
        (["a/"], ("a/",)),
        (["./a/"], ("a/",)),
        ([".hidden/*.md"], (".hidden/*.md",)),
        (["a./b.md", "a.b/c"], ("a./b.md", "a.b/c")),
        (["..a/b.md"], ("..a/b.md",)),
        ([], ()),
    ):
        assert keys.globs("index.include", written, "here") == globs


def test_what_is_no_list_of_globs_or_climbs_is_refused() -> None:
    for written in (3, None, {"a": "b"}, [""], ["a", 3], "", ["./"], [".//"], [["a"]]):
        with pytest.raises(ConfigError, match="must be a list of globs"):
            keys.globs("index.include", written, "here")
    for glob in ("/a", "~/a", "..", "../a", "a/../b", "a/..", "a\\..\\b", "~"):
        with pytest.raises(ConfigError, match="must be relative and without"):
            keys.globs("index.include", ["a.md", glob], "here")


@given(st.lists(st.sampled_from(["a", "b.md", ".", "", "..c", ".d"]), min_size=1, max_size=6).map("/".join))
def test_a_glob_without_wildcards_finds_the_path_it_spells(glob: str) -> None:
    try:
        (taken,) = keys.globs("index.include", [glob], "here")
    except ConfigError:
        return
    assert "//" not in taken
    assert not taken.startswith(("/", "./"))
    if not taken.endswith("/"):
        assert Globs([taken])(taken)


def test_an_unknown_key_suggests_the_nearest_or_what_lists_all() -> None:
    assert keys.find("search.limit", "here") is BY_NAME["search.limit"]
    with pytest.raises(ConfigError, match=r"did you mean search\.limit"):
        keys.find("search.limits", "here")
    with pytest.raises(ConfigError, match=r"^zzz: unknown key here; the table of settings shows all$"):
        keys.find("zzz", "here")


def test_a_long_value_is_cut_in_a_message() -> None:
    assert keys.quoted("x" * 1000) == "'" + "x" * 75 + "…"
    assert keys.quoted("\x1b") == "'\\x1b'"
