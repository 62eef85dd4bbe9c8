"""Real programs as models: what they get, what they say, how they are ended."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.base.errors import ConfigError, ProviderError
from commonplace.providers.catalog import Spec
from commonplace.providers.llm import command
from commonplace.providers.llm.base import Completion, Message, Request, ToolSpec
from commonplace.providers.llm.client import Client
from commonplace.providers.llm.command import CommandModel
from commonplace.providers.refusals import Unanswered

REQUEST = Request((Message("user", "When do we deploy?"),), deadline_s=20)


def program(code: str, *arguments: str) -> CommandModel:
    return CommandModel(Spec("command", "script", command=(sys.executable, "-c", code, *arguments)))


def alive(pid: int) -> bool:
    """Whether a process runs; one that nobody waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone(pid: int) -> bool:
    until = time.monotonic() + 5
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.02)
    return not alive(pid)


def test_the_prompt_goes_in_and_the_answer_comes_out() -> None:
    model = program("import sys; print('«' + sys.stdin.read().strip() + '» 星期二')")
    got = model.answer(REQUEST)
    assert got == Completion(
        "«When do we deploy?» 星期二", "script", got.tokens_in, got.tokens_out, estimated=True
    )
    assert 0 < got.tokens_out < 15


def test_several_messages_are_written_under_their_speakers() -> None:
    request = replace(REQUEST, messages=(Message("system", "Be brief."), *REQUEST.messages))
    assert command.written(request) == "System:\nBe brief.\n\nUser:\nWhen do we deploy?\n"
    assert "JSON schema" in command.written(replace(request, schema={"type": "object"}))


def test_no_shell_sees_the_arguments() -> None:
    model = program("import sys; print(sys.argv[1])", "$(echo no) `id` ; exit 3 | cat > x")
    assert model.answer(REQUEST).text == "$(echo no) `id` ; exit 3 | cat > x"


def test_json_is_asked_for_in_words_and_checked() -> None:
    model = program("""print('Here: {"day": "Tuesday"}')""")
    schema = {"type": "object", "properties": {"day": {"type": "string"}}}
    assert Client(model).complete(REQUEST.messages, schema).data == {"day": "Tuesday"}


def test_pieces_come_as_they_are_printed() -> None:
    code = "import time\nfor word in ('星', '期', '二'): print(word, end='', flush=True); time.sleep(.2)"
    pieces = list(program(code).stream(REQUEST))
    assert "".join(pieces) == "星期二"
    assert len(pieces) == 3


def test_a_failure_is_told_with_the_last_line() -> None:
    for code, message in [
        (
            "import sys; print('x'); print('one\\nno such model\\n', file=sys.stderr); sys.exit(3)",
            "command: script exited with 3: no such model",
        ),
        ("import sys; sys.exit(4)", "command: script exited with 4"),
        ("import os; os.kill(os.getpid(), 15)", "command: script was ended by signal 15"),
    ]:
        with pytest.raises(ProviderError) as caught:
            program(code).answer(REQUEST)
        assert str(caught.value) == message
        assert not caught.value.permanent, (code, message)


def test_a_program_that_is_not_there() -> None:
    with pytest.raises(ProviderError, match="/no/such/program cannot be started: no such file") as caught:
        CommandModel(Spec("command", command=("/no/such/program",))).answer(REQUEST)
    assert caught.value.permanent


def test_the_deadline_ends_the_program_with_all_its_children(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    code = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        "print('thinking', flush=True); time.sleep(60)"
    )
    begun = time.monotonic()
    with pytest.raises(Unanswered, match=r"within 1\.5 s"):
        program(code).answer(replace(REQUEST, deadline_s=1.5))
    assert time.monotonic() - begun < 5
    assert all(gone(int(pid)) for pid in pids.read_text().split())


def test_a_program_that_closes_its_output_and_stays_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("commonplace.providers.program.LEAVING_S", 0.3)
    with pytest.raises(Unanswered, match="not itself"):
        program("import os, time; os.write(1, b'x'); os.close(1); time.sleep(60)").answer(REQUEST)


def test_a_reader_that_goes_away_ends_the_program(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    code = (
        f"import os, time\nopen({str(pid)!r}, 'w').write(str(os.getpid()))\n"
        "print('a', flush=True)\ntime.sleep(60)"
    )
    stream = program(code).stream(REQUEST)
    next(stream)
    stream.close()
    assert gone(int(pid.read_text()))


def test_what_a_program_prints_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    endless = "import os\nwhile True: os.write(1, b'word ' * 1000)"
    got = program(endless).answer(replace(REQUEST, max_tokens=100))
    assert (got.finish, got.tokens_out) == ("length", 100)
    monkeypatch.setattr(command, "MAX_OUTPUT_BYTES", 100_000)
    with pytest.raises(ProviderError, match=r"more than 0\.1 MB"):
        program(endless).answer(replace(REQUEST, max_tokens=1_000_000))


def test_full_pipes_stop_nobody() -> None:
    noisy = "import sys\nsys.stderr.write('noise\\n' * 100_000); print(len(sys.stdin.read()))"
    long = replace(REQUEST, messages=(Message("user", "x" * 1_000_000),))
    assert program(noisy).answer(long).text == "1000001"
    assert program("print('did not read')").answer(long).text == "did not read"


def test_tools_are_refused_and_a_program_is_needed() -> None:
    tool = ToolSpec("f", "", {})
    with pytest.raises(ConfigError, match="cannot call tools"):
        program("").answer(replace(REQUEST, tools=(tool,)))
    with pytest.raises(ConfigError, match=r"llm\.command"):
        CommandModel(Spec("command"))


def test_nothing_is_left_running() -> None:
    def dead() -> int:  # other tests of this process may have left some
        command = ["ps", "-o", "stat=", "--ppid", str(os.getpid())]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.count("Z")

    model = program("print('ok')")
    left, before = dead(), len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for _ in range(5):
        model.answer(REQUEST)
    after = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert after <= before + 1
    assert dead() <= left
