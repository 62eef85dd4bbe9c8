"""How a question is written does not decide what it finds: its mark, its script."""

from __future__ import annotations

from tests.life.conftest import Owner

LINES = """Mr. Huber paints the fence in June.
The gutter is cleaned by Ana every autumn.
The ferry to the island leaves at nine.
Grandmother keeps the cake tins under the stairs.
The insurance of the boat ends in March.
Лодка стоит у причала номер семь.
Το κλειδί της αποθήκης είναι κάτω από τη γλάστρα.
مفتاح المرآب تحت الحجر الكبير
篱笆由胡伯先生在六月粉刷。""".split("\n")


def test_a_question_mark_changes_nothing(owner_with_model: Owner) -> None:
    for number, line in enumerate(LINES):
        owner_with_model.note(f"memory/{number}.md", f"# Note\n\n- {line}\n")
    memory = owner_with_model.memory()
    memory.sync()

    def found(question: str) -> tuple[object, ...]:
        result = memory.search(question)
        hits = [(hit.path, round(hit.score, 4)) for hit in result.hits]
        return (*hits, result.weak, result.confidence)

    for question in (
        "who paints the fence", "who painted the bench", "when does the ferry leave", "where are the cake tins",
        "is the boat insured", "谁刷篱笆", "what is the boiling point of mercury", "Where is the key of the shed",
    ):  # fmt: skip
        bare = found(question)
        for mark in ("?", " ?", "??", "？"):
            assert found(question + mark) == bare, (question, mark)


def test_a_script_that_the_model_does_not_read_is_asked_by_words(owner_with_model: Owner) -> None:
    for number, line in enumerate(LINES):
        owner_with_model.note(f"memory/{number}.md", f"# Note\n\n- {line}\n")
    memory = owner_with_model.memory()
    memory.sync()
    for question, answer in [
        ("где стоит лодка", "причала"), ("где лодка?", "причала"), ("πού είναι το κλειδί της αποθήκης;", "γλάστρα"),
        ("أين مفتاح المرآب", "الحجر"), ("Как настроить волынку?", ""), ("ราคาน้ำมันวันนี้เท่าไร", ""),
        ("מתי המעבורת יוצאת", ""), ("Πότε φεύγει το πλοίο;", ""),
    ]:  # fmt: skip
        result = memory.search(question)
        assert any("script" in warning for warning in result.warnings), question
        assert not [hit for hit in result.hits if hit.text.isascii()], question
        assert not answer or answer in result.hits[0].text, question
