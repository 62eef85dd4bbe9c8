"""Values in a sentence: letters that only expressions take for others."""

from __future__ import annotations

from commonplace.language import values


def test_names_in_letters_that_are_like_others_only_in_expressions() -> None:
    for text, plain in [("Auguſt 3", "August 3"), ("ſunday", "sunday"), ("3rd of Aprıl", "3rd of April")]:
        assert values.read(text).values == values.read(plain).values, text
    assert values.read("sınır").rest == "sınır"
