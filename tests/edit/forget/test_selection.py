"""What a question offers: lines that hold its words, most of them first, cited with all that goes with them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.base.errors import NoteNotFound
from commonplace.edit.forget import selection
from commonplace.types import Hit, Selection


def hit(path: str, first: int, last: int, text: str = "") -> Hit:
    return Hit(path, first, last, text, 1.0, "", (), None, "workspace", "")


def offered(question: str, *lines: str, hits: Sequence[tuple[int, int]] = ((1, 99),)) -> list[str]:
    """The places of one note that are offered, best first."""
    data = "".join(f"{line}\n" for line in lines).encode()
    found = [hit("n.md", first, last) for first, last in hits]
    return [one.citation.removeprefix("n.md#") for one in selection.offers(question, found, lambda _: data)]


def test_most_words_come_first_then_the_best_hit() -> None:
    lines = ("- tea", "- coffee", "- tea and coffee", "- water", "- coffee beans")
    assert offered("tea coffee", *lines, hits=[(5, 5), (1, 4)]) == ["L3", "L5", "L1", "L2"]


def test_what_is_no_name_of_a_file_is_no_note(tmp_path: Path) -> None:
    with Memory.open(tmp_path) as memory:
        for name in ("a\0.md", "\ud800.md", "sessions/\0.jsonl"):
            with pytest.raises(NoteNotFound):
                memory.forget(Selection("note", name), dry_run=True)


def test_words_are_stemmed_as_in_the_index() -> None:
    assert offered("deploys", "- It was deployed.", "- A deploying team", "- employ") == ["L1", "L2"]
    assert offered("getUserName", "- call get_user_name", "- nothing") == ["L1"]
    assert offered("naive", "- A naïve one") == ["L1"]


def test_chinese_is_told_by_its_bigrams_in_either_script() -> None:
    lines = ("- 周五下午不部署。", "- 繁體的部署", "- 周日休息", "# 部署")
    assert offered("部署", *lines) == ["L1", "L2", "L4"]
    assert offered("周五部署", *lines)[0] == "L1"
    assert offered("署", *lines) == ["L1", "L2", "L4"]


def test_beginnings_and_phrases() -> None:
    assert offered("dep*", "- deploy", "- other words") == ["L1"]
    assert offered('"white tea"', "- tea, white", "- white tea", "- white")[0] == "L2"
    assert offered("tea AND coffee", "- tea", "- tea, coffee")[0] == "L2"


def test_a_statement_is_cited_with_what_is_nested_in_it() -> None:
    assert offered("tea", "- tea", "  more of it", "  - and that", "- no") == ["L1-L3"]


def test_headings_rows_code_and_front_matter() -> None:
    lines = (
        "---", "topic: zinc", "---", "Zinc", "====", "", "| zinc | a |", "|---|---|", "| b | c |", "",
        "```zinc", "zinc = 1", "```", "", "    zinc indented", "", "> zinc quoted",
    )  # fmt: skip
    assert offered("zinc", *lines) == ["L2", "L7", "L12", "L15", "L17", "L4-L5"]


def test_nothing_is_offered_that_holds_no_word() -> None:
    assert offered("copper", "- zinc", "# zinc") == []
    assert offered("", "- zinc") == []


def test_a_transcript_goes_whole_and_says_so() -> None:
    found = [hit("sessions/s1.jsonl", 3, 4, "we spoke of zinc"), hit("sessions/s1.jsonl", 9, 9, "a session")]
    (told,) = selection.offers("zinc", found, lambda _: None)
    assert (told.citation, told.text) == ("sessions/s1.jsonl", "(the whole session) we spoke of zinc")


def test_bytes_that_are_no_text_are_no_trouble() -> None:
    found = selection.offers("zinc", [hit("n.md", 1, 1)], lambda _: b"- zinc \xff\xfe\n")
    assert [one.citation for one in found] == ["n.md#L1"]


def test_what_stays_is_cited_where_it_stands(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    note = tmp_path / "memory" / "2026-02-13.md"
    note.write_text("# 2026-02-13\n\n- Mira Chen signs off.\n- Boats.\n- Chen Ltd delivers.\n", "utf-8")
    with Memory.open(tmp_path, overrides={"embedding.provider": "none"}) as memory:
        preview = memory.forget(Selection("person", "Mira Chen"), dry_run=True)
        assert [one.what for one in preview.unreachable if "may mean" in one.what] == [
            "memory/2026-02-13.md#L5 says Chen, which may mean the same person"
        ]
        done = memory.forget(preview)
        assert "memory/2026-02-13.md#L4 says Chen, which may mean the same person" in [
            one.what for one in done.unreachable
        ]
    assert note.read_text("utf-8").splitlines()[3] == "- Chen Ltd delivers."
