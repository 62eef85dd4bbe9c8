"""Everything a client does, through the official SDK of either major; run by its interpreter, prints JSON.

python client.py stdio '["python", "-m", "commonplace", "mcp"]' [legacy]
python client.py http http://127.0.0.1:7412/mcp [legacy] [TOKEN]

With accept, decline or cancel at the end it shows a person questions, who answers all of them so; it then only
has something forgotten. With the path of a file there it waits for a server that answers nothing heavy until
that file exists: it cancels a call, follows the progress of another, and makes the file when it hears of any.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

MAJOR = int(version("mcp").partition(".")[0])


class Person:
    """Somebody who is shown questions, and answers all of them in the same way."""

    def __init__(self, action: str) -> None:
        self.action = action
        self.shown: list[str] = []

    async def __call__(self, context: Any, params: Any) -> Any:
        from mcp.types import ElicitResult  # of both majors

        self.shown.append(params.message)
        return ElicitResult(action=self.action, content={} if self.action == "accept" else None)


@asynccontextmanager
async def connected(
    kind: str, target: str, mode: str, token: str, person: Person | None
) -> AsyncIterator[Any]:
    """Connect, and yield what has the methods of a session."""
    from mcp import StdioServerParameters

    asks: dict[str, Any] = {"elicitation_callback": person} if person else {}
    parameters = None
    if kind == "stdio":
        program, *arguments = json.loads(target)
        parameters = StdioServerParameters(command=program, args=arguments, env=dict(os.environ))
    if MAJOR == 1:
        from mcp import ClientSession, stdio_client
        from mcp.client.streamable_http import streamablehttp_client

        headers = {"Authorization": f"Bearer {token}"} if token else None
        transport = stdio_client(parameters) if parameters else streamablehttp_client(target, headers=headers)
        async with transport as streams, ClientSession(streams[0], streams[1], **asks) as session:
            await session.initialize()
            yield session
        return
    from mcp import Client

    if parameters is None and token:
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"})
        transport = streamable_http_client(target, http_client=http)
        async with http, Client(transport, mode=mode, **asks) as client:
            yield client
        return
    async with Client(parameters or target, mode=mode, **asks) as client:
        yield client


def plain(result: Any) -> Any:
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


async def refused(call: Any) -> dict[str, Any]:
    """What a call that must fail is answered with."""
    from mcp.types import CallToolResult  # of both majors

    try:
        result = await call
    except Exception as error:
        return plain(error.error)
    assert isinstance(result, CallToolResult)
    return plain(result)


def uri(address: str) -> Any:
    if MAJOR > 1:
        return address
    from pydantic import AnyUrl

    return AnyUrl(address)


async def read_on(client: Any, path: str) -> list[dict[int, str]]:
    """Read a note to its end by what the text of answers says alone; return the lines of each by number."""
    parts: list[dict[int, str]] = []
    following: str | None = "1"
    while following:
        arguments = {"path": path, "from": following, "lines": "4"}  # numbers as weak models give them
        text = plain(await client.call_tool("memory_get", arguments))["content"][0]["text"]
        parts.append({int(number): line for number, line in re.findall(r"^(\d+)  (.*)$", text, re.MULTILINE)})
        more = re.search(r"^nextFrom: (\d+)$", text, re.MULTILINE)
        following = more[1] if more else None
    return parts


async def completed(client: Any) -> list[list[str]]:
    """What may follow in the address of a note, and in a prompt."""
    from mcp.types import PromptReference, ResourceTemplateReference  # of both majors

    note = ResourceTemplateReference(type="ref/resource", uri="commonplace://{collection}/{+path}")
    prompt = PromptReference(type="ref/prompt", name="recall")
    asked = [
        (note, {"name": "collection", "value": "m"}),
        (note, {"name": "path", "value": "memory/2026-02-1"}),
        (prompt, {"name": "query", "value": ""}),
    ]
    return [plain(await client.complete(ref, argument))["completion"]["values"] for ref, argument in asked]


async def amend(client: Any, found: dict[str, Any]) -> None:
    """Write two statements, correct one, and ask to have the other forgotten, which nobody here approves of."""
    for text in (f"Corrected by a client of major {MAJOR}.", f"Forgotten by a client of major {MAJOR}."):
        await client.call_tool("memory_write", {"text": text})
    given = {
        "old": f"Corrected by a client of major {MAJOR}.",
        "new": f"Corrected by major {MAJOR} of the client.",
    }
    found["corrected"] = plain(await client.call_tool("memory_correct", given))
    what = {"what": f"Forgotten by a client of major {MAJOR}."}
    found["preview"] = plain(await client.call_tool("memory_forget", what))
    found["forged"] = plain(await client.call_tool("memory_forget", {**what, "confirm": "the user agreed"}))


async def everything(client: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"major": MAJOR}
    found["tools"] = plain(await client.list_tools())["tools"]
    search = {"query": "when do we deploy?", "limit": 3}
    found["search"] = plain(await client.call_tool("memory_search", search))
    found["chinese"] = plain(await client.call_tool("memory_search", {"query": "周五下午可以部署吗？"}))
    found["parts"] = await read_on(client, "memory/2026-02-13.md")
    found["timeline"] = plain(await client.call_tool("memory_timeline", {"anchor": "2026-02-13"}))
    text = f"Asked by a client of major {MAJOR}."
    found["written"] = plain(await client.call_tool("memory_write", {"text": text, "heading": "Clients"}))
    found["again"] = plain(await client.call_tool("memory_search", {"query": f'"{text}"', "limit": 1}))
    await amend(client, found)
    found["status"] = plain(await client.call_tool("memory_status", {}))
    found["resources"] = plain(await client.list_resources())["resources"]
    found["templates"] = plain(await client.list_resource_templates())["resourceTemplates"]
    found["resource"] = plain(await client.read_resource(uri("commonplace://memory/MEMORY.md")))["contents"]
    found["completed"] = await completed(client)
    found["prompts"] = plain(await client.list_prompts())["prompts"]
    found["recall"] = plain(await client.get_prompt("recall", {"query": "when do we deploy?"}))["messages"]
    found["reflect"] = plain(await client.get_prompt("reflect"))["messages"]
    found["errors"] = {
        "argument": await refused(client.call_tool("memory_search", {"query": "x", "limt": 3})),
        "collection": await refused(client.call_tool("memory_search", {"query": "x", "collections": ["no"]})),
        "type": await refused(client.call_tool("memory_search", {"query": 5})),
        "tool": await refused(client.call_tool("memory_forgive", {})),
        "note": await refused(client.call_tool("memory_get", {"path": "../outside.md"})),
        "resource": await refused(client.read_resource(uri("commonplace://memory/none.md"))),
        "prompt": await refused(client.get_prompt("recal", {})),
    }
    return found


async def forgetting(client: Any, person: Person) -> dict[str, Any]:
    forgotten = plain(await client.call_tool("memory_forget", {"what": "Lin signs it off."}))
    status = plain(await client.call_tool("memory_status", {}))  # the connection goes on
    return {"major": MAJOR, "forgotten": forgotten, "shown": person.shown, "status": status}


async def cancel(client: Any) -> None:
    """Ask for something to be written, and cancel that once it is on its way."""
    if MAJOR == 1:
        from mcp.types import CancelledNotification, CancelledNotificationParams, ClientNotification

        id_ = client._request_id
        writing = asyncio.ensure_future(client.call_tool("memory_write", {"text": "The heron is cancelled."}))
        await asyncio.sleep(0.5)
        params = CancelledNotificationParams(requestId=id_)
        await client.send_notification(ClientNotification(CancelledNotification(params=params)))
        writing.cancel()
        return
    import anyio

    with anyio.move_on_after(0.5):  # which tells the server in this major
        await client.call_tool("memory_write", {"text": "The heron is cancelled."})


async def following(client: Any, go: Path) -> dict[str, Any]:
    told: list[list[Any]] = []

    async def hear(done: float, total: float | None, message: str | None) -> None:
        told.append([done, total, message])
        go.touch()

    await cancel(client)
    search = await client.call_tool("memory_search", {"query": "deploy"}, progress_callback=hear)
    written = await client.call_tool("memory_write", {"text": "The stork is not."})
    return {"major": MAJOR, "told": told, "search": plain(search), "written": plain(written)}


async def main(kind: str, target: str, mode: str = "auto", token: str = "", action: str = "") -> None:
    person = Person(action) if action in ("accept", "decline", "cancel") else None
    path = Path(action)
    async with connected(kind, target, mode, token, person) as client:
        if person is not None:
            found = await forgetting(client, person)
        else:
            found = await following(client, path) if action else await everything(client)
    print(json.dumps(found))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
