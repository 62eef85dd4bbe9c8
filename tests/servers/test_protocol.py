"""The protocol without a wire: handshakes, both manners of asking, and whatever else is sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace import Memory
from commonplace.cli import forgetting
from commonplace.edit.forget import requests
from commonplace.render import reports
from commonplace.servers import methods, protocol
from commonplace.servers.methods import METHODS, Service, described
from commonplace.servers.protocol import CAPABILITIES_KEY, VERSION_KEY, Connection, Refusal
from commonplace.servers.resources import TEMPLATE
from commonplace.storage import journal

MODERN = {
    VERSION_KEY: "2026-07-28",
    CAPABILITIES_KEY: {},
    "io.modelcontextprotocol/clientInfo": {"name": "t"},
}


def asked(method: object, params: object = None, id: object = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": {} if params is None else params}


def respond(service: Service, message: object, connection: Connection | None = None) -> Any:
    return methods.respond(message, connection or Connection(), service)


# --- handshakes -----------------------------------------------------------------------------------------


def test_a_handshake_settles_the_revision(service: Service) -> None:
    for wanted, spoken in [(version, version) for version in protocol.HANDSHAKE] + [
        ("2026-07-28", "2025-11-25"),
        ("2025-03-26", "2025-11-25"),
        ("2031-01-01", "2025-11-25"),
        ("", "2025-11-25"),
    ]:
        connection = Connection()
        params = {
            "protocolVersion": wanted,
            "capabilities": {},
            "clientInfo": {"name": "a b<!-- x", "version": "1"},
        }
        answer = respond(service, asked("initialize", params), connection)
        assert answer["result"]["protocolVersion"] == spoken == connection.version
        assert sorted(answer["result"]["capabilities"]) == ["completions", "prompts", "resources", "tools"], (
            wanted,
            spoken,
        )
        assert answer["result"]["serverInfo"]["name"] == "commonplace", (wanted, spoken)
        assert "memory_search" in answer["result"]["instructions"], (wanted, spoken)
        assert connection.client == "a-b-----x", (wanted, spoken)


def test_a_handshake_without_a_revision_is_refused(service: Service) -> None:
    assert respond(service, asked("initialize"))["error"]["code"] == protocol.PARAMS


def test_the_newest_revision_needs_no_handshake(service: Service) -> None:
    found = respond(service, asked("server/discover", {"_meta": MODERN}))["result"]
    assert found["supportedVersions"] == ["2026-07-28"]
    assert (found["resultType"], found["cacheScope"]) == ("complete", "private")
    assert found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "commonplace"
    listed = respond(service, asked("tools/list", {"_meta": MODERN}))["result"]
    assert listed["ttlMs"] > 0
    called = asked("tools/call", {"name": "memory_status", "arguments": {}, "_meta": MODERN})
    result = respond(service, called)["result"]
    assert result["resultType"] == "complete"
    assert "ttlMs" not in result


def test_a_request_that_says_wrongly_what_it_speaks(service: Service) -> None:
    for meta, code in [
        ({VERSION_KEY: "2026-07-28"}, protocol.PARAMS),
        ({VERSION_KEY: 7, CAPABILITIES_KEY: {}}, protocol.PARAMS),
        ({VERSION_KEY: "2027-01-01", CAPABILITIES_KEY: {}}, protocol.VERSION),
        ({VERSION_KEY: "2025-11-25", CAPABILITIES_KEY: {}}, protocol.VERSION),
    ]:
        error = respond(service, asked("tools/list", {"_meta": meta}))["error"]
        assert error["code"] == code
        if code == protocol.VERSION:
            assert error["data"]["supported"] == ["2026-07-28"], (meta, code)


def test_methods_of_the_other_manner_are_not_found(service: Service) -> None:
    for method, meta in [("ping", MODERN), ("server/discover", {}), ("initialise", {})]:
        error = respond(service, asked(method, {"_meta": meta}))["error"]
        assert (error["code"], method in error["message"]) == (protocol.NO_METHOD, True)


# --- messages -------------------------------------------------------------------------------------------


def test_what_is_no_request_is_refused_with_its_id(service: Service) -> None:
    for message, id, code in [
        (5, None, protocol.INVALID),
        ("ping", None, protocol.INVALID),
        (None, None, protocol.INVALID),
        ({}, None, protocol.INVALID),
        ({"jsonrpc": "1.0", "id": 3, "method": "ping"}, 3, protocol.INVALID),
        ({"jsonrpc": "2.0", "id": 3}, 3, protocol.INVALID),
        (asked("ping", id=None), None, protocol.INVALID),
        (asked("ping", id=True), None, protocol.INVALID),
        (asked("ping", id=1.5), None, protocol.INVALID),
        (asked("ping", id=[1]), None, protocol.INVALID),
        (asked(7, id="a"), "a", protocol.INVALID),
        (asked("ping", [1], id=4), 4, protocol.PARAMS),
        (asked("nothing", id=4), 4, protocol.NO_METHOD),
        ([], None, protocol.INVALID),
    ]:
        answer = respond(service, message)
        assert (answer["id"], answer["error"]["code"], answer["jsonrpc"]) == (id, code, "2.0")


def test_ids_come_back_as_they_were(service: Service) -> None:
    assert [respond(service, asked("ping", id=id))["id"] for id in (0, -7, "", "1", 2**70)] == [
        0,
        -7,
        "",
        "1",
        2**70,
    ]


def test_answers_and_notifications_are_not_answered(service: Service) -> None:
    silent = [
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "x"}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/nobody/knows", "params": {"x": 1}},
        {
            "jsonrpc": "2.0",
            "method": "tools/call",
            "params": {"name": "memory_write", "arguments": {"text": "x"}},
        },
    ]
    assert [respond(service, message) for message in silent] == [None] * len(silent)
    assert not list(service.memory.workspace.memory_dir.glob("20[3-9]*"))


def test_what_is_no_json_is_refused() -> None:
    for data in [b"{", b"", b"\xff", b'"\\ud8', b"[" * 100_000, b"NaN", b"1" * 5000, b"{'a': 1}"]:
        with pytest.raises(Refusal) as refusal:
            protocol.decode(data)
        assert refusal.value.code == protocol.PARSE, data


def test_any_text_goes_out_as_one_line_of_utf8() -> None:
    for value in ["茶", "\ud800", "\u2028", "a\nb"]:
        line = protocol.encode({"text": value})
        assert b"\n" not in line, value
        assert json.loads(line.decode()) == {"text": value}


def test_no_revision_has_batches(service: Service) -> None:
    for version in protocol.HANDSHAKE:
        answer = respond(service, [asked("ping", id=1)], Connection(version))
        assert (answer["id"], answer["error"]["code"]) == (None, protocol.INVALID)


def test_a_fault_inside_is_told_to_nobody_but_the_owner(workspace: Path) -> None:
    told: list[str] = []

    def broken() -> Memory:
        raise RuntimeError("the secret is 12345")

    answer = respond(Service(broken, tell=told.append), asked("resources/list"))
    assert answer["error"] == {"code": protocol.INTERNAL, "message": "internal error"}
    assert told == ["RuntimeError while answering a request"]


# --- tools, as they are listed and called ---------------------------------------------------------------


def test_the_list_of_tools_is_short(service: Service) -> None:
    result = respond(service, asked("tools/list", {"_meta": MODERN}))["result"]
    shown = [
        {name: tool[name] for name in ("name", "description", "inputSchema")} for tool in result["tools"]
    ]
    assert len(json.dumps(shown)) <= 4096  # what models see of it, with every letter of Chinese escaped
    assert len(protocol.encode(result)) <= 6144  # what clients get
    hints = {tool["name"]: tool["annotations"] for tool in result["tools"]}
    assert hints.pop("memory_write") == hints.pop("memory_correct") == {"destructiveHint": False}
    assert hints.pop("memory_forget") == {"destructiveHint": True}
    assert set(map(str, hints.values())) == {str({"readOnlyHint": True})}
    assert {described(tool)["inputSchema"]["type"] for tool in _tools()} == {"object"}


def _tools() -> Any:
    from commonplace.agent.tools import TOOLS

    return TOOLS


def test_a_call_answers_text_and_data(service: Service) -> None:
    params = {"name": "memory_search", "arguments": {"query": "deploy", "limit": 1}}
    result = respond(service, asked("tools/call", params))["result"]
    assert result["isError"] is False
    assert result["structuredContent"]["hits"][0]["citation"] in result["content"][0]["text"]
    wrong = {"name": "memory_search", "arguments": {"query": "deploy", "limt": 1}}
    result = respond(service, asked("tools/call", wrong))["result"]
    assert result["isError"] is True
    assert "'limt' is not allowed; allowed are query, limit" in result["content"][0]["text"]


def test_answers_are_text_unless_data_is_asked_for(workspace: Path, service: Service) -> None:
    plain = Service(lambda: service.memory)
    for name, arguments in [
        ("memory_search", {"query": "deploy"}),
        ("memory_get", {"path": "memory/2026-02-13.md", "lines": 2}),
        ("memory_timeline", {"anchor": "2026-02-13"}),
        ("memory_write", {"text": "Tea at four."}),
        ("memory_forget", {"what": "Lin signs it off."}),
        ("memory_status", {}),
        ("memory_get", {"path": "none.md"}),
    ]:
        params = {"name": name, "arguments": arguments}
        result = respond(plain, asked("tools/call", params))["result"]
        assert sorted(result) == ["content", "isError"], name
        assert [sorted(part) for part in result["content"]] == [["text", "type"]], name
        assert "structuredContent" in respond(service, asked("tools/call", params))["result"], name


def test_what_claude_code_is_told_of_tools(service: Service) -> None:
    tools = respond(service, asked("tools/list"))["result"]["tools"]
    meta = {tool["name"]: tool["_meta"] for tool in tools}
    assert sorted(meta) == sorted(tool.name for tool in _tools())
    always = {name for name, about in meta.items() if about.get("anthropic/alwaysLoad")}
    assert always == {"memory_search", "memory_write"}
    hints = {name for name, about in meta.items() if about.get("anthropic/searchHint")}
    assert hints == set(meta) - always
    asking = {name for name, about in meta.items() if about.get("anthropic/requiresUserInteraction")}
    assert asking == {"memory_forget"}
    assert all(about.get("anthropic/maxResultSizeChars", 1) <= 500_000 for about in meta.values())


def test_the_rules_of_use_stand_in_descriptions_as_well() -> None:
    """Some clients drop the instructions of a server."""
    said = {tool.name: tool.description for tool in _tools()}
    assert "before answering" in said["memory_search"]
    assert "path#L12" in said["memory_search"]
    for name in ("memory_search", "memory_get", "memory_timeline"):
        assert "data" in said[name].lower(), name
        assert "instructions" in said[name], name


def test_calls_of_nothing_are_refused(service: Service) -> None:
    for params in [{}, {"name": 5}, {"name": "no"}, {"name": "memory_status", "arguments": [1]}]:
        error = respond(service, asked("tools/call", params))["error"]
        assert error["code"] == protocol.PARAMS, params
        assert "memory_search" in error["message"] or "object" in error["message"], params


def test_a_client_is_noted_as_who_wrote(service: Service, workspace: Path) -> None:
    connection = Connection()
    greeting = {"protocolVersion": "2025-11-25", "clientInfo": {"name": "claude-code"}}
    respond(service, asked("initialize", greeting), connection)
    params = {"name": "memory_write", "arguments": {"text": "Tea at four."}}
    result = respond(service, asked("tools/call", params), connection)["result"]
    note = (workspace / result["structuredContent"]["path"]).read_text()
    assert "Tea at four. <!-- by: agent; agent: claude-code; at: " in note
    service.agent = "ada"  # as its header or `--agent` says, whatever the client calls itself
    params = {"name": "memory_write", "arguments": {"text": "Tea at five."}}
    respond(service, asked("tools/call", params), connection)
    note = (workspace / result["structuredContent"]["path"]).read_text()
    assert "Tea at five. <!-- by: agent; agent: ada; at: " in note


@pytest.mark.parametrize(
    "name", [None, "", " ", "owner", "Owner ", "ｏｗｎｅｒ", "оwner", "owner.", "you", "tool"]
)
def test_no_client_passes_for_the_owner(workspace: Path, name: str | None) -> None:
    connection = Connection()
    greeting = {"protocolVersion": "2025-11-25", "clientInfo": {} if name is None else {"name": name}}
    with Memory.open(workspace, overrides={"forget.by_agents": "allow"}) as memory:
        service = Service(lambda: memory, structured=True)

        def run(tool: str, **arguments: str) -> Any:
            params = {"name": tool, "arguments": arguments}
            return respond(service, asked("tools/call", params), connection)["result"]["structuredContent"]

        respond(service, asked("initialize", greeting), connection)
        run("memory_write", text="The ferns stand in the hall.")
        run("memory_correct", old="The ferns stand in the hall.", new="The ferns stand outside.")
        run("memory_forget", what="ferns", confirm=run("memory_forget", what="ferns")["confirm"])
        changes = list(journal.newest_first(memory.workspace))
        assert [change.about.kind for change in changes] == ["forget", "correct", "remember"]
        for change in changes:
            assert change.about.by == "agent"
            assert change.about.agent.casefold() not in {"owner", "you", "tool"}
            assert change.about.agent.isascii()
        assert "owner" not in {
            cell for line in reports.log_text(changes).split("\n") for cell in line.split()
        }


def test_what_a_client_without_a_name_asks_for_is_an_agents(workspace: Path, service: Service) -> None:
    connection = Connection()
    greeting = {"protocolVersion": "2025-11-25", "clientInfo": {"name": "owner"}}
    respond(service, asked("initialize", greeting), connection)
    service.memory.remember("The ferns stand in the hall.")
    params = {"name": "memory_forget", "arguments": {"what": "ferns"}}
    assert respond(service, asked("tools/call", params), connection)["result"]["structuredContent"]["approve"]
    (request,) = requests.listed(service.memory.workspace)
    assert request.agent == "agent"
    assert " an agent asks to forget by text: ferns" in forgetting._described(request)


# --- whatever is sent -----------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from([*METHODS, "tools/none", ""])
PARAMS = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["memory_search", "memory_get", "memory_timeline", "memory_status", "recall"]) | JSON,
        "arguments": st.dictionaries(
            st.sampled_from(["query", "path", "anchor", "limit", "from", "lines", "before", "after", "layer"]),
            JSON | st.text(st.characters()), max_size=3,
        ) | JSON,
        "uri": st.text() | st.builds("commonplace://memory/{}".format, st.text()) | JSON,
        "cursor": JSON,
        "ref": st.sampled_from(
            [{"type": "ref/prompt", "name": "recall"}, {"type": "ref/resource", "uri": TEMPLATE["uriTemplate"]}]
        ) | JSON,
        "argument": st.fixed_dictionaries(
            {"name": st.sampled_from(["query", "path", "collection"]) | JSON, "value": st.text() | JSON}
        ) | JSON,
        "context": st.just({"arguments": {"collection": "no"}}) | JSON,
        "protocolVersion": JSON,
        "_meta": st.just(MODERN) | JSON,
    },
)  # fmt: skip
MESSAGES = JSON | st.fixed_dictionaries(
    {
        "jsonrpc": st.just("2.0"),
        "id": st.integers() | st.text() | JSON,
        "method": NAMES,
        "params": PARAMS | JSON,
    }
)


@given(message=MESSAGES, version=st.sampled_from(["", *protocol.HANDSHAKE]))
def test_whatever_is_sent_is_answered_properly(service: Service, message: object, version: str) -> None:
    told: list[str] = []
    service.tell = told.append
    answer = respond(service, message, Connection(version))
    assert told == []
    if answer is not None:
        assert answer["jsonrpc"] == "2.0"
        assert ("result" in answer) != ("error" in answer)
        json.loads(protocol.encode(answer))
