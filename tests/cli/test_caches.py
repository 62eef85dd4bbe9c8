"""`cache stats|clear`: what is kept for all workspaces, told and forgotten, also while others use it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from commonplace.base.paths import user_cache_dir
from commonplace.providers.cache import AnswerCache, VectorCache, answer_key, vector_key
from commonplace.providers.llm.base import Completion, Message, Request
from tests.cli.conftest import Run, command, environment

OPENAI = "openai-1:text-embedding-3-small:full:0123456789ab"
PLACED = "compatible-1@127.0.0.1:8080:BAAI/bge-m3:512:0123456789ab"


def request(text: str) -> Request:
    return Request((Message("user", text),))


@pytest.fixture
def vectors() -> VectorCache:
    """Five vectors of two models."""
    made = VectorCache(str(user_cache_dir() / "vectors.sqlite"))
    made.keep(OPENAI, {vector_key(OPENAI, "passage", str(n)): b"x" * 384 for n in range(3)})
    made.keep(PLACED, {vector_key(PLACED, "passage", str(n)): b"x" * 512 for n in range(2)})
    return made


@pytest.fixture
def answers() -> AnswerCache:
    """Two answers of one model."""
    made = AnswerCache()
    for text in ("one", "二"):
        made.keep("m", {answer_key("m", request(text)): Completion("yes", "模型-8b")})
    return made


def test_nothing_is_kept_and_nothing_made(run: Run) -> None:
    found = json.loads(run("cache", "stats", "--format", "json").stdout)
    assert [(row["cache"], row["entries"], row["bytes"], row["models"]) for row in found] == [
        ("vectors", 0, 0, {}),
        ("answers", 0, 0, {}),
    ]
    assert run("cache", "clear").stdout == "forgot 0 vectors and 0 answers\n"
    assert not user_cache_dir().exists()


def test_what_is_kept_is_told_by_model(run: Run, vectors: VectorCache, answers: AnswerCache) -> None:
    kept, asked = json.loads(run("cache", "stats", "--format", "json").stdout)
    assert kept["models"] == {
        OPENAI: 3,
        PLACED: 2,
    }
    assert (kept["entries"], kept["limit"], kept["path"]) == (5, "at most 50,000 entries", str(vectors.path))
    assert kept["bytes"] >= Path(vectors.path).stat().st_size
    assert (asked["entries"], asked["models"]) == (2, {"模型-8b": 2})
    assert asked["limit"] == "at most 10,000 entries and 30 days"
    lines = run("cache", "stats").stdout.splitlines()
    assert lines[0].startswith("vectors  5 in ")
    assert lines[2].split() == ["model", OPENAI, "3"]
    assert run("cache", "stats", "--answers").stdout.startswith("answers  2 in ")


def test_one_of_the_two_is_cleared(run: Run, vectors: VectorCache, answers: AnswerCache) -> None:
    assert run("cache", "clear", "--vectors").stdout == "forgot 5 vectors\n"
    assert vectors.stats().entries == 0
    assert answers.find([answer_key("m", request("one"))])
    assert json.loads(run("cache", "clear", "--format", "json").stdout) == {"vectors": 0, "answers": 2}
    assert not answers.find([answer_key("m", request("one"))])


def test_who_uses_a_cache_meanwhile_goes_on(run: Run, vectors: VectorCache, answers: AnswerCache) -> None:
    before = Path(vectors.path).stat().st_size
    vectors.keep(OPENAI, {vector_key(OPENAI, "query", str(n)): os.urandom(3000) for n in range(200)})
    assert run("cache", "clear").exit_code == 0
    assert vectors.find([vector_key(OPENAI, "passage", "0")]) == {}
    vectors.keep(OPENAI, {vector_key(OPENAI, "passage", "0"): b"y" * 384})
    answers.keep("m", {answer_key("m", request("three")): Completion("no", "m")})
    assert vectors.stats().entries == 1
    assert answers.stats().entries == 1
    found = json.loads(run("cache", "stats", "--format", "json").stdout)
    assert [row["entries"] for row in found] == [1, 1], "another process sees what was kept since"
    assert Path(vectors.path).stat().st_size <= before + 8192, "its room was given back"


def test_a_terminal_is_asked_unless_told_otherwise(workspace: Path, vectors: VectorCache) -> None:
    pty = pytest.importorskip("pty")

    def clear(answer: bytes, *arguments: str) -> tuple[int, str, str]:
        ours, theirs = pty.openpty()
        os.write(ours, answer)
        done = subprocess.run(
            command("-w", workspace, "cache", "clear", *arguments),
            stdin=theirs,
            capture_output=True,
            text=True,
            timeout=60,
            env=environment(),
        )
        os.close(theirs)
        os.close(ours)
        return done.returncode, done.stdout, done.stderr

    code, said, asked = clear(b"n\n")
    assert (code, said) == (130, "")
    assert "Forget 5 vectors and 0 answers?" in asked
    assert vectors.stats().entries == 5
    assert clear(b"y\n")[:2] == (0, "forgot 5 vectors and 0 answers\n")
    vectors.keep(OPENAI, {vector_key(OPENAI, "query", "x"): b"x"})
    assert clear(b"", "--yes") == (0, "forgot 1 vector and 0 answers\n", "")


def test_a_damaged_file_is_no_obstacle(run: Run) -> None:
    user_cache_dir().mkdir(parents=True)
    for name in ("vectors.sqlite", "answers.sqlite"):
        (user_cache_dir() / name).write_bytes(b"no database at all" * 100)
    told = run("cache", "stats", "--answers")
    assert (told.exit_code, told.stdout) == (1, "")
    assert "answers.sqlite: damaged; delete it to begin anew" in told.stderr
    assert run("cache", "clear").exit_code == 0
    found = json.loads(run("cache", "stats", "--format", "json").stdout)
    assert [row["entries"] for row in found] == [0, 0]
