"""A server in the background: started once, told from other processes, ended, and only itself."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest
from click.testing import CliRunner

from commonplace.base import locks, paths
from commonplace.base.errors import ConfigError
from commonplace.base.paths import Workspace
from commonplace.cli.application import cli
from commonplace.config.credentials import Secret
from commonplace.servers import access, daemon, running
from commonplace.servers.daemon import Running
from tests.cli.conftest import command, environment
from tests.cli.conftest import workspace as workspace

Done = subprocess.CompletedProcess[str]


@pytest.fixture
def home(workspace: Path) -> Iterator[Workspace]:
    """The workspace that is served; a server that a test leaves is ended."""
    found = Workspace(workspace)
    yield found
    daemon.stop(found)


def lock_of(workspace: Workspace) -> Path:
    return paths.server_note(workspace).with_suffix(".lock")


def token_of(workspace: Path) -> Path:
    return paths.server_token(Workspace(workspace))


def ask(url: str, token: str) -> int:
    """The status of a request with this token."""
    host, _, port = url.removeprefix("http://").rpartition(":")
    connection = HTTPConnection(host, int(port), timeout=10)
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    try:
        connection.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}), headers)
        return connection.getresponse().status
    finally:
        connection.close()


def wait_until(held: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not held():
        assert time.monotonic() < end
        time.sleep(0.05)


def serve(workspace: Path, *arguments: str, **more: str) -> Done:
    """Run `serve` with these arguments: in this process where that serves nothing."""
    if arguments[0] in ("status", "stop"):
        done = CliRunner(env=more).invoke(cli, ["-w", str(workspace), "serve", *arguments])
        return Done(arguments, done.exit_code, done.stdout, done.stderr)
    return subprocess.run(
        command("-w", workspace, "serve", *arguments), capture_output=True, text=True, timeout=90,
        env=environment(**more),
    )  # fmt: skip


def test_start_state_and_end(workspace: Path, home: Workspace) -> None:
    assert (serve(workspace, "status").returncode, serve(workspace, "stop").returncode) == (3, 3)
    begun = serve(workspace, "--daemon", "--port", "0")
    assert (begun.returncode, begun.stderr) == (0, "")
    found = daemon.find(home)
    assert found is not None
    assert f"serving at {found.url}/mcp (process {found.pid})" in begun.stdout
    told = serve(workspace, "status")
    assert told.stdout.splitlines() == [
        f"{found.url}/mcp · process {found.pid} · since {found.since} · answers",
        f"the token that opens everything is in the file {token_of(workspace)}; keep it from agents",
        "clients send `Authorization: Bearer TOKEN`; TOKEN is what `serve status --client-token` prints",
    ]
    second = serve(workspace, "--daemon", "--port", "0")
    already = (
        f"commonplace: error: serve: this workspace is served already at {found.url} (process {found.pid}); "
        "use it, or end it with `commonplace serve stop`, then run this again\n"
    )
    assert (second.returncode, second.stderr) == (1, already)
    assert serve(workspace, "--port", "0").stderr == already
    ended = serve(workspace, "stop")
    assert (ended.returncode, ended.stdout) == (0, f"ended the server at {found.url} (process {found.pid})\n")
    assert daemon.find(home) is None
    assert not paths.server_note(home).exists()
    log = daemon.log_of(home).read_text()
    assert f"serving at {found.url}\n" in log
    assert log.endswith(" ended by SIGTERM\n")


def test_a_server_is_found_from_every_workspace_that_it_serves(
    workspace: Path, home: Workspace, tmp_path: Path
) -> None:
    team, other, plain = tmp_path / "team", tmp_path / "other", tmp_path / "plain"
    for root in (team, other, plain):
        root.mkdir()
    serve(team, "-w", str(other), "status")
    begun = subprocess.run(
        command("-w", workspace, "-w", team, "serve", "--daemon", "--port", "0"),
        capture_output=True, text=True, timeout=90, env=environment(),
    )  # fmt: skip
    assert begun.returncode == 0, begun.stderr
    found = daemon.find(home)
    assert found is not None
    of_home, of_team = serve(workspace, "status").stdout, serve(team, "status").stdout
    assert "Commonplace-Workspace: notes, Commonplace-Workspace: team" in of_home
    assert of_team == of_home.replace("· answers\n", f"· answers · beside {workspace}\n")
    assert (
        "/mcp  Commonplace-Workspace: team  Authorization: Bearer "
        in serve(team, "status", "--show-token").stdout
    )
    assert serve(other, "status").returncode == 3
    ended = serve(team, "stop")
    assert (ended.returncode, ended.stdout) == (3, "")
    assert f"`commonplace -w {workspace} serve stop` ends that" in ended.stderr
    assert daemon.find(home) == found
    settings = paths.user_config_dir() / "config.toml"
    settings.write_text(f'[agents.guest]\nreads = ["{team}"]\n')
    guest = CliRunner().invoke(cli, ["--agent", "guest", "-w", str(team), "serve", "status"])
    assert (guest.exit_code, str(workspace) in guest.output) == (3, False)
    serve(workspace, "stop")
    assert serve(team, "status").returncode == 3
    assert not list((paths.user_config_dir() / "servers").glob("*.json"))


def test_what_names_no_server_is_passed_over(workspace: Path, home: Workspace) -> None:
    servers = paths.user_config_dir() / "servers"
    servers.mkdir(parents=True)
    (servers / "b.json").mkdir()
    (servers / "c.json").symlink_to("/etc/passwd")
    os.mkfifo(servers / "d.json")
    for planted in (b"", b"[]", b"\xff\0", noted(os.getpid(), daemon.started(os.getpid())).encode()):
        (servers / "a.json").write_bytes(planted)
        assert list(daemon.others(home)) == []
    assert serve(workspace, "status").returncode == 3


def test_of_two_starts_at_once_one_serves(workspace: Path, home: Workspace) -> None:
    started = [
        subprocess.Popen(
            command("-w", workspace, "serve", "--daemon", "--port", "0"),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
        )
        for _ in range(2)
    ]  # fmt: skip
    ends = [(*process.communicate(timeout=90), process.returncode) for process in started]
    assert sorted(code for _, _, code in ends) == [0, 1]
    assert next(error for _, error, code in ends if code).count("served already") == 1
    found = daemon.find(home)
    assert found is not None
    assert daemon.is_well(found)


def test_a_server_that_was_killed_leaves_nothing_behind(workspace: Path, home: Workspace) -> None:
    serve(workspace, "--daemon", "--port", "0")
    found = daemon.find(home)
    assert found is not None
    os.kill(found.pid, signal.SIGKILL)
    end = time.monotonic() + 30
    while daemon.find(home) is not None and time.monotonic() < end:
        time.sleep(0.05)
    assert paths.server_note(home).exists()  # stale, and known to be
    assert serve(workspace, "stop").returncode == 3
    assert serve(workspace, "--daemon", "--port", "0").returncode == 0


def test_a_port_that_is_taken_is_one_line(workspace: Path, home: Workspace) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        line = f"server.port: {port} is taken on 127.0.0.1; choose another with --port, 0 for any\n"
        for arguments in (["--port", str(port)], ["--daemon", "--port", str(port)]):
            done = serve(workspace, *arguments)
            assert (done.returncode, done.stdout) == (1, "")
            assert done.stderr.endswith(line)
            assert done.stderr.count("\n") == 1


def test_what_cannot_be_served_is_one_line(workspace: Path, home: Workspace) -> None:
    for arguments, told in [
        (["--host", "0.0.0.0", "--no-token"], "0.0.0.0 is reached from elsewhere: serve it with a token"),
        (["--host", "nowhere.invalid"], "'nowhere.invalid' is no address of this machine"),
        (["--host", "203.0.113.7"], "is no address of this machine"),
        (["--token-file", "none"], "is not there"),
    ]:
        done = serve(workspace, "--port", "0", *arguments)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), (arguments, told)
        assert told in done.stderr


def test_beyond_this_machine_with_a_token_that_of_an_agent_made_from_the_one_named(
    workspace: Path, home: Workspace
) -> None:
    token = "0123456789abcdef-token"
    named = {"COMMONPLACE_SERVER_TOKEN": token, "COMMONPLACE_AGENT": "codex"}
    done = serve(workspace, "--daemon", "--port", "0", "--host", "0.0.0.0", **named)
    assert done.returncode == 0, done.stderr
    assert "is made from that in $COMMONPLACE_SERVER_TOKEN (--show-token)" in done.stdout
    found = daemon.find(home)
    assert found is not None
    assert found.url.startswith("http://127.0.0.1:")
    assert daemon.is_well(found)
    own = access.part(Secret(token), "/agents/codex").reveal()
    assert [ask(found.url, one) for one in (own, token)] == [200, 401]
    for asking in (named, {"COMMONPLACE_SERVER_TOKEN": token}):
        shown = serve(workspace, "status", "--show-token", **asking).stdout
        assert f"\nAuthorization: Bearer {own}\n" in shown
    known = paths.server_note(home).read_text() + daemon.log_of(home).read_text() + done.stdout
    assert not [one for one in (token, own) if one in known]


def test_the_owner_and_an_agent_have_tokens_of_their_own_from_one_file(tmp_path: Path) -> None:
    named, kept = tmp_path / "named", tmp_path / "kept"
    named.write_text("0123456789abcdef-token")
    named.chmod(0o600)
    owner = running.Address("", 0, os.fspath(named), own_token=os.fspath(kept))
    agent = owner._replace(part="/agents/codex")
    tokens = [running._token(one, owner.token_file).reveal() for one in (owner, agent)]
    assert tokens == [named.read_text(), access.part(Secret(named.read_text()), "/agents/codex").reveal()]
    own = [running._token(one, owner.own_token).reveal() for one in (owner, agent)]
    assert own == [kept.read_text().strip()] * 2  # a file of its own needs no part


def test_the_token_is_made_kept_and_changed(workspace: Path, home: Workspace) -> None:
    kept = token_of(workspace)
    begun = serve(workspace, "--daemon", "--port", "0")
    assert begun.returncode == 0, begun.stderr
    found = daemon.find(home)
    assert found is not None
    token = kept.read_text().strip()
    assert [ask(found.url, one) for one in (token, "", token[:-1], f"{token}x")] == [200, 401, 401, 401]
    assert (kept.stat().st_mode & 0o777, kept.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert paths.server_note(home).stat().st_mode & 0o777 == 0o600
    known = paths.server_note(home).read_text() + daemon.log_of(home).read_text() + begun.stdout
    known += Path(f"/proc/{found.pid}/cmdline").read_text() if Path("/proc").is_dir() else ""
    assert token not in known
    assert str(kept) in begun.stdout
    assert f"Authorization: Bearer {token}\n" in serve(workspace, "status", "--show-token").stdout
    serve(workspace, "stop")
    again = serve(workspace, "--daemon", "--port", "0", "--show-token")
    assert f"\nAuthorization: Bearer {token}\n" in again.stdout  # clients go on with the one they have
    serve(workspace, "stop")
    serve(workspace, "--daemon", "--port", "0", "--new-token")
    other, found = kept.read_text().strip(), daemon.find(home)
    assert found is not None
    assert other != token
    assert [ask(found.url, one) for one in (other, token)] == [200, 401]


def test_a_server_that_runs_keeps_its_token(workspace: Path, home: Workspace) -> None:
    serve(workspace, "--daemon", "--port", "0")
    before = token_of(workspace).read_text()
    again = serve(workspace, "--daemon", "--port", "0", "--new-token")
    assert again.returncode == 1
    assert "keeps its token until it ends; end it with `commonplace serve stop`" in again.stderr
    assert token_of(workspace).read_text() == before


def test_without_a_token_it_warns(workspace: Path, home: Workspace) -> None:
    warning = (
        "commonplace: no token is asked for: every user of this machine can read and change this memory\n"
    )
    done = serve(workspace, "--daemon", "--port", "0", "--no-token", COMMONPLACE_SERVER_TOKEN="0" * 20)
    assert (done.returncode, done.stderr) == (0, warning)
    found = daemon.find(home)
    assert found is not None
    assert ask(found.url, "") == 200
    assert not token_of(workspace).exists()
    assert serve(workspace, "status").stderr == warning
    serve(workspace, "stop")
    done = serve(workspace, "--daemon", "--port", "0", COMMONPLACE_SERVER_REQUIRE_TOKEN="false")
    assert done.stderr == warning


def test_options_about_tokens_that_do_not_go_together(workspace: Path, home: Workspace) -> None:
    for arguments, code, told in [
        (["--no-token", "--token-file", "x"], 2, "--no-token and --token-file exclude each other"),
        (["--no-token", "--new-token"], 2, "--no-token and --new-token exclude each other"),
        (["--new-token", "--token-file", "x"], 2, "--new-token and --token-file exclude each other"),
        (["--new-token"], 1, "$COMMONPLACE_SERVER_TOKEN holds the one that is set"),
    ]:
        given = ["-w", str(workspace), "serve", "--port", "0", *arguments]
        done = CliRunner(env={"COMMONPLACE_SERVER_TOKEN": "0" * 20}).invoke(cli, given)
        assert done.exit_code == code
        assert told in done.stderr


def test_a_signal_ends_one_in_the_foreground(workspace: Path, home: Workspace) -> None:
    for number in [signal.SIGINT, signal.SIGTERM]:
        process = subprocess.Popen(
            command("-w", workspace, "serve", "--port", "0"),
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        assert process.stderr is not None, number
        first = process.stderr.readline()
        assert "Ctrl-C ends it" in first, number
        process.send_signal(number)
        rest = process.communicate(timeout=60)[1]
        assert process.returncode == 0, number
        assert rest.endswith(f"ended by {signal.Signals(number).name}\n"), number
        assert "serving at" not in rest, number
        assert "Traceback" not in rest, number


def test_a_signal_while_models_load_ends_it_cleanly(workspace: Path, home: Workspace) -> None:
    for wait_s in (0.0, 0.2):
        process = subprocess.Popen(
            command("-w", workspace, "serve", "--port", "0"),
            stderr=subprocess.PIPE, text=True, env=environment(),
        )  # fmt: skip
        wait_until(paths.server_note(home).exists)  # noted, and perhaps not listening yet
        time.sleep(wait_s)
        process.terminate()
        rest = process.communicate(timeout=60)[1]
        assert (process.returncode, "terminate called" in rest) == (0, False), rest
        assert not paths.server_note(home).exists()


# --- never another process ------------------------------------------------------------------------------


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process that came to have the number of a server."""
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield process
    assert process.poll() is None
    process.kill()
    process.wait()


