"""The warm server: found by programs of its user alone, shared by them, ended when nobody needs it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from commonplace import Memory
from commonplace.base.errors import ConfigError
from commonplace.base.paths import Workspace
from commonplace.cli import shortcut
from commonplace.config.files import user_file
from commonplace.servers import local, running
from commonplace.servers.methods import Service
from commonplace.servers.programs import MOST_AGENTS, THREADS, Handler, ProgramReply, Services
from commonplace.servers.running import Served
from commonplace.storage import state
from tests.cli.conftest import SOURCE, Run, command, environment
from tests.cli.conftest import run as run
from tests.cli.test_program import HEAVY, imported
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
            local.ask(connection, "retire", "", {"by_hand": True}, 5)
    until(lambda: not list(sockets.glob("*.sock")))


def until(holds: Callable[[], object], wait_s: float = 30.0) -> None:
    end = time.monotonic() + wait_s
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


@contextmanager
def serving(served: Served, idle_s: float = 60.0) -> Iterator[threading.Thread]:
    """Serve programs from a thread, until the block ends."""
    thread = threading.Thread(target=running.serve_programs, args=(served,), kwargs={"idle_s": idle_s})
    thread.start()
    until(lambda: (connection := local.connect(served.root)) and not connection.close())
    try:
        yield thread
    finally:
        with suppress(local.NoAnswer):
            local.call(served.root, "retire", "", {"by_hand": True}, 30)
        thread.join(60)
        assert not thread.is_alive()


@pytest.fixture
def served(workspace: Path) -> Iterator[None]:
    """A warm server of the workspace, in this process."""
    with serving(shortcut.served_of(str(workspace))):
        yield


def with_handlers(workspace: Path, **handlers: Handler) -> Served:
    services = Services(lambda agent, asked: Service(lambda: Memory.open(workspace), agent))
    return Served(str(workspace), services, handlers)


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
    with serving(with_handlers(workspace)):
        assert {path.suffix for path in sockets.iterdir()} == {".sock", ".lock", ".queue"}
    assert list(sockets.iterdir()) == []


def test_a_server_leaves_the_files_of_another_one(workspace: Path, sockets: Path) -> None:
    """Somebody removed the files of the first, such as a program that tidies a folder of temporary files."""
    with serving(with_handlers(workspace), idle_s=2) as first:
        for path in sockets.iterdir():
            path.unlink()
        with serving(with_handlers(workspace)):
            names = sorted(sockets.iterdir())
            first.join(60)  # it cannot be reached any more, so it is idle
            assert not first.is_alive()
            assert sorted(sockets.iterdir()) == names
    assert list(sockets.iterdir()) == []


def test_of_many_servers_that_start_and_end_one_alone_listens(workspace: Path, sockets: Path) -> None:
    """The lock file that one removes as it ends is never held by two others."""
    holds, most = [0], [0]
    guard = threading.Lock()

    def start_and_end() -> None:
        for _ in range(15):
            with running.listening_to_programs(str(workspace)) as own:
                if not own:
                    continue
                with guard:
                    holds[0] += 1
                    most[0] = max(most[0], holds[0])
                time.sleep(0.001)
                with guard:
                    holds[0] -= 1

    together(4, lambda number: start_and_end())
    assert most == [1]
    assert list(sockets.glob("*.sock")) == []


def test_only_the_user_reaches_the_socket(served: None, workspace: Path, sockets: Path) -> None:
    path = local.address(workspace)
    assert path
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert os.stat(sockets).st_mode & 0o777 == 0o700


def test_a_program_of_another_user_is_not_answered(
    served: None, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = local.connect(workspace)
    assert connection is not None
    with monkeypatch.context() as patch, socket.socket(socket.AF_UNIX) as stranger:
        patch.setattr(local, "peer_of", lambda connection: (1, os.geteuid() + 1))
        assert local.connect(workspace) is None  # nor is a server of another user asked
        stranger.connect(local.address(workspace) or "")
        with pytest.raises(local.NoAnswer):
            local.ask(stranger, "status", "", {}, 10)
    connection.close()


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
    with pytest.raises(local.NoAnswer):
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


def test_it_says_who_it_is(served: None, workspace: Path) -> None:
    assert status(workspace)["pid"] == os.getpid()


@pytest.mark.parametrize(
    "sent",
    [
        b"", b"\n", b"{}\n", b'["hook", "/", "", {}]\n', b"\xff\n", b"[" * 100_000, b"GET / HTTP/1.0\r\n\r\n",
        b"POST /local/none HTTP/1.0\r\n\r\n", b"POST /local/search HTTP/1.0\r\n\r\n", b"GET /local/status HTTP/1.0\r\n\r\n",
    ],
)  # fmt: skip
def test_what_is_no_request_does_nothing(served: None, workspace: Path, sent: bytes) -> None:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(local.address(workspace) or "")
    connection.sendall(sent)
    connection.shutdown(socket.SHUT_WR)
    connection.settimeout(30)
    assert connection.recv(100)[9:12] in (b"", b"400", b"404", b"405", b"415")
    connection.close()
    assert status(workspace)["pid"] == os.getpid()


def test_a_server_of_another_version_is_named(workspace: Path, sockets: Path, run: Run) -> None:
    """It listens at another address, so that it is never asked; it spoke lines instead of HTTP."""
    sockets.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as old:
        old.bind(str(sockets / f"{local.prefix(workspace)}0123456789abcdef.sock"))
        old.listen()
        ending = threading.Thread(target=lambda: [old.accept()[0].close() for _ in range(2)])
        ending.start()
        assert local.connect(workspace) is None
        for action in ("status", "stop"):
            done = run("serve", action)
            assert done.exit_code == 3
            assert f"process {os.getpid()} does not answer: a server of another version?" in done.stderr
        ending.join(30)
        for path in sockets.iterdir():
            path.unlink()


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


def test_an_agent_has_its_own_settings(served: None, workspace: Path) -> None:
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text("[agents.short.search]\nlimit = 1\n")
    request = {"question": "tea deploy", "options": {"layer": "index"}, "screens": [[False, False, None]] * 2}
    few = local.call(workspace, "search", "short", request, 30)["printed"][1]
    more = local.call(workspace, "search", "", request, 30)["printed"][1]
    assert len(few.splitlines()) == 1 < len(more.splitlines())


def test_a_workspace_alone_is_served_without_what_an_agent_reads_beside_it(
    served: None, workspace: Path, tmp_path: Path
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


def test_changed_settings_hold_at_once(served: None, workspace: Path) -> None:
    request = {"question": "tea deploy", "options": {"layer": "index"}, "screens": [[False, False, None]] * 2}
    assert len(local.call(workspace, "search", "", request, 30)["printed"][1].splitlines()) > 1
    settings_file(workspace).write_text("[search]\nlimit = 1\n")
    assert len(local.call(workspace, "search", "", request, 30)["printed"][1].splitlines()) == 1


def test_what_goes_wrong_inside_ends_nothing(workspace: Path) -> None:
    def broken(service: Service, request: object) -> object:
        raise RuntimeError("inside")

    with serving(with_handlers(workspace, broken=broken)):
        assert local.call(workspace, "broken", "", {}, 5) == {"failed": "RuntimeError"}
        assert status(workspace)["pid"] == os.getpid()


def test_an_answer_that_nobody_waits_for_any_more_does_not_count_as_sent(workspace: Path) -> None:
    asked, go, sent, lost = threading.Event(), threading.Event(), list[str](), threading.Event()

    def slow(service: Service, request: Mapping[str, Any]) -> ProgramReply:
        asked.set()
        assert go.wait(30)
        return ProgramReply(b"ok", lambda: sent.append(request["who"]), lost.set)

    with serving(with_handlers(workspace, slow=slow)):
        late = local.connect(workspace)
        assert late is not None
        local.send(late, "/local/slow", "", b'{"who": "late"}')
        assert asked.wait(30)
        late.close()
        time.sleep(0.2)  # until the server has seen that
        go.set()
        assert lost.wait(30)
        connection = local.connect(workspace)
        assert connection is not None
        assert local.exchange(connection, "/local/slow", "", b'{"who": "here"}', 30) == b"ok"
        until(lambda: sent)
        assert sent == ["here"]


# --- how long it lives ----------------------------------------------------------------------------------


def test_it_ends_when_nobody_was_there_for_a_while(workspace: Path, sockets: Path) -> None:
    assert running.serve_programs(with_handlers(workspace), idle_s=0.1)
    assert not list(sockets.glob("*.sock"))


def test_it_ends_with_its_workspace(tmp_path: Path, sockets: Path) -> None:
    (tmp_path / "gone").mkdir()
    with serving(with_handlers(tmp_path / "gone")) as thread:
        (tmp_path / "gone").rmdir()
        thread.join(60)
        assert not list(sockets.glob("*.sock"))


def test_there_is_one(served: None, workspace: Path) -> None:
    assert not running.serve_programs(with_handlers(workspace))


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
    assert started(workspace)
    searched = {"name": "memory_search", "arguments": {"query": "when do we deploy"}}
    for number, client in enumerate(clients, 5):
        assert "deploy" in str(client.ask("tools/call", searched, id=number)["result"])
    for client in clients:
        assert client.end()[2] == 0


def test_a_client_of_a_warm_server_needs_nothing_heavy(served: None, workspace: Path) -> None:
    modules = imported(workspace, "mcp")  # whose input is at its end already
    assert "commonplace.servers.relay" in modules
    assert not modules.intersection([*HEAVY, "click", "commonplace.memory", "commonplace.agent.tools", "inspect",
                                     "asyncio", "uvicorn", "starlette", "logging"])  # fmt: skip


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


def event(session: str, command: str) -> dict[str, Any]:
    call = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_response": {"stdout": "built"}}
    return {"hook_event_name": "PostToolUse", "session_id": session, "cwd": "/", **call}


def test_a_flood_of_events_grows_no_threads_and_loses_none(workspace: Path) -> None:
    count, clients, most = 96, 8, 0
    with serving(shortcut.served_of(str(workspace))):
        before = threading.active_count()

        def flood(client: int) -> None:
            nonlocal most
            for number in range(client, count, clients):
                assert ask(workspace, {"event": event(f"s{client}", f"make part-{number:03}.")}) == b"ok "
                most = max(most, threading.active_count())

        together(clients, flood)
        assert most - before <= THREADS + clients
    queued = str(state.rows(Workspace(workspace), "SELECT data FROM queue"))  # a server that ends notes all
    assert [number for number in range(count) if f"part-{number:03}." not in queued] == []


def test_works_are_done_in_order_each_once_and_one_that_fails_keeps_none_back(service: Service) -> None:
    told, done, free, began = list[str](), list[int](), threading.Event(), threading.Event()
    service.tell = told.append

    def first() -> None:
        began.set()
        assert free.wait(30)
        raise KeyError("the words of a tool")

    works = [lambda number=number: done.append(number) for number in range(300)]
    service.later(first)
    assert began.wait(30)
    for work in [*works, *works]:  # what waits is not added again
        service.later(work)
    assert len([one for one in threading.enumerate() if one.name == "commonplace-later"]) == 1
    free.set()
    until(lambda: len(done) == 300)
    assert (done, told) == ([*range(300)], ["KeyError while an event of a client was noted"])
    until(lambda: not [one for one in threading.enumerate() if one.name == "commonplace-later"])
    service.later(works[0])
    until(lambda: len(done) == 301)


def ask(workspace: Path, request: Mapping[str, Any]) -> bytes:
    connection = local.connect(workspace)
    assert connection is not None
    return local.exchange(connection, "/local/hook", "claude-code", json.dumps(request).encode(), 60)


def together(count: int, work: Callable[[int], None]) -> None:
    """Run something in several threads at once; raise what any of them raised."""
    with ThreadPoolExecutor(count) as pool:
        for done in [pool.submit(work, number) for number in range(count)]:
            done.result()
