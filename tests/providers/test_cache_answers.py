"""Answers kept: by what was asked, for a while, as many as fit, by several processes at once."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.base.errors import NoteUnreadable
from commonplace.providers.cache import MAX_BYTES, AnswerCache, CacheStats, answer_key
from commonplace.providers.llm.base import Completion, Message, Request, TokenChance, ToolCall, ToolSpec
from commonplace.redaction.redact import holds_secret
from tests.cli.conftest import environment

REQUEST = Request((Message("user", "When do we deploy?"),))
ANSWER = Completion(
    "周二",
    "m",
    5,
    2,
    data={"day": "周二"},
    calls=(ToolCall("1", "f", "{}"),),
    logprobs=(TokenChance("周", -0.5, (("周", -0.5), ("星", -1.0))),),
)
SHARER = """
import sys
from pathlib import Path
from tests.providers.test_cache_answers import get, put
from commonplace.providers.llm.base import Completion, Message, Request
from commonplace.providers.cache import AnswerCache, CacheStats, MAX_BYTES
cache, missed = AnswerCache(Path(sys.argv[1]), limit=20_000), 0
for number in range(200):
    request = Request((Message("user", str(number % 50)),))
    if get(cache, "m", request) is None:
        missed += 1
        put(cache, "m", request, Completion(str(number % 50), "m"))
    found = get(cache, "m", request)
    assert found is None or found.text == str(number % 50)
