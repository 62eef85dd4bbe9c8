"""Ten turns in two languages with hosts on the official SDK for Python, of both majors, over both transports.

Its sessions, with all that a client can ask for, are in tests/servers.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import environment
from tests.integrations.connected import Target, target, ten_turns_by_tools
from tests.integrations.contract import Heard, Step, indexed, workspace
from tests.servers.test_clients import CLIENTS, interpreter

__all__ = ["indexed", "target", "workspace"]
SCRIPT = Path(__file__).with_name("sdk_host.py")


@pytest.mark.parametrize(("major", "mode"), CLIENTS)
def test_ten_turns(target: Target, workspace: Path, major: int, mode: str) -> None:
    variables = {name: value for name, value in environment().items() if name != "PYTHONWARNINGS"}
    with subprocess.Popen(
        [interpreter(major), str(SCRIPT), json.dumps(target), mode],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8", env=variables,
    ) as host:  # fmt: skip
        assert host.stdin is not None
        assert host.stdout is not None

        def say(message: str, *steps: Step) -> Heard:
            script = [step if isinstance(step, str) else [step.tool, step.arguments] for step in steps]
            print(json.dumps([message, script]), file=host.stdin, flush=True)
            assert host.stdout is not None
            line = host.stdout.readline()
            assert line, "the host ended"
            return Heard(*json.loads(line))

        ten_turns_by_tools(say, workspace)
        host.stdin.close()
        assert host.wait(60) == 0
