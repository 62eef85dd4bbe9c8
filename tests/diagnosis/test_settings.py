"""Settings: files that load and files that do not, by key and line; variables; where values come from."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.config import KEYS, user_file
from commonplace.diagnosis import settings
from commonplace.types import Finding
from tests.diagnosis.conftest import Present, by_check, states
from tests.places import settings_file


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_no_files_at_all(case: Present) -> None:
    assert states(settings.files(case())) == {
        "settings.user": "ok",
        "settings.workspace": "ok",
        "settings.others": "ok",
    }


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
    assert "line" in found["settings.user"].told
    assert found["settings.user"].remedy == f"mend {path}; until then it stops every command"
    assert found["settings.workspace"].state == "ok"


def test_both_files_are_told_apart(case: Present, workspace: Path) -> None:
    write(user_file(), "[search]\nlimit = 0\n")
    write(settings_file(workspace), "[search]\nlimit = 5\nfusion = 'none'\n")
    found = by_check(settings.files(case()))
    assert found["settings.user"].told.endswith("(line 2)")
    assert "one of calibrated, " in found["settings.workspace"].told
    assert found["settings.workspace"].told.endswith("(line 3)")


def test_a_file_that_is_no_file(case: Present) -> None:
    user_file().mkdir(parents=True)
    assert states(settings.files(case()))["settings.user"] == "wrong"


def test_prices(case: Present) -> None:
    path = write(user_file().parent / "prices.toml", "[openai\n")
    found = by_check(settings.files(case()))["settings.others"]
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
        "the variable COMMONPLACE_SERCH_LIMIT is not known; did you mean COMMONPLACE_SEARCH_LIMIT?",
        "unset COMMONPLACE_SERCH_LIMIT",
    )


def test_a_variable_that_is_like_no_other(case: Present, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_FOO", "5")
    (finding,) = settings.variables(case())
    assert finding.told == "the variable COMMONPLACE_FOO is not known"


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


def test_where_values_come_from(case: Present, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user = write(user_file(), "[search]\nlimit = 5\n\n[recall]\nbudget = 500\n")
    own = write(settings_file(workspace), "[search]\nlimit = 6\n")
    monkeypatch.setenv("COMMONPLACE_RECALL_BUDGET", "600")
    limit, budget, provider = settings.origins(case())
    assert limit.told == f"search.limit = 6 (from {own}:2) overrides {user}:2"
    assert budget.told == f"recall.budget = 600 (from COMMONPLACE_RECALL_BUDGET) overrides {user}:5"
    assert {limit.state, budget.state, limit.check} == {"warning", "settings.overridden"}
    assert provider.told == "embedding.provider = fake (from COMMONPLACE_EMBEDDING_PROVIDER)"
    assert provider.state == "ok"


def test_values_of_an_agent(case: Present, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user = write(user_file(), "[agents.scribe.search]\nlimit = 5\n\n[search]\nlimit = 4\n")
    own = write(settings_file(workspace), "[search]\nlimit = 6\n")
    limit, _ = settings.origins(case())
    assert limit.told == f"search.limit = 6 (from {own}:2) overrides {user}:5"
    monkeypatch.setenv("COMMONPLACE_AGENT", "scribe")
    limit, _ = settings.origins(case())
    assert limit.told == f"search.limit = 5 (from {user}:2) overrides {own}:2"


def test_a_list(case: Present) -> None:
    user = write(user_file(), "[embedding]\nfallback = ['fake']\n")
    found = {finding.told for finding in settings.origins(case())}
    assert f"embedding.fallback = ('fake',) (from {user}:2)" in found


def test_the_same_value_twice_overrides_nothing(case: Present, monkeypatch: pytest.MonkeyPatch) -> None:
    write(user_file(), "[search]\nlimit = 5\n")
    monkeypatch.setenv("COMMONPLACE_SEARCH_LIMIT", "5")
    assert [finding.state for finding in settings.origins(case())] == ["ok", "ok"]
    monkeypatch.setenv("COMMONPLACE_SEARCH_LIMIT", "05")
    assert [finding.state for finding in settings.origins(case())] == ["ok", "ok"]


def test_a_file_that_does_not_load_sets_nothing(case: Present) -> None:
    write(user_file(), "[search]\nlimit = 5\n[recall]\nbudget = 0\n")
    assert [finding.told.partition(" ")[0] for finding in settings.origins(case())] == ["embedding.provider"]


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("embedding.base_url", "https://me:hunter2@example.com/v1", "https://example.com/v1"),
        ("llm.model", "sk-proj-0123456789abcdefghij0123", "[REDACTED:api-key]"),
        ("search.limit", "5\x1b[2J", "5\N{REPLACEMENT CHARACTER}[2J"),
    ],
)
def test_values_fit_to_be_shown(name: str, value: str, shown: str) -> None:
    assert name in {key.name for key in KEYS}
    assert settings.shown(value) == shown


def test_line_of(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.toml",
        '# limit = 1\nlimit = 2\n[search]\nmin = 3\nlimit=4\n[workspaces."/a b".contexts]\n"x" = "y"\n',
    )
    assert settings.line_of(path, "search.limit") == 5
    assert settings.line_of(path, "limit") == 2
    assert settings.line_of(path, "search") == 3
    assert settings.line_of(path, 'workspaces."/a b".contexts') == 6
    assert settings.line_of(path, "search.none") == 0
    assert settings.line_of(tmp_path / "none", "search") == 0