def noted(pid: int, started: str, **more: object) -> str:
    return json.dumps({**Running(pid, started, "x", "127.0.0.1", 1, "now")._asdict(), **more})


def test_a_recycled_number_is_not_ended(tmp_path: Path, bystander: subprocess.Popen[bytes]) -> None:
    workspace = Workspace(tmp_path)
    note = paths.server_note(workspace)
    note.parent.mkdir(parents=True)
    note.write_text(noted(bystander.pid, daemon.started(bystander.pid)))
    assert daemon.stop(workspace) is None  # nobody holds the lock
    note.write_text(noted(bystander.pid, "another moment"))
    with locks.locked(lock_of(workspace)):
        assert daemon.stop(workspace) is None


def test_a_note_that_says_nothing_ends_nothing(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    note, own = paths.server_note(workspace), (os.getpid(), daemon.started(os.getpid()))
    note.parent.mkdir(parents=True)
    wrong = [noted(*own, **{name: value}) for name, value in (("token", 5), ("key", "a\n"), ("key", "\0"))]
    wrong += [noted(*own, host=None), noted(*own, asked=[]), noted(0, ""), noted(-1, "")]
    for text in ["", "{", "[]", "7", "{}", '{"pid": "x"}', "[" * 50_000, *wrong]:
        note.write_text(text)
        assert daemon.stop(workspace) is None, text
        with locks.locked(lock_of(workspace)):
            assert daemon.stop(workspace) is None, text


def test_another_server_on_the_port_is_not_taken_for_it(tmp_path: Path) -> None:
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        running = Running(
            os.getpid(), daemon.started(os.getpid()), "x", "127.0.0.1", mute.getsockname()[1], "now"
        )
        assert not daemon.is_well(running, wait_s=0.2)
    assert not daemon.is_well(running, wait_s=0.2)


def test_a_workspace_that_is_served_is_served_once(tmp_path: Path) -> None:
    running = Running(os.getpid(), daemon.started(os.getpid()), "x", "127.0.0.1", 1, "now")
    with daemon.registered(Workspace(tmp_path), running):
        with pytest.raises(ConfigError, match=f"at {running.url} .*; use it, or end it with"):
            daemon.check_alone(Workspace(tmp_path))
        with (
            pytest.raises(ConfigError, match="served already"),
            daemon.registered(Workspace(tmp_path), running._replace(id="y")),
        ):
            raise AssertionError
    daemon.check_alone(Workspace(tmp_path))
    assert not paths.server_note(Workspace(tmp_path)).exists()


def test_processes_are_told_by_when_they_were_started(bystander: subprocess.Popen[bytes]) -> None:
    assert daemon.started(os.getpid()) == daemon.started(os.getpid()) != ""
    assert daemon.started(2**22 + 5) == ""


def test_a_server_is_noted_where_only_its_user_writes(
    workspace: Path, home: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert paths.user_config_dir() in paths.server_note(home).parents
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert paths.user_cache_dir() in paths.server_note(home).parents
