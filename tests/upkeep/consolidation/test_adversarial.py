"""Adversarial plans, five hundred more with --slow, leave MEMORY.md correct, and honest operations among them get in."""

from __future__ import annotations

import random
from collections import Counter
from datetime import date
from pathlib import Path

import pytest

from commonplace.markdown import comments
from commonplace.memory import Memory
from commonplace.providers.fake import FakeModel
from commonplace.providers.llm.base import Request
from commonplace.providers.llm.client import Client
from commonplace.redaction.redact import redact
from commonplace.upkeep.consolidation import consolidate, evidence, page, sources
from tests.upkeep.consolidation import plans, verifier

NOW = plans.NOW
# What an honest operation or the owner says as well.
FINE = {operation["text"] for _, operation in plans.HONEST} | set(plans.entries()) | {""}
EDIT = "- 18:00 Wen added this meanwhile."


@pytest.fixture
def memory(tmp_path: Path):  # type: ignore[no-untyped-def]
    root = tmp_path / "notes"
    plans.write(root)
    overrides = {
        "embedding.provider": "none",
        "consolidate.max_chars": 3000,
        "history.git": "off",
        "search.fusion": "nanobot",  # nobody searches: what a search would be compared with need not be measured
    }
    with Memory.open(root, overrides=overrides) as opened:
        yield opened


def run(memory: Memory, answer: str, meanwhile: Path | None = None, wrong: frozenset[str] = frozenset()):  # type: ignore[no-untyped-def]
    """Consolidate with a verifier that refuses some statements: of whom something is said only a model judges."""

    def rule(request: Request) -> str:
        if meanwhile is not None:  # an editor saves while the model thinks
            text = meanwhile.read_text("utf-8")
            meanwhile.write_text(text.replace("\n- ", f"\n{EDIT}\n- ", 1), "utf-8")
        return answer

    def verified(request: Request) -> str:
        return verifier.answered(request, lambda statement, _: {"answer": "no"} if statement in wrong else {})

    return consolidate(memory, Client(FakeModel(verifier.scripted(rule, verified))), days=7, now=NOW)


def texts(root: Path, name: str) -> list[page.MemoryEntry]:
    path = root / name
    return list(page.read(path.read_text("utf-8"), name).entries) if path.exists() else []


def wrong(root: Path, before: str) -> list[str]:
    """What is wrong with the files after a consolidation."""
    after = (root / "MEMORY.md").read_text("utf-8")
    entries, archived = texts(root, "MEMORY.md"), texts(root, "memory/archive.md")
    found = []
    standing_texts = {e.text for e in entries} | {e.text for e in archived}
    for entry in page.read(before, "MEMORY.md").entries:
        if entry.text not in standing_texts:
            found.append(f"lost: {entry.text}")
    for line in before.split("\n"):
        if ("pinned" in line or "<private>" in line or line.startswith("#")) and line not in after.split(
            "\n"
        ):
            found.append(f"not as it was: {line}")
    if redact(after.replace("4711", ""))[0] != after.replace("4711", ""):
        found.append("a secret")
    if len(after) > 3000:
        found.append("over the cap")
    if after.count("\n# ") or not after.startswith("# Memory\n"):
        found.append("headings")
    return found + unsupported(root, before, entries)


def unsupported(root: Path, before: str, entries: list[page.MemoryEntry]) -> list[str]:
    """The generated entries without a living source that supports them."""
    found = []
    old = {e.text for e in page.read(before, "MEMORY.md").entries}

    def read(path: str) -> bytes | None:
        return (root / path).read_bytes() if (root / path).exists() else None

    for entry in [e for e in entries if not e.statement.struck and e.text not in old]:
        told = []
        for reference in comments.sources(entry.statement.said):
            path, _, lines = reference.partition("#L")
            number = int(lines.partition("-")[0])
            day = date.fromisoformat(path[7:17]) if path.startswith("memory/2") else NOW.date()
            stated = sources.stated(path, read)
            told += [evidence.Said(s.text, day) for s in stated if s.first <= number <= s.last]
        if not told or evidence.missing(entry.text, told):
            found.append(f"no living source: {entry.text} {entry.statement.said}")
    return found


SLOW = [pytest.param(seed, 80, marks=pytest.mark.slow) for seed in range(2)]


@pytest.mark.parametrize(("seed", "count"), [(20260213, 45), *SLOW])
def test_adversarial_plans(memory: Memory, seed: int, count: int) -> None:
    root = memory.workspace.root
    random_ = random.Random(seed)
    honest, got_in, through, tried = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    faults: list[str] = []
    for number in range(count):
        plans.write(root)
        made = plans.plan(random_)
        operations = [one.operation for one in made]
        answer = plans.answer(operations)
        if number % 40 == 0:
            made, answer = [], random_.choice(plans.BROKEN)
        elif number % 40 == 1:
            made, answer = [], plans.answer([operations[0]] * 3000)
        elif number % 40 == 2:
            made, answer = [], plans.answer(plans.overreaching() + operations)
        meanwhile = root / random_.choice(["MEMORY.md", *plans.NOTES]) if number % 5 == 0 else None
        attributed = frozenset(one.operation["text"] for one in made if one.kind == "re-attributed")
        done = run(memory, answer, meanwhile, attributed)
        before = plans.MEMORY
        if meanwhile is not None and meanwhile.name == "MEMORY.md":
            before = before.replace("\n- ", f"\n{EDIT}\n- ", 1)
        faults += [f"{number}: {fault}" for fault in wrong(root, before)]
        bad = {one.operation["text"].strip() for one in made if not one.honest} - FINE
        stands = {e.text for e in texts(root, "MEMORY.md") if not e.statement.struck}
        faults += [f"{number}: got in: {text}" for text in bad & stands]
        kept = [a.operation for a in done.accepted]
        for one in made:
            wanted = (
                tuple(one.operation["sources"]),
                one.operation["text"].strip(),
                tuple(one.operation["targets"]),
                " ".join(one.operation["section"].split()),
            )
            inside = any((o.sources, o.text, o.targets, o.section) == wanted for o in kept)
            (honest if one.honest else tried)[one.kind] += 1
            (got_in if one.honest else through)[one.kind] += inside
        touched = sum(len(a.targets) for a in done.accepted)
        assert touched <= (len(plans.entries()) + (meanwhile is not None)) // 4
    print(f"\nadversarial {dict(tried)}\nthrough {dict(+through)}")
    print(f"honest { {kind: f'{got_in[kind]}/{made}' for kind, made in honest.items()} }")
    assert faults == []
    assert tried.keys() == plans.KINDS.keys()
    assert +through == Counter()
    assert sum(tried.values()) > 2 * count
    assert sum(got_in.values()) >= 0.7 * sum(honest.values())
