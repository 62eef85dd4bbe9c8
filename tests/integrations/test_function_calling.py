"""The tools for hosts that call models themselves: schemas as the requests take them, and one call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace import ConfigError, Memory, WorkspaceNotFound
from commonplace.agent import tools
from commonplace.integrations import function_calling
from commonplace.integrations.function_calling import call, schemas
from tests.integrations.contract import KEY, NOTES, TURNS, blocks, documented, files_with


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(function_calling, "_OPENED", {})
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    root = tmp_path / "notes"
    for path, text in NOTES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")
    return root


def test_every_form_has_every_tool_and_its_schema() -> None:
    for form, inside in (
        ("chat_completions", "parameters"),
        ("responses", "parameters"),
        ("messages", "input_schema"),
    ):
        offered = schemas(form)  # type: ignore[arg-type]
        functions = [one["function"] if form == "chat_completions" else one for one in offered]
        assert [one["name"] for one in functions] == tools.known()
        assert [one[inside] for one in functions] == [dict(tool.schema) for tool in tools.TOOLS]
        assert all(one["description"] for one in functions)
        json.dumps(offered)
    assert [set(one) for one in schemas("chat_completions")] == [{"type", "function"}] * len(tools.TOOLS)
    assert {"type": "function", "strict": False}.items() <= schemas("responses")[0].items()
    assert set(schemas("messages")[0]) == {"name", "description", "input_schema"}
    with pytest.raises(ConfigError, match="it must be one of chat_completions, responses, messages"):
        schemas("gemini")  # type: ignore[arg-type]


def test_questions_in_two_languages_are_answered_in_frame_and_budget(folder: Path) -> None:
    for message, evidence in TURNS:
        if evidence:
            answer = call(folder, "memory_search", json.dumps({"query": message, "budget": 300}))
            assert not answer.is_error
            assert any(evidence in block for block in blocks(answer.text)), (message, answer.text)


def test_a_memory_is_opened_once_by_its_path(folder: Path) -> None:
    call(folder, "memory_status")
    call(str(folder), "memory_status", {})
    assert len(function_calling._OPENED) == 1
    with Memory.open(folder) as memory:
        assert "collection" in call(memory, "memory_status", None).text
    with pytest.raises(WorkspaceNotFound):
        call(folder / "none", "memory_status")


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("memory_find", "{}", "unknown tool 'memory_find'; there are memory_search, "),
        ("memory_search", "{", "memory_search: the arguments are not a JSON object: {"),
        ("memory_search", "[1]", "memory_search: the arguments are not a JSON object: [1]"),
        ("memory_search", "", "memory_search: 'query' is missing"),
        ("memory_search", {"query": 5}, "memory_search: "),
        ("memory_get", {"path": "../../etc/passwd"}, "memory_get: "),
    ],
)
def test_a_wrong_call_is_an_answer(folder: Path, name: str, arguments: Any, told: str) -> None:
    answer = call(folder, name, arguments)
    assert answer.is_error
    assert answer.text.startswith(told)


def test_what_is_written_says_who_wrote_it_and_holds_no_secret(folder: Path) -> None:
    answer = call(folder, "memory_write", {"text": f"The key is {KEY}."}, agent="mine", session="s1")
    assert "Redacted: api-key." in answer.text
    notes = "".join(path.read_text() for path in (folder / "memory").glob("*.md"))
    assert "by: agent; agent: mine; session: s1" in notes
    assert files_with(folder, KEY) == []


def test_what_waits_for_the_owner_names_the_command_that_approves_it(folder: Path) -> None:
    answer = call(folder, "memory_forget", {"what": "Tuesdays", "kind": "text"})
    assert f"commonplace forget --approve {answer.data['approve']}" in answer.text


@given(
    name=st.sampled_from([*tools.known(), "x"]),
    arguments=st.text(max_size=30)
    | st.dictionaries(st.sampled_from(["query", "path", "anchor", "old"]), st.text(max_size=20)),
)
def test_whatever_a_model_sends_is_an_answer(folder: Path, name: str, arguments: Any) -> None:
    assert call(folder, name, arguments).text


def test_what_the_documentation_shows_works(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    names: dict[str, Any] = {}
    exec(documented("Function calling"), names)
    assert "Tuesdays" in names["answer"].text
