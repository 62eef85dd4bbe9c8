"""Prompts measured: the questions that ship, what counts as evidence, and the figures that are promised."""

from __future__ import annotations

import json
from collections import Counter
from datetime import date
from pathlib import Path

import measure_prompts as prompts
import pytest

from commonplace import Memory
from commonplace.base import tokens
from commonplace.base.errors import ConfigError
from commonplace.demo import COLLECTION, COLLECTION_FOLDER, unpack

from .. import demo

TODAY = date(2026, 2, 14)
FILE = """
today = 2026-02-14

[[question]]
text = "Who signs the deploy off?"
language = "en"
expect = [{ path = "memory/2026-02-13.md", contains = "Lin signs it off" }]

[[question]]
text = "猫叫什么名字？"
language = "zh"
expect = [{ path = "MEMORY.md", contains = "豆腐" }]
"""


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    root = tmp_path / "notes"
    (root / "memory").mkdir(parents=True)
    (root / "MEMORY.md").write_text("# M\n\n## Tea\n\n- White.\n", "utf-8")
    for day in range(1, 15):
        (root / "memory" / f"2026-02-{day:02}.md").write_text(f"- day {day}\n" + "x" * 400, "utf-8")
    (root / "memory" / "2026-02-13.md").write_text("- Lin signs it off, the deploy.\n")
    return root


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    file = tmp_path / "questions.toml"
    file.write_text(FILE, "utf-8")
    return file


def test_every_evidence_of_the_demo_stands_in_its_note(tmp_path: Path) -> None:
    asked = prompts.read(prompts.QUESTIONS)
    root = tmp_path / "demo"
    unpack(root)
    assert Counter(question.language for question in asked.questions) == {"en": 15, "zh": 15}
    assert len({question.text for question in asked.questions}) == 30
    for one in (one for question in asked.questions for one in question.expected):
        path = one.path.replace(f"{COLLECTION}/", f"{COLLECTION_FOLDER}/")
        assert one.contains in (root / path).read_text("utf-8"), one


def test_a_prompt_costs_60_percent_less_with_the_evidence_of_27_of_30(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = demo.copied(tmp_path / "demo")
    assert prompts.main([str(root), "--questions", str(prompts.QUESTIONS), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["questions"] == len(found["answers"]) == 30
    assert found["saved"] >= 0.6
    assert found["found"] >= 27
    assert found["saved"] == pytest.approx(1 - found["mean_tokens"] / found["loaded_tokens"], abs=1e-4)


def test_without_vectors_it_costs_as_little(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And where no workspace is named, the one that ships is unpacked and asked."""
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    assert prompts.main(["--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["saved"] >= 0.6
    assert found["found"] >= 27


def test_the_comparison_is_long_term_memory_and_the_last_seven_days(notes: Path) -> None:
    with Memory.open(notes, overrides={"embedding.provider": "none"}) as memory:
        loaded = prompts.load(memory, TODAY)
    assert sorted(loaded) == ["MEMORY.md", *(f"memory/2026-02-{day:02}.md" for day in range(8, 15))]
    assert loaded["MEMORY.md"] == (notes / "MEMORY.md").read_text()


def test_evidence_counts_where_the_right_note_is_cited_with_its_words(notes: Path, questions: Path) -> None:
    with Memory.open(notes, overrides={"embedding.provider": "none"}) as memory:
        asked = prompts.read(questions)
        found = prompts.measure(memory, asked)
        assert [(a.found, a.loaded) for a in found.answers] == [(True, True), (False, False)]
        assert found.loaded_tokens == sum(map(tokens.about, prompts.load(memory, TODAY).values()))
        assert found.found == 1
        small = prompts.measure(memory, asked, 50)
    assert small.budget == 50
    assert max(answer.tokens for answer in small.answers) <= 50


def test_the_tool_asks_any_workspace(
    notes: Path, questions: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    assert prompts.main([str(notes), "--questions", str(questions)]) == 0
    printed = capsys.readouterr().out
    assert (
        "evidence            in 1 of 2 (en 1 of 1, zh 0 of 1) blocks; MEMORY.md + 7 days hold that of 1"
        in printed
    )
    assert "missing             猫叫什么名字？" in printed


def test_a_file_that_is_no_question_set_is_one_error(tmp_path: Path) -> None:
    for text in [
        "", "today = 5\n" + FILE.replace("today = 2026-02-14", ""), "[[question]]\ntext = 'a'\n",
        "[[question]]\ntext = 'a'\nexpect = []\n", "question = 'a'", "[[question]\n",
        FILE.replace("2026-02-14", "2026-02-14T10:00:00"), "[[question]]\ntext = 'a'\nexpect = ['b']\n",
    ]:  # fmt: skip
        file = tmp_path / "bad.toml"
        file.write_text(text, "utf-8")
        with pytest.raises(ConfigError):
            prompts.read(file)
