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
from commonplace.cli.session import Caller
from commonplace.config.credentials import Secret
from commonplace.servers import access, local, running
from commonplace.servers.access import Access
from commonplace.servers.methods import respond
from commonplace.servers.protocol import Connection
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
        served = shortcut.served_of(str(root))
        thread = threading.Thread(target=running.serve_programs, args=(served,))
        thread.start()
        while (connection := local.connect(root)) is None:
            time.sleep(0.01)
        connection.close()
        asked = {"question": EVERYWHERE, "options": {}, "screens": [[False, False, None]] * 2}
        assert "printed" in local.call(root, "search", "", asked, 30)

        def ask(method: str, params: dict[str, Any]) -> Any:
            message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            connection = local.connect(root)
            assert connection is not None
            return json.loads(local.exchange(connection, local.MCP, agent, json.dumps(message).encode(), 60))

        try:
            ask("initialize", GREETING)
            yield ask
        finally:
            local.call(root, "retire", "", {}, 30)
            thread.join(60)


def post(
    port: int, token: str, method: str, params: object = None, path: str = "/mcp", **named: str
) -> tuple[int, Any]:
    """Ask over HTTP, the agent or workspace that is named; return the status and the answer."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Content-Type": "application/json", "MCP-Protocol-Version": "2025-11-25"}
    headers |= {f"Commonplace-{kind}": name for kind, name in named.items()}
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
def by_header(realm: Realm, agent: str) -> Iterator[Ask]:
    """The agent's own token and header at the owner's server."""
    place = f"/agents/{agent}"
    with over_http(Caller(str(realm["owner"].root), ""), Access(TOKEN)) as server:
        own = access.part(TOKEN, place).reveal()
        assert post(server.port, TOKEN.reveal(), *tool("search", query=EVERYWHERE))[0] == 200

        def ask(method: str, params: dict[str, Any]) -> Any:
            return post(server.port, own, method, params, agent=agent)[1]

        yield ask
        assert realm.leaks(agent, "\n".join(server.lines)) == []


@contextmanager
def as_server(realm: Realm, agent: str) -> Iterator[Ask]:
    """A server of the agent's own."""
    with over_http(Caller(str(realm.readable(agent)[0].root), agent), Access(TOKEN)) as server:
        yield lambda method, params: post(server.port, TOKEN.reveal(), method, params)[1]


WAYS = (by_itself, by_process, by_socket, by_header, as_server)
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


# --- headers and tokens ---------------------------------------------------------------------------------


SEARCH = tool("search", query=EVERYWHERE, limit=50)


def held(realm: Realm, answer: object) -> set[str]:
    """Whose workspaces an answer holds words of."""
    text = json.dumps(answer)
    return {name for name, place in realm.places.items() if any(word in text for word in place[1:])}


def place_of(kind: str, name: str) -> str:
    """What the token for a header is derived from."""
    return f"/{kind}s/{name}"


def test_a_token_lets_in_with_its_own_header_alone(realm: Realm) -> None:
    named = [*(("agent", agent) for agent in LIMITED), ("workspace", "zorvex"), ("workspace", "quillon")]
    owner = Caller(
        str(realm["owner"].root), "", True, tuple(str(realm[one].root) for one in ("alice", "bob"))
    )
    expected = [{"alice", "team"}, {"bob", "team"}, {"team"}, {"alice"}, {"bob"}]
    with over_http(owner, Access(TOKEN)) as server:
        for own, whose in zip(named, expected, strict=True):
            token = access.part(TOKEN, place_of(*own)).reveal()
            assert post(server.port, token, *SEARCH)[0] == 401
            for kind, name in named:
                status, answer = post(server.port, token, *SEARCH, **{kind: name})
                assert (status, held(realm, answer)) == (
                    (200, whose) if (kind, name) == own else (401, set())
                )
            assert held(realm, post(server.port, TOKEN.reveal(), *SEARCH, **dict([own]))[1]) == whose
        assert held(realm, post(server.port, TOKEN.reveal(), *SEARCH)[1]) == {"owner", "alice", "bob"}
        clients = access.part(TOKEN, access.CLIENTS).reveal()
        assert held(realm, post(server.port, clients, *SEARCH)[1]) == {"owner", "alice", "bob"}
        for own in named:
            assert post(server.port, clients, *SEARCH, **dict([own]))[0] == 401


