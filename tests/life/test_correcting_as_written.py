"""A correction strikes the lines that say the statement; what stands around them stays as it was written."""

from __future__ import annotations

import re

import pytest

from commonplace import CommonplaceError, StatementNotFound
from tests.life.conftest import Owner

COMMENT = re.compile(r" ?<!-- .*? -->")

# A note, what is corrected (by its words, or by its place from the line of the note), to what, and the note then.
NESTED = {
    "a task with a task below it": (
        "- [ ] pack for the trip\n    - [ ] find the passport in the attic\n- [ ] feed the cat\n",
        "pack for the trip", "pack for Oslo",
        "- [ ] ~~pack for the trip~~\n- [ ] pack for Oslo\n    - [ ] find the passport in the attic\n- [ ] feed the cat\n",
    ),
    "bullets, by place": (
        "# Boat\n\n- Hull is green\n  - painted in May\n  - by Mira\n- Mast is oak\n", 3, "Hull is blue",
        "# Boat\n\n- ~~Hull is green~~\n- Hull is blue\n  - painted in May\n  - by Mira\n- Mast is oak\n",
    ),
    "numbers": (
        "1. Use PostgreSQL\n   - hosted at home\n2. Use Redis\n", "Use PostgreSQL", "Use SQLite",
        "1. ~~Use PostgreSQL~~\n1. Use SQLite\n   - hosted at home\n2. Use Redis\n",
    ),
    "the middle of three levels": (
        "- Trip\n\t- Stay with Lena in Bergen\n\t\t- bring wine\n\t- Fly home\n",
        "Stay with Lena in Bergen", "Stay with Kari in Bergen",
        "- Trip\n\t- ~~Stay with Lena in Bergen~~\n\t- Stay with Kari in Bergen\n\t\t- bring wine\n\t- Fly home\n",
    ),
    "Chinese": (
        "- 站会改到周二上午\n  - 地点在三楼会议室\n", "站会改到周二上午", "站会改到周四上午",
        "- ~~站会改到周二上午~~\n- 站会改到周四上午\n  - 地点在三楼会议室\n",
    ),
    "a block of an outline with properties": (
        "- Renew the passport\n  id:: 64a1f0\n  collapsed:: true\n  - photos are in the drawer\n",
        "Renew the passport", "Renew both passports",
        "- ~~Renew the passport~~\n- Renew both passports\n  id:: 64a1f0\n  collapsed:: true\n"
        "  - photos are in the drawer\n",
    ),
    "an entry of a day": (
        "# 2026-02-13\n\n- 14:05 Met Ola at the harbour\n  - she sells the dinghy\n- 15:00 Tea\n",
        "Met Ola at the harbour", "Met Ola at the station",
        "# 2026-02-13\n\n- 14:05 ~~Met Ola at the harbour~~\n- Met Ola at the station\n  - she sells the dinghy\n"
        "- 15:00 Tea\n",
    ),
    "further lines of its own": (
        "- The lease of the shed\n  ends in June\n  - deposit is 300\n",
        "The lease of the shed ends in June", "The lease of the shed ends in July",
        "- ~~The lease of the shed~~\n  ~~ends in June~~\n- The lease of the shed ends in July\n  - deposit is 300\n",
    ),
    "code below an item": (
        "- Restart it with the script\n  ```sh\n  ./restart now\n  ```\n", "Restart it with the script",
        "Restart it by hand",
        "- ~~Restart it with the script~~\n- Restart it by hand\n  ```sh\n  ./restart now\n  ```\n",
    ),
    "a paragraph below an item": (
        "- The well is nine metres deep\n\n  Measured with a rope.\n\n  - twice\n", "The well is nine metres deep",
        "The well is ten metres deep",
        "- ~~The well is nine metres deep~~\n- The well is ten metres deep\n\n  Measured with a rope.\n\n  - twice\n",
    ),
    "a quotation below an item": (
        "- Karin likes the plan\n  > We build it in spring.\n", "Karin likes the plan", "Karin dislikes the plan",
        "- ~~Karin likes the plan~~\n- Karin dislikes the plan\n  > We build it in spring.\n",
    ),
    "a table below an item": (
        "- Prices of the market\n  | apple | 2 |\n  |---|---|\n", "Prices of the market", "Prices of the shop",
        "- ~~Prices of the market~~\n- Prices of the shop\n  | apple | 2 |\n  |---|---|\n",
    ),
}  # fmt: skip
QUOTED = {
    "a callout": (
        "> [!warning] Boiler\n> The pressure fell to 0.6 bar; refill with the blue tap.\n",
        "The pressure fell to 0.6 bar; refill with the blue tap.", "The pressure is 1.4 bar.",
        "> [!warning] Boiler\n> ~~The pressure fell to 0.6 bar; refill with the blue tap.~~\n>\n"
        "> The pressure is 1.4 bar.\n",
    ),
    "a callout, by place": (
        "# B\n\n> [!warning] Boiler\n> The pressure fell.\n\nEnd.\n", 4, "The pressure rose.",
        "# B\n\n> [!warning] Boiler\n> ~~The pressure fell.~~\n>\n> The pressure rose.\n\nEnd.\n",
    ),
    "a folded callout whose title is the beginning": (
        "> [!note]- Hosting\n> Hosting moved from Hetzner to UpCloud in September.\n",
        "Hosting moved from Hetzner to UpCloud in September.", "Hosting moved to Scaleway in October.",
        "> [!note]- Hosting\n> ~~Hosting moved from Hetzner to UpCloud in September.~~\n>\n"
        "> Hosting moved to Scaleway in October.\n",
    ),
    "tasks in a callout": (
        "> [!todo] Trip\n> - [ ] pack the tent\n>   - [ ] find the pegs\n> - [ ] feed the cat\n",
        "pack the tent", "pack the hammock",
        "> [!todo] Trip\n> - [ ] ~~pack the tent~~\n> - [ ] pack the hammock\n>   - [ ] find the pegs\n"
        "> - [ ] feed the cat\n",
    ),
    "a quotation of two paragraphs": (
        "> The ferry leaves at noon.\n>\n> Bring cash.\n", "Bring cash.", "Bring a card.",
        "> The ferry leaves at noon.\n>\n> ~~Bring cash.~~\n>\n> Bring a card.\n",
    ),
    "the first of two paragraphs": (
        "> The ferry leaves at noon.\n>\n> Bring cash.\n", "The ferry leaves at noon.", "The ferry leaves at one.",
        "> ~~The ferry leaves at noon.~~\n>\n> The ferry leaves at one.\n>\n> Bring cash.\n",
    ),
    "one sentence of a line": (
        "> [!tip] Garden\n> Water the figs weekly. Cut the vine in March.\n", "Cut the vine in March.",
        "Cut the vine in February.",
        "> [!tip] Garden\n> ~~Water the figs weekly. Cut the vine in March.~~\n>\n"
        "> Water the figs weekly. Cut the vine in February.\n",
    ),
    "a callout within a callout": (
        "> [!info] House\n> > [!bug] Roof\n> > The roof leaks in the north corner.\n",
        "The roof leaks in the north corner.", "The roof is tight.",
        "> [!info] House\n> > [!bug] Roof\n> > ~~The roof leaks in the north corner.~~\n> >\n> > The roof is tight.\n",
    ),
    "a callout of one line": (
        "> [!todo] Call the plumber on Monday\n", "Call the plumber on Monday", "Call the plumber on Friday",
        "> [!todo] ~~Call the plumber on Monday~~\n>\n> Call the plumber on Friday\n",
    ),
    "Chinese in a callout": (
        "> [!note] 锅炉\n> 压力降到了零点六巴。\n", "压力降到了零点六巴。", "压力是一点四巴。",
        "> [!note] 锅炉\n> ~~压力降到了零点六巴。~~\n>\n> 压力是一点四巴。\n",
    ),
    "text below a quotation": (
        "> The mill is old.\nThe mill was sold to Petra.\n", "The mill was sold to Petra.",
        "The mill was sold to Ida.",
        "> The mill is old.\n~~The mill was sold to Petra.~~\n\nThe mill was sold to Ida.\n",
    ),
}  # fmt: skip
NAMED = {
    "a decision, by its words": (
        "1. Use PostgreSQL ^dec-1\n2. Deploy on Monday ^dec-2\n", "Use PostgreSQL", "SQLite",
        "1. ~~Use PostgreSQL~~\n1. SQLite ^dec-1\n2. Deploy on Monday ^dec-2\n",
    ),
    "by its place": (
        "1. Use PostgreSQL ^dec-1\n2. Deploy on Monday\n", 1, "SQLite",
        "1. ~~Use PostgreSQL~~\n1. SQLite ^dec-1\n2. Deploy on Monday\n",
    ),
    "with its name": (
        "- Use PostgreSQL ^dec-1\n", "Use PostgreSQL ^dec-1", "SQLite", "- ~~Use PostgreSQL~~\n- SQLite ^dec-1\n"
    ),
    "a paragraph": (
        "The cellar is dry. ^dec-1\n\nMore.\n", "The cellar is dry.", "The cellar is damp.",
        "~~The cellar is dry.~~\n\nThe cellar is damp. ^dec-1\n\nMore.\n",
    ),
    "a name on a line below": (
        "The cellar is dry.\n\n^dec-1\n", "The cellar is dry.", "The cellar is damp.",
        "~~The cellar is dry.~~\n\nThe cellar is damp.\n\n^dec-1\n",
    ),
    "a task with tasks below it": (
        "- [ ] paint the fence ^dec-1\n\t- [ ] buy paint ^p\n", "paint the fence", "paint the gate",
        "- [ ] ~~paint the fence~~\n- [ ] paint the gate ^dec-1\n\t- [ ] buy paint ^p\n",
    ),
    "in a callout": (
        "> [!note] Bees\n> The hive stands in the orchard. ^dec-1\n", "The hive stands in the orchard.",
        "The hive stands in the meadow.",
        "> [!note] Bees\n> ~~The hive stands in the orchard.~~\n>\n> The hive stands in the meadow. ^dec-1\n",
    ),
    "Chinese": ("- 数据库用这个 ^dec-1\n", "数据库用这个", "数据库换成别的", "- ~~数据库用这个~~\n- 数据库换成别的 ^dec-1\n"),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["nested", "quoted", "named"])
