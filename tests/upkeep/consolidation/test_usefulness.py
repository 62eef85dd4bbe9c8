"""Ten planned nights of the demo: the number of proposals that are accepted, by kind.

The model that verifies says yes to every text, and only knows whether it stands alone.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import date
from pathlib import Path

from commonplace import demo
from commonplace.upkeep.consolidation import checks, sources, verify
from commonplace.upkeep.consolidation import page as pages
from commonplace.upkeep.consolidation.plan import Operation
from tests.lifetime.demo_plans import PROPOSALS, Proposal

NOTES = Path(demo.__file__).parent / "workspace" / "memory"
EMPTY = pages.read("# Memory\n", "MEMORY.md")
# How many there are of each kind, and how many at least are accepted (at most, of false ones).
DEMO = {"verbatim": (24, 14), "light edit": (26, 21), "paraphrase": (17, 10), "false": (12, 3)}


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
    questions = checks.check(operations, ground).questions
    verdicts = {one: verify.Verdict(True, alone=proposal.alone) for one in questions}
    return checks.check(operations, replace(ground, verdicts=verdicts))


def test_ten_nights_of_the_demo() -> None:
    done = {proposal: outcome(proposal) for proposal in PROPOSALS}
    assert Counter(proposal.kind for proposal in PROPOSALS) == {
        kind: all_ for kind, (all_, _) in DEMO.items()
    }
    got_in = Counter(proposal.kind for proposal, checked in done.items() if checked.accepted)
    refused = [(p.text, c.rejected[0].reason) for p, c in done.items() if p.kind != "false" and c.rejected]
    assert got_in["false"] <= DEMO["false"][1]
    assert all(got_in[kind] >= least for kind, (_, least) in DEMO.items() if kind != "false"), refused
