"""Questions to a small bilingual memory, with the bundled model: what is found, and what is refused."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace import Memory, config
from commonplace.types import Mode

NOTES = {
    "memory/2026-01-12.md": """# 2026-01-12

- Chose PostgreSQL over MySQL for the billing service because of partial indexes.
- Lunch with Dana; she moves to Lisbon in April.
- 把 retry 的间隔改成 jitter，队列不再堆积。
""",
    "memory/2026-02-03.md": """# 2026-02-03

- The nightly backup failed: the bucket policy had expired.
- 牙医预约改到下周五下午三点，记得带医保卡。
- Bought running shoes, half a size larger than the last pair.
""",
    "memory/2026-02-20.md": """# 2026-02-20

- 女儿对花生过敏，学校午餐要提前说明。
- Renewed the passport; the new one is valid until 2036.
- 周末去爬了香山，红叶还没红，人很多。
""",
    "MEMORY.md": """# Memory

- I prefer tea over coffee, never after six in the evening.
- 服务器的上线窗口是每周二晚上十点。
- My sister's birthday is on the ninth of September.
""",
}
ANSWERED = [
    ("Which database did we pick for billing?", "PostgreSQL"),
    ("Why did the backup break?", "bucket policy"),
    ("Where does Dana move in April?", "Lisbon"),
    ("What do I like to drink?", "tea"),
    ("When is my sister's birthday?", "September"),
    ("Until when is the document valid?", "passport"),
    ("牙医预约改到什么时候了？", "牙医"),
    ("女儿对什么过敏？", "花生"),
    ("上线窗口是什么时候？", "周二"),
    ("队列为什么堆积？", "jitter"),
    ("香山", "红叶"),
    ("牙", "牙医"),
    ("retry jitter", "队列"),
]
REFUSED = [
    "florbatz quizzle vum",
    "purple elephant tax dinosaur",
    "Who won the 1974 football championship in Uruguay?",
    "How many moons does Jupiter have?",
    "asdf qwer zxcv",
    "量子涡轮香蕉税",
    "火星殖民地的选举制度",
    "龘",
]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("bilingual")
    (made / "memory").mkdir()
    for path, text in NOTES.items():
        (made / path).write_text(text, "utf-8")
        os.utime(made / path, (1_770_000_000, 1_770_000_000))
    return made


@pytest.fixture(scope="module")
def memory(root: Path) -> Iterator[Memory]:
    with Memory.open(root) as made:
        made.sync()
        yield made


def test_a_real_question_is_answered(memory: Memory) -> None:
    for question, answer in ANSWERED:
        assert answer in "\n".join(hit.text for hit in memory.search(question).hits[:3])


def test_nonsense_has_no_sure_answer(memory: Memory) -> None:
    for question in REFUSED:
        assert memory.search(question).weak, question
        assert memory.search(question, strict=True).hits == ()


def test_a_threshold_of_ones_own_replaces_the_gate(memory: Memory) -> None:
    assert memory.search("florbatz quizzle vum", min_score=0.0, limit=100).hits
    assert memory.search("Which database did we pick for billing?", min_score=0.99).hits == ()


def test_exclusions_hold_for_vectors_too(memory: Memory) -> None:
    for mode in ["hybrid", "semantic", "lexical"]:
        found = memory.search(
            "database for the billing service -PostgreSQL", mode=mode, min_score=0.0, limit=50
        )
        assert not any("PostgreSQL" in hit.text for hit in found.hits), mode


def test_phrases_hold_for_vectors_too(memory: Memory) -> None:
    for mode in ["hybrid", "semantic", "lexical"]:
        found = memory.search('"half a size" footwear', mode=mode)
        assert ["running shoes" in hit.text for hit in found.hits] == [True], mode


def test_factors_add_up_and_order_is_by_score(memory: Memory) -> None:
    for mode in ["hybrid", "semantic", "lexical"]:
        for question in ["What do I like to drink?", "牙医预约", "billing OR passport", "tea*"]:
            hits = memory.search(question, mode=mode, min_score=0.0, limit=50).hits
            assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True), (
                mode,
                question,
            )
            for hit in hits:
                assert 0 <= hit.score <= 1, (mode, question)
                assert sum(factor.value for factor in hit.factors) == pytest.approx(hit.score, abs=1e-3), (
                    mode,
                    question,
                )


def test_no_line_is_told_twice(memory: Memory) -> None:
    hits = memory.search("the", min_score=0.0, limit=100).hits
    assert len({hit.citation for hit in hits}) == len(hits)


def test_a_limit_is_a_limit(memory: Memory) -> None:
    for limit in (0, 1, 3):
        assert len(memory.search("the", min_score=0.0, limit=limit).hits) == limit


def test_the_same_question_has_the_same_answer(root: Path, memory: Memory) -> None:
    """Cold (the extension) and warm (the matrix), this process or another object."""
    question = "Which database did we pick for billing?"
    warm = memory.search(question)
    with Memory.open(root) as fresh:
        for _ in range(3):
            again = fresh.search(question)
            assert [hit.citation for hit in again.hits] == [hit.citation for hit in warm.hits]
            assert [hit.score for hit in again.hits] == pytest.approx(
                [hit.score for hit in warm.hits], abs=2e-3
            )


@pytest.mark.parametrize("question", ["walnut desk", "胡桃木书桌", "胡桃"])
@pytest.mark.parametrize("mode", ["hybrid", "lexical", "semantic"])
def test_a_small_collection_is_not_starved(
    tmp_path: Path, question: str, mode: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    big = tmp_path_factory.mktemp("big")
    for number in range(30):
        lines = "\n\n".join(f"- walnut desk 胡桃木书桌 {number} {line}" for line in range(30))
        (big / f"{number}.md").write_text(f"# Walnut desk\n\n{lines}\n", "utf-8")
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "a.md").write_text("# A\n\nbeside much else a walnut desk, 胡桃木书桌\n", "utf-8")
    config.add_collection(tmp_path, "big", str(big))
    with Memory.open(tmp_path, overrides={"embedding.provider": "fake"}) as memory:
        memory.sync()
        for _ in range(2):
            hits = memory.search(question, mode=mode, min_score=0.01, collections=["memory"]).hits
            if mode != "semantic" or question.isascii():
                assert [hit.path for hit in hits] == ["memory/a.md"]
            assert all(hit.collection == "memory" for hit in hits)


def test_a_memory_in_chinese_alone_answers_words_of_both(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "a.md").write_text("# 笔记\n\n我们用 gpt 写周报，再由人修改。\n", "utf-8")
    with Memory.open(tmp_path, overrides={"embedding.provider": "fake"}) as memory:
        memory.sync()
        for question in ("gpt", "gpt", "周报", "weekly OR gpt", "周报"):
            assert memory.search(question, min_score=0.01).hits, question


FIRST_DAYS = {
    "memory/2026-01-12.md": NOTES["memory/2026-01-12.md"],
    "memory/2026-01-13.md": """# 2026-01-13

- argo now deploys with the canary strategy; rollback takes two minutes.
- Dentist moved to Friday at three.
- 妈妈的生日是五月十二号，想要一条丝巾。
""",
}


@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
@pytest.mark.parametrize("days", [1, 2])
def test_a_memory_of_one_day_answers_and_refuses(tmp_path: Path, mode: Mode, days: int) -> None:
    """FTS5 gives a term no weight that half of the passages hold; on the first day that is every term."""
    (tmp_path / "memory").mkdir()
    for path, text in list(FIRST_DAYS.items())[:days]:
        (tmp_path / path).write_text(text, "utf-8")
    asked = [
        ("Which database for billing?", "PostgreSQL"),
        ("retry jitter", "jitter"),
        ("队列堆积", "jitter"),
    ]
    if days == 2:
        asked += [
            ("argo deploy strategy", "canary"),
            ("dentist appointment", "Dentist"),
            ("妈妈生日", "丝巾"),
        ]
    with Memory.open(tmp_path) as memory:
        for question, answer in asked:
            assert answer in "\n".join(hit.text for hit in memory.search(question, mode=mode).hits), question
        for question in REFUSED:
            assert memory.search(question, mode=mode, strict=True).hits == (), question
