"""Values in a sentence: letters that only expressions take for others."""

from __future__ import annotations

from commonplace.language import values


def test_names_in_letters_that_are_like_others_only_in_expressions() -> None:
    for text, plain in [("Auguſt 3", "August 3"), ("ſunday", "sunday"), ("3rd of Aprıl", "3rd of April")]:
        assert values.read(text).values == values.read(plain).values, text
    assert values.read("sınır").rest == "sınır"


def test_each_kind_is_written_one_way() -> None:
    for text, kind, written in (
        ("9:30 pm", "clock", {"21:30"}), ("21:30", "clock", {"21:30"}), ("晚上九点半", "clock", {"21:30"}), ("晚上8点", "clock", {"20:00"}),
        ("the 5th of april", "date", {"4-5"}), ("april 5", "date", {"4-5"}), ("2026-04-05", "date", {"4-5"}), ("四月五日", "date", {"4-5"}),
        ("on fridays", "day", {"5"}), ("周日", "day", {"7"}), ("20 %, 20 percent", "percent", {"20", "20, 1"}), ("百分之二十", "percent", {"20"}),
        ("twelve", "number", {"12"}), ("十二个", "number", {"12"}), ("1,200", "number", {"1200"}),
        ("from shelf 3 to depot 3", "number", {"3", "3, 1"}), ("room 12, pr #13", "named", {"room12", "pr#13"}),
    ):  # fmt: skip
        assert values.read(text).values[kind] == written, text
