"""Real clients: the official SDK of both majors, each in an environment of its own, over both transports."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commonplace.base.paths import Workspace
from commonplace.config.credentials import Secret
from commonplace.edit.forget import requests
from commonplace.servers.access import Access
from commonplace.servers.methods import Service
from tests.cli.conftest import command, environment
from tests.servers import test_lanes
from tests.servers.conftest import Served
from tests.servers.test_lanes import closed

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("client.py")
TOKEN = "correct-horse-battery"
# Major, and how the client finds out what the server speaks; the second offers the newest revision by itself.
CLIENTS = [(1, "legacy"), (2, "auto"), (2, "legacy")]


ANSWERS = {"accept": "Erased", "decline": "the user said no", "cancel": "nobody answered"}


def clients(*default: object) -> list[object]:
    """All of them, of which those that are not named are met with --slow."""
    return [one if one in default else pytest.param(*one, marks=pytest.mark.slow) for one in CLIENTS]


def interpreter(major: int) -> str:
    """The Python that has this major of the SDK. `./run test` makes both and says where they are."""
    variable = f"MCP{major}_PYTHON"
    found = os.environ.get(variable) or str(ROOT / f".venv-mcp{major}" / "bin" / "python")
    if not os.path.exists(found):
        assert variable not in os.environ, f"{variable} names no file"
        pytest.skip(f"no client of SDK {major}.x here; ./run test makes one")
    return found


def everything(major: int, *arguments: str) -> dict[str, Any]:
    """Run the client through all it does, and return what it got."""
    env = {name: value for name, value in environment().items() if name != "PYTHONWARNINGS"}
    done = subprocess.run(
        [interpreter(major), str(SCRIPT), *arguments], capture_output=True, text=True, env=env, timeout=120
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["major"] == major
    return found


@pytest.mark.parametrize(("major", "mode"), clients((1, "legacy")))
def test_over_standard_streams(workspace: Path, major: int, mode: str) -> None:
    serving = json.dumps(command("-w", workspace, "mcp"))
    check(everything(major, "stdio", serving, mode), workspace, major, structured=False)


@pytest.mark.slow
@pytest.mark.parametrize(("major", "mode"), CLIENTS)
def test_over_http(workspace: Path, serve: Callable[..., Served], major: int, mode: str) -> None:
    check(everything(major, "http", serve().url, mode), workspace, major, structured=True)


@pytest.mark.parametrize(("major", "mode"), clients((2, "auto")))
def test_over_http_with_a_token(workspace: Path, serve: Callable[..., Served], major: int, mode: str) -> None:
    server = serve(Access(Secret(TOKEN)))
    check(everything(major, "http", server.url, mode, TOKEN), workspace, major, structured=True)
    refused = subprocess.run(
        [interpreter(major), str(SCRIPT), "http", server.url, mode, "another-token-altogether"],
        capture_output=True, text=True, env=environment(), timeout=120,
    )  # fmt: skip
    assert refused.returncode != 0


def text_of(result: dict[str, Any]) -> str:
    """The text of an answer, which is all of it where no data is asked for."""
    (part,) = result["content"]
    return str(part["text"])


def check(found: dict[str, Any], workspace: Path, major: int, *, structured: bool) -> None:
    for name in ("search", "timeline", "written", "corrected", "preview", "status"):
        assert ("structuredContent" in found[name]) is structured, name
    names = [tool["name"] for tool in found["tools"]]
    assert names == [
        "memory_search", "memory_get", "memory_timeline", "memory_write", "memory_correct", "memory_forget",
        "memory_status",
    ]  # fmt: skip
    assert found["tools"][5]["annotations"]["destructiveHint"] is True
    assert all(tool["inputSchema"]["additionalProperties"] is False for tool in found["tools"])
    assert found["tools"][0]["_meta"]["anthropic/alwaysLoad"] is True
    assert "1. memory/2026-02-13.md#L" in text_of(found["search"])
    assert "周五下午不部署" in text_of(found["chinese"])
    note = (workspace / "memory" / "2026-02-13.md").read_text().rstrip("\n")
    assert "\n".join(line for part in found["parts"] for line in part.values()) == note
    assert [next(iter(part)) for part in found["parts"]] == ["1", "5", "9"]
    assert "memory/2026-02-13.md:" in text_of(found["timeline"])
    check_writing(found, workspace, major)
    check_amending(found, workspace, major)
    assert "memory" in text_of(found["status"])
    check_resources_and_prompts(found, workspace)
    check_errors(found["errors"])


def check_writing(found: dict[str, Any], workspace: Path, major: int) -> None:
    place = re.match(r"Written to ((.+)#L\d+)\.", text_of(found["written"]))
    assert place is not None
    note = (workspace / place[2]).read_text()
    assert f"Asked by a client of major {major}." in note
    assert "<!-- by: agent;" in note
    assert f"1. {place[1]} · " in text_of(found["again"])


def check_amending(found: dict[str, Any], workspace: Path, major: int) -> None:
    note = "".join(path.read_text() for path in (workspace / "memory").glob("*.md"))
    assert f"~~Corrected by a client of major {major}.~~" in note
    assert f"Corrected by major {major} of the client." in note
    assert found["corrected"]["isError"] is False
    approve = re.search(r"commonplace forget --approve (\S+)", text_of(found["preview"]))
    assert approve is not None
    code = approve[1]
    assert [request.code for request in requests.listed(Workspace(workspace))] == [code]
    assert found["forged"]["isError"] is True
    assert "Forgotten by a client" in note


def check_resources_and_prompts(found: dict[str, Any], workspace: Path) -> None:
    assert [resource["uri"] for resource in found["resources"]] == ["commonplace://memory/MEMORY.md"]
    collections, notes, titles = found["completed"]
    assert collections == ["memory"]
    assert notes == ["memory/2026-02-13.md", "memory/2026-02-14.md"]
    assert "2026-02-13" in titles
    assert found["templates"][0]["uriTemplate"] == "commonplace://{collection}/{+path}"
    assert found["resource"][0]["text"] == (workspace / "MEMORY.md").read_text().rstrip("\n")
    assert [prompt["name"] for prompt in found["prompts"]] == ["recall", "reflect"]
    assert "moved to Thursday" in found["recall"][0]["content"]["text"]
    assert "memory_write" in found["reflect"][0]["content"]["text"]


def check_errors(errors: dict[str, dict[str, Any]]) -> None:
    def said(name: str) -> str:
        assert errors[name]["isError"] is True
        return str(errors[name]["content"][0]["text"])

    assert "'limt' is not allowed; allowed are query, limit" in said("argument")
    assert "unknown collection 'no'; known: memory" in said("collection")
    assert "query: 5 is not of type string" in said("type")
    assert "leaves the workspace" in said("note")
    assert (errors["tool"]["code"], "memory_search" in errors["tool"]["message"]) == (-32602, True)
    assert errors["resource"]["code"] in (-32002, -32602)
    assert (errors["prompt"]["code"], "recall, reflect" in errors["prompt"]["message"]) == (-32602, True)


# By default each major has its person over the transport that it does not speak above.
ASKED = [(kind, *client, action) for kind in ("stdio", "http") for client in CLIENTS for action in ANSWERS]
FEW = [("http", 1, "legacy", "accept"), ("stdio", 2, "auto", "decline")]


@pytest.mark.parametrize(
    ("kind", "major", "mode", "action"),
    [one if one in FEW else pytest.param(*one, marks=pytest.mark.slow) for one in ASKED],
)
def test_a_person_is_asked_where_a_client_can(
    workspace: Path, serve: Callable[..., Served], kind: str, major: int, mode: str, action: str
) -> None:
    target = json.dumps(command("-w", workspace, "mcp")) if kind == "stdio" else serve().url
    found = everything(major, kind, target, mode, "", action)
    (shown,) = found["shown"]
    assert "memory/2026-02-13.md#L6: - Lin signs it off." in shown
    note = (workspace / "memory" / "2026-02-13.md").read_text()
    assert ("Lin" in note, found["forgotten"]["isError"]) == (action != "accept", action != "accept")
    assert "The deploy moved to Thursday." in note
    told = found["forgotten"]["content"][0]["text"]
    assert ANSWERS[action] in told
    assert found["status"]["isError"] is False
    assert requests.listed(Workspace(workspace)) == []


# A server that answers nothing heavy until a file is there.
HELD = """
import sys, threading, time
from pathlib import Path
from commonplace.cli import shortcut
from commonplace.servers.methods import LANE, WRITES, Service
made, go = shortcut.service_of, Path(sys.argv[2])

