"""What a program does with a memory through FastMCP's client; run by its interpreter, prints JSON.

python fastmcp_client.py '{"command": "commonplace", "args": ["mcp"]}' '["a question"]'
python fastmcp_client.py '{"url": "http://127.0.0.1:7412/mcp", "token": "…"}' '["a question"]'
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport


def transport(target: dict[str, Any]) -> Any:
    if "url" in target:
        return StreamableHttpTransport(target["url"], auth=target["token"])
    return StdioTransport(target["command"], target["args"])


async def main(target: dict[str, Any], questions: list[str]) -> dict[str, Any]:
    from mcp_types import ResourceTemplateReference

    def plain(value: Any) -> Any:
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)

    async with Client(transport(target)) as client:

        async def call(name: str, **arguments: Any) -> Any:
            return plain(await client.call_tool_mcp(name, arguments))

        note = ResourceTemplateReference(type="ref/resource", uri="commonplace://{collection}/{+path}")
        return {
            "tools": [plain(tool) for tool in await client.list_tools()],
            "searches": [await call("memory_search", query=question, limit=1) for question in questions],
            "resource": [
                plain(part) for part in await client.read_resource("commonplace://memory/MEMORY.md")
            ],
            "completed": (await client.complete(note, {"name": "path", "value": "memory/2026-02-1"})).values,
            "written": await call("memory_write", text="The heron nests in the boathouse."),
        }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(*map(json.loads, sys.argv[1:])))))
