"""Vectors and answers kept for all workspaces: found again, bounded, shared, without secrets, never an error."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from commonplace.base.errors import NoteUnreadable
from commonplace.providers import cache
from commonplace.providers.cache import AnswerCache, VectorCache, answer_key, vector_key
from commonplace.providers.llm.base import Completion, Message, Request, ToolCall, ToolSpec


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "cache" / "vectors.sqlite")


def rows(numbers: range) -> dict[bytes, bytes]:
    return {cache.vector_key("m", "passage", str(n)): n.to_bytes(4, "big") for n in numbers}


def test_the_oldest_go_first(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = VectorCache(path, limit=10)
    clock = [1_000_000.0]
    monkeypatch.setattr("time.time", lambda: clock[0])
    for number in range(11):
        clock[0] += 10_000
        made.keep("m", rows(range(number, number + 1)))
    assert made.stats().entries <= 10
    assert made.find(list(rows(range(1)))) == {}
    assert made.find(list(rows(range(2, 11)))) == rows(range(2, 11))


def test_vectors_of_another_length_take_the_place_of_all_others_of_their_model(path: str) -> None:
    made = VectorCache(path)
    made.keep("m", {b"a": b"1234", b"b": b"5678"})
    made.keep("other", {b"c": b"1234"})
    made.keep("m", {b"b": b"12345678"})
    assert made.find([b"a", b"b", b"c"]) == {b"b": b"12345678", b"c": b"1234"}


def test_stats_tell_the_models(path: str) -> None:
    made = VectorCache(path)
    made.keep("a", rows(range(3)))
    made.keep("b", rows(range(3, 8)))
    stats = made.stats()
    assert (stats.entries, dict(stats.models)) == (8, {"a": 3, "b": 5})
    assert stats.bytes > 0
    assert made.forget() == 8
    assert made.stats().entries == 0
    made.keep("a", rows(range(1)))
    assert made.stats().entries == 1


@pytest.mark.parametrize("content", [b"no database at all" * 100, b"SQLite format 3\0" + b"\xff" * 5000, b""])
def test_a_damaged_one_is_begun_anew(path: str, content: bytes) -> None:
    os.makedirs(os.path.dirname(path))
    Path(path).write_bytes(content)
    made = VectorCache(path)
    assert made.find(list(rows(range(2)))) == {}
    made.keep("m", rows(range(2)))
    assert VectorCache(path).find(list(rows(range(2)))) == rows(range(2))


def test_one_that_cannot_be_made_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    made = VectorCache(str(tmp_path / "file" / "vectors.sqlite"))
    made.keep("m", rows(range(2)))
    assert made.find(list(rows(range(2)))) == {}
    assert made.stats().entries == 0


def test_processes_share_it_without_an_error(path: str) -> None:
    program = (
        "import sys\n"
        "from commonplace.providers import cache\n"
        "made = cache.VectorCache(sys.argv[1], 100_000)\n"
        "own = int(sys.argv[2])\n"
        "for n in range(60):\n"
        "    keys = {cache.vector_key('m', 'passage', f'{own}-{n}-{i}'): b'v' * 384 for i in range(20)}\n"
        "    made.keep('m', keys)\n"
        "    assert made.find(list(keys)) == keys, n\n"
    )
    started = [
        subprocess.Popen([sys.executable, "-W", "error", "-c", program, path, str(n)], stderr=subprocess.PIPE)
        for n in range(4)
    ]
    for process in started:
        assert process.communicate(timeout=60)[1] == b""
        assert process.returncode == 0
    assert VectorCache(path).stats().entries == 4 * 60 * 20


def test_clearing_gives_room_back_and_waits_for_whoever_writes(path: str) -> None:
    one, other = VectorCache(path), VectorCache(path)
    for start in range(0, 400, 100):
        one.keep(
            "m", {vector_key("m", "passage", str(n)): os.urandom(2000) for n in range(start, start + 100)}
        )
    before = os.path.getsize(path) + os.path.getsize(f"{path}-wal")
    assert other.forget() == 400
    assert os.path.getsize(path) + os.path.getsize(f"{path}-wal") < before / 10
    with closing(apsw.Connection(path)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        with pytest.raises(NoteUnreadable, match="locked by another process"):
            other.forget()
        writer.execute("ROLLBACK")
    assert other.forget() == 0
    assert one.stats().entries == 0


def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    umask = os.umask(0o022)
    try:
        VectorCache(str(tmp_path / "v.sqlite")).keep("m", {b"k": b"v"})
    finally:
        os.umask(umask)
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in tmp_path.iterdir())


# --- answers ------------------------------------------------------------------------------------------

REQUEST = Request((Message("user", "When do we deploy?"),))
ANSWER = Completion(
    "周二",
    "m",
    5,
    2,
    data={"day": "周二"},
    logprobs=(("周", -0.5), ("星", -1.0)),
)


def get(answers: AnswerCache, model: str, request: Request) -> Completion | None:
    key = answer_key(model, request)
    return answers.find([key]).get(key)


def put(answers: AnswerCache, model: str, request: Request, completion: Completion) -> None:
    answers.keep(model, {answer_key(model, request): completion})


@pytest.fixture
def answers(tmp_path: Path) -> AnswerCache:
    return AnswerCache(tmp_path / "answers.sqlite")


def test_an_answer_comes_back_whole_and_marked(answers: AnswerCache) -> None:
    assert get(answers, "m", REQUEST) is None
    put(answers, "m", REQUEST, ANSWER)
    assert get(answers, "m", REQUEST) == replace(ANSWER, cached=True)


@pytest.mark.parametrize(
    "other",
    [
        replace(REQUEST, messages=(Message("system", "When do we deploy?"),)),
        replace(REQUEST, messages=(Message("user", "When do we deploy"),)),
        replace(REQUEST, schema={"type": "object"}),
        replace(REQUEST, tools=(ToolSpec("f", "", {}),)),
        replace(REQUEST, max_tokens=5),
        replace(REQUEST, logprobs=1),
    ],
)
def test_another_question_is_another_answer(answers: AnswerCache, other: Request) -> None:
    put(answers, "m", REQUEST, ANSWER)
    assert get(answers, "m", other) is None
    assert get(answers, "other model", REQUEST) is None


def test_what_is_too_old_is_not_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = AnswerCache(tmp_path / "answers.sqlite")
    put(answers, "m", REQUEST, ANSWER)
    now = time.time()
    monkeypatch.setattr("time.time", lambda: now + cache.MAX_AGE_S + 1)
    assert get(answers, "m", REQUEST) is None
    put(answers, "m", replace(REQUEST, max_tokens=5), ANSWER)
    assert answers.stats().entries == 1


def test_it_is_for_its_owner_only_and_holds_no_question(answers: AnswerCache, tmp_path: Path) -> None:
    secret = replace(REQUEST, messages=(Message("user", "sk-test-0123456789abcdefghij"),))
    put(answers, "m", secret, ANSWER)
    answers.close()
    for file in tmp_path.iterdir():
        assert file.stat().st_mode & 0o077 == 0
        assert b"sk-test" not in file.read_bytes()
        assert "sk-test" not in file.name


KEY = "sk-proj-" + "Ab1" * 16


@pytest.mark.parametrize(
    "secret",
    [
        Completion(f"The key is {KEY}.", "m"),
        Completion("{}", "m", data={"keys": [{"of": "openai", "is": KEY}]}),
        Completion('{"key": "\\u0073k-proj-' + "Ab1" * 16 + '"}', "m", data={"key": KEY}),
        Completion("", "m", calls=(ToolCall("1", "remember", f'{{"text": "{KEY}"}}'),)),
        Completion("", "m", logprobs=((KEY[:9], -0.1), (KEY[9:], -0.1))),
    ],
    ids=["text", "data", "escaped data", "calls", "tokens"],
)
def test_an_answer_that_holds_a_secret_is_not_kept(tmp_path: Path, secret: Completion) -> None:
    answers = AnswerCache(tmp_path / "answers.sqlite")
    put(answers, "m", REQUEST, secret)
    assert get(answers, "m", REQUEST) is None
    put(answers, "m", REQUEST, ANSWER)
    assert get(answers, "m", REQUEST) is not None
    answers.close()
    for file in tmp_path.iterdir():
        assert b"Ab1Ab1" not in file.read_bytes()


def test_text_that_is_no_unicode_is_not_kept(answers: AnswerCache) -> None:
    put(answers, "m", REQUEST, replace(ANSWER, text="\ud800"))
    assert get(answers, "m", REQUEST) is None