NAMES = [
    "alice",
    "",
    " ",
    "/",
    "alice/",
    "/alice",
    "bob/../alice",
    "%61lice",
    "Alice",
    "alice,bob",
    "@",
    "*",
    "owner",
]


@pytest.mark.parametrize("allowed", [Access(), Access(TOKEN)], ids=["without a token", "with a token"])
def test_no_header_leads_to_another_agent(realm: Realm, allowed: Access) -> None:
    own = access.part(TOKEN, "/agents/bob").reveal()
    server_of = Caller(str(realm["bob"].root), "bob")
    asked = json.dumps({"named": True, "beside": [str(realm["alice"].root)], "everything": True})
    with over_http(server_of, allowed) as server:
        token = own if allowed.token else ""
        for name in NAMES:
            for named in ({"agent": name}, {"workspace": name}, {"agent": "bob", "workspace": name}):
                status, answer = post(server.port, token, *SEARCH, **named)
                assert status >= 300, named
                assert held(realm, answer) == set(), named
        # What only a program over the Unix socket may ask for is asked for in vain.
        answer = post(server.port, token, *SEARCH, asked=asked, agent="bob")[1]
        assert "alice" not in held(realm, answer)
        for path in ("/local/search", "/local/status", "/local/retire", "/agents/bob/mcp"):
            assert post(server.port, TOKEN.reveal(), *SEARCH, path=path)[0] == 404
        assert realm.leaks("bob", "\n".join(server.lines)) == []


def test_a_header_that_stands_twice_leads_nowhere(realm: Realm) -> None:
    with over_http(Caller(str(realm["owner"].root), ""), Access(TOKEN)) as server:
        connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
        connection.putrequest("POST", "/mcp")
        for name, value in [("Commonplace-Agent", "bob"), ("Commonplace-Agent", "alice"),
                            ("Authorization", f"Bearer {TOKEN.reveal()}"), ("Content-Length", "0")]:  # fmt: skip
            connection.putheader(name, value)
        connection.endheaders()
        assert connection.getresponse().status == 404
        connection.close()


def test_no_words_of_a_header_are_recorded(realm: Realm) -> None:
    with over_http(Caller(str(realm["owner"].root), ""), Access(TOKEN)) as server:
        for named in ({"agent": "heron"}, {"workspace": "heron"}, {"path": "/heron%0Aheron"}):
            post(server.port, TOKEN.reveal(), *SEARCH, **named)
        post(server.port, TOKEN.reveal(), *SEARCH, agent="alice")
        assert server.recorded("POST /mcp tools/call 200")
        assert not any("heron" in line or "\n" in line for line in server.lines)


def test_a_server_of_a_limited_agent_serves_no_other(realm: Realm) -> None:
    with over_http(Caller(str(realm["alice"].root), "alice"), Access(TOKEN)) as server:
        for named in (
            {"agent": "bob"}, {"agent": "reader"}, {"agent": "Alice"}, {"workspace": "quillon"}, {"workspace": "x"},
        ):  # fmt: skip
            assert post(server.port, TOKEN.reveal(), *SEARCH, **named) == (
                404, {"error": "nothing of this name is served"},
            )  # fmt: skip
        token = access.part(TOKEN, "/workspaces/brinnet").reveal()
        assert held(realm, post(server.port, token, *SEARCH, workspace="brinnet")[1]) == {"team"}
        token = access.part(TOKEN, "/agents/alice").reveal()
        assert held(realm, post(server.port, token, *SEARCH, agent="alice")[1]) == {"alice", "team"}


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
            stack.enter_context(way(realm, "alice")) for way in (by_itself, by_socket, by_header, as_server)
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


def test_a_table_that_goes_leaves_no_agent(
    realm: Realm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent that is limited to nothing any more would have all with its header."""
    realm = build(tmp_path)
    enter(realm, monkeypatch)
    config = tmp_path / "config" / "commonplace" / "config.toml"
    with over_http(Caller(str(realm["owner"].root), ""), Access(TOKEN)) as server:
        own = access.part(TOKEN, "/agents/alice").reveal()
        assert held(realm, post(server.port, own, *SEARCH, agent="alice")[1]) == {"alice", "team"}
        config.write_text(settings(realm, {"bob": AGENTS["bob"]}))
        assert post(server.port, own, *SEARCH, agent="alice")[0] == 404
