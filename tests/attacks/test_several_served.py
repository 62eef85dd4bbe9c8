"""Several memories behind servers: whoever comes in as one agent is told nothing of what is another's."""

from __future__ import annotations

import json
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from commonplace.cli import shortcut
from commonplace.cli.doors import DOORS
from commonplace.cli.serving import WORKER
from commonplace.cli.session import Caller
from commonplace.config.credentials import Secret
from commonplace.servers import access, local
from commonplace.servers.access import Access
from commonplace.servers.local_server import LocalServer
from commonplace.servers.methods import respond
from commonplace.servers.protocol import Connection
from commonplace.servers.workers import Workers
from tests.attacks.realm import AGENTS, DAY, EVERYWHERE, LIMITED, Place, Realm, build, enter, settings
from tests.attacks.realm import built as built
from tests.servers.conftest import Client, Served

Ask = Callable[[str, dict[str, Any]], Any]
Way = Callable[[Realm, str], AbstractContextManager[Ask]]
TOKEN = Secret("correct-horse-battery")
NOTE = {"type": "ref/resource", "uri": "commonplace://{collection}/{+path}"}
GREETING = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bob", "version": "1"},
}


def tool(name: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    return "tools/call", {"name": f"memory_{name}", "arguments": arguments}


def resource(uri: str) -> tuple[str, dict[str, Any]]:
    return "resources/read", {"uri": uri}


def completion(ref: dict[str, str], name: str, value: str, **chosen: str) -> tuple[str, dict[str, Any]]:
    argument = {"name": name, "value": value}
    return "completion/complete", {"ref": ref, "argument": argument, "context": {"arguments": chosen}}


# What names nothing that is somebody else's.
PLAIN = [
    *((f"{kind}/list", {}) for kind in ("tools", "prompts", "resources", "resources/templates")),
    *(tool("search", query=EVERYWHERE, layer=layer) for layer in ("full", "snippet", "index")),
    tool("search", query=EVERYWHERE, history=True), tool("search", query=EVERYWHERE, as_of=DAY),
    tool("search", query=f"on:{DAY}"), tool("search", query="nothing-of-this-kind"),
    tool("search", query=EVERYWHERE, collections=["nowhere"]), tool("search", query=EVERYWHERE, path="*"),
    *(tool("get", path=path) for path in ("MEMORY.md", "plan.md", "[[plan]]", "#000000", "nowhere:MEMORY.md", "")),
    *(tool("timeline", anchor=anchor) for anchor in (DAY, "2026-02", "1999-01-01", f"memory/{DAY}.md", "plan.md")),
    tool("status"), tool("correct", old="The harbour belongs to nobody.", new="It does not."),
    tool("forget", what="MEMORY.md:1"), tool("forget", what="nothing of this kind"),
    resource("commonplace://memory/MEMORY.md"), resource("commonplace://nowhere/MEMORY.md"),
    resource("commonplace://memory/plan.md"),
    ("prompts/get", {"name": "recall", "arguments": {"query": EVERYWHERE}}), ("prompts/get", {"name": "reflect"}),
    *(completion({"type": "ref/prompt", "name": "recall"}, "query", letter) for letter in ("", "p", "m", "o")),
    *(completion(NOTE, "collection", letter) for letter in ("", "s", "m", ":")),
    *(completion(NOTE, "path", "", collection=name) for name in ("memory", "", "nowhere", "*")),
]  # fmt: skip


def aimed(realm: Realm, place: Place) -> list[tuple[str, dict[str, Any]]]:
    """What names a workspace: its folder, its names, words of it."""
    (root, named, told), team = place, realm["team"].named
    paths = (
        f"{named}:MEMORY.md", f"{named}:memory/{named}-plan.md#L1-L20", f"{root}/MEMORY.md", f"[[{named}-plan]]",
        f"../{named}-home/MEMORY.md", f"{team}:../{named}-home/MEMORY.md", f"{team}:{named}:MEMORY.md",
        f"{named}:#000000", f"{place.collection}/{named}-book.md", f"{team}:{place.collection}/{named}-book.md",
    )  # fmt: skip
    return [
        *(tool("get", path=path) for path in paths),
        *(tool("timeline", anchor=path) for path in paths),
        *(tool("search", query=query) for query in (told, named, f"#{told}", f"{EVERYWHERE} in:{place.collection}")),
        *(
            tool("search", query=EVERYWHERE, collections=[name])
            for name in (place.collection, named, f"{named}:memory", f"{named}:{place.collection}")
        ),
        *(tool("search", query=EVERYWHERE, path=path) for path in (f"{named}:memory/*", f"{root}/memory/*")),
        *(tool("correct", old=old, new="It is no more.") for old in (told, f"{named}:MEMORY.md:5")),
        *(tool("forget", what=what) for what in (told, f"{named}:MEMORY.md", f"{named}:MEMORY.md:5")),
        tool("forget", what=named, kind="person"), tool("forget", what=f"{named}-talk", kind="session"),
        *(
            resource(f"commonplace://{uri}")
            for uri in (
                f"{named}:memory/MEMORY.md", f"memory/{named}:MEMORY.md", f"memory/..%2f{named}-home/MEMORY.md",
                f"{place.collection}/{named}-book.md", f"{named}:{place.collection}/{named}-book.md",
                f"memory/%2f{str(root)[1:].replace('/', '%2f')}%2fMEMORY.md", f"{team}:memory/{named}:MEMORY.md",
            )
        ),
        ("prompts/get", {"name": "recall", "arguments": {"query": told}}),
        *(completion({"type": "ref/prompt", "name": "recall"}, "query", word) for word in place[1:]),
        *(completion(NOTE, "collection", word) for word in place[1:]),
        *(completion(NOTE, "path", "", collection=name) for name in (f"{named}:memory", place.collection)),
    ]  # fmt: skip


def texts(value: Any) -> Iterator[str]:
    """The texts in a value."""
    match value:
        case dict():
            for one in value.values():
                yield from texts(one)
        case list() | tuple():
            for one in value:
                yield from texts(one)
        case str():
            yield value


def pieces(value: Any) -> list[str]:
    """What somebody said in a question, whole and in parts, which may stand in an error."""
    from re import split
    from urllib.parse import unquote

    said = [one for text in texts(value) for one in (text, unquote(text))]
    return [part for one in said for part in (one, *split(r"[:,#]|\[\[|\]\]|://|(?<=memory)/", one)) if part]


# --- ways in --------------------------------------------------------------------------------------------


@contextmanager
def by_itself(realm: Realm, agent: str) -> Iterator[Ask]:
    """What serves an agent, called."""
    service = shortcut.service_of(Caller(str(realm.readable(agent)[0].root), agent))
    connection = Connection("2025-11-25")

    def ask(method: str, params: dict[str, Any]) -> Any:
        return respond({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, connection, service)

    try:
        yield ask
    finally:
        service.close()


@contextmanager
def by_process(realm: Realm, agent: str) -> Iterator[Ask]:
    """A process that the agent's client starts, in a folder that is somebody else's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(realm["owner"].root)
        client = Client("--agent", agent)
    client.ask("initialize", GREETING)
    yield client.ask
    out, err, _ = client.end()
    assert realm.leaks(agent, out, err) == []


@contextmanager
def by_socket(realm: Realm, agent: str) -> Iterator[Ask]:
    """The warm server of a workspace that this agent may not read, which others use as well."""
    root = realm["owner"].root
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(prefix="run-") as folder:
        patch.setenv("XDG_RUNTIME_DIR", folder)
        server = LocalServer(str(root), shortcut.services_of(str(root)), DOORS, idle_s=60)
        assert server.listen()
        thread = threading.Thread(target=server.serve)
        thread.start()
        asked = {"question": EVERYWHERE, "options": {}, "screens": [[False, False, None]] * 2}
        assert "printed" in local.call(root, "search", "", asked, 30)
        connection = local.connect(root)
        assert connection is not None
        connection.settimeout(None)
        connection.sendall(local.line("mcp", str(root), agent, {}))
        with open(connection.fileno(), "rb", closefd=False) as source:
            assert "ready" in json.loads(source.readline())

            def ask(method: str, params: dict[str, Any]) -> Any:
                message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
                connection.sendall(json.dumps(message).encode() + b"\n")
                return json.loads(source.readline())

            try:
                ask("initialize", GREETING)
                yield ask
            finally:
                connection.close()
                server.end()
                thread.join(60)


def post(port: int, path: str, token: str, method: str, params: object = None) -> tuple[int, Any]:
    """Ask over HTTP; return the status and the answer."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Content-Type": "application/json", "MCP-Protocol-Version": "2025-11-25"}
    headers |= {"Authorization": f"Bearer {token}"} if token else {}
    connection.request("POST", path, json.dumps(message), headers)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, json.loads(text) if text.startswith(b"{") else text.decode()


@contextmanager
def over_http(asking: Caller, allowed: Access) -> Iterator[Served]:
    """Serve whoever asks over HTTP, and all that is served by itself there."""
    service = shortcut.service_of(asking)
    server = Served(service, allowed, shortcut.apart_of(asking))
    try:
        yield server
    finally:
        server.end()
        service.close()


@contextmanager
def by_address(realm: Realm, agent: str) -> Iterator[Ask]:
    """The agent's own address of the owner's server."""
    place = f"/agents/{agent}"
    with over_http(Caller(str(realm["owner"].root), ""), Access(TOKEN)) as server:
        own = access.part(TOKEN, place).reveal()
        assert post(server.port, "/mcp", TOKEN.reveal(), *tool("search", query=EVERYWHERE))[0] == 200

        def ask(method: str, params: dict[str, Any]) -> Any:
            return post(server.port, f"{place}/mcp", own, method, params)[1]

        yield ask
        assert realm.leaks(agent, "\n".join(server.lines)) == []


@contextmanager
def as_server(realm: Realm, agent: str) -> Iterator[Ask]:
    """A server of the agent's own."""
    with over_http(Caller(str(realm.readable(agent)[0].root), agent), Access(TOKEN)) as server:
        yield lambda method, params: post(server.port, "/mcp", TOKEN.reveal(), method, params)[1]


@contextmanager
def by_worker(realm: Realm, agent: str) -> Iterator[Ask]:
    """A process beside a server, which the owner asks as well."""
    asking = [Caller(str(realm["owner"].root), ""), Caller(str(realm.readable(agent)[0].root), agent)]
    owner, own = [shortcut.service_of(one).place for one in asking]
    assert owner is not None
    assert own is not None
    beside, connection = Workers(WORKER, 1), Connection("2025-11-25")
    beside.start(owner)
    end = time.monotonic() + 60
    while not beside.is_ready and time.monotonic() < end:
        time.sleep(0.02)

    def ask(method: str, params: dict[str, Any]) -> Any:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = beside.answer(own, connection, message)
        assert answer is not None
        return answer

    try:
        method, params = tool("search", query=EVERYWHERE)
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        assert "result" in json.dumps(beside.answer(owner, connection, message))
        yield ask
    finally:
        beside.close()


WAYS = (by_itself, by_process, by_socket, by_address, as_server, by_worker)
# One way is asked everything, the others some of it; with --slow all of it.
STEPS = [
    *(pytest.param(way, 2 if way is by_itself else 9, id=way.__name__) for way in WAYS),
    *(pytest.param(way, 1, id=f"{way.__name__}-all", marks=pytest.mark.slow) for way in WAYS[1:]),
]


@pytest.fixture
def realm(built: Realm, monkeypatch: pytest.MonkeyPatch) -> Realm:
    enter(built, monkeypatch)
    return built


@pytest.mark.parametrize("agent", LIMITED)
@pytest.mark.parametrize(("way", "step"), STEPS)
def test_no_answer_holds_what_is_closed(realm: Realm, agent: str, way: Way, step: int) -> None:
    with way(realm, agent) as ask:
        for message in PLAIN[::step]:
            answer = json.dumps(ask(*message), ensure_ascii=False)
            assert realm.leaks(agent, answer) == [], (message, answer)
        for place in realm.forbidden(agent):
            for message in aimed(realm, place)[::step]:
                answer = json.dumps(ask(*message), ensure_ascii=False)
                assert realm.leaks(agent, answer, echoed=pieces(message)) == [], (message, answer)
        found = json.dumps(ask(*tool("search", query=EVERYWHERE, limit=50)))
        for place in realm.readable(agent):
            assert all(word in found for word in place[1:])


# --- addresses and tokens -------------------------------------------------------------------------------


SEARCH = tool("search", query=EVERYWHERE, limit=50)


def held(realm: Realm, answer: object) -> set[str]:
    """Whose workspaces an answer holds words of."""
    text = json.dumps(answer)
    return {name for name, place in realm.places.items() if any(word in text for word in place[1:])}


def test_a_token_lets_in_at_its_own_address_alone(realm: Realm) -> None:
    places = [*(f"/agents/{agent}" for agent in LIMITED), "/workspaces/zorvex", "/workspaces/quillon"]
    owner = Caller(
        str(realm["owner"].root), "", True, tuple(str(realm[one].root) for one in ("alice", "bob"))
    )
    expected = [{"alice", "team"}, {"bob", "team"}, {"team"}, {"alice"}, {"bob"}]
    with over_http(owner, Access(TOKEN)) as server:
        for place, whose in zip(places, expected, strict=True):
            for other in ["", *places]:
                status, answer = post(
                    server.port, f"{other}/mcp", access.part(TOKEN, place).reveal(), *SEARCH
                )
                assert (status, held(realm, answer)) == ((200, whose) if other == place else (401, set()))
            assert held(realm, post(server.port, f"{place}/mcp", TOKEN.reveal(), *SEARCH)[1]) == whose
        assert held(realm, post(server.port, "/mcp", TOKEN.reveal(), *SEARCH)[1]) == {"owner", "alice", "bob"}


TRICKS = [
    "/agents/{}/mcp", "/agents/{}/mcp%0A", "/agents/{}%0A/mcp", "/agents/{}/mcp%0D", "//agents/{}/mcp", "/agents//{}/mcp",
    "/./agents/{}/mcp", "/x/../agents/{}/mcp", "/agents/../agents/{}/mcp", "/Agents/{}/mcp", "/agents/{}/mcp/",
    "/agents/{}/mcp/mcp", "/agents/{}%2Fmcp", "/agents%2F{}/mcp", "/agents/{}/MCP", "/mcp/agents/{}/mcp",
    "/agents/{}/mcp?x=/health", "/agents/{}/mcp;x", "/agents/{}/mcp%00", "/agents/{} /mcp", "/agents/%61lice/mcp",
    "/agents/.%2F{}/mcp", "/health/../agents/{}/mcp", "/agents/{}/%6dcp", "/workspaces/zorvex/mcp%0A",
]  # fmt: skip


@pytest.mark.parametrize("allowed", [Access(), Access(TOKEN)], ids=["without a token", "with a token"])
def test_no_address_leads_to_another_agent(realm: Realm, allowed: Access) -> None:
    own = access.part(TOKEN, "/agents/bob").reveal()
    server_of = Caller(str(realm["bob"].root), "bob")
    with over_http(server_of, allowed) as server:
        for trick in TRICKS:
            path = trick.format("alice").replace(" ", "%20")
            status, answer = post(server.port, path, own if allowed.token else "", *SEARCH)
            assert status >= 300
            assert held(realm, answer) == set(), path
        assert realm.leaks("bob", "\n".join(server.lines)) == []


def test_no_words_of_an_address_are_recorded(realm: Realm) -> None:
    with over_http(Caller(str(realm["owner"].root), ""), Access(TOKEN)) as server:
        for path in (
            "/heron/heron/mcp",
            "/agents/heron/mcp",
            "/x/heron%0Aheron/mcp",
            "/heron/x/mcp%0A",
            "/mcp%0A",
        ):
            post(server.port, path, TOKEN.reveal(), *SEARCH)
        post(server.port, "/agents/alice/mcp", TOKEN.reveal(), *SEARCH)
        assert server.recorded("/agents/alice/mcp")
        assert not any("heron" in line or "\n" in line for line in server.lines)


def test_a_server_of_a_limited_agent_serves_no_other(realm: Realm) -> None:
    with over_http(Caller(str(realm["alice"].root), "alice"), Access(TOKEN)) as server:
        for place in (
            "/agents/bob",
            "/agents/reader",
            "/agents/Alice",
            "/workspaces/quillon",
            "/workspaces/x",
        ):
            assert post(server.port, f"{place}/mcp", TOKEN.reveal(), *SEARCH) == (
                404, {"error": "nothing of this name is served"},
            )  # fmt: skip
        token = access.part(TOKEN, "/workspaces/brinnet").reveal()
        assert held(realm, post(server.port, "/workspaces/brinnet/mcp", token, *SEARCH)[1]) == {"team"}
        token = access.part(TOKEN, "/agents/alice").reveal()
        assert held(realm, post(server.port, "/agents/alice/mcp", token, *SEARCH)[1]) == {"alice", "team"}


# --- what changes while a server runs -------------------------------------------------------------------


def test_access_that_is_withdrawn_ends_with_the_next_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    realm = build(tmp_path)
    enter(realm, monkeypatch)
    config = tmp_path / "config" / "commonplace" / "config.toml"
    given = config.read_text()
    with ExitStack() as stack:
        asks = [
            stack.enter_context(way(realm, "alice")) for way in (by_itself, by_socket, by_address, as_server)
        ]
        assert [held(realm, ask(*SEARCH)) for ask in asks] == [{"alice", "team"}] * 4
        config.write_text(settings(realm, {**AGENTS, "alice": 'reads = []\nwrites = "{alice}"'}))
        assert [held(realm, ask(*SEARCH)) for ask in asks] == [{"alice"}] * 4
        get = tool("get", path="brinnet:MEMORY.md")
        assert ["isError" in json.dumps(ask(*get)) for ask in asks] == [True] * 4
        config.write_text(given + "[agents.eve]\nreads = 5\n")
        assert [held(realm, ask(*SEARCH)) for ask in asks] == [set()] * 4
        config.write_text(given)
        assert [held(realm, ask(*SEARCH)) for ask in asks] == [{"alice", "team"}] * 4
        realm["team"].root.rename(tmp_path / "brinnet-away")
        answers = [ask(*SEARCH) for ask in asks]
        assert ["alice" in held(realm, answer) for answer in answers] == [True] * 4
        assert not any(realm.leaks("alice", json.dumps(answer)) for answer in answers)


def test_a_table_that_goes_leaves_no_address(
    realm: Realm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent that is limited to nothing any more would have all at its address."""
    realm = build(tmp_path)
    enter(realm, monkeypatch)
    config = tmp_path / "config" / "commonplace" / "config.toml"
    with over_http(Caller(str(realm["owner"].root), ""), Access(TOKEN)) as server:
        own = access.part(TOKEN, "/agents/alice").reveal()
        assert held(realm, post(server.port, "/agents/alice/mcp", own, *SEARCH)[1]) == {"alice", "team"}
        config.write_text(settings(realm, {"bob": AGENTS["bob"]}))
        assert post(server.port, "/agents/alice/mcp", own, *SEARCH)[0] == 404
