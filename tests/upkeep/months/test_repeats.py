"""What a language model says is told twice in a month, and what of that is believed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.base.errors import ProviderError
from commonplace.providers.llm.base import Completion
from commonplace.providers.llm.client import Client
from commonplace.providers.llm.fake import FakeModel
from commonplace.upkeep import rollup

SPRING = datetime.fromisoformat("2026-05-01T12:00:00+02:00")
DAY = """# 2026-01-13

- Deploys go out on Tuesdays at ten.
- We decided that deploys go out on Tuesdays at ten. Lin signs them off.
- Deploys do not go out on Fridays.
- The token is pinned here. <!-- pinned -->
- <private>what I think of Lin</private> Lin is new.
- The vendor called. <!-- by: tool -->
"""
NEXT = "# 2026-01-14\n\n- Deploys go out on Tuesdays at ten.\n"
PATH = "memory/2026-01-13.md"


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    (tmp_path / "memory").mkdir()
    (tmp_path / PATH).write_text(DAY)
    (tmp_path / "memory" / "2026-01-14.md").write_text(NEXT)
    with Memory.open(tmp_path) as opened:
        yield opened


def answer(*items: tuple[str, list[str]]) -> str:
    repeats = [{"statement": one, "told_by": told, "reason": "the same"} for one, told in items]
    return json.dumps({"repeats": repeats})


def roll(memory: Memory, *answers: str | Completion | Exception) -> tuple[rollup.Month, FakeModel]:
    model = FakeModel(answers)
    return rollup.rollup(memory, Client(model), now=SPRING).months[0], model


def by_model(month: rollup.Month) -> list[str]:
    return [left.reference for left in month.left if left.why == "told by another"]


def test_what_another_of_the_day_tells_goes(memory: Memory) -> None:
    month, model = roll(memory, answer((f"{PATH}#L3", [f"{PATH}#L4"])))
    assert by_model(month) == [f"{PATH}#L3"]
    text = (memory.workspace.memory_dir / "2026-01.md").read_text()
    assert "- We decided that deploys go out on Tuesdays at ten. Lin signs them off." in text
    assert text.count("- Deploys go out on Tuesdays at ten.") == 1
    [told] = [left.instead for left in month.left if left.why == "told by another"]
    assert "Lin signs" in text.splitlines()[int(told.rpartition("#L")[2]) - 1]
    sent = model.requests[0].messages[-1].content
    assert f"{PATH}#L3 Deploys go out on Tuesdays at ten." in sent
    assert "what I think" not in sent
    assert "vendor" not in sent


@pytest.mark.parametrize(
    ("statement", "told_by"),
    [
        (f"{PATH}#L5", [f"{PATH}#L3"]),  # says something else
        (f"{PATH}#L4", [f"{PATH}#L3"]),  # says more
        (f"{PATH}#L3", [f"{PATH}#L3"]),  # told by itself
        (f"{PATH}#L3", []),
        (f"{PATH}#L3", ["memory/2026-01-14.md#L3"]),  # of another day
        (f"{PATH}#L6", [f"{PATH}#L4"]),  # pinned
        (f"{PATH}#L7", [f"{PATH}#L4"]),  # holds a private part
        (f"{PATH}#L99", [f"{PATH}#L4"]),
        ("MEMORY.md#L1", [f"{PATH}#L4"]),
        (f"{PATH}#L3", [f"{PATH}#L8"]),  # told by an observation
        ("", ["../../etc/passwd"]),
    ],
)
def test_what_is_not_so_is_not_believed(memory: Memory, statement: str, told_by: list[str]) -> None:
    month, _ = roll(memory, answer((statement, told_by)))
    assert by_model(month) == []
    assert month.run is not None


def test_two_do_not_tell_each_other(memory: Memory) -> None:
    (memory.workspace.root / PATH).write_text(
        "# 2026-01-13\n\n- Lin signs them off. Deploys go out on Tuesdays.\n- Deploys go out on Tuesdays. Lin signs them off.\n"
    )
    month, _ = roll(memory, answer((f"{PATH}#L3", [f"{PATH}#L4"]), (f"{PATH}#L4", [f"{PATH}#L3"])))
    assert by_model(month) == [f"{PATH}#L3"]


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "not JSON",
        '{"repeats": "all"}',
        '{"repeats": [{"statement": 1}]}',
        "[" * 5000,
        ProviderError("fake", "is down"),
    ],
)
def test_without_an_answer_of_use_the_rules_do(memory: Memory, bad: str | Exception) -> None:
    month, _ = roll(memory, bad, bad)
    assert month.run is not None
    assert "without the language model" in month.trouble
    assert by_model(month) == []
    assert "- Deploys go out on Tuesdays at ten." in (memory.workspace.memory_dir / "2026-01.md").read_text()


def test_what_changed_since_the_model_saw_it_stays(memory: Memory) -> None:
    def late(request: object) -> str:
        (memory.workspace.root / PATH).write_text(DAY.replace("We decided that deploys", "Perhaps deploys"))
        return answer((f"{PATH}#L3", [f"{PATH}#L4"]))

    month = rollup.rollup(memory, Client(FakeModel(late)), now=SPRING).months[0]
    assert by_model(month) == []
    assert "Perhaps deploys" in (memory.workspace.memory_dir / "2026-01.md").read_text()


def test_a_thousand_demands_leave_all_that_is_said_only_once(memory: Memory) -> None:
    labels = [f"{PATH}#L{line}" for line in range(1, 10)] + ["memory/2026-01-14.md#L3"]
    everything = [(one, [other]) for one in labels for other in labels] * 10
    month, _ = roll(memory, answer(*everything))
    text = (memory.workspace.memory_dir / "2026-01.md").read_text()
    for told in (
        "Lin signs them off.",
        "Deploys do not go out on Fridays.",
        "<!-- pinned -->",
        "<private>what I think",
    ):
        assert told in text
    assert set(by_model(month)) <= {f"{PATH}#L3"}
