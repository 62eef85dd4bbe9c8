"""An entry goes to the day that it is about; what stands there already is not written again by an agent."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime, timedelta

import pytest

from commonplace import ConfigError
from tests.life.conftest import Owner

NOW = datetime(2026, 11, 20, 9, 30)
DAYS = {
    "yesterday": "2026-11-19",
    "2026-11-03": "2026-11-03",
    "昨天": "2026-11-19",
    "前天": "2026-11-18",
    "today": "2026-11-20",
    "last Monday": "2026-11-16",
    "上周三": "2026-11-11",
    "tomorrow": "2026-11-21",
    "3 November 2026": "2026-11-03",
    "2026年11月3日": "2026-11-03",
    "  yesterday ": "2026-11-19",
}
NO_DAY = ["last week", "2026-11", "2026", "soon", "", "2026-02-30", "11月", "yesterday evening or so"]


def test_an_entry_goes_to_its_day(owner: Owner) -> None:
    memory = owner.memory()
    for number, (on, day) in enumerate(DAYS.items()):
        written = memory.remember(f"Boat number {number} was painted.", on=on, now=NOW)
        assert (on, written.path) == (on, f"memory/{day}.md")
        line = owner.read(written.path).splitlines()[written.start_line - 1]
        hour = "09:30 " if day == "2026-11-20" else ""
        assert line == f"- {hour}Boat number {number} was painted."
        assert owner.read(written.path).startswith(f"# {day}\n")
    assert memory.remember("A mast broke.", on=date(2025, 1, 2), now=NOW).path == "memory/2025-01-02.md"
    assert memory.search("which mast broke").hits[0].date == "2025-01-02"
    for on in NO_DAY:
        with pytest.raises(ConfigError):
            memory.remember("Nothing.", on=on, now=NOW)
    with pytest.raises(ConfigError):
        memory.remember("Nothing.", on="yesterday", long_term=True, now=NOW)


def test_every_door_takes_a_day(owner: Owner) -> None:
    yesterday = f"memory/{date.today() - timedelta(1)}.md"
    assert owner.ok("remember", "--on", "yesterday", "The ferry was late.").startswith(yesterday)
    assert owner.run("remember", "--on", "last week", "The ferry was late.").code in (1, 2)
    assert yesterday in owner.mcp().call("memory_write", text="The bus was late.", on="yesterday")
    status, written = owner.serve().request("POST", "/api/entries", {"text": "It hailed.", "on": "昨天"})
    assert (status, written["path"]) == (201, yesterday)
    assert [line.partition(" <!--")[0] for line in owner.read(yesterday).splitlines()[2:]] == [
        "- The ferry was late.", "- The bus was late.", "- It hailed.",
    ]  # fmt: skip


def test_an_agent_writes_a_statement_once(owner: Owner) -> None:
    client, other = owner.mcp(), owner.mcp()
    said = [client.call("memory_write", text="Mira is allergic to nuts.") for _ in range(3)]
    said.append(other.call("memory_write", text="- Mira is allergic to  nuts"))
    said.append(client.call("memory_write", text="Mira is allergic to nuts.", on="today"))
    note = owner.read(f"memory/{date.today()}.md")
    assert note.count("allergic") == 1
    assert ["Not written again" in one for one in said] == [False, True, True, True, True]
    assert "MEMORY.md" in client.call("memory_write", text="Mira is allergic to nuts.", long_term=True)
    assert "Not written" in client.call("memory_write", text="Mira is allergic to nuts.", long_term=True)
    client.call("memory_write", text="Lin is a pilot.", long_term=True)
    assert "Not written again" in other.call("memory_write", text="Lin is a pilot.")
    assert "Not written again" not in client.call("memory_write", text="Lin is no pilot.")
    with ThreadPoolExecutor(2) as threads:
        both = [
            threads.submit(one.call, "memory_write", text="The gate code is red.") for one in (client, other)
        ]
    assert sorted("Not written again" in one.result() for one in both) == [False, True]
    assert owner.read(f"memory/{date.today()}.md").count("gate code") == 1


def test_what_was_just_written_is_named_though_nothing_is_indexed(owner: Owner) -> None:
    client, other = owner.mcp(), owner.mcp()
    client.call("memory_write", text="The ferry costs three crowns.")
    assert "three crowns" in client.call("memory_write", text="The ferry costs four crowns.")
    assert "three crowns" in other.call("memory_write", text="The ferry costs five crowns.", long_term=True)
    assert "five crowns" in client.call("memory_write", text="The ferry does not cost five crowns.")
    near = owner.memory().remember("The ferry costs six crowns.").near
    assert near
    assert "ferry" in near[0].text
    assert "ferry costs" in owner.run("remember", "The ferry costs seven crowns.").err
