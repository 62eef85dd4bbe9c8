"""`--expand` on the command line, with a language model behind a scripted server."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Program, Run
from tests.providers.conftest import server  # noqa: F401
from tests.providers.llm.conftest import KEY, answer
from tests.providers.server import Reply, Server

ANSWER = "lex: deploy rain\nvec: what about the deploy?\nlex: zeppelin"


@pytest.fixture
def model(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:  # noqa: F811
    """The scripted server, set as the language model."""
    monkeypatch.setenv("COMMONPLACE_LLM_PROVIDER", "compatible")
    monkeypatch.setenv("COMMONPLACE_LLM_MODEL", "m")
    monkeypatch.setenv("COMMONPLACE_LLM_BASE_URL", f"{server.url}/v1")
    monkeypatch.setenv("COMMONPLACE_LLM_KEY", KEY)
    monkeypatch.setenv("COMMONPLACE_LIMITS_WAIT_S", "20")
    server.answer = lambda request: Reply(answer(ANSWER))
    return server


def paths(output: str) -> list[str]:
    return [hit["path"] for hit in json.loads(output)]


def test_expand_adds_lines_and_explain_shows_them(run: Run, model: Server) -> None:
    assert paths(run("search", "deploy", "--format", "json").stdout) == ["memory/2026-02-13.md"]
    assert model.requests == []
    result = run("search", "deploy", "--expand", "--explain", "--format", "json")
    assert paths(result.stdout) == ["memory/2026-02-13.md", "memory/2026-02-14.md"]
    assert "+ lex: deploy rain\n+ vec: what about the deploy?\nexpansion " in result.stderr
    assert "zeppelin" not in result.stderr


def test_the_program_expands(program: Program, model: Server) -> None:
    done = program("search", "deploy", "--expand", "--format", "json")
    assert (done.returncode, done.stderr) == (0, b"")
    assert paths(done.stdout.decode()) == ["memory/2026-02-13.md", "memory/2026-02-14.md"]
    (request,) = model.requests
    assert "Thursday" not in request.body.decode()


def test_a_failing_model_is_one_line_beside_the_answer(run: Run, model: Server) -> None:
    model.answer = lambda request: Reply({"error": {"message": "no"}}, 403)
    result = run("search", "deploy", "--expand", "--format", "json")
    assert result.exit_code == 0
    assert paths(result.stdout) == ["memory/2026-02-13.md"]
    (line,) = result.stderr.splitlines()
    assert line.startswith("commonplace: the question was not expanded (compatible: ")
    assert KEY not in line
