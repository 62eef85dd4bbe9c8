"""`commonplace hook` as a client runs it: exit code 0, silence on trouble, and nobody kept waiting."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commonplace import Memory
from commonplace.agent import client_events
from commonplace.base.paths import Workspace
from commonplace.cli import hook
from commonplace.servers import local
from commonplace.storage import state
from tests.cli.conftest import command, environment
from tests.places import settings_file


@pytest.fixture
def sockets(monkeypatch: pytest.MonkeyPatch, workspace: Path) -> Iterator[None]:
    """A folder of sockets of the test's own; its server ends with the test."""
    with tempfile.TemporaryDirectory(prefix="run-") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield
        retire(workspace)


def retire(workspace: Path) -> None:
    for path in local.addresses(workspace):
        if (connection := local.reach(path, 5)) is not None:
            local.ask(connection, "retire", "", {}, 5)
    end = time.monotonic() + 30
    while local.addresses(workspace):
        assert time.monotonic() < end
        time.sleep(0.02)


def answers(workspace: Path) -> bool:
    try:
        return bool(local.call(workspace, "status", "", {}, 5))
    except local.NoAnswer:
        return False


def start(workspace: Path) -> None:
    """Start a warm server."""
    connection = local.connect_or_launch(workspace)
    assert connection is not None
    connection.close()


def until(holds: Any, wait_s: float = 30.0) -> None:
    end = time.monotonic() + wait_s
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def event(name: str, **more: Any) -> bytes:
    return json.dumps({"hook_event_name": name, "session_id": "s1", "cwd": "/"} | more, indent=1).encode()


