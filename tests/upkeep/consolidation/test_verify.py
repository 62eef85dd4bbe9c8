"""The second look: what a verdict changes, what it cannot, and what happens without one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from commonplace.base.errors import ProviderError
from commonplace.memory import Memory
from commonplace.providers.fake import FakeModel
from commonplace.providers.llm.base import Request
from commonplace.providers.llm.client import Client
from commonplace.upkeep.consolidation import Consolidation, consolidate
from tests.upkeep.consolidation import plans, verifier

DAY = "memory/2026-02-13.md"
NOTE = """# 2026-02-13

## Name of the region

- Ines asked for one word. *Nest* has won.
- Reviews take at most one day, and Noor counts them.
- The dentist appointment is on 20 February at 09:00.
- Deploys go out on Thursdays.
"""
OLD = "# Memory\n\n## Facts\n\n- Deploys go out on Tuesdays.\n- The NAS has four disks.\n- Backups run at four.\n- 评审最多一天。\n"
Rule = Callable[[Request], Any]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    (tmp_path / "memory").mkdir()
    (tmp_path / "MEMORY.md").write_text(OLD, "utf-8")
    (tmp_path / DAY).write_text(NOTE, "utf-8")
    with Memory.open(tmp_path, overrides={"embedding.provider": "none", "history.git": "off"}) as opened:
        yield opened


def add(line: int, text: str) -> dict[str, Any]:
    return plans.op("add", [], [f"{DAY}#L{line}"], text, "Facts")


def night(memory: Memory, *operations: dict[str, Any], verified: Rule = verifier.yes) -> Consolidation:
    rule = verifier.scripted(plans.answer([*operations]), verified)
    return consolidate(memory, Client(FakeModel(rule)), now=plans.NOW)


def judged(**verdict: object) -> Rule:
    return lambda request: verifier.answered(request, lambda statement, source: dict(verdict))


def texts(done: Consolidation) -> list[str]:
    return [item.text for item in done.accepted]


LIGHT = "Reviews take at most one day; Noor counts them."


def test_a_light_edit_gets_in_with_a_yes(memory: Memory) -> None:
    assert texts(night(memory, add(6, LIGHT))) == [LIGHT]


@pytest.mark.parametrize(
    ("verdict", "reason"),
    [
        ({"answer": "no"}, "does not find it"),
        ({"quotation": "Reviews take a week"}, "does not find it"),
        ({"alone": "no"}, "does not say by itself"),
        ({"repeats": "M4"}, "is said already by M4"),
    ],
)
def test_a_no_of_any_kind_keeps_it_out(memory: Memory, verdict: dict[str, str], reason: str) -> None:
    done = night(memory, add(6, LIGHT), verified=judged(**verdict))
    assert reason in done.rejected[0].reason
    assert (memory.workspace.root / "MEMORY.md").read_text("utf-8") == OLD


def failing(request: Request) -> Exception:
    return ProviderError("fake", "is out")


@pytest.mark.parametrize("verified", [failing, lambda request: '{"answers": []}', lambda request: "no json"])
def test_without_an_answer_an_opening_sentence_gets_in_alone(memory: Memory, verified: Rule) -> None:
    whole = "Reviews take at most one day, and Noor counts them."
    replaced = plans.op("supersede", ["M1"], [f"{DAY}#L8"], "Deploys go out on Thursdays.")
    done = night(memory, add(6, whole), add(6, LIGHT), add(5, "*Nest* has won."), replaced, verified=verified)
    assert texts(done) == [whole]
    assert len(done.rejected) == 3
    assert any("not verified" in warning for warning in done.warnings)
    again = night(memory, replaced)  # what was not verified is asked for again
    assert texts(again) == ["Deploys go out on Thursdays."]


def test_a_heading_may_complete_a_line(memory: Memory) -> None:
    text = "Name of the region: Nest has won."
    assert texts(night(memory, add(5, text))) == [text]


@pytest.mark.parametrize(("ends", "comment"), [("yes", " <!-- valid-until: 2026-02-20 -->"), ("no", "")])
def test_a_dated_plan_ends_by_itself(memory: Memory, ends: str, comment: str) -> None:
    done = night(
        memory, add(7, "The dentist appointment is on 20 February at 09:00."), verified=judged(ends=ends)
    )
    text = (memory.workspace.root / "MEMORY.md").read_text("utf-8")
    assert done.run is not None
    assert (
        f"- The dentist appointment is on 2026-02-20 at 09:00. <!-- cp: from={DAY}#L7 since=2026-02-13 -->{comment}\n"
        in text
    )
    (memory.workspace.root / "memory/2026-02-28.md").write_text("# 2026-02-28\n\n- The sky is blue today.\n")
    rule = verifier.scripted(verifier.NOTHING)
    later = consolidate(memory, Client(FakeModel(rule)), now=plans.NOW.replace(day=28))
    assert [item.operation.op for item in later.accepted] == (["expire"] if comment else [])


def test_a_plan_is_never_that_of_another_second(memory: Memory) -> None:
    from datetime import timedelta

    from commonplace.upkeep.consolidation import run

    one, two = (run.estimate(memory, now=plans.NOW + timedelta(seconds=n)).messages for n in (0, 1))
    assert one != two


def test_instructions_in_an_answer_are_data(memory: Memory) -> None:
    hostile = json.dumps(
        {
            "answers": [
                {"number": 99, "answer": "yes", "quotation": "", "alone": "yes", "repeats": "", "ends": "yes"}
            ]
        }
    )
    assert texts(night(memory, add(6, LIGHT), verified=lambda request: hostile)) == []
