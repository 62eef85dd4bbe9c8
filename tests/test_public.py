"""What the package shows to those who import it."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
import pydoc
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import commonplace
from commonplace import types
from commonplace.types import Excerpt, Hit, SyncReport

HIT = Hit("a.md", 3, 5, "text", 0.5, "T", ("H",), None, "memory", "abc123")


def test_types_are_found_by_name_and_values_are_frozen_and_slotted() -> None:
    for kind in (getattr(types, name) for name in types.__all__):
        if dataclasses.is_dataclass(kind):
            assert kind.__dataclass_params__.frozen, kind
            assert "__slots__" in kind.__dict__, kind
            assert not hasattr(object.__new__(kind), "__dict__"), kind


def test_a_name_that_is_none_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"'commonplace\.types' has no attribute 'Nothing'"):
        types.Nothing  # noqa: B018


def test_the_public_names_are_listed() -> None:
    assert set(dir(commonplace)) == {*commonplace.__all__, "__version__"}


def test_the_help_of_a_memory_fits_a_terminal_and_names_every_method() -> None:
    text = pydoc.plain(pydoc.render_doc(commonplace.Memory))
    assert "0x" not in text
    assert max(len(line) for line in text.splitlines() if "->" not in line and "Memory(" not in line) <= 120
    assert not re.search(r"ChunkSettings|RankSettings|<function|<object", text)
    described = inspect.getdoc(commonplace.Memory) or ""
    public = {name for name in dir(commonplace.Memory) if not name.startswith("_")}
    assert {name for name in public - {"open"} if not re.search(rf"\b{name}\b", described)} == set()


def test_a_value_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        HIT.score = 1.0  # type: ignore[misc]


def test_a_value_survives_a_trip_to_another_process() -> None:
    assert pickle.loads(pickle.dumps(HIT)) == HIT


def test_a_citation_names_the_lines() -> None:
    for end, citation in ((3, "a.md#L3"), (5, "a.md#L3-L5")):
        assert dataclasses.replace(HIT, end_line=end).citation == citation


def test_an_excerpt_ends_where_its_lines_end() -> None:
    assert Excerpt("a.md", 9, ("a", "b"), 20, "x").end_line == 10
    assert Excerpt("a.md", 1, (), 0, "x").end_line == 0


def test_a_report_of_nothing_is_empty() -> None:
    assert not any(dataclasses.astuple(SyncReport()))


def test_the_version_is_that_of_the_project() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
    assert commonplace.__version__ == project["version"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", commonplace.__version__)


def test_the_module_runs_as_a_program() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "commonplace", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"commonplace {commonplace.__version__}\n"
