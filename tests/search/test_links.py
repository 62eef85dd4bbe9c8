"""Lists of links: what they lead to goes before them, and nothing else does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from commonplace import Memory

NOTES = {
    "MEMORY.md": "# Memory\n\n- Prefers tea to coffee.\n",
    "index.md": "# Projects\n\n- Kitchen renovation: [[Weiss and Sons]], [[Tile samples]]\n- Book club: [[Reading list]]\n"
    "- Norway trip: [Cabin](trips/Fjord%20cabin.md) (July)\n- Car: [[Clutch]]\n",
    "Weiss and Sons.md": "# Weiss and Sons\n\n- Offer of 3 March: 14,200 EUR.\n- They can begin on 2 May.\n",
    "Tile samples.md": "# Tile samples\n\n- The matte grey ones won.\n",
    "Reading list.md": "# Reading list\n\n- March: The Leopard.\n- April: Stoner.\n",
    "trips/Fjord cabin.md": "# Fjord cabin\n\n- Booked 4 to 11 July near Flåm.\n",
    "Clutch.md": "# Clutch\n\n- Done at Hofer in January.\n",
    "目录.md": "# 目录\n\n- 体检：[[三月报告]]\n- 健身：[[训练计划]]\n",
    "三月报告.md": "# 三月报告\n\n- 尿酸偏高。\n",
    "训练计划.md": "# 训练计划\n\n- 周四练背。\n",
    "calls.md": "# Calls\n\n- Called [[Jun Park]] about [[Oriole]]: it ships on Monday.\n",
    "Jun Park.md": "# Jun Park\n\n- Jun Park calls from Seoul.\n",
    "Oriole.md": "# Oriole\n\n- The flag is oriole_v2.\n",
}


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    root = tmp_path_factory.mktemp("vault")
    for path, text in NOTES.items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text, "utf-8")
    with Memory.open(root, overrides={"index.include": ["**/*.md"]}) as opened:
        opened.sync()
        yield opened


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("When can the kitchen renovation start?", "Weiss and Sons.md"),
        ("What does the book club read in April?", "Reading list.md"),
        ("Where do we stay on the trip to Norway?", "trips/Fjord cabin.md"),
        ("体检有什么问题？", "三月报告.md"),
    ],
)
def test_the_linked_note_goes_before_the_list(memory: Memory, question: str, first: str) -> None:
    hits = memory.search(question).hits
    assert hits[0].path == first
    lists = [at for at, hit in enumerate(hits) if hit.path in ("index.md", "目录.md")]
    assert lists[0] in (1, 2)


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("What projects do I have?", "index.md"),  # no row says more than another
        ("When did I call Jun Park about Oriole?", "calls.md"),  # a statement with links
    ],
)
def test_what_answers_itself_stays(memory: Memory, question: str, first: str) -> None:
    assert memory.search(question).hits[0].path == first
