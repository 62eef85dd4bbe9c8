"""The table of settings, and the check of every kind of value from every place."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.config import KEYS, Key, keys
from commonplace.errors import ConfigError
from commonplace.notes.scan import Globs

BY_NAME = {key.name: key for key in KEYS}
EVERY_KEY = pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)


@EVERY_KEY
def test_a_default_is_allowed_by_its_own_rules(key: Key) -> None:
    if key.default is not None:
        assert keys.checked(key, key.default, "as default") == key.default


@EVERY_KEY
def test_a_key_has_a_group_a_sentence_and_a_variable_of_its_own(key: Key) -> None:
    assert re.fullmatch(r"[a-z]+\.[a-z_]+", key.name)
    assert key.doc.endswith(".")
    assert key.variable == (
        ""
        if key.kind in ("texts", "names", "command")
        else "COMMONPLACE_" + key.name.replace(".", "_").upper()
    )


def test_names_and_variables_are_unique() -> None:
    variables = [key.variable for key in KEYS if key.variable]
    assert len(set(variables)) == len(variables)
    assert len(BY_NAME) == len(KEYS)


@pytest.mark.parametrize("key", [key for key in KEYS if key.low is not None], ids=lambda key: key.name)
def test_limits_are_inside_and_what_is_beyond_is_not(key: Key) -> None:
    assert key.low is not None
    assert key.high is not None
    for value in (key.low, key.high):
        assert keys.checked(key, value if key.kind == "number" else int(value), "here") == value
    for value in (key.low - 1, key.high + 1, math.inf, -math.inf, math.nan):
        with pytest.raises(ConfigError, match=f"from {key.low:.15g} to {key.high:.15g}"):
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


@EVERY_KEY
@given(value=VALUES)
def test_a_value_is_taken_as_it_is_or_refused_in_one_line(key: Key, value: object) -> None:
    found, against = taken(lambda: keys.checked(key, value, "here"))
    assert "\n" not in against
    assert against.startswith(f"{key.name}: ") or not against
    if not against and key.kind not in ("texts", "names", "command"):
        assert found is value


@EVERY_KEY
@given(text=st.text() | st.sampled_from(["1", "0", "true", "nan", "inf", "1e3", "-0", "١", "1_0", " 5 "]))
def test_a_text_from_outside_is_taken_or_refused(key: Key, text: str) -> None:
    found, against = taken(lambda: keys.from_text(key, text, "in a variable"))
    kinds = {
        "integer": int,
        "number": float,
        "boolean": bool,
        "text": str,
        "texts": tuple,
        "names": tuple,
        "command": tuple,
    }
    assert "\n" not in against
    assert against or isinstance(found, kinds[key.kind])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", True),
        ("true", True),
        ("YES", True),
        ("On", True),
        ("0", False),
        ("False", False),
        ("no", False),
        ("OFF", False),
    ],
)
def test_ways_to_say_yes_and_no(text: str, value: bool) -> None:
    assert keys.from_text(BY_NAME["output.links"], text, "here") is value


@pytest.mark.parametrize("text", ["", "2", "maybe", "ja", "truee"])
def test_what_is_neither_yes_nor_no_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="true or false"):
        keys.from_text(BY_NAME["output.links"], text, "here")


@pytest.mark.parametrize(
    ("written", "taken"),
    [
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
    ],
)
def test_globs_are_taken_in_one_spelling(written: object, taken: tuple[str, ...]) -> None:
    assert keys.globs("index.include", written, "here") == taken


@pytest.mark.parametrize("written", [3, None, {"a": "b"}, [""], ["a", 3], "", ["./"], [".//"], [["a"]]])
def test_what_is_no_list_of_globs_is_refused(written: object) -> None:
    with pytest.raises(ConfigError, match="must be a list of globs"):
        keys.globs("index.include", written, "here")


@pytest.mark.parametrize("glob", ["/a", "~/a", "..", "../a", "a/../b", "a/..", "a\\..\\b", "~"])
def test_globs_that_climb_are_refused(glob: str) -> None:
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
    with pytest.raises(ConfigError, match=r"^zzz: unknown key here; `commonplace config list` shows all$"):
        keys.find("zzz", "here")


def test_a_long_value_is_cut_in_a_message() -> None:
    assert keys.quoted("x" * 1000) == "'" + "x" * 75 + "…"
    assert keys.quoted("\x1b") == "'\\x1b'"