def test_only_the_lines_that_say_it_are_struck(owner: Owner, kind: str) -> None:
    memory = owner.memory()
    wrong = {}
    for what, (before, named, new, after) in {"nested": NESTED, "quoted": QUOTED, "named": NAMED}[
        kind
    ].items():
        owner.note("memory/e.md", before)
        try:
            done = memory.correct(f"memory/e.md#L{named}" if isinstance(named, int) else named, new)
        except CommonplaceError as error:
            wrong[what] = str(error)
            continue
        written = "\n".join(memory.get(done.written).lines)
        if (now := COMMENT.sub("", owner.read("memory/e.md"))) != after or new not in written:
            wrong[what] = now
        if kind == "named" and new not in "\n".join(memory.get("e#^dec-1").lines):
            wrong[f"{what}: its link"] = now
        memory.undo()
        assert owner.read("memory/e.md") == before, what
    assert not wrong


def test_what_is_below_is_still_found(owner: Owner) -> None:
    owner.note("memory/e.md", NESTED["a task with a task below it"][0])
    owner.ok("correct", "pack for the trip", "pack for Oslo", "--yes")
    assert "find the passport in the attic" in owner.ok("search", "passport attic")
    assert "~~find" not in owner.read("memory/e.md")
    owner.note("memory/f.md", "- Cellar is dry\n  - Cellar is dry\n  - the key hangs inside\n")
    told = owner.mcp().call("memory_correct", old="memory/f.md#L1", new="Cellar is damp")
    assert "Cellar is damp" in owner.read("memory/f.md"), told
    assert owner.read("memory/f.md").count("~~Cellar is dry~~") == 2
    assert "\n  - the key hangs inside\n" in owner.read("memory/f.md")


