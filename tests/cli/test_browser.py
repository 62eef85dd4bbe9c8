"""`web` and `serve --open`: the browser is led to the page by a file for its user's eyes, and let in by a code."""

from __future__ import annotations

import json
import re
import stat
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from commonplace.base.paths import Workspace, server_note, user_config_dir
from commonplace.cli import browser
from commonplace.config.credentials import Secret
from commonplace.servers import daemon
from commonplace.servers.access import Access
from commonplace.servers.daemon import Running
from commonplace.servers.methods import Service
from tests.cli.conftest import Program, called
from tests.cli.conftest import program as program
from tests.servers.api.conftest import TOKEN
from tests.servers.conftest import Served
from tests.servers.conftest import service as service

ADDRESS = re.compile(r"(http://127\.0\.0\.1:\d+/)#code=([\w-]{32})\n")


@pytest.fixture
def no_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COMMONPLACE_SERVER_PORT", "0")
    monkeypatch.setattr(sys, "platform", "linux")


def enter(port: int, code: str) -> int:
    """The status of an exchange of a code."""
    return exchanged(port, code)[0]


def exchanged(port: int, code: str) -> tuple[int, bool]:
    """The status of an exchange of a code, and whether the browser that it lets in reaches beyond the workspace."""
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {"Content-Type": "application/json", "Origin": f"http://127.0.0.1:{port}"}
    try:
        connection.request("POST", "/api/visits", json.dumps({"code": code}), headers)
        answer = connection.getresponse()
        key, cookie = json.loads(answer.read()).get("key"), answer.headers.get("set-cookie", "").split(";")[0]
        if answer.status != 200:
            return answer.status, False
        connection.request("GET", "/api/caller", headers={"Cookie": cookie, "X-Commonplace-Key": key})
        return answer.status, json.loads(connection.getresponse().read())["reaches"]
    finally:
        connection.close()


def test_the_page_is_served_and_its_address_told_where_no_browser_is(
    program: Program, workspace: Path, no_screen: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, team = Workspace(workspace), tmp_path / "team"
    team.mkdir()
    try:
        first = program("web")
        assert first.returncode == 0, first.stderr
        running = daemon.find(home)
        assert running is not None
        told = ADDRESS.search(first.stdout.decode())
        assert told is not None
        assert told[1] == f"{running.url}/"
        again = ADDRESS.search(program("web", "--no-browser").stdout.decode())
        assert again is not None
        codes = told[2], again[2], told[2]
        assert [exchanged(running.port, code) for code in codes] == [(200, True), (200, True), (403, False)]
        assert stat.S_IMODE(server_note(home).stat().st_mode) == 0o600
        both = program("-w", team, "web", "--no-browser")  # which this server does not serve
        assert (both.returncode, both.stdout) == (1, b"")
        assert (
            f"at {running.url}, does not serve team; end it with `commonplace -w {workspace} serve stop`"
            in (both.stderr.decode())
        )
        assert program("web", "--port", "1").returncode == 1
        monkeypatch.setenv("COMMONPLACE_SERVER_PORT", str(running.port))
        beside = ADDRESS.search(called("-w", team, "web", "--no-browser").stdout.decode())
        assert beside is not None
        assert beside[1] != told[1]
    finally:
        daemon.stop(home)
        daemon.stop(Workspace(team))


@pytest.fixture
def running(service: Service) -> Iterator[Running]:
    """A server in this process, as it is noted."""
    served = Served(service, Access(TOKEN))
    yield Running(1, "", "abc", "127.0.0.1", served.port, "")
    served.end()


def test_a_browser_is_given_a_file_and_no_code(
    running: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = tmp_path / "seen"
    program = tmp_path / "browser"
    program.write_text(f'#!/bin/sh\nprintf "%s" "$1" > "{seen}"\n')
    program.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{program} %s")
    browser.show_page(running, TOKEN)
    assert capsys.readouterr().out == ""
    page = user_config_dir() / "servers" / "page.html"
    assert seen.read_text() == page.as_uri()
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    code = re.search(r"#code=([\w-]+)", page.read_text())
    assert code is not None
    assert enter(running.port, code[1]) == 200


def test_a_server_that_does_not_let_in_is_said(running: Running, no_screen: None) -> None:
    with pytest.raises(browser.ConfigError, match="lets nobody in: the token is wrong"):
        browser.show_page(running, Secret("wrong-wrong-wrong-wrong"))
    with pytest.raises(browser.ConfigError, match="its token is sent to loopback alone; serve it with"):
        browser.show_page(running._replace(host="192.0.2.1"), TOKEN)
    with pytest.raises(browser.ConfigError, match="does not answer"):
        browser.show_page(running._replace(port=1), TOKEN)


def test_a_server_without_a_token_needs_no_code(
    running: Running, no_screen: None, capsys: pytest.CaptureFixture[str]
) -> None:
    browser.show_page(running, Secret(""))
    assert capsys.readouterr().out == f"{running.url}/\n"
