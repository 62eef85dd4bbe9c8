"""The warm server: found by programs of its user alone, shared by them, ended when nobody needs it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from commonplace import Memory
from commonplace.base.errors import ConfigError
from commonplace.base.paths import Workspace
from commonplace.cli import shortcut
from commonplace.cli.doors import DOORS
from commonplace.config.files import user_file
from commonplace.servers import local, local_server
from commonplace.servers.local_server import MOST, MOST_AGENTS, LocalServer, Reply, Services
from commonplace.servers.methods import Service
from commonplace.storage import state
from tests.cli.conftest import SOURCE, command, environment
from tests.places import settings_file
from tests.servers.conftest import Client

GREETING = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}


@pytest.fixture(autouse=True)
def sockets(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of sockets of the test's own, with a short name, as sockets need."""
    with tempfile.TemporaryDirectory(prefix="run-") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield Path(folder) / "commonplace"


@pytest.fixture(autouse=True)
def no_server_survives(workspace: Path, sockets: Path) -> Iterator[None]:
    yield
    for path in local.addresses(workspace):
        if (connection := local.reach(path, 5)) is not None:
            local.ask(connection, local.line("retire", str(workspace), "", {"by_hand": True}), 5)
    until(lambda: not list(sockets.glob("*.sock")))


def until(holds: Callable[[], object], wait_s: float = 30.0) -> None:
    end = time.monotonic() + wait_s
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def served(workspace: Path) -> Iterator[LocalServer]:
    """A warm server of the workspace, in this process."""
    server = LocalServer(
        str(workspace),
        shortcut.services_of(str(workspace)),
        DOORS,
        idle_s=60,
    )
    assert server.listen()
    thread = threading.Thread(target=server.serve)
    thread.start()
    yield server
    server.end()
    thread.join(60)


def status(workspace: Path) -> Any:
    return local.call(workspace, "status", "", {}, 5)


def started(workspace: Path) -> int:
    """The process of a server that a program started."""
    pid: int = status(workspace)["pid"]
    return pid


# --- who finds it ---------------------------------------------------------------------------------------


def test_a_folder_that_others_may_enter_has_no_sockets(workspace: Path, sockets: Path) -> None:
    sockets.mkdir(mode=0o755)
    sockets.chmod(0o755)
    assert local.address(workspace) is None
    assert local.addresses(workspace) == []
    sockets.chmod(0o700)
    assert local.address(workspace)


