"""Adapters in the hosts that they are for: each test module of `tests/integrations` in its host's environment."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# A host and its test module; `./run test --clients` makes an environment for each and says where it is.
HOSTS = ["nanobot", "openai-agents", "pydantic-ai", "anthropic", "langgraph"]
PROGRAMS = ["claude-code"]  # which are started, with what `commonplace install` wrote


def interpreter(host: str) -> str:
    """The Python of a host's environment."""
    variable = f"CLIENT_{host.upper().replace('-', '_')}_PYTHON"
    found = os.environ.get(variable) or str(ROOT / f".venv-client-{host}" / "bin" / "python")
    if not os.path.exists(found):
        assert variable not in os.environ, f"{variable} names no file"
        pytest.skip(f"no {host} here; ./run test --clients makes an environment for it")
    return found


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


def test_every_host_has_a_group_an_extra_and_a_place_in_the_script() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = {
        name.removeprefix("client-") for name in declared["dependency-groups"] if name.startswith("client-")
    }
    script = re.search(r"^CLIENTS='(.*)'$", (ROOT / "run").read_text(), re.MULTILINE)
    assert script is not None
    assert {*HOSTS, *PROGRAMS} == groups == set(script[1].split())
    assert set(HOSTS) <= declared["project"]["optional-dependencies"].keys()
    assert all(
        (ROOT / "tests" / "integrations" / f"test_{host.replace('-', '_')}.py").exists() for host in HOSTS
    )
