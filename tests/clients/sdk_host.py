"""A host of agents on the official SDK of either major: one session, one conversation; run by its interpreter.

python sdk_host.py '{"command": "commonplace", "args": ["mcp"]}' auto
python sdk_host.py '{"url": "http://127.0.0.1:7412/mcp", "token": "…"}' legacy

A line of standard input is a turn, `["message", [["tool", {"argument": 1}], "answer"]]`: what the user says, and
what its model does then, one after the other. The line that answers it is `[["request", …], "answer"]`: all that
the model was sent each time, from the first turn on, and what it said.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "servers"))
from client import connected, plain


def written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


async def turn(client: Any, sent: list[Any], message: str, steps: list[Any]) -> tuple[list[str], str]:
    """Say something, and call what the model asks for until it answers; `sent` is the conversation so far."""
    sent.append({"role": "user", "content": message})
    requests = []
    for step in steps:
        requests.append(written(sent))
        if isinstance(step, str):
            sent.append({"role": "assistant", "content": step})
            return requests, step
        tool, arguments = step
        sent.append({"role": "assistant", "calls": [tool, arguments]})
        result = plain(await client.call_tool(tool, arguments))
        assert not result.pop("isError", False), result
        sent.append({"role": "tool", **result})
    raise ValueError("the model says nothing")


async def main(target: dict[str, Any], mode: str) -> None:
    is_http = "url" in target
    place = target["url"] if is_http else json.dumps([target["command"], *target["args"]])

    kind = "http" if is_http else "stdio"
    async with connected(kind, place, mode, target.get("token", ""), None) as client:
        tools = plain(await client.list_tools())["tools"]
        sent: list[Any] = [{"role": "system", "tools": tools}]
        while line := await asyncio.to_thread(sys.stdin.readline):
            print(written(await turn(client, sent, *json.loads(line))), flush=True)


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1]), sys.argv[2]))
