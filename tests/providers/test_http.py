"""Requests over real sockets: deadlines, retries, bounded answers, and a key that never shows."""

from __future__ import annotations

import gzip
import logging
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from commonplace.base.deadline import Deadline
from commonplace.base.errors import ProviderError
from commonplace.config.credentials import Secret
from commonplace.providers import attempts
from commonplace.providers.http import Endpoint
from tests.providers.server import Reply, Server, serving

KEY = Secret("sk-live-0123456789")
BUSY = Reply({"error": {"message": "busy"}}, 503)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as found:
        yield found


@pytest.fixture
def endpoint(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setattr(attempts, "FIRST_PAUSE_S", 0.01)
    found = Endpoint("acme", server.url + "/v1/", KEY)
    yield found
    found.close()


def ask(endpoint: Endpoint, seconds: float = 20.0) -> object:
    return endpoint.post("embed", {"text": "tea 茶 \ud800"}, Deadline(seconds))


def refused(endpoint: Endpoint, seconds: float = 20.0) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        ask(endpoint, seconds)
    assert KEY.reveal() not in str(caught.value)
    return caught.value


def test_json_goes_and_comes_with_the_key_in_its_header(endpoint: Endpoint, server: Server) -> None:
    assert ask(endpoint) == {"ok": True}
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/v1/embed")
    assert request.headers["authorization"] == f"Bearer {KEY.reveal()}"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["user-agent"] == "commonplace"
    assert request.json == {"text": "tea 茶 ?"}


def test_no_private_part_and_no_secret_leaves_wherever_it_stands(endpoint: Endpoint, server: Server) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    sent = {"messages": [{"content": "tea <private>hidden</private>"}, (f"token {secret}", 3)], "n": None}
    endpoint.post("chat", sent, Deadline(20))
    (request,) = server.requests
    assert b"hidden" not in request.body
    assert secret.encode() not in request.body
    assert request.json["messages"][0]["content"].startswith("tea")
    assert (request.json["messages"][1][1], request.json["n"]) == (3, None)


@pytest.mark.parametrize(
    "fault", [BUSY, Reply({}, 500), Reply({}, 408), Reply(b'{"ok": tr', cut=9), Reply({}, 429)]
)
def test_passing_faults_are_tried_again(endpoint: Endpoint, server: Server, fault: Reply) -> None:
    fault.headers = {"Content-Length": "100"} if fault.cut else {}
    server.script = [fault, fault]
    assert ask(endpoint) == {"ok": True}
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    "reply", [Reply(delay_s=30), Reply(b"x" * 1000, drip_s=0.05)], ids=["silent", "dripping"]
)
def test_a_slow_server_is_left_when_the_deadline_comes(
    endpoint: Endpoint, server: Server, reply: Reply
) -> None:
    server.script = [reply] * 9
    start = time.monotonic()
    error = refused(endpoint, 0.5)
    assert time.monotonic() - start < 5
    assert not error.permanent
    assert "did not answer within 0.5 s" in str(error)


def test_a_name_server_that_hangs_is_left_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    found = Endpoint("acme", "http://localhost:1")
    with monkeypatch.context() as patched:  # not for longer: the network is refused by the same means
        patched.setattr(socket, "getaddrinfo", lambda *a, **k: released.wait(30))
        start = time.monotonic()
        assert "did not answer within 0.3 s" in str(refused(found, 0.3))
        assert time.monotonic() - start < 5
    released.set()


