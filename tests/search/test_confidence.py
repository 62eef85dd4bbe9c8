"""How sure a search is: null questions, what they reach, the two dials."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.language import lexicon
from commonplace.search import confidence
from commonplace.types.results import WEAK

NOTES = {
    "memory/2026-02-13.md": "# 13 February\n\n- The release moved to Thursday, Maren signs it off.\n"
    "- The boiler was serviced by Ruiz & Sons.\n- 周五下午不部署。\n",
    "memory/garden.md": "# Garden\n\nThe tomatoes go out after the ice saints.\n\nThe shed key hangs by the door.\n",
    "memory/trips.md": "# Trips\n\nWe stayed at the Hotel Aurora in Lisbon and walked to the aquarium.\n",
}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    for path, text in NOTES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, "utf-8")
    with Memory.open(tmp_path) as opened:
        opened.sync()
        yield opened


def levels(memory: Memory) -> dict[str, object]:
    noted = memory.store.index.meta.get(confidence.META)
    return json.loads(str(noted)) if noted else {}


def test_null_questions_are_of_their_language_and_all_different() -> None:
    for language, wide in (("en", False), ("zh", True)):
        questions = confidence.questions(language)
        assert len(set(questions)) == len(questions) >= 50
        assert all((lexicon.cjk_share(question) > 0.5) is wide for question in questions)


def test_what_answers_is_clear_and_what_does_not_is_weak(memory: Memory) -> None:
    clear = memory.search("when is the release?")
    assert not clear.weak
    assert clear.confidence is not None
    assert clear.confidence > confidence.CLEAR
    assert WEAK not in clear.hits[0].labels
    nonsense = memory.search("who tuned the harpsichord of the bishop?")
    assert nonsense.weak or not nonsense.hits
    assert all(hit.labels[-1] == WEAK for hit in nonsense.hits)


def test_what_is_nearest_is_shown_unless_only_a_clear_answer_will_do(memory: Memory) -> None:
    question = "when does the school start?"
    shown, strict = memory.search(question), memory.search(question, strict=True)
    assert shown.weak
    assert shown.hits
    assert strict.hits == ()
    assert strict.confidence == shown.confidence
    assert memory.recall(question).weak
    assert memory.recall(question, strict=True).text == ""
    assert memory.search("when is the release?", strict=True).hits


@pytest.mark.parametrize("question", ['"the release"', "zeppelin AND walrus", "on:2026-02-13", "walr*"])
def test_a_demand_is_neither_sure_nor_weak(memory: Memory, question: str) -> None:
    result = memory.search(question, now=date(2026, 2, 14))
    assert result.confidence is None
    assert not result.weak


def test_an_identifier_that_is_held_is_never_weak(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    for n in range(30):
        (tmp_path / f"memory/{n}.md").write_text(
            f"Train G{7500 + n} leaves at {n}:15.\n\nCall 1395811{n:04}.\n"
        )
    with Memory.open(tmp_path) as memory:
        memory.sync()
        for question in ("G7511", "13958110011", "13958110011 "):
            result = memory.search(question)
            assert (result.weak, result.hits[0].path) == (False, "memory/11.md")


def test_a_threshold_of_ones_own_replaces_confidence(memory: Memory) -> None:
    result = memory.search("the harpsichord of the bishop", min_score=0.0)
    assert result.hits
    assert result.confidence is None


def test_each_language_has_a_level_of_its_own(memory: Memory) -> None:
    assert memory.search("什么时候不部署？").confidence is not None
    assert {name.split()[0] for name in levels(memory)["levels"]} == {"en", "zh"}  # type: ignore[attr-defined]


def test_a_memory_is_asked_anew_when_it_has_grown(memory: Memory, tmp_path: Path) -> None:
    before = levels(memory)
    (tmp_path / "memory/garden.md").write_text(NOTES["memory/garden.md"] + "\nThe hose leaks.\n", "utf-8")
    lines = "".join(f"\nThe bishop's harpsichord number {number} needs tuning.\n" for number in range(30))
    (tmp_path / "memory/music.md").write_text(f"# Music\n{lines}", "utf-8")
    assert memory.search("who tunes the harpsichord of the bishop?").hits  # it finds the new note, and asks
    after = levels(memory)
    assert after["amounts"] > before["amounts"]  # type: ignore[operator]
    assert after["levels"] != before["levels"]


def test_a_level_is_asked_for_once(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(*_: object) -> float:
        raise AssertionError("asked again")

    monkeypatch.setattr(confidence.Levels, "measure", measure)
    assert memory.search("when is the release?").confidence is not None
    memory.sync()


@pytest.mark.parametrize("damaged", ["{", "{}", '{"version": 0}', '{"version": -1, "levels": {}}'])
def test_a_damaged_note_of_levels_is_measured_anew(memory: Memory, damaged: str) -> None:
    memory.store.index.meta[confidence.META] = damaged
    with Memory.open(memory.workspace.root) as opened:
        assert opened.search("when is the release?").confidence is not None
        assert levels(opened)["version"] == confidence.VERSION


def test_a_level_is_asked_for_once_where_struck_statements_wait_for_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "a.md").write_text("# A\n\n- Deploys are on Tuesdays.\n")
    with Memory.open(tmp_path, overrides={"embedding.provider": "none"}) as memory:
        memory.correct("Deploys are on Tuesdays.", "Deploys are on Thursdays.")
        memory.search("deploys")
        monkeypatch.setattr(confidence.Levels, "measure", lambda *arguments: pytest.fail("asked again"))
        memory.search("deploys")
        memory.sync()


def test_an_empty_memory_answers_nothing(tmp_path: Path) -> None:
    with Memory.open(tmp_path) as opened:
        opened.sync()
        assert opened.search("when is the release?").hits == ()


def test_a_few_common_words_are_no_question(tmp_path: Path) -> None:
    lines = [f"- Mira said thanks for parcel {n}, and Tom went on to shelf {n}." for n in range(60)]
    (tmp_path / "MEMORY.md").write_text("# Parcels\n\n" + "\n".join(lines), "utf-8")
    with Memory.open(tmp_path) as memory:
        memory.sync()
        for message in ("thanks!", "ok, go on", "thanks, go on"):
            assert not memory.search(message, strict=True).hits, message
        assert memory.search("what did Mira say about parcel 41?", strict=True).hits


def test_levels_follow_the_vectors(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("\n".join(f"# Bed {n}\n\nBed {n} grows leeks." for n in range(50)))
    with Memory.open(tmp_path) as memory:
        memory.sync(embed=False)
        assert not levels(memory), "the first question measures"
        memory.search("which bed grows leeks?")
        before = levels(memory)
        memory.sync()
        after = levels(memory)
    assert (before["amounts"][1], after["amounts"][1]) == (0, after["amounts"][0])  # type: ignore[index]
    assert before["levels"] != after["levels"]


@pytest.mark.parametrize(
    "noted", ["[]", "5", "null", "{", f'{{"version": {confidence.VERSION}, "reference": []}}']
)
def test_a_damaged_level_is_measured_anew(memory: Memory, noted: str) -> None:
    memory.search("when is the release?")
    memory.store.index.meta[confidence.META] = noted
    assert not memory.search("when is the release?").weak
    with Memory.open(memory.workspace.root) as another:
        assert not another.search("when is the release?").weak
        assert levels(another)["levels"]


def test_an_answer_in_another_script_is_measured_against_its_own(tmp_path: Path) -> None:
    english = ["The boiler was serviced by Ruiz & Sons.", "Maren signs the release off.", "The shed key hangs by the door.",
               "We stayed in Lisbon and walked to the aquarium.", "The cello lesson is on Mondays.", "Ines wants a darker floor.",
               "Tax papers are in the blue folder.", "The dentist moved to Rua Nova.", "Jun books the van for the offsite.",
               "The ferry leaves Hirtshals at 20:45.", "Bread needs 12 hours in the fridge.", "The fence was painted green."]  # fmt: skip
    chinese = ["空调清洗约了六月六日上午。", "房东同意月租六千八。", "团队周五下午不部署。", "豆豆对花生过敏。", "爸爸的眼睛三月做了手术。",
               "书包有三斤重。", "钢琴课改到周四。", "修洗衣机花了三百。"]  # fmt: skip
    (tmp_path / "MEMORY.md").write_text("# Memory\n\n" + "\n\n".join([*english, *chinese]), "utf-8")
    with Memory.open(tmp_path) as opened:
        opened.sync()
        found = opened.search("When is the air conditioner cleaned?")
        assert found.hits[0].text.startswith("空调")
        assert not found.weak  # null questions reach less there than in English
        nonsense = opened.search("who tuned the harpsichord of the bishop?")
        assert nonsense.weak or not nonsense.hits
