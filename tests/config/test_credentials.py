"""Keys: found in the environment, never shown."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import pytest

from commonplace.base.errors import ConfigError
from commonplace.config.credentials import NO_KEY, Secret, at_address, from_environment, named

KEY = "sk-live-0123456789"


def test_no_way_of_printing_shows_a_key() -> None:
    secret = Secret(KEY)
    shown = [repr(secret), str(secret), f"{secret}", f"{secret!r:>40}", repr([secret])]
    assert not any(KEY in text for text in shown)
    assert KEY not in repr(copy.copy(secret))
    assert KEY.encode() not in pickle.dumps(secret)
    with pytest.raises(TypeError):
        json.dumps(secret)


def test_a_key_can_be_used_and_compared() -> None:
    assert Secret(f" {KEY}\n").reveal() == KEY
    assert Secret(KEY) == Secret(KEY) != Secret("other")
    assert len({Secret(KEY), Secret(KEY)}) == 1
    assert not NO_KEY
    assert Secret(KEY)


def test_an_error_that_quotes_a_request_loses_the_key() -> None:
    assert Secret(KEY).remove_from(f"401 for Bearer {KEY}") == "401 for Bearer [REDACTED:key]"
    assert NO_KEY.remove_from("text") == "text"


def test_the_first_variable_that_is_set_counts() -> None:
    environ = {"A": "  ", "B": "two", "C": "three"}
    assert from_environment(["A", "B", "C"], environ).reveal() == "two"
    assert not from_environment(["X"], environ)
    assert not from_environment([], environ)


def test_the_file_of_a_key(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_bytes(b"\xef\xbb\xbf" + KEY.encode() + b"\n")
    assert named(str(file), "llm.key") == Secret(KEY)
    assert named("", "llm.key") is NO_KEY
    for data in (b"", b"two words", b"x" * 20_000, b"\xff"):
        file.write_bytes(data)
        with pytest.raises(ConfigError, match=r"llm.key: .*(must hold one key|cannot be read)"):
            named(str(file), "llm.key")
    with pytest.raises(ConfigError, match="is not there"):
        named(str(tmp_path / "none"), "llm.key")
    own = "https://api.x/v1"
    for key, address, used in (
        (NO_KEY, "", "env"),
        (NO_KEY, f"{own}/", "env"),
        (NO_KEY, "https://y", ""),
        (Secret("a"), "https://y", "a"),
    ):
        assert at_address(key, ["K"], address, own, {"K": "env"}).reveal() == used
