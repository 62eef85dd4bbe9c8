"""Whatever a client asks for over MCP, an answer names no folder of this machine, shows no traceback, and is short."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from tests.life.conftest import Mcp, Owner

TEMPLATE = "commonplace://{collection}/{+path}"
LONGEST = 2500  # characters of an answer that refuses something

READ = {
    "a note that is not there": "commonplace://memory/memory/none.md",
    "out of the workspace": "commonplace://memory/../../etc/passwd",
    "the same, encoded": "commonplace://memory/%2e%2e/%2e%2e/etc/passwd",
    "a folder": "commonplace://memory/memory",
    "a path below a file": "commonplace://memory/memory/a.md/x",
    "a link that leaves": "commonplace://memory/memory/out.md",
    "below a link that leaves": "commonplace://memory/memory/etc/passwd",
    "our own folder": "commonplace://memory/.commonplace/index.sqlite",
    "a null byte": "commonplace://memory/a%00b.md",
    "no UTF-8": "commonplace://memory/%ff%fe.md",
    "a long collection": f"commonplace://{'c' * 100_000}/x.md",
    "a long path": f"commonplace://memory/{'p/' * 50_000}x.md",
    "a long address": "x" * 300_000,
    "an address of a file": "file:///etc/passwd",
    "a docid that is none": "commonplace://memory/#deadbeef",
    "a number": 7,
    "nothing": None,
}
GET = {
    "no argument": {"name": "recall"},
    "a long name": {"name": "x" * 100_000},
    "a list as a name": {"name": ["recall"]},
    "a long argument": {"name": "recall", "arguments": {"query": "x " * 300_000}},
    "a long focus": {"name": "reflect", "arguments": {"focus": "z" * 500_000}},
    "a number": {"name": "recall", "arguments": {"query": 7}},
    "another argument": {"name": "recall", "arguments": {"y" * 100_000: "a"}},
}
COMPLETE: dict[str, dict[str, Any]] = {
    "nothing": {},
    "numbers": {"ref": 7, "argument": 7},
    "odd types": {"ref": {"type": ["x"], "uri": {}}, "argument": {"name": "a", "value": "b"}},
    "a long address": {
        "ref": {"type": "ref/resource", "uri": "x" * 100_000}, "argument": {"name": "n" * 100_000, "value": ""}
    },
    "a collection outside": {
        "ref": {"type": "ref/resource", "uri": TEMPLATE}, "argument": {"name": "path", "value": ""},
        "context": {"arguments": {"collection": "../../etc"}},
    },
}  # fmt: skip


def check(owner: Owner, client: Mcp, method: str, params: object, name: str) -> None:
    answer = json.dumps(client.request(method, params))
    assert len(answer) < LONGEST, (name, len(answer))
    for folder in (str(owner.folder), str(owner.folder.parent), str(Path.home()), "Traceback", ".py"):
        assert folder not in answer, (name, answer)


def test_no_answer_names_a_folder_of_the_machine(owner: Owner) -> None:
    owner.note("memory/a.md", "# A\n\nThe ferry leaves at nine.\n")
    outside = owner.folder.parent / "secret.txt"
    outside.write_text("secret")
    (owner.folder / "memory/out.md").symlink_to(outside)
    (owner.folder / "memory/etc").symlink_to("/etc")
    owner.ok("sync")
    client = owner.mcp()
    for name, uri in READ.items():
        check(owner, client, "resources/read", {"uri": uri}, name)
    for name, given in GET.items():
        check(owner, client, "prompts/get", given, name)
    for name, params in COMPLETE.items():
        check(owner, client, "completion/complete", params, name)
    check(owner, client, "x" * 100_000, {}, "a long method")
    assert "ferry leaves" in json.dumps(
        client.request("resources/read", {"uri": "commonplace://memory/memory/a.md"})
    )


def test_nor_does_one_where_the_memory_is_gone(owner: Owner) -> None:
    client = owner.mcp()
    shutil.move(owner.folder, owner.folder.parent / "moved")
    check(owner, client, "resources/read", {"uri": "commonplace://memory/MEMORY.md"}, "a note")
    check(owner, client, "prompts/get", {"name": "recall", "arguments": {"query": "ferry"}}, "a prompt")
    asked = {"ref": {"type": "ref/prompt", "name": "recall"}, "argument": {"name": "query", "value": ""}}
    check(owner, client, "completion/complete", asked, "a completion")
    check(owner, client, "tools/call", {"name": "memory_search", "arguments": {"query": "ferry"}}, "a tool")
