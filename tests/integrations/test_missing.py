"""An adapter without its host is one clear error, with the command that installs it."""

from __future__ import annotations

import importlib
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

from commonplace import MissingExtra
from commonplace.base import installation
from tests.cli.conftest import environment

ROOT = Path(__file__).parents[2]
# An adapter, the module of its host, its extra.
ADAPTERS = [
    ("anthropic", "anthropic", "anthropic"), ("openai_agents", "agents", "openai-agents"),
    ("pydantic_ai", "pydantic_ai", "pydantic-ai"), ("langgraph", "langgraph", "langgraph"),
    ("nanobot", "nanobot", "nanobot"),
]  # fmt: skip


@pytest.mark.parametrize(("adapter", "host", "extra"), ADAPTERS)
def test_without_its_host_it_says_what_installs_it(
    adapter: str, host: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"][extra]
    monkeypatch.setattr(installation, "requirements", lambda name: {extra: needed}[name])
    monkeypatch.delitem(sys.modules, f"commonplace.integrations.{adapter}", raising=False)
    for name in [name for name in sys.modules if name.partition(".")[0] == host]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, host, None)  # importing it fails, whatever is installed
    with pytest.raises(MissingExtra) as missing:
        importlib.import_module(f"commonplace.integrations.{adapter}")
    assert missing.value.extra == extra
    assert "\n" not in str(missing.value)
    assert needed[0].partition(">")[0] in missing.value.remedy
    assert " install " in missing.value.remedy


def test_every_extra_is_as_wide_as_what_is_tested() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())
    for _, _, extra in ADAPTERS:
        (extra_,) = declared["project"]["optional-dependencies"][extra]
        name = extra_.partition(">")[0]
        groups = declared["dependency-groups"][f"client-{extra}"]
        (group,) = (one for one in groups if one.partition(">")[0] == name)
        assert extra_.rpartition("<")[2] == group.rpartition("<")[2]


def test_the_entry_point_of_nanobot_leads_to_its_tool() -> None:
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["nanobot.tools"]
    assert points == {"commonplace": "commonplace.integrations.nanobot:MemoryTool"}
    assert find_spec("commonplace.integrations.nanobot") is not None


def test_the_package_imports_no_host_and_nothing_heavy() -> None:
    program = (
        "import sys, commonplace.integrations, commonplace.integrations.function_calling as f; f.schemas();"
        "print(sorted({'numpy', 'onnxruntime', 'httpx', 'agents', 'anthropic', 'nanobot', 'langgraph', 'pydantic_ai'}"
        " & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
