"""Another user of this machine, and who may write in the workspace alone: neither gets what lets in at a server."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest
from click.testing import CliRunner

from commonplace.base import locks, paths
from commonplace.cli.application import cli
from commonplace.servers import daemon
from commonplace.servers.daemon import Running
from tests.cli.conftest import command, environment
from tests.cli.conftest import workspace as workspace
from tests.places import settings_file

OTHER = 54_321  # a user that owns nothing
# Reads each file it is given and asks the server without a token and with wrong ones; says what came of it.
PROGRAM = """
import json, os, sys
from http.client import HTTPConnection
os.setgroups([]); os.setgid({uid}); os.setuid({uid})
address, port, *places = sys.argv[1:]
found = []
for place in places:
    try:
        found.append(open(place).read())
    except OSError as error:
        found.append(type(error).__name__)
statuses = []
call = {{"name": "memory_write", "arguments": {{"text": "Planted."}}}}
body = json.dumps({{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}})
for header in ("", "Bearer ", "Bearer x", "Bearer " + "0" * 43, "Basic eDp4"):
    connection = HTTPConnection(address, int(port), timeout=20)
    headers = {{"Content-Type": "application/json", **({{"Authorization": header}} if header else {{}})}}
    connection.request("POST", "/mcp", body, headers)
    statuses.append(connection.getresponse().status)
    connection.close()
print(json.dumps([found, statuses]))
"""


@pytest.fixture
def served(workspace: Path) -> Iterator[Running]:
    """A server in the background, of a workspace that everybody may look into."""
    for folder in (workspace, *workspace.parents):
        if folder.stat().st_uid == os.geteuid() and len(folder.parts) > 2:
            folder.chmod(folder.stat().st_mode | 0o055)
    subprocess.run(
        command("-w", workspace, "serve", "--daemon", "--port", "0"), check=True, env=environment(), timeout=90,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    home = paths.Workspace(workspace)
    found = daemon.find(home)
    assert found is not None
    yield found
    daemon.stop(home)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_reads_no_token_and_calls_nothing(served: Running, workspace: Path) -> None:
    token = paths.server_token(paths.Workspace(workspace))
    for folder in (token.parent.parent, *token.parent.parent.parents):
        if len(folder.parts) > 2:
            folder.chmod(folder.stat().st_mode | 0o055)  # the folder of tokens itself is closed
    places = (
        token, token.parent, paths.server_note(paths.Workspace(workspace)), Path(f"/proc/{served.pid}/environ"),
    )  # fmt: skip
    before = sorted(path.read_bytes() for path in workspace.rglob("*.md"))
    # A Python that the other user may start: that of this environment may lie in a closed folder.
    python = next(p for p in ("/usr/bin/python3", sys.executable) if os.access(p, os.X_OK))
    done = subprocess.run(
        [python, "-c", PROGRAM.format(uid=OTHER), served.host, str(served.port), *map(str, places)],
        capture_output=True, text=True, timeout=60, cwd="/", env={},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found, statuses = json.loads(done.stdout)
    assert found == ["PermissionError"] * len(places)
    assert statuses == [401] * 5
    assert sorted(path.read_bytes() for path in workspace.rglob("*.md")) == before


def test_a_workspace_from_elsewhere_brings_no_token(workspace: Path) -> None:
    """A planted note of a server, tokens, and settings: none of them decides what is asked for."""
    planted = "planted-by-somebody-else"
    derived = workspace / ".commonplace"
    derived.mkdir(exist_ok=True)
    (derived / "token").write_text(planted)
    noted = {**Running(1, "1", "x", "127.0.0.1", 1, "now")._asdict(), "token": str(derived / "token")}
    (derived / "server.json").write_text(json.dumps(noted))
    settings = settings_file(workspace)
    settings.write_text(f'[server]\nrequire_token = false\ntoken_file = "{derived / "token"}"\n')
    start = command("-w", workspace, "serve", "--daemon", "--port", "0")
    done = subprocess.run(start, capture_output=True, text=True, env=environment(), timeout=90)
    home = paths.Workspace(workspace)
    try:
        if done.returncode == 0:  # such settings of a workspace are refused, or left out
            found = daemon.find(home)
            assert found is not None
            connection = HTTPConnection(found.host, found.port, timeout=20)
            headers = {"Content-Type": "application/json", "Authorization": f"Bearer {planted}"}
            connection.request("POST", "/mcp", "{}", headers)
            assert connection.getresponse().status == 401
            connection.close()
        else:
            assert "server." in done.stderr
    finally:
        daemon.stop(home)


def test_who_writes_in_the_workspace_alone_is_sent_no_token(workspace: Path, tmp_path: Path) -> None:
    """A note of a server that is planted there leads nobody elsewhere; two that open the page at once share one server."""
    secret, derived, home = tmp_path / "secret", workspace / ".commonplace", paths.Workspace(workspace)
    secret.write_text("ghp_another_secret_0123456789")
    secret.chmod(0o600)
    web = command("-w", workspace, "web", "--no-browser", "--port", "0")
    opened = [
        subprocess.Popen(web, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
        for _ in range(2)
    ]
    try:
        ends = [(*process.communicate(timeout=90), process.returncode) for process in opened]
        running = daemon.find(home)
        assert running is not None
        assert [(code, f"{running.url}/#code=" in out) for out, _, code in ends] == [(0, True)] * 2, ends
        with socket.socket() as listener, locks.locked(paths.lock_file(home, "serve")):
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            listener.setblocking(False)
            planted = {"port": listener.getsockname()[1], "token": str(secret)}
            derived.mkdir(exist_ok=True)
            (derived / "server.json").write_text(json.dumps({**running._asdict(), **planted}))
            again = CliRunner().invoke(cli, ["-w", str(workspace), "web", "--no-browser"])
            shown = CliRunner().invoke(cli, ["-w", str(workspace), "serve", "status", "--show-token"])
            with pytest.raises(BlockingIOError):
                listener.accept()
        assert again.stdout.startswith(f"{running.url}/#code="), again.output
        assert shown.stdout.startswith(f"{running.url}/mcp"), shown.output
        assert "ghp_" not in shown.output
        ended = CliRunner().invoke(cli, ["-w", str(workspace), "serve", "stop"])
        assert (ended.exit_code, f"(process {running.pid})" in ended.stdout) == (0, True)
    finally:
        daemon.stop(home)
