"""Workers answer searches beside a server: as it would, of what stands now, and they end when it does."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from commonplace.cli import shortcut
from commonplace.cli.serving import WORKER
from commonplace.cli.session import Caller
from commonplace.servers import workers
from commonplace.servers.access import Access
from commonplace.servers.methods import Place, Service, respond
from commonplace.servers.protocol import Connection
from commonplace.servers.workers import Workers
from tests.cli.conftest import command, environment
from tests.servers.conftest import Served
from tests.servers.test_http import request as post
from tests.servers.test_protocol import asked

SPOKEN = Connection("2025-11-25", "tester")


def call(name: str, **arguments: object) -> dict[str, Any]:
    return asked("tools/call", {"name": f"memory_{name}", "arguments": arguments}, 7)


def text(answer: Any) -> str:
    return str(answer["result"]["content"][0]["text"])


def wait_until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def service(workspace: Path) -> Iterator[Service]:
    made = shortcut.service_of(Caller(str(workspace), "", is_named=True))
    yield made
    made.close()


@pytest.fixture
def beside(service: Service) -> Iterator[Workers]:
    """One worker, which is ready."""
    made = Workers(WORKER, 1)
    assert service.place is not None
    made.start(service.place)
    wait_until(lambda: made.is_ready)
    yield made
    made.close()
    assert not made.is_ready


def ask(beside: Workers, service: Service, message: object) -> Any:
    assert service.place is not None
    return beside.answer(service.place, SPOKEN, message)


def test_what_a_worker_may_answer() -> None:
    recall = asked("prompts/get", {"name": "recall"})
    assert workers.can_answer(call("search", query="tea"))
    assert workers.can_answer(recall)
    for message in (
        call("write", text="tea"), call("get", path="MEMORY.md"), asked("ping"), [call("search")], None, 5, {},
        {**call("search"), "id": None}, asked(["tools/call"], {"name": ["memory_search"]}),
    ):  # fmt: skip
        assert not workers.can_answer(message), message


def test_a_worker_answers_as_the_server_does(beside: Workers, service: Service) -> None:
    for message in (
        call("search", query="tea"), call("search", query="周五 部署"), call("search", query="nothing of this kind"),
        call("search", query="on:nonsense"), call("search"), call("search", query="tea", limit=10**9),
        asked("prompts/get", {"name": "recall", "arguments": {"query": "tea"}}), call("search", query="\ud83c tea"),
    ):  # fmt: skip
        answer = ask(beside, service, message)
        assert answer == json.loads(json.dumps(respond(message, SPOKEN, service))), message


def test_what_is_written_is_found_beside_at_once(
    beside: Workers, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "CROWD", 0)  # so that the door asks workers from the first search on
    server = Served(service, Access(), beside=beside)
    try:
        for was, fruit in (("", "quince"), ("quince", "medlar"), ("", "sloe"), ("sloe", "damson")):
            assert fruit not in text(post(server, body=call("search", query=fruit))[1])
            entry = f"The {fruit} is ripe."
            change = (
                call("correct", old=f"The {was} is ripe.", new=entry) if was else call("write", text=entry)
            )
            post(server, body=change)
            assert entry in text(post(server, body=call("search", query=fruit))[1])
    finally:
        server.end()


SEARCHES = ("search?q=tea", "search?q=tea&draft=true", "recall?q=tea", "search?q=tea&collections=none")


def test_searches_of_the_api_are_answered_beside(
    beside: Workers, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, handed, answer = Served(service, Access(), beside=beside), list[object](), Workers.answer

    def noted(beside: Workers, *call: Any) -> object:
        handed.append(answer(beside, *call))
        return handed[-1]

    monkeypatch.setattr(Workers, "answer", noted)

    def ask_all() -> list[object]:
        answers = [post(server, "GET", f"/api/{one}", Content_Type=None)[:2] for one in SEARCHES]
        for _, answer in answers:
            answer.pop("timings_ms", None)
        return answers

    try:
        handed_on = ask_all()
        assert all(handed)
        monkeypatch.setattr(beside, "_free", [])
        assert ask_all() == handed_on
        assert not all(handed)
    finally:
        server.end()


def test_who_ends_is_replaced_by_the_server(
    beside: Workers, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    (worker,) = beside._all
    os.kill(worker._process.pid, signal.SIGKILL)
    assert ask(beside, service, call("search", query="tea")) is None
    assert not beside.is_ready
    beside.start(Place("", "", {}))  # too soon after the last start
    time.sleep(0.05)
    assert not beside.is_ready
    server = Served(service, Access(), beside=beside)
    try:
        assert "white tea" in text(post(server, body=call("search", query="tea"))[1])
    finally:
        server.end()


def test_one_that_hangs_is_ended_and_the_server_answers(
    beside: Workers, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    for message in (call("search", query="tea"), call("search", query="tea " * 100_000)):
        (worker,) = beside._all
        os.kill(worker._process.pid, signal.SIGSTOP)
        with monkeypatch.context() as patch:
            patch.setattr(workers._Worker.ask, "__defaults__", (0.3,))
            assert ask(beside, service, message) is None
        assert not beside.is_ready
        assert worker._process.returncode == -signal.SIGKILL
        beside._next = 0.0
        assert service.place is not None
        beside.start(service.place)
        wait_until(lambda: beside.is_ready)
    assert "white tea" in text(beside.answer(service.place, SPOKEN, call("search", query="tea")))


def test_what_nests_too_deep_for_a_worker_ends_none(beside: Workers, service: Service) -> None:
    for depth in range(sys.getrecursionlimit() - 130, sys.getrecursionlimit(), 6):
        deep: object = "tea"
        for _ in range(depth):
            deep = [deep]
        ask(beside, service, call("search", query="tea", deep=deep))
        assert "white tea" in text(ask(beside, service, call("search", query="tea"))), depth


def test_a_memory_that_cannot_be_opened_is_an_answer(beside: Workers, tmp_path: Path) -> None:
    gone = Place(str(tmp_path / "gone"), "", {"named": True})
    answer: Any = beside.answer(gone, SPOKEN, call("search", query="tea"))
    assert (answer["id"], "gone" in answer["error"]["message"]) == (7, True)
    assert beside.is_ready


def test_a_program_that_is_no_worker_answers_nothing(service: Service) -> None:
    assert service.place is not None
    for arguments in (["--version"], ["no-such-command"]):
        made = Workers(arguments, 1)
        made.start(service.place)
        wait_until(lambda made=made: not made._is_starting)
        assert ask(made, service, call("search", query="tea")) is None
        made.close()


def children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for one in found for child in one.read_text().split()]


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs /proc, to see who started whom")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_crowd_starts_workers_which_end_with_the_server(workspace: Path, number: signal.Signals) -> None:
    with subprocess.Popen(
        command("-w", workspace, "serve", "--port", "0", "--no-token"),
        stderr=subprocess.PIPE, text=True, env=environment(),
    ) as process:  # fmt: skip
        assert process.stderr is not None
        found = re.search(r":(\d+)/mcp", process.stderr.readline())
        assert found is not None
        drained = threading.Thread(target=process.stderr.read)
        drained.start()
        over, wrong = threading.Event(), list[object]()

        def search() -> None:
            connection = HTTPConnection("127.0.0.1", int(found[1]), timeout=60)
            while not over.is_set():
                headers = {"Content-Type": "application/json", "Accept": "application/json"}
                connection.request("POST", "/mcp", json.dumps(call("search", query="tea")), headers)
                answer = json.loads(connection.getresponse().read())
                if "white tea" not in text(answer):
                    wrong.append(answer)
            connection.close()

        crowd = [threading.Thread(target=search) for _ in range(12)]
        for one in crowd:
            one.start()
        try:
            wait_until(lambda: len(children(process.pid)) == 2)
            time.sleep(0.3)  # some of the answers are theirs
        finally:
            over.set()
            for one in crowd:
                one.join()
        started = children(process.pid)
        process.send_signal(number)
        drained.join()
    assert wrong == []
    wait_until(lambda: not any(Path(f"/proc/{one}").exists() for one in started))