def held(*arguments, **named) -> Service:
    service = made(*arguments, **named)
    for lane, width in ((service.lane, LANE), (service.entries, WRITES)):
        for _ in range(width):
            lane.acquire()
    threading.Thread(target=release, args=(service,), daemon=True).start()
    return service

def release(service: Service) -> None:
    while not go.exists():
        time.sleep(0.01)
    service.lane.release(LANE)
    service.entries.release(WRITES)

shortcut.service_of = held
sys.exit(shortcut.connect((sys.argv[1],)))
"""


@pytest.mark.parametrize(
    ("kind", "major", "mode"),
    [
        one
        if one in [("stdio", 1, "legacy"), ("http", 2, "auto")]
        else pytest.param(*one, marks=pytest.mark.slow)
        for one in [(kind, *client) for kind in ("stdio", "http") for client in CLIENTS]
    ],
)
def test_calls_are_cancelled_and_followed(
    workspace: Path,
    tmp_path: Path,
    service: Service,
    serve: Callable[..., Served],
    kind: str,
    major: int,
    mode: str,
) -> None:
    go = tmp_path / "go"
    if kind == "stdio":
        target = json.dumps([sys.executable, "-c", HELD, str(workspace), str(go)])
        found = everything(major, kind, target, mode, "", str(go))
    else:
        with closed(service):
            releasing = threading.Thread(target=release, args=(service, go))
            releasing.start()
            found = everything(major, kind, serve().url, mode, "", str(go))
            go.unlink()
            releasing.join(60)
    assert found["told"]
    assert all(done > 0 and message for done, _, message in found["told"])
    assert found["search"]["isError"] is False
    notes = "".join(path.read_text() for path in workspace.rglob("*.md"))
    assert ("stork" in notes, "heron" in notes) == (True, False)


def release(service: Service, go: Path) -> None:
    """Let what is heavy be answered once a file is there, and hold the lane again when that is gone."""
    while not go.exists():
        time.sleep(0.01)
    test_lanes.release(service)
    while go.exists():
        time.sleep(0.01)
    test_lanes.hold(service)


def test_the_client_is_the_one_of_this_test() -> None:
    assert SCRIPT.is_file()
    assert sys.executable not in (os.environ.get("MCP1_PYTHON"), os.environ.get("MCP2_PYTHON"))
