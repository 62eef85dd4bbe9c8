"""Adapters in the hosts that they are for: each test module of `tests/integrations` in its host's environment."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.clients.environments import interpreter

# A host and its test module; `./run test --clients` makes an environment for each and says where it is.
HOSTS = ["nanobot", "openai-agents", "pydantic-ai", "anthropic", "langgraph"]
PROGRAMS = ["claude-code", "fastmcp"]  # that Python's packages bring
NPM_PROGRAMS = ["codex", "inspector", "qmd", "typescript"]

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("host", HOSTS)
def test_the_adapter_keeps_its_promises_in_its_host(host: str, tmp_path: Path) -> None:
    module = f"tests/integrations/test_{host.replace('-', '_')}.py"
    # Of the plugins that hosts bring none is loaded, and their warnings are their own.
    line = [
        "-p",
        "pytest_timeout",
        "-p",
        "no:cacheprovider",
        "-W",
        "default",
        "-q",
        f"--basetemp={tmp_path / 'host'}",
    ]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [interpreter(host), "-m", "pytest", *line, module], cwd=ROOT, capture_output=True, text=True,
        env=environment | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-5000:]
    assert not re.search(r"\bs\b|skipped", done.stdout.partition("warnings summary")[0].replace(".", " ")), (
        done.stdout
    )


def test_every_client_has_a_group_and_a_place_in_the_script() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())
    script = (ROOT / "run").read_text()

    def named(table: dict[str, object]) -> set[str]:
        return {name.removeprefix("client-") for name in table if name.startswith("client-")}

    def listed(variable: str) -> set[str]:
        line = re.search(rf"^{variable}=(?:'|\$\{{{variable}-)([a-z -]*)['}}]", script, re.MULTILINE)
        assert line is not None
        return set(line[1].split())

    assert {*HOSTS, *PROGRAMS} == named(declared["dependency-groups"]) == listed("CLIENTS")
    assert {*NPM_PROGRAMS} == named(declared["tool"]["commonplace"]["npm"]) == listed("NPM_CLIENTS")
    assert set(HOSTS) <= declared["project"]["optional-dependencies"].keys()
    assert all(
        (ROOT / "tests" / "integrations" / f"test_{host.replace('-', '_')}.py").exists() for host in HOSTS
    )
