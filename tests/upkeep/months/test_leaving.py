"""What of a month's days is left out of its note."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from commonplace.language import compare
from commonplace.upkeep.months import blocks, leaving
from commonplace.upkeep.months.blocks import Block

Days = list[tuple[str, list[Block]]]

WORDS = st.sampled_from("ann ben prefer prefers green tea to coffee at home 北 京 喜 茶".split())


def among_all(days: Days) -> list[tuple[Block, Block]]:
    """What is said again and what says it, each entry compared with each before it."""
    left: list[tuple[Block, Block]] = []
    standing: list[tuple[Block, str]] = []
    for day, entries in days:
        for block in entries:
            said = compare.read(block.told)
            alike = [
                (other, its_day)
                for other, its_day in standing
                if compare.read(other.told).signs == said.signs
                and leaving.says_same(other, block, compare.read(other.told), said)
            ]
            if alike and alike[-1][1] == day:
                left.append((block, alike[-1][0]))
                continue
            standing.append((block, day))
            if len(alike) > 1:
                standing.remove(alike[-1])
                left.append((alike[-1][0], block))
    return left


@given(st.data())
def test_said_again_is_what_comparing_each_with_each_finds(data: st.DataObject) -> None:
    told = data.draw(st.lists(st.lists(WORDS, min_size=1, max_size=9), min_size=1, max_size=4))
    days: Days = []
    for number in range(1, 4):
        entries = data.draw(st.lists(st.tuples(st.sampled_from(told), WORDS, st.integers(0, 9)), max_size=6))
        lines = [f"- {' '.join([*words[:at], word, *words[at:]])}" for words, word, at in entries]
        day = f"2026-02-{number:02}"
        note = "\n".join([f"# {day}", "", *lines, ""])
        days.append((day, [*blocks.read(blocks.Daily(f"memory/{day}.md", day, "a", note))[1]]))
    assert [(left.block, left.instead) for left in leaving.choose(days)] == among_all(days)
