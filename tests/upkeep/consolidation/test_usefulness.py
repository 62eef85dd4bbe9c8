"""What of ten planned nights of the demo gets in, and of lines of invented diaries: counted, kind by kind.

The model that verifies says yes to everything; that a line does not stand alone is all that it knows.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from commonplace import demo
from commonplace.upkeep.consolidation import checks, grounding, sources, verify
from commonplace.upkeep.consolidation import page as pages
from commonplace.upkeep.consolidation.plan import Operation
from tests.lifetime.demo_plans import PROPOSALS, Proposal
from tests.upkeep.consolidation.pairs import FALSE, TRUE

NOTES = Path(demo.__file__).parent / "workspace" / "memory"
EMPTY = pages.read("# Memory\n", "MEMORY.md")
VAGUE = ("下午，书架：", "录取了：", "Odds and ends: ")  # headings that say nothing of the line
# How many there are of each kind, and how many at least get in; of what is false none.
DEMO = {"verbatim": (24, 22), "light edit": (26, 22), "paraphrase": (17, 11), "false": (12, 0)}
DIARIES = {"light edits": (24, 23), "paraphrases": (24, 21), "completed": (14, 14)}


def outcome(proposal: Proposal) -> checks.Checked:
    """What comes of a proposal that rests on the line it names."""
    day = date(2026, 5, proposal.day)
    data = (NOTES / f"{day}.md").read_bytes()
    lines = data.decode().split("\n")
    at = next(number for number, line in enumerate(lines, 1) if proposal.line in line)
    shown = {one.label: one for one in sources.of_note(f"memory/{day}.md", data, day, day)}
    source = next(one for one in shown.values() if one.statement.last >= at)
    operations = [Operation("add", (), (source.label,), "Facts", proposal.text)]
    ground = checks.Ground(EMPTY, {}, shown, (), day, "en")
    said = grounding.weight(proposal.text)

    def alone(statement: str) -> bool:
        return proposal.alone or (
            grounding.weight(statement) > said + 0.9 and not statement.startswith(VAGUE)
        )

    questions = checks.check(operations, ground).questions
    verdicts = {one: verify.Verdict(True, alone=alone(one.statement)) for one in questions}
    return checks.check(operations, replace(ground, verdicts=verdicts))


def test_ten_nights_of_the_demo() -> None:
    done = {proposal: outcome(proposal) for proposal in PROPOSALS}
    assert Counter(proposal.kind for proposal in PROPOSALS) == {
        kind: all_ for kind, (all_, _) in DEMO.items()
    }
    got_in = Counter(proposal.kind for proposal, checked in done.items() if checked.accepted)
    refused = [(p.text, c.rejected[0].reason) for p, c in done.items() if p.kind != "false" and c.rejected]
    assert not got_in["false"]
    for kind, (_, least) in DEMO.items():
        assert got_in[kind] >= least, refused


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("旧盘还在保修期", "旧盘还在保修期（到 2027 年 1 月），2026-05-25寄回去，运单夹在护照那个抽屉里。"),
        ("one word instead", 'Ines asked for one word instead of "home region". Candidates: seat, berth, nest. *Nest* has won.'),
        ("她六月 15", "Noor 2026-06-15 至 2026-06-26休假，去纽芬兰看冰山，期间产品问题找 Marta。"),
        ("Flag is per endpoint", "Shadow mode: Flag is per endpoint; expires by itself after 14 days, nobody has to remember it."),
        ("Saskia gets", "Saskia gets a staging account on 2026-06-01."),
        ("阿舟公司投标", "阿舟公司投标临平那个图书馆，2026-05-27定。"),
    ],
)  # fmt: skip
def test_what_leans_on_its_note_is_completed_or_refused(line: str, text: str) -> None:
    checked = outcome(next(one for one in PROPOSALS if one.kind == "verbatim" and one.line == line))
    assert [one.text for one in checked.accepted] == ([text] if text else [])


def test_lines_of_diaries() -> None:
    for kind, (all_, least) in DIARIES.items():
        refused = [text for source, text in TRUE[kind] if grounding.missing(text, [source])]
        assert len(TRUE[kind]) == all_
        assert all_ - len(refused) >= least, refused
    false = [pair for pairs in FALSE.values() for pair in pairs]
    assert len(false) == 71
    assert [text for source, text in false if not grounding.missing(text, [source])] == []
