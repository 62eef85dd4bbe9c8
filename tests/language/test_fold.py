"""Characters that are one to a search: folding keeps places, both sides come out alike."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from unicodedata import normalize

from hypothesis import given
from hypothesis import strategies as st

from commonplace import language

CHINESE = st.text(st.characters(min_codepoint=0x2E80, max_codepoint=0x9FFF), max_size=20)


def test_variants_are_one_and_other_characters_are_not() -> None:
    for pair in (
        "臺灣 台湾", "計畫 计划", "項鍊 项链", "鍛鍊 锻炼", "瞭解 了解", "回覆 回复", "藉口 借口", "乾燥的幹部 干燥的干部",
        "頭髮發現 头发发现", "皇后後來 皇后后来", "公里裡裏 公里里里", "著名的跟著 着名的跟着", "ＧＰＴ４ GPT4",
        "ｷﾛ キロ", "\uf900\u2f08 豈人", "豈 岂",
    ):  # fmt: skip
        one, other = pair.split(" ")
        assert language.fold(one) == language.fold(other), pair
    for one, other in ("炼练", "大太", "请情", "ガカ", "ばぱ"):
        assert language.compose(one) != language.compose(other), one


def test_what_holds_no_variant_is_not_copied() -> None:
    for text in ("plain", "café, naïve — “quoted”", "Привет", "只有简体的一句话，没有别的。"):
        assert language.fold(text) is text
        assert language.compose(text) is text


@given(st.one_of(st.text(max_size=30), CHINESE))
def test_folding_keeps_places_and_is_done_once(text: str) -> None:
    folded = language.fold(text)
    assert len(folded) == len(text)
    assert language.fold(folded) == folded
    assert len(language.fold_width(text)) == len(language.fold_signs(text)) == len(text)


def test_what_is_written_in_parts_is_joined() -> None:
    for text in ("ｶﾞｽ ﾊﾟｰﾃｨｰ", "ガス", "한국어", "パン"):
        assert language.compose(normalize("NFD", text)) == normalize("NFKC", text)
        assert language.compose(text) == normalize("NFKC", text)


def test_signs_of_identifiers_and_operators_become_ordinary() -> None:
    assert language.fold_signs("ａ／ｂ．ｃ＠ｄ　－ｅ＊") == "ａ/ｂ.ｃ@ｄ　-ｅ*"
    assert language.fold_signs("好，真的？是：（一）") == "好，真的？是：（一）"


def test_the_table_is_read_for_chinese_alone() -> None:
    program = (
        "from commonplace import language as characters\n"
        "for text in ('english', 'café — “so”', 'Привет', '🙂'):\n"
        "    characters.compose(text)\n"
        "print(characters._table.cache_info().currsize)\n"
        "characters.fold('漢')\n"
        "print(characters._table.cache_info().currsize)\n"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["0", "1"]


def test_the_table_has_its_licence_beside_it() -> None:
    folder = Path(language.__file__).parent
    names = {path.name for path in folder.iterdir() if path.is_file()}
    assert {"variants.txt", "NOTICE", "LICENSE"} <= names
    assert "OpenCC" in (folder / "NOTICE").read_text("utf-8")
    assert "Version 2.0" in (folder / "LICENSE").read_text("utf-8")


def test_folding_cases_leaves_no_other_letter_that_stands_for_an_ascii_one() -> None:
    folded = language.fold_cases("".join(map(chr, range(0x80, 0x20000))))
    assert len(folded) == 0x20000 - 0x80
    assert {letter for letter in re.findall("[a-z]", folded, re.IGNORECASE) if not letter.isascii()} == set()