@pytest.mark.parametrize(
    "location", ["http://127.0.0.1:1/v2", "https://evil.example/steal", "/v2", "//x", ""]
)
def test_redirects_are_not_followed(endpoint: Endpoint, server: Server, location: str) -> None:
    server.script = [Reply(b"", 307, {"Location": location})]
    error = refused(endpoint)
    assert error.permanent
    assert "redirects to" in str(error)
    assert str(error).isprintable()
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "body", [b'{"ok": tru', b"", b"<html><body><h1>Sign in</h1>\x1b[2J</body></html>", b"[" * 99_999]
)
def test_what_is_not_json_is_an_error_and_not_asked_for_again(
    endpoint: Endpoint, server: Server, body: bytes
) -> None:
    server.script = [Reply(body)]
    error = refused(endpoint)
    assert "is not JSON" in str(error)
    assert str(error).endswith("is not JSON: it is empty") is (not body)
    assert str(error).isprintable()
    assert (error.permanent, len(server.requests)) == (False, 1)


def test_an_answer_that_is_an_error_or_cannot_be_unpacked(endpoint: Endpoint, server: Server) -> None:
    server.script = [Reply(b"not gzip", headers={"Content-Encoding": "gzip"})]
    error = refused(endpoint)
    assert "cannot be reached" in str(error)
    assert error.permanent
    for code, status in ((400, 400), (599, 599), (399, 502), ("bad", 502)):
        server.script = [Reply({"error": {"message": "no", "code": code}})]
        with pytest.raises(ProviderError) as caught:
            endpoint.post("x", {}, Deadline(5), attempts=1)
        assert caught.value.status == status


@pytest.mark.parametrize("packed", [False, True])
def test_an_answer_is_bounded(endpoint: Endpoint, server: Server, packed: bool) -> None:
    body = b"[" + b"1," * 500_000 + b"1]"
    server.script = [
        Reply(gzip.compress(body), headers={"Content-Encoding": "gzip"}) if packed else Reply(body)
    ]
    with pytest.raises(ProviderError, match=r"larger than 0.1 MB") as caught:
        endpoint.send("GET", "x", Deadline(20), max_bytes=100_000)
    assert caught.value.permanent
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("fault", "sent"),
    [
        (Reply(dropped=True), True),
        (Reply(b'{"ok": true}', cut=3), True),
        (Reply(delay_s=30), True),
        (BUSY, False),
        (Reply({}, 400), False),
    ],
    ids=["dropped", "cut", "silent", "refused", "wrong"],
)
def test_what_was_sent_and_not_answered_is_told_apart(
    endpoint: Endpoint, server: Server, fault: Reply, sent: bool
) -> None:
    server.answer = lambda request: fault
    with pytest.raises(ProviderError) as caught:
        endpoint.send("POST", "x", Deadline(1), b"{}", attempts=1)
    assert isinstance(caught.value, attempts.Unanswered) is sent


def test_what_is_no_http_is_told_without_the_key() -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        found = Endpoint("acme", f"http://127.0.0.1:{listening.getsockname()[1]}", KEY)

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(f"you sent {KEY.reveal()}\r\n\r\n".encode())

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(ProviderError) as caught:
            found.send("GET", "x", Deadline(5), attempts=1)
        thread.join()
        found.close()
    assert "cannot be reached" in str(caught.value)
    assert "[REDACTED:key]" in str(caught.value)
    assert KEY.reveal() not in str(caught.value)


def test_an_address_of_another_host_gets_no_request(endpoint: Endpoint, server: Server) -> None:
    with pytest.raises(ProviderError, match="another host"):
        endpoint.send("GET", "http://127.0.0.2:9/file", Deadline(5))
    endpoint.send("GET", server.url + "/other", Deadline(5))
    assert server.requests[0].path == "/other"


def test_neither_logs_nor_reprs_hold_the_key(
    endpoint: Endpoint, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    server.script = [BUSY, Reply({"error": KEY.reveal()}, 401)]
    with caplog.at_level(logging.DEBUG):
        refused(endpoint)
    assert KEY.reveal() not in caplog.text + repr(vars(endpoint))


def test_proxies_are_not_asked_for_this_machine(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    found = Endpoint("acme", server.url)
    assert found.is_loopback
    assert found.get("x", Deadline(5)) == {"ok": True}
    found.close()
