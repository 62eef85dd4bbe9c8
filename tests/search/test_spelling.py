"""Names that are spelt otherwise than in the notes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace import Memory, config
from commonplace.search import spelling

NOTES = """# People

- Muhammad repairs the boiler on Fridays; Muhammad has a key.
- Catherine keeps the bees. Catherine sells honey in autumn.
- Inès wrote the letter about the roof.
- The settle in the hall is from 1820.
- Cello lesson at 16:30. Cello strings cost 62 euros.
- The ferry to Schiermonnikoog leaves at nine.
- Read The Cormorant to the children; the cormorants are back, one cormorant stands on the pole.
- Talked to Christina, then to Christine.
- Make the list; Make it short, then make tea. The make is German.

# Chat

Nicolas: I moved to the harbour.
Ann: And the dog?
Nicolas: The dog came along.
Ann: Lovely.
Nicolas: He likes the boats.
"""


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    root = tmp_path_factory.mktemp("spelling")
    (root / "MEMORY.md").write_text(NOTES, "utf-8")
    made = Memory.open(root)
    made.sync()
    return made


@pytest.mark.parametrize(
    ("question", "name", "first"),
    [
        ("What does Mohammed repair?", "Mohammed for Muhammad", "boiler"),
        ("what does mohammed repair", "mohammed for Muhammad", "boiler"),
        ("What does Katherine sell?", "Katherine for Catherine", "honey"),
        ("Where did Nicholas move?", "Nicholas for Nicolas", "harbour"),
        ("Schiermonikoog", "Schiermonikoog for Schiermonnikoog", "ferry"),
        ("when is the ferry to Schiermonnikog?", "Schiermonnikog for Schiermonnikoog", "ferry"),
    ],
)
def test_a_name_spelt_otherwise_is_told(memory: Memory, question: str, name: str, first: str) -> None:
    for mode in ("hybrid", "lexical"):
        result = memory.search(question, mode=mode)
        assert first in result.hits[0].text
        assert result.warnings == (f"no note holds this spelling: took {name}",)


def test_other_words_and_other_names_stay(memory: Memory) -> None:
    for question in (
        "hello",
        "Hello, what is new?",
        "what does katherine sell",  # Catherine opens sentences only, as a cello may
        "Is the kettle broken?",
        "What does Maximilian repair?",
        "Who is Bob?",
        "repair Muhammad",
        "how to bake, cake, take",
        "schiermonikoog",  # in small letters a word that stands once may be any
        "Where are the Cormorans?",  # a cormorant is written small as well
        "Where does Christin live?",  # two names are as near
    ):
        assert memory.search(question).warnings == ()


def test_of_names_that_are_equally_near_own_ones_come_first(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "shelf").mkdir()
    (tmp_path / "notes/MEMORY.md").write_text(
        "- The offer to Tomasz went out; later Tomasz said yes.\n", "utf-8"
    )
    shelf = "".join(
        f"## {n}\n\nOf the works of Thomas number {n} is by Thomas alone.\n\n" for n in range(150)
    )
    (tmp_path / "shelf/thomas.md").write_text(shelf, "utf-8")
    config.add_collection(tmp_path / "notes", "shelf", str(tmp_path / "shelf"), weight="reference")
    with Memory.open(tmp_path / "notes", overrides={"embedding.provider": "none"}) as memory:
        memory.sync()
        result = memory.search("who is Thomasz?")
        assert result.warnings == ("no note holds this spelling: took Thomasz for Tomasz",)
        assert "offer" in result.hits[0].text


@given(st.text("abc", min_size=7, max_size=9), st.text("abc", min_size=6, max_size=10))
def test_neighbours_are_one_letter_away(word: str, other: str) -> None:
    assert (other in spelling.neighbours(word)) == (spelling.distance(word, other) == 1)


def test_distances() -> None:
    for one, other, steps in [
        ("mohammed", "muhammad", 2),
        ("katherine", "catherine", 1),
        ("inez", "ines", 1),
        ("mira", "maria", 2),
        ("ann", "anna", 1),
        ("brain", "brian", 1),
        ("same", "same", 0),
    ]:
        assert spelling.distance(one, other) == steps
    assert spelling.distance("elizabeth", "bob") > 2


def test_what_the_question_does_not_cover_corrects_nothing(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "shelf").mkdir()
    (tmp_path / "notes/MEMORY.md").write_text(NOTES, "utf-8")
    (tmp_path / "shelf/people.md").write_text("# People\n\nThe painter Mohammed and old Mohammed.\n", "utf-8")
    config.add_collection(tmp_path / "notes", "shelf", str(tmp_path / "shelf"))
    with Memory.open(tmp_path / "notes") as memory:
        memory.sync()
        question = "What does Mohammed repair?"
        assert memory.search(question).warnings == ()
        covered = memory.search(f"in:memory {question}")
        assert covered.warnings == ("no note holds this spelling: took Mohammed for Muhammad",)


def test_what_is_part_of_a_date_is_no_name(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/2026-02-13.md").write_text("- San called.\n\n- We met San, and San again.\n", "utf-8")
    with Memory.open(tmp_path) as memory:
        memory.sync()
        warnings = memory.search("who called on 7 Jan 2024?").warnings
        assert not any("San" in warning for warning in warnings)