print(missed)
"""


def get(cache: AnswerCache, model: str, request: Request) -> Completion | None:
    key = answer_key(model, request)
    return cache.find([key]).get(key)


def put(cache: AnswerCache, model: str, request: Request, completion: Completion) -> None:
    cache.keep(model, {answer_key(model, request): completion})


@pytest.fixture
def cache(tmp_path: Path) -> AnswerCache:
    return AnswerCache(tmp_path / "answers.sqlite")


def test_an_answer_comes_back_whole_and_marked(cache: AnswerCache) -> None:
    assert get(cache, "m", REQUEST) is None
    put(cache, "m", REQUEST, ANSWER)
    assert get(cache, "m", REQUEST) == replace(ANSWER, cached=True)


@pytest.mark.parametrize(
    "other",
    [
        replace(REQUEST, messages=(Message("system", "When do we deploy?"),)),
        replace(REQUEST, messages=(Message("user", "When do we deploy"),)),
        replace(REQUEST, schema={"type": "object"}),
        replace(REQUEST, tools=(ToolSpec("f", "", {}),)),
        replace(REQUEST, max_tokens=5),
        replace(REQUEST, temperature=1.0),
        replace(REQUEST, logprobs=1),
    ],
)
def test_another_question_is_another_answer(cache: AnswerCache, other: Request) -> None:
    put(cache, "m", REQUEST, ANSWER)
    assert get(cache, "m", other) is None
    assert get(cache, "other model", REQUEST) is None


def test_purpose_and_deadline_make_no_difference(cache: AnswerCache) -> None:
    put(cache, "m", REQUEST, ANSWER)
    assert get(cache, "m", replace(REQUEST, purpose="other", deadline_s=1)) is not None


def test_what_is_too_old_is_not_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = AnswerCache(tmp_path / "answers.sqlite", max_age_s=10)
    put(cache, "m", REQUEST, ANSWER)
    now = time.time()
    monkeypatch.setattr("time.time", lambda: now + 11)
    assert get(cache, "m", REQUEST) is None


def test_the_least_recently_used_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = AnswerCache(tmp_path / "answers.sqlite", limit=12_000)
    now = time.time()

    def asked(number: int) -> Request:
        return replace(REQUEST, max_tokens=number)

    for number in range(8):
        monkeypatch.setattr("time.time", lambda number=number: now + number * 100)
        put(cache, "m", asked(number), replace(ANSWER, text="x" * 1000))
    monkeypatch.setattr("time.time", lambda: now + 1000)
    assert get(cache, "m", asked(0)) is not None  # used again
    put(cache, "m", asked(9), replace(ANSWER, text="x" * 2000))
    kept = [number for number in range(10) if get(cache, "m", asked(number)) is not None]
    assert 0 in kept
    assert 9 in kept
    assert 1 not in kept
    assert kept == [0, *range(kept[1], 8), 9]


def test_what_is_larger_than_the_cache_is_not_kept(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path / "answers.sqlite", limit=1000)
    put(cache, "m", REQUEST, replace(ANSWER, text="x" * 2000))
    assert get(cache, "m", REQUEST) is None


def test_processes_share_it_without_an_error(tmp_path: Path) -> None:
    path = tmp_path / "new" / "answers.sqlite"
    command = [sys.executable, "-W", "error", "-c", SHARER, str(path)]
    sharers = [
        subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    results = [(sharer.communicate(), sharer.returncode) for sharer in sharers]
    assert [(err, code) for (_, err), code in results] == [(b"", 0)] * 2
    assert sum(int(out) for (out, _), _ in results) < 200
    found = get(AnswerCache(path), "m", Request((Message("user", "7"),)))
    assert found is not None
    assert found.text == "7"


def test_it_is_for_its_owner_only_and_holds_no_question(cache: AnswerCache, tmp_path: Path) -> None:
    secret = replace(REQUEST, messages=(Message("user", "sk-test-0123456789abcdefghij"),))
    put(cache, "m", secret, ANSWER)
    cache.close()
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
        Completion("", "m", calls=(ToolCall("1", "remember", '{"text": "\\u0073' + KEY[1:] + '"}'),)),
        Completion("", "m", calls=(ToolCall("1", "remember", f"no JSON: {KEY}"),)),
        Completion("", "m", logprobs=(TokenChance(KEY[:9], -0.1), TokenChance(KEY[9:], -0.1))),
    ],
    ids=["text", "data", "escaped data", "arguments", "escaped arguments", "no JSON", "tokens"],
)
def test_an_answer_that_holds_a_secret_is_not_kept(tmp_path: Path, secret: Completion) -> None:
    cache = AnswerCache(tmp_path / "answers.sqlite", holds_secret=holds_secret)
    put(cache, "m", REQUEST, secret)
    assert get(cache, "m", REQUEST) is None
    put(cache, "m", REQUEST, ANSWER)
    assert get(cache, "m", REQUEST) is not None
    cache.close()
    for file in tmp_path.iterdir():
        assert b"Ab1Ab1" not in file.read_bytes()


def test_a_cache_that_cannot_be_had_stops_nobody(tmp_path: Path) -> None:
    (tmp_path / "answers.sqlite").mkdir()
    cache = AnswerCache(tmp_path / "answers.sqlite")
    put(cache, "m", REQUEST, ANSWER)
    assert get(cache, "m", REQUEST) is None


def test_a_damaged_cache_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    path.write_bytes(b"not a database" * 1000)
    cache = AnswerCache(path)
    assert get(cache, "m", REQUEST) is None
    put(cache, "m", REQUEST, ANSWER)
    assert get(cache, "m", REQUEST) is not None


def test_text_that_is_no_unicode_is_not_kept(cache: AnswerCache) -> None:
    put(cache, "m", REQUEST, replace(ANSWER, text="\ud800"))
    assert get(cache, "m", REQUEST) is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_of_a_process_has_a_connection_of_its_own(cache: AnswerCache) -> None:
    put(cache, "m", REQUEST, ANSWER)
    child = os.fork()
    if not child:
        try:
            put(cache, "m", replace(REQUEST, max_tokens=7), ANSWER)
            os._exit(0 if get(cache, "m", REQUEST) else 1)
        except BaseException:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert get(cache, "m", replace(REQUEST, max_tokens=7)) is not None


def test_stats_tell_the_models_and_clearing_leaves_the_file_to_others(tmp_path: Path) -> None:
    cache, other = AnswerCache(tmp_path / "answers.sqlite"), AnswerCache(tmp_path / "answers.sqlite")
    assert cache.stats() == CacheStats(0, 0, MAX_BYTES, {})
    assert cache.clear() == 0
    assert not cache.path.exists()
    for number in range(3):
        put(
            cache, "m", replace(REQUEST, max_tokens=number + 1), replace(ANSWER, model="a" if number else "b")
        )
    found = other.stats()
    assert (found.entries, dict(found.models)) == (3, {"a": 2, "b": 1})
    assert found.bytes >= cache.path.stat().st_size
    assert 0 < found.oldest_s <= time.time()
    assert other.clear() == 3
    assert get(cache, "m", replace(REQUEST, max_tokens=1)) is None
    put(cache, "m", REQUEST, ANSWER)
    assert other.stats().entries == 1
    cache.close()
    other.close()


def test_clearing_a_damaged_file_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    path.write_bytes(b"no database at all" * 100)
    cache = AnswerCache(path)
    with pytest.raises(NoteUnreadable, match="damaged"):
        cache.stats()
    assert cache.clear() == 0
    put(cache, "m", REQUEST, ANSWER)
    assert cache.stats().entries == 1
    cache.close()
