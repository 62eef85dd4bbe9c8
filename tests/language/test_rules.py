"""The rules of languages: the quick reader reads what TOML says, and every word stands as texts are folded."""

from __future__ import annotations

import subprocess
import sys

import pytest

from commonplace import language
from commonplace.language import rules


@pytest.mark.parametrize("name", rules.LANGUAGES)
def test_a_list_is_what_toml_says(name: str) -> None:
    texts = {key: value for key, value in rules.load(name).items() if isinstance(value, str)}
    assert texts
    for key, value in texts.items():
        assert rules.listed(name, key) == tuple(value.split())
        assert language.fold(value.casefold()) == value
    assert rules.listed(name, "nothing of this name") == ()


def test_words_of_all_languages() -> None:
    assert {"not", "不"} <= rules.words("negations")
    assert "march" in rules.words("months")


def test_a_search_does_not_load_the_reader_of_toml() -> None:
    program = (
        "import sys\n"
        "from commonplace.language import compare, dates, lexicon, stopwords, values\n"
        "from datetime import date\n"
        "compare.read('last Tuesday 昨天'); dates.spans('last Tuesday 昨天', date(2026, 2, 12))\n"
        "values.read('room 12 at 9:30'); stopwords.without('我们的')\n"
        "print('tomllib' in sys.modules)\n"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "False"