def test_a_link_in_the_place_of_that_folder_is_not_followed(
    workspace: Path, sockets: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir(mode=0o700)
    sockets.symlink_to(tmp_path / "other")
    assert local.address(workspace) is None


def test_a_server_that_ends_leaves_no_file(workspace: Path, sockets: Path) -> None:
    server = LocalServer(str(workspace), shortcut.services_of(str(workspace)), DOORS, idle_s=60)
    assert server.listen()
    assert {path.suffix for path in sockets.iterdir()} == {".sock", ".lock", ".queue"}
    server.close()
    assert list(sockets.iterdir()) == []


def test_a_server_leaves_the_files_of_another_one(workspace: Path, sockets: Path) -> None:
    """Somebody removed the files of the first, such as a program that tidies a folder of temporary files."""
    servers = [
        LocalServer(str(workspace), shortcut.services_of(str(workspace)), DOORS, idle_s=60) for _ in range(2)
    ]
    assert servers[0].listen()
    for path in sockets.iterdir():
        path.unlink()
    assert servers[1].listen()
    names = sorted(sockets.iterdir())
    servers[0].close()
    assert sorted(sockets.iterdir()) == names
    servers[1].close()
    assert list(sockets.iterdir()) == []


def test_of_many_servers_that_start_and_end_one_alone_listens(workspace: Path, sockets: Path) -> None:
    """The lock file that one removes as it ends is never held by two others."""
    holds, most = [0], [0]
    guard = threading.Lock()

    def start_and_end() -> None:
        for _ in range(15):
            server = LocalServer(str(workspace), shortcut.services_of(str(workspace)), DOORS, idle_s=60)
            if not server.listen():
                continue
            with guard:
                holds[0] += 1
                most[0] = max(most[0], holds[0])
            time.sleep(0.001)
            with guard:
                holds[0] -= 1
            server.close()

    threads = [threading.Thread(target=start_and_end) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]
    assert list(sockets.glob("*.sock")) == []


def test_only_the_user_reaches_the_socket(served: LocalServer, workspace: Path, sockets: Path) -> None:
    path = local.address(workspace)
    assert path
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert os.stat(sockets).st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", ["COMMONPLACE_SEARCH_LIMIT", "HTTPS_PROXY", "XDG_CONFIG_HOME", "HOME"])
def test_another_environment_has_another_server(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    before = local.address(workspace)
    monkeypatch.setenv(name, "/elsewhere")
    assert local.address(workspace) not in (before, None)


@pytest.mark.parametrize(
    "name", ["COMMONPLACE_AGENT", "COMMONPLACE_WORKSPACE", "EDITOR", "PWD", "OPENAI_API_KEY"]
)
def test_what_changes_no_answer_changes_no_address(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    before = local.address(workspace)
    monkeypatch.setenv(name, "elsewhere")
    assert local.address(workspace) == before


def test_a_relative_file_is_the_same_from_another_folder(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PATH", "model")
    before = local.address(workspace)
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PATH", str(tmp_path / "model"))
    monkeypatch.chdir("/")
    assert local.address(workspace) == before


def test_a_socket_with_too_long_a_name_is_none(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    long = tmp_path / ("x" * 100)
    long.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    assert local.address(workspace) is None
    assert local.launch(workspace) is None


def test_nobody_answers_where_nobody_listens(workspace: Path, sockets: Path) -> None:
    assert local.connect(workspace) is None
    path = local.address(workspace)
    assert path
    Path(path).write_text("no socket")
    assert local.connect(workspace) is None
    Path(path).unlink()
    with pytest.raises(local.Unanswered):
        local.call(workspace, "search", "", {}, 1)


def test_a_server_of_an_environment_without_a_runtime_folder_is_found(
    workspace: Path, sockets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client may pass on no XDG_RUNTIME_DIR to what it starts."""
    with tempfile.TemporaryDirectory(prefix="tmp-") as folder, monkeypatch.context() as client:
        monkeypatch.setenv("TMPDIR", folder)
        client.delenv("XDG_RUNTIME_DIR")
        path = local.address(workspace)
        assert path
        assert path.startswith(folder)
        Path(path).touch()
        assert local.addresses(workspace) == [path]
        client.undo()
        monkeypatch.setenv("TMPDIR", folder)
        assert local.address(workspace) != path
        assert local.addresses(workspace) == [path]
        Path(path).parent.chmod(0o755)  # not this user's alone
        assert local.addresses(workspace) == []


# --- what it answers ------------------------------------------------------------------------------------


def test_it_says_who_it_is(served: LocalServer, workspace: Path) -> None:
    assert status(workspace)["pid"] == os.getpid()


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"{}\n",
        b"[]\n",
        b'["search"]\n',
        b"[1, 2, 3, 4]\n",
        b'["search", "/", "", {}]\n',
        b"\xff\n",
        b"[" * 100_000,
    ],
)
def test_what_is_no_call_is_not_answered(served: LocalServer, workspace: Path, line: bytes) -> None:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(local.address(workspace) or "")
    connection.sendall(line)
    connection.shutdown(socket.SHUT_WR)
    connection.settimeout(30)
    assert connection.recv(10) == b""
    connection.close()
    assert status(workspace)["pid"] == os.getpid()


def test_a_door_that_is_not_there_is_said(served: LocalServer, workspace: Path) -> None:
    assert local.call(workspace, "erase", "", {}, 5) == {"unknown": "erase"}


def test_whoever_starts_a_server_is_nobody_to_it(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that an agent starts in a workspace that it may not read serves those who may."""
    (tmp_path / "own").mkdir()
    config = Path(os.environ["XDG_CONFIG_HOME"]) / "commonplace" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f'[agents.a]\nwrites = "{tmp_path}/own"\n')
    monkeypatch.setenv("COMMONPLACE_AGENT", "a")
    monkeypatch.setenv("COMMONPLACE_WORKSPACE", str(tmp_path / "own"))
    monkeypatch.setenv("PYTHONPATH", str(SOURCE))
    connection = local.connect_or_launch(workspace)
    assert connection is not None
    connection.close()
    asked = {"question": "deploy", "options": {}, "screens": [[False, False, None]] * 2, "named": True}
    assert "may not read" in local.call(workspace, "search", "a", asked, 30)["error"]
    assert "Thursday" in str(local.call(workspace, "search", "", asked, 30))


def test_an_agent_has_its_own_settings(served: LocalServer, workspace: Path) -> None:
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text("[agents.short.search]\nlimit = 1\n")
    request = {"question": "tea deploy", "options": {"layer": "index"}, "screens": [[False, False, None]] * 2}
    few = local.call(workspace, "search", "short", request, 30)["printed"][1]
    more = local.call(workspace, "search", "", request, 30)["printed"][1]
    assert len(few.splitlines()) == 1 < len(more.splitlines())


def test_a_workspace_alone_is_served_without_what_an_agent_reads_beside_it(
    served: LocalServer, workspace: Path, tmp_path: Path
) -> None:
    (tmp_path / "own" / "memory").mkdir(parents=True)
    (tmp_path / "own" / "MEMORY.md").write_text("# Own\n\nThe deploy of the heron.\n")
    config = Path(os.environ["XDG_CONFIG_HOME"]) / "commonplace" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f'[agents.a]\nreads = ["{workspace}"]\nwrites = "{tmp_path}/own"\n')
    asked = {"question": "deploy", "options": {}, "screens": [[False, False, None]] * 2, "named": True}
    both, alone = (
        str(local.call(workspace, "search", "a", {**asked, **more}, 30)) for more in ({}, {"alone": True})
    )
    assert "heron" in both
    assert "Thursday" in alone
    assert "heron" not in alone


def test_agents_without_end_are_refused(workspace: Path) -> None:
    services = Services(lambda agent, asked: Service(lambda: Memory.open(workspace), agent))
    for number in range(MOST_AGENTS):
        assert services.of(f"a{number}", {}) is services.of(f"a{number}", {})
    with pytest.raises(ConfigError, match="agents are served already"):
        services.of("one-too-many", {})
    services.close()


def test_changed_settings_hold_at_once(served: LocalServer, workspace: Path) -> None:
    request = {"question": "tea deploy", "options": {"layer": "index"}, "screens": [[False, False, None]] * 2}
    assert len(local.call(workspace, "search", "", request, 30)["printed"][1].splitlines()) > 1
    settings_file(workspace).write_text("[search]\nlimit = 1\n")
    assert len(local.call(workspace, "search", "", request, 30)["printed"][1].splitlines()) == 1


def test_a_server_waits_for_the_place_of_another_only_as_long_as_that_is_of_use(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_server, "_LOOKS_S", 0.05)

    def refuse() -> None:
        raise ConfigError("serve", "this workspace is served already")

    makes = shortcut.services_of(str(workspace))
    first, second = (LocalServer(str(workspace), makes, DOORS, idle_s=None) for _ in range(2))
    with first.beside(refuse):
        with pytest.raises(ConfigError, match="served already"), second.beside(refuse):
            raise AssertionError
        assert status(workspace)["pid"] == os.getpid()


def test_what_goes_wrong_inside_ends_nothing(workspace: Path) -> None:
    def broken(service: Service, request: object) -> object:
        raise RuntimeError("inside")

    services = Services(lambda agent, structured: Service(lambda: Memory.open(workspace), agent))
    server = LocalServer(str(workspace), services, {"broken": broken}, idle_s=60)
    assert server.listen()
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        assert local.call(workspace, "broken", "", {}, 5) == {"failed": "RuntimeError"}
        until(lambda: status(workspace)["programs"] == 0)
    finally:
        server.end()
        thread.join(60)


def test_an_answer_that_nobody_waits_for_any_more_does_not_count_as_sent(workspace: Path) -> None:
    asked, go, sent = threading.Event(), threading.Event(), list[str]()

    def slow(service: Service, request: Mapping[str, Any]) -> Reply:
        asked.set()
        assert go.wait(30)
        return Reply(b"ok", lambda: sent.append(request["who"]))

    services = Services(lambda agent, structured: Service(lambda: Memory.open(workspace), agent))
    server = LocalServer(str(workspace), services, {"slow": slow}, idle_s=60)
    assert server.listen()
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        late = local.connect(workspace)
        assert late is not None
        late.sendall(local.line("slow", str(workspace), "", {"who": "late"}))
        assert asked.wait(30)
        late.close()
        go.set()
        until(lambda: status(workspace)["programs"] == 0)
        connection = local.connect(workspace)
        assert connection is not None
        assert (
            local.exchange(connection, local.line("slow", str(workspace), "", {"who": "here"}), 30) == b"ok\n"
        )
        until(lambda: sent)
        assert sent == ["here"]
    finally:
        server.end()
        thread.join(60)


# --- how long it lives ----------------------------------------------------------------------------------


def test_it_ends_when_nobody_was_there_for_a_while(workspace: Path, sockets: Path) -> None:
    services = Services(lambda agent, structured: Service(lambda: Memory.open(workspace), agent))
    server = LocalServer(str(workspace), services, {}, idle_s=0.1)
    assert server.listen()
    server.serve()
    assert not list(sockets.glob("*.sock"))


def test_it_ends_with_its_workspace(tmp_path: Path, sockets: Path) -> None:
    (tmp_path / "gone").mkdir()
    server = LocalServer(
        str(tmp_path / "gone"), Services(lambda agent, structured: Service(Memory.open)), {}, idle_s=None
    )
    assert server.listen()
    (tmp_path / "gone").rmdir()
    server.serve()
    assert not list(sockets.glob("*.sock"))


def test_there_is_one(served: LocalServer, workspace: Path) -> None:
    second = LocalServer(
        str(workspace), Services(lambda agent, structured: Service(Memory.open)), {}, idle_s=1
    )
    assert not second.listen()


def test_one_that_was_killed_leaves_no_trouble(workspace: Path) -> None:
    with_it = Client("-w", workspace)
    with_it.ask("initialize", GREETING)
    first = started(workspace)
    os.kill(first, signal.SIGKILL)
    assert with_it.ask("ping", id=2) == {"jsonrpc": "2.0", "id": 2, "result": {}}
    assert started(workspace) != first
    with_it.end()


# --- clients --------------------------------------------------------------------------------------------


def test_clients_of_one_workspace_share_a_server(workspace: Path) -> None:
    clients = [Client("-w", workspace) for _ in range(4)]
    for client in clients:
        assert client.ask("initialize", GREETING)["result"]["serverInfo"]["name"] == "commonplace"
    assert status(workspace)["programs"] == 4
    searched = {"name": "memory_search", "arguments": {"query": "when do we deploy"}}
    for number, client in enumerate(clients, 5):
        assert "deploy" in str(client.ask("tools/call", searched, id=number)["result"])
    for client in clients:
        assert client.end()[2] == 0
    until(lambda: status(workspace)["programs"] == 0)


def test_a_call_that_may_have_written_is_not_repeated(workspace: Path) -> None:
    """The server dies over two calls: the one that reads is asked again, of the other its client is told."""
    client = Client("-w", workspace)
    client.ask("initialize", GREETING)
    pid = started(workspace)
    os.kill(pid, signal.SIGSTOP)
    read = {"name": "memory_search", "arguments": {"query": "tea"}}
    write = {"name": "memory_write", "arguments": {"text": "Once."}}
    for id_, params in (("read", read), ("write", write)):
        client.send({"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params})
    until(lambda: unread(pid) > 0)
    os.kill(pid, signal.SIGKILL)
    answers = {answer["id"]: answer for answer in (client.hear(), client.hear())}
    assert "result" in answers["read"]
    assert "look whether this was done" in answers["write"]["error"]["message"]
    assert client.end()[2] == 0


def unread(pid: int) -> int:
    """Whether the relay has had time to pass on what it was sent: it waits for more again."""
    time.sleep(0.5)
    return pid


def test_a_search_of_the_shell_is_answered_by_the_server_word_for_word(workspace: Path) -> None:
    plain = command("-w", workspace, "search", "tea", "--format", "json")
    cold = subprocess.run(plain, capture_output=True, env=environment(), timeout=60)
    client = Client("-w", workspace)
    client.ask("initialize", GREETING)
    modules = subprocess.run(
        plain, capture_output=True, env=environment(PYTHONPROFILEIMPORTTIME="1"), timeout=60
    )
    assert modules.stdout == cold.stdout
    assert (
        b"commonplace.memory"
        in subprocess.run(
            plain, capture_output=True, env=environment(PYTHONPROFILEIMPORTTIME="1", TZ="UTC-3"), timeout=60
        ).stderr
    )
    assert b"commonplace.memory" not in modules.stderr
    client.end()


def test_the_server_of_serve_is_the_warm_one(workspace: Path) -> None:
    """`serve` takes the place of one that a client started; that client goes on with it."""
    client = Client("-w", workspace)
    client.ask("initialize", GREETING)
    first = started(workspace)
    serve = command("-w", workspace, "serve", "--port", "0", "--daemon")
    subprocess.run(serve, check=True, capture_output=True, env=environment(), timeout=60)
    until(lambda: started(workspace) != first)
    assert client.ask("ping", id=2)["result"] == {}
    assert not status(workspace)["idles"]
    stop = subprocess.run(
        command("-w", workspace, "serve", "stop"), capture_output=True, env=environment(), timeout=60
    )
    assert stop.stdout.count(b"ended the server") == 1
    assert client.ask("ping", id=3)["result"] == {}
    client.end()


def test_no_server_is_started_where_the_settings_say_so(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMONPLACE_SERVER_START", "never")
    client = Client("-w", workspace)
    client.ask("initialize", GREETING)
    assert local.connect(workspace) is None
    client.end()


def test_what_is_no_agent_is_said_at_the_start(workspace: Path) -> None:
    out, err, code = Client("-w", workspace, "--agent", "../x").end()
    assert (out, code) == (b"", 1)
    assert err.count(b"\n") == 1


def test_a_line_without_end_is_refused_and_the_next_one_served(workspace: Path) -> None:
    client = Client("-w", workspace)
    client.ask("initialize", GREETING)
    client.send(b" " * (9 << 20))
    assert client.hear()["error"]["message"].startswith("a message has")
    assert client.ask("ping", id=2)["result"] == {}
    assert client.end()[2] == 0


# --- events of clients ------------------------------------------------------------------------------------


def test_a_flood_of_events_grows_no_threads_and_loses_none(served: LocalServer, workspace: Path) -> None:
    count, clients, most = 96, 8, 0
    before = threading.active_count()

    def flood(client: int) -> None:
        nonlocal most
        for number in range(client, count, clients):
            call = {"tool_name": "Bash", "tool_input": {"command": f"make part-{number:03}."}}
            event = {"hook_event_name": "PostToolUse", "session_id": f"s{client}", "cwd": "/", **call}
            event["tool_response"] = {"stdout": "built"}
            while True:
                try:
                    assert ask(workspace, "hook", {"event": event}) == b"ok \n"
                    break
                except local.Unanswered:  # one too many, which the hook would note by itself
                    time.sleep(0.01)
            most = max(most, threading.active_count())

    together(clients, flood)
    # A thread a connection, and none for what is noted; those that were answered end by and by.
    assert most - before <= MOST + clients
    until(lambda: status(workspace)["programs"] == 0)
    queued = str(state.rows(Workspace(workspace), "SELECT data FROM queue"))
    assert [number for number in range(count) if f"part-{number:03}." not in queued] == []
    assert not [one for one in threading.enumerate() if one.name.startswith("commonplace-hook")]


def test_a_server_that_ends_notes_what_it_said_it_took(served: LocalServer, workspace: Path) -> None:
    call = {
        "tool_name": "Bash",
        "tool_input": {"command": "make last."},
        "tool_response": {"stdout": "built"},
    }
    event = {"hook_event_name": "PostToolUse", "session_id": "s", "cwd": "/", **call}
    assert ask(workspace, "hook", {"event": event}) == b"ok \n"
    served.end()
    until(lambda: served._listener is None and not served._connections)
    assert "make last." in str(state.rows(Workspace(workspace), "SELECT data FROM queue"))


def ask(workspace: Path, door: str, request: Mapping[str, Any]) -> bytes:
    connection = local.connect(workspace)
    assert connection is not None
    return local.exchange(connection, local.line(door, str(workspace), "claude-code", request), 60)


def together(count: int, work: Callable[[int], None]) -> None:
    """Run something in several threads at once; raise what any of them raised."""
    with ThreadPoolExecutor(count) as pool:
        for done in [pool.submit(work, number) for number in range(count)]:
            done.result()
