"""The rules of languages: the quick reader reads what TOML says, and every word stands as texts are folded."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

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


def test_short_forms_tell_names_apart() -> None:
    assert rules.short_numbers("months")["mar"] == 3
    assert rules.short_numbers("week")["sun"] == rules.numbers("week", ("en",))["sunday"] == 7


FRENCH = '''
writing = """blanks"""
months = """janvier février mars avril mai juin juillet août septembre octobre novembre décembre"""
week = """lundi mardi mercredi jeudi vendredi samedi dimanche sam"""
stopwords = """le la les de vu et"""
dated = """hier demain"""
'''
FRENCH_DATES = """
from commonplace.language import periods, rules
from commonplace.language.periods import Rule

WEEK = rules.listed("fr", "week")
RULES = (Rule("|".join(WEEK), WEEK, lambda match, now: periods.nearest_weekday(now, WEEK.index(match[0]))),)
"""


def test_a_language_is_one_file_of_rules_and_one_of_dates(tmp_path: Path) -> None:
    own, package = Path(rules.__file__).parents[2], tmp_path / "commonplace"
    package.mkdir()
    for path in own.iterdir():
        if path.name != "language":
            (package / path.name).symlink_to(path)
    shutil.copytree(own / "language", package / "language")
    (package / "language" / "rules" / "fr.toml").write_text(FRENCH, "utf-8")
    (package / "language" / "dates_fr.py").write_text(FRENCH_DATES, "utf-8")
    program = (
        "from datetime import date\n"
        "from commonplace.language import compare, dates, rules, values\n"
        "from commonplace.search import query\n"
        "span = dates.read('mardi', date(2026, 2, 12))\n"
        "months = rules.short_numbers('months', ('fr',))\n"
        "print(span.first, months['juil'], *values.read('juillet 3').values['date'])\n"
        "print(query.days(query.parse('vu mardi'), date(2026, 2, 12)).spans[0].first)\n"
        "print(compare.same(compare.read('vu mardi'), compare.read('vu jeudi')))\n"
        "print(compare.read('vu le sam').signs, compare.read('that was Sam').signs)\n"
        "print(len(dates.spans('seen with Sam on Friday', date(2026, 2, 12))), rules.spoken('Le la 周五'))\n"
    )
    environ = os.environ | {"PYTHONPATH": str(tmp_path)}
    printed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environ
    )
    lines = printed.stdout.splitlines()
    assert lines[:3] == ["2026-02-10 7 7-3", "2026-02-10", "False"]
    assert lines[3:] == ["('sam',) ()", "1 ('fr', 'zh')"]
