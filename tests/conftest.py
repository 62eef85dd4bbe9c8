"""What holds for every test: a private home, no settings from outside, no network but loopback."""

from __future__ import annotations

import ipaddress
import itertools
import math
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from commonplace.index import store
from commonplace.providers.http import Endpoint

_FIXTURE_CHECK = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
for _name, _examples in (("default", 15), ("slow", 60)):
    settings.register_profile(
        _name,
        deadline=None,
        max_examples=_examples,
        derandomize=bool(os.environ.get("CI")),
        suppress_health_check=_FIXTURE_CHECK,
    )

_fsync = os.fsync

_connect, _connect_ex, _getaddrinfo = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

# Tools that are tested are imported by their names.
sys.path.append(os.fspath(Path(__file__).parents[1] / "tools"))

# A shell starts what it runs in the background with Ctrl-C ignored, and every child inherits that.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--slow",
        action="store_true",
        help="run the tests that repeat a lot, and property tests with more examples",
    )


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("slow" if config.getoption("--slow") else "default")


_LISTED = frozenset(Path(__file__).with_name("slow.txt").read_text("utf-8").splitlines())


def _is_marked(item: pytest.Item) -> bool:
    return item.get_closest_marker("slow") is not None  # keywords hold the names of folders as well


def _is_slow(item: pytest.Item) -> bool:
    return _is_marked(item) or item.nodeid.partition("[")[0].removeprefix("tests/") in _LISTED


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave slow tests out, but for one that is named; with --slow keep them and property tests alone."""
    if config.getoption("--slow"):
        chosen = [item for item in items if _is_slow(item) or is_hypothesis_test(getattr(item, "obj", None))]
    elif any("::" in argument for argument in config.args):
        chosen = [item for item in items if not _is_marked(item)]
    else:
        chosen = [item for item in items if not _is_slow(item)]
    kept = set(chosen)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = chosen


@pytest.fixture(scope="session", autouse=True)
def no_fsync() -> Iterator[None]:
    """Do not wait for the disk: the files of a test need not outlive the machine. REAL_FSYNC=1 waits."""
    with pytest.MonkeyPatch.context() as patch:
        if not os.environ.get("REAL_FSYNC"):
            patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(autouse=True)
def marked_fsync(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for the disk all the same in tests of what is forced to it, which are marked `fsync`."""
    if request.node.get_closest_marker("fsync"):
        monkeypatch.setattr(os, "fsync", _fsync)


@pytest.fixture
def reachable_path() -> Iterator[Path]:
    """A folder that other users of the machine reach: not pytest's own, which any pytest that starts closes to them."""
    with tempfile.TemporaryDirectory(prefix="reachable-", ignore_cleanup_errors=True) as folder:
        path = Path(folder).resolve()
        path.chmod(0o755)
        yield path


class NetworkRefusedError(AssertionError):
    """A test reached for the network."""


def _is_local(address: object) -> bool:
    if isinstance(address, str | bytes):
        return True  # a Unix socket
    host = address[0] if isinstance(address, tuple) and address else None
    if host in ("localhost", "", None):
        return True
    try:
        return ipaddress.ip_address(str(host).split("%")[0]).is_loopback
    except ValueError:
        return False


def _check(address: object) -> None:
    if not _is_local(address):
        raise NetworkRefusedError(f"no network in tests: {address!r}")


@pytest.fixture(scope="session", autouse=True)
def closed_connections() -> Iterator[None]:
    """Close the connections of models, which live as long as their process, before it says so."""
    opened: list[Endpoint] = []
    connect = Endpoint._opened

    def tracked(endpoint: Endpoint) -> object:
        opened.append(endpoint)
        return connect(endpoint)

    Endpoint._opened = tracked  # type: ignore[method-assign,assignment]
    yield
    Endpoint._opened = connect  # type: ignore[method-assign]
    for endpoint in opened:
        endpoint.close()


@pytest.fixture(scope="session", autouse=True)
def private_settings(tmp_path_factory: pytest.TempPathFactory, no_sockets: Path) -> Iterator[None]:
    """Keep the key of what is made for several tests at once out of the home of whoever runs them."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("CONFIG", "CACHE", "STATE"):
            patch.setenv(f"XDG_{name}_HOME", str(tmp_path_factory.mktemp("settings")))
        patch.setenv("XDG_RUNTIME_DIR", str(no_sockets))
        yield


@pytest.fixture(scope="session")
def no_sockets() -> Iterator[Path]:
    """A runtime folder in which no program finds or starts a warm server, which would answer in another test.

    A folder of sockets that others may enter is not used; what tests a server names one of its own.
    """
    with tempfile.TemporaryDirectory(prefix="run-") as folder:
        (Path(folder) / "commonplace").mkdir()
        (Path(folder) / "commonplace").chmod(0o755)
        yield Path(folder)


@pytest.fixture(autouse=True)
def nothing_of_another_test() -> Iterator[None]:
    """Forget the models behind a server, made with the keys of one test's environment; close state files."""
    yield
    catalog = sys.modules.get("commonplace.providers.catalog")
    for table in (catalog.EMBEDDERS, catalog.LLMS, catalog.RERANKERS) if catalog is not None else ():
        for spec in [spec for spec in table.made if spec.provider not in ("builtin", "fake")]:
            model = table.made.pop(spec)
            if hasattr(model, "close"):
                model.close()
    opening = sys.modules.get("commonplace.providers.opening")
    if opening is not None:
        opening.SHARED._states.clear()
    state = sys.modules.get("commonplace.storage.state")
    for place in list(state._files) if state is not None else ():  # a process keeps them open
        state.close(place)


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse connections and look-ups beyond loopback."""

    def connect(self: socket.socket, address: object) -> object:
        _check(address)
        return _connect(self, address)

    def connect_ex(self: socket.socket, address: object) -> object:
        _check(address)
        return _connect_ex(self, address)

    def getaddrinfo(host: object, *arguments: object, **named: object) -> object:
        _check((host,))
        return _getaddrinfo(host, *arguments, **named)

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(socket.socket, "connect_ex", connect_ex)
    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


@pytest.fixture(scope="session", autouse=True)
def no_holds() -> Iterator[None]:
    """Let each look at the files count for its own question alone, however long a busy machine takes for it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "SLOW_SCAN_S", math.inf)
        yield


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folders to come, each a home: `mktemp` would look through those of thousands of tests for each."""
    folder = tmp_path_factory.mktemp("homes")
    return (folder / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def private_home(homes: Iterator[Path], no_sockets: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the test a home of its own and none of the variables that steer commonplace."""
    home = next(homes)
    home.mkdir()
    for name in list(os.environ):
        if name.startswith(("COMMONPLACE_", "XDG_")) or name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    for name in ("CONFIG", "CACHE", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / name.lower()))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(no_sockets))
    return home