def run(workspace: Path, data: bytes, *arguments: str) -> str:
    """Run the hook as a client does; return what goes into the conversation. `--debug` has no deadline."""
    done = subprocess.run(
        command("-w", workspace, "--agent", "claude-code", "hook", *arguments),
        input=data, capture_output=True, env=environment(), timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    return json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"] if done.stdout else ""


ASKED = event("UserPromptSubmit", prompt="Which tea do I drink after lunch?")
RAN = event(
    "PostToolUse", tool_name="Bash", tool_input={"command": "make all"}, tool_response={"stdout": "built"}
)


def test_it_answers_alone_by_full_text(workspace: Path) -> None:
    assert "Aged white tea" in run(workspace, ASKED, "--debug")
    assert run(workspace, ASKED, "--debug") == ""  # given already


def test_it_answers_by_the_server_that_it_started(workspace: Path, sockets: None) -> None:
    run(workspace, event("SessionStart", source="startup"), "--debug")
    until(lambda: answers(workspace))
    other = event("UserPromptSubmit", prompt="Which tea do I drink after lunch?", session_id="s2")
    assert "Aged white tea" in local_answer(workspace, other)
    assert run(workspace, other, "--debug") == ""  # the server gave it


def local_answer(workspace: Path, data: bytes) -> str:
    connection = local.connect(workspace)
    assert connection is not None
    sent = b'{"event": ' + data.replace(b"\n", b" ") + b"}"
    answer = local.exchange(connection, "/local/hook", "claude-code", sent, 30)
    assert answer.startswith(b"ok ")
    return answer.decode()


def queued(workspace: Path) -> str:
    return str(state.rows(Workspace(workspace), "SELECT data FROM queue"))


@pytest.mark.parametrize("served", [False, True])
def test_what_a_tool_did_is_written_down(
    workspace: Path, sockets: None, monkeypatch: pytest.MonkeyPatch, served: bool
) -> None:
    if served:
        start(workspace)
    else:
        monkeypatch.setenv("COMMONPLACE_SERVER_START", "never")
    assert run(workspace, RAN, "--debug") == ""
    until(lambda: "make all" in queued(workspace))
    run(workspace, event("Stop"), "--debug")
    until(lambda: any("Ran make all" in path.read_text() for path in (workspace / "memory").glob("*.md")))


@pytest.mark.parametrize(
    "data",
    [
        b"", b"{}", b"[]", b"null", b"not json", b'{"hook_event_name": "Other", "session_id": "s"}', b"\xff\xfe",
        b'{"hook_event_name": "UserPromptSubmit"', b"[" * 50_000, b'{"hook_event_name": 3}',
    ],
)  # fmt: skip
@pytest.mark.parametrize("served", [False, True])
def test_whatever_comes_is_met_with_silence(
    workspace: Path, sockets: None, monkeypatch: pytest.MonkeyPatch, data: bytes, served: bool
) -> None:
    if served:
        start(workspace)
    else:
        monkeypatch.setenv("COMMONPLACE_SERVER_START", "never")
    assert run(workspace, data) == ""
    assert not served or local.call(workspace, "status", "", {}, 5)["pid"]


def test_too_large_an_event_is_left_alone(workspace: Path) -> None:
    assert run(workspace, event("PostToolUse", tool_name="Bash", tool_response="x" * hook.LONGEST)) == ""


def test_a_workspace_that_is_not_there_is_no_trouble(tmp_path: Path) -> None:
    assert run(tmp_path / "none", ASKED) == ""
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["hook", "--nonsense"],
        ["--nonsense", "hook"],
        ["hook", "word"],
        ["hook", "--deadline", "x"],
        ["hook", "--deadline", "0"],
        ["hook", "--deadline", "9" * 5000],
        ["hook", "--deadline"],
        ["hook", "--agent"],
        ["hook", "-w"],
        ["-w", ".", "--agent", "hook"],
        ["--workspace", "hook"],
        ["hook", "--agent", "../..", "--deadline", "60000"],
        ["--agent", "a", "hook", "--format", "json"],
    ],
    ids=lambda arguments: " ".join(arguments)[:40],
)
def test_a_command_that_is_written_wrong_is_no_trouble(workspace: Path, arguments: list[str]) -> None:
    """A client takes another exit code for a refusal of its user's message."""
    done = subprocess.run(
        command(*arguments), input=ASKED, capture_output=True, env=environment(), timeout=60, cwd=workspace
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert hook.trouble_file().read_text()


def test_what_was_wrong_is_kept_for_its_owner(workspace: Path) -> None:
    subprocess.run(command("hook", "--nonsense"), input=ASKED, check=True, env=environment(), timeout=60)
    assert hook.trouble_file().read_text().startswith("no such option '--nonsense'")
    run(workspace / "none", ASKED, "--deadline", "60000")  # the last one alone
    assert hook.trouble_file().read_text().startswith("there is no folder")
    assert hook.trouble_file().stat().st_mode & 0o077 == 0


def test_words_of_an_event_are_not_kept_with_what_went_wrong(workspace: Path) -> None:
    run(workspace, b'{"hook_event_name": "UserPromptSubmit", "prompt": "my secret', "--deadline", "60000")
    assert hook.trouble_file().read_text() == "JSONDecodeError"


def test_what_a_server_refuses_is_kept(workspace: Path, sockets: None) -> None:
    start(workspace)
    settings_file(workspace).write_text("[search]\nlimit = 0\n")
    assert run(workspace, ASKED, "--debug", "--deadline", "60000") == ""
    assert hook.trouble_file().read_text().startswith("search.limit: 0")


def test_a_place_where_nothing_can_be_kept_is_no_trouble(workspace: Path, private_home: Path) -> None:
    (private_home / "cache").write_text("a file")
    assert run(workspace / "none", ASKED) == ""


@pytest.mark.parametrize(
    ("arguments", "is_called"),
    [
        (["hook", "--nonsense"], True),
        (["-w", "/n", "--agent", "a", "--deadline", "9", "hook"], True),
        (["--all-workspaces", "hook", "word"], True),
        (["hook", "--help"], False),
        (["hook", "--nonsense", "--debug"], False),
        (["-w", "hook"], True),
        (["-w", "/n", "--agent", "hook"], True),
        (["search", "hook"], False),
        (["--agent", "hook", "search"], False),
        (["-w"], False),
    ],
)
def test_which_command_it_is(arguments: list[str], is_called: bool) -> None:
    assert hook.is_called(arguments) is is_called


def test_its_help_is_shown(workspace: Path) -> None:
    done = subprocess.run(command("hook", "--help"), capture_output=True, env=environment(), timeout=60)
    assert (done.returncode, done.stdout[:24]) == (0, b"Usage: commonplace hook ")


def test_broken_settings_are_no_trouble(workspace: Path) -> None:
    settings_file(workspace).write_text("this is no table\n")
    for data in (ASKED, RAN, event("Stop")):
        assert run(workspace, data) == ""


def test_a_locked_index_is_no_trouble(workspace: Path) -> None:
    """Another program holds the index for longer than a client waits."""
    subprocess.run(
        command("-w", workspace, "sync"), check=True, capture_output=True, env=environment(), timeout=60
    )
    program = (
        "import apsw, sys, time; c = apsw.Connection(sys.argv[1]);"
        "c.execute('pragma locking_mode=exclusive'); c.execute('begin exclusive'); print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [command()[0], "-c", program, str(Workspace(workspace).index)],
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        run(workspace, ASKED)
        holder.kill()


def test_a_client_that_does_not_end_its_input_is_not_waited_for(workspace: Path) -> None:
    with subprocess.Popen(
        command("-w", workspace, "hook"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()
    ) as process:
        assert process.wait(60) == 0


def test_a_hook_leaves_no_child_that_holds_the_clients_pipes(workspace: Path) -> None:
    """A client reads to the end of its pipes: what is done afterwards must not keep them open."""
    done = subprocess.run(
        command("-w", workspace, "hook"), input=RAN, capture_output=True, env=environment(), timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    until(lambda: "make" in queued(workspace))


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (["hook"], {}),
        (["-w", "/n", "--agent", "a", "hook"], {"workspace": "/n", "agent": "a"}),
        (["hook", "--workspace=/n", "--debug"], {"workspace": "/n", "debug": True}),
        (["hook", "--deadline", "50"], {"deadline": 50}),
        (["hook", "--deadline=x"], None),
        (["hook", "--deadline", "0"], None),
        (["hook", "--deadline", "9" * 5000], None),
        (["hook", "--help"], None),
        (["hook", "word"], None),
        (["-w", "hook"], None),
        (["search", "hook"], None),
        (["-w"], None),
    ],
)
def test_its_arguments(arguments: list[str], options: dict[str, object] | None) -> None:
    assert hook.parse(arguments) == options


def test_it_imports_next_to_nothing_where_a_server_runs(workspace: Path, sockets: None) -> None:
    start(workspace)
    done = subprocess.run(
        command("-w", str(workspace), "hook", "--debug"),
        input=RAN, capture_output=True, env=environment(PYTHONPROFILEIMPORTTIME="1"), timeout=60,
    )  # fmt: skip
    modules = {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}
    assert "commonplace.servers.local" in modules
    assert not modules & {
        "json",
        "typing",
        "re",
        "pathlib",
        "socket",
        "click",
        "commonplace.base.paths",
        "commonplace.config",
    }


def test_what_a_tool_did_is_handed_over_before_it_is_read(workspace: Path) -> None:
    done = subprocess.run(
        command("-w", str(workspace), "hook", "--debug"),
        input=RAN, capture_output=True, timeout=60,
        env=environment(PYTHONPROFILEIMPORTTIME="1", COMMONPLACE_SERVER_START="never"),
    )  # fmt: skip
    modules = {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}
    assert "commonplace.servers.local" in modules
    assert not modules & {"json", "re", "commonplace.config"}


def test_it_imports_what_full_text_takes_and_no_more(workspace: Path) -> None:
    with Memory.open(workspace) as memory:
        memory.sync(embed=False)
    program = (
        "import sys; from commonplace.cli import hook;"
        "hook.run(sys.argv[1], 'claude-code', debug=True); print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(workspace)],
        input=event("UserPromptSubmit", prompt="what about deploys?"), capture_output=True, check=True,
        timeout=60, env=environment(COMMONPLACE_SERVER_START="never"),
    )  # fmt: skip
    modules = set(done.stderr.decode().split())
    assert {"commonplace.memory", "commonplace.types.recall"} <= modules
    assert not modules & {
        "click",
        "commonplace.types.reports",
        "numpy",
        "onnxruntime",
        "shlex",
        "tokenizers",
    }


def test_an_agent_is_given_its_own_memory_wherever_it_is_started(workspace: Path, tmp_path: Path) -> None:
    config = Path(os.environ["XDG_CONFIG_HOME"]) / "commonplace" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f'[workspaces."{workspace}"]\nname = "mine"\n[agents.a]\nwrites = "mine"\n')
    (tmp_path / "plain").mkdir()  # no workspace
    for number, options in enumerate((["--agent", "a"], ["-w", "mine"])):
        done = subprocess.run(
            command(*options, "hook", "--debug"),
            input=event("SessionStart", source="startup", session_id=f"s{number}"), cwd=tmp_path / "plain",
            env=environment(COMMONPLACE_SERVER_START="never"), capture_output=True, timeout=60,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, b"")
        assert b"Aged white tea" in done.stdout


def test_the_events_that_are_waited_for_are_the_same_everywhere() -> None:
    assert hook.ANSWERED == client_events.ANSWERED
