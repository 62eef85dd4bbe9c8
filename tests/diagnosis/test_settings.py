"""Settings: files that load and files that do not, variables, keys without effect."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.config import user_file
from commonplace.diagnosis import settings
from commonplace.types import Finding
from tests.diagnosis.conftest import Present, by_check, states
from tests.places import settings_file


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_no_files_at_all(case: Present) -> None:
    assert list(settings.files(case())) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[search]\n\n# how many\nlimit = 'x'\n", "search.limit: 'x' in {path} is not allowed; it must be"),
        ("[search]\nlimit = 5\nlimitt = 5\n\n", "search.limitt: unknown key in {path}; did you mean"),
        ("\n[serch]\n", "serch: unknown table in {path}; did you mean search"),
        ("[search]\nlimit = \n", "not valid TOML"),
    ],
)
def test_a_file_of_the_user_that_does_not_load(case: Present, text: str, told: str) -> None:
    path = write(user_file(), text)
    found = by_check(settings.files(case()))
    assert found["settings.user"].state == "wrong"
    assert told.format(path=path) in found["settings.user"].told
    assert found["settings.user"].remedy == f"mend {path}; until then it stops every command"
    assert "settings.workspace" not in found


def test_both_files_are_told_apart(case: Present, workspace: Path) -> None:
    write(user_file(), "[search]\nlimit = 0\n")
    write(settings_file(workspace), "[search]\nlimit = 5\nfusion = 'none'\n")
    found = by_check(settings.files(case()))
    assert str(user_file()) in found["settings.user"].told
    assert "one of calibrated, " in found["settings.workspace"].told


def test_a_file_that_is_no_file(case: Present) -> None:
    user_file().mkdir(parents=True)
    assert states(settings.files(case()))["settings.user"] == "wrong"


def test_prices(case: Present) -> None:
    path = write(user_file().parent / "prices.toml", "[openai\n")
    found = by_check(settings.files(case()))["settings.prices"]
    assert found.state == "wrong"
    assert str(path) in found.told


def test_variables(case: Present, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_LLM_KEY", "sk-test-0123456789abcdefghij")
    monkeypatch.setenv("COMMONPLACE_WORKSPACE", "/tmp")
    assert list(settings.variables(case())) == []
    monkeypatch.setenv("COMMONPLACE_SERCH_LIMIT", "5")
    monkeypatch.setenv("COMMONPLACE_RECALL_BUDGET", "many")
    wrong, unknown = settings.variables(case())
    assert (wrong.state, wrong.remedy.split(",")[0]) == ("wrong", "unset COMMONPLACE_RECALL_BUDGET")
    assert wrong.told.startswith("recall.budget: 'many' in COMMONPLACE_RECALL_BUDGET")
    assert unknown == Finding(
        "settings.variables",
        "warning",
        "the variable COMMONPLACE_SERCH_LIMIT is not known",
        "rename it: COMMONPLACE_SEARCH_LIMIT",
    )


def test_a_variable_that_is_like_no_other(case: Present, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_FOO", "5")
    (finding,) = settings.variables(case())
    assert (finding.told, finding.remedy) == (
        "the variable COMMONPLACE_FOO is not known",
        "unset COMMONPLACE_FOO",
    )


def test_a_malformed_name_of_an_agent(case: Present, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_AGENT", "scribe")
    assert list(settings.variables(case())) == []
    monkeypatch.setenv("COMMONPLACE_AGENT", "../scribe")
    (finding,) = settings.variables(case())
    assert (finding.state, finding.remedy.partition(",")[0]) == ("wrong", "unset COMMONPLACE_AGENT")


def test_one_wrong_variable_hides_no_other(case: Present, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_RECALL_BUDGET", "many")
    monkeypatch.setenv("COMMONPLACE_SEARCH_LIMIT", "0")
    assert [finding.state for finding in settings.variables(case())] == ["wrong", "wrong"]


def test_a_setting_of_a_former_version_is_named(case: Present) -> None:
    write(user_file(), "[search]\ndiversity = 0.5\n")
    (finding,) = settings.left_out(case())
    assert (finding.state, finding.told.partition(" ")[0]) == ("warning", "search.diversity")
    assert "leave it out" in finding.told