def test_without_a_replacement_the_rest_stands(owner: Owner) -> None:
    memory = owner.memory()
    owner.note("memory/e.md", "- Sell the boat ^dec-1\n  - ask Ola first\n")
    memory.correct("Sell the boat", "")
    assert COMMENT.sub("", owner.read("memory/e.md")) == "- ~~Sell the boat~~ ^dec-1\n  - ask Ola first\n"
    assert "Sell the boat" in memory.get("e#^dec-1").lines[0]
    memory.sync()
    assert [hit.text for hit in memory.search("ask Ola first").hits] == ["  - ask Ola first"]
    assert not memory.search("sell boat dec-1").hits


BY_HAND = {
    "red 39": "| colour | size |\n|---|---|\n| red | 39 |\n",
    "| red | 41 |": "| colour | size |\n|---|---|\n| red | 41 |\n",
    "birthday: 1988-04-17": "---\nbirthday: 1988-04-17\n---\n# Ida\n",
    "Things about the orchard": "# Things about the orchard\n\n- none\n",
    "port = 5433": "```toml\nport = 5433\n```\n",
    "> | blue | 40 |": "> | colour | size |\n> |---|---|\n> | blue | 40 |\n",
    "生日: 五月三日": "---\n生日: 五月三日\n---\n# 小王\n",
}


def test_what_cannot_be_struck_is_said_to_stand_there(owner: Owner) -> None:
    memory = owner.memory()
    for number, (named, text) in enumerate(BY_HAND.items()):
        owner.note(f"memory/n{number}.md", text)
        with pytest.raises(
            StatementNotFound, match=rf"stands there.*edit memory/n{number}\.md#L\d+ by hand"
        ) as raised:
            memory.correct(named, "something else")
        assert raised.value.near[0].citation.startswith(f"memory/n{number}.md#L")
        assert owner.read(f"memory/n{number}.md") == text
    done = owner.run("correct", "red 39", "red 40", "--yes")
    assert "edit memory/n0.md#L3 by hand" in done.err
    done = owner.run("correct", "memory/n0.md:3", "red 40", "--yes")
    assert "edit memory/n0.md:3 by hand" in done.err
    with pytest.raises(StatementNotFound, match="no statement of the notes says that"):
        memory.correct("purple 77", "purple 78")
