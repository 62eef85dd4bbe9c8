"""Answers kept: by what was asked, for a while, without secrets. What all caches share is in `test_cache`."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.providers import cache as cache_module
from commonplace.providers.cache import AnswerCache, answer_key
from commonplace.providers.llm.base import Completion, Message, Request, ToolCall, ToolSpec

REQUEST = Request((Message("user", "When do we deploy?"),))
ANSWER = Completion(
    "周二",
    "m",
    5,
    2,
    data={"day": "周二"},
    logprobs=(("周", -0.5), ("星", -1.0)),
)


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
        replace(REQUEST, logprobs=1),
    ],
)
def test_another_question_is_another_answer(cache: AnswerCache, other: Request) -> None:
    put(cache, "m", REQUEST, ANSWER)
    assert get(cache, "m", other) is None
    assert get(cache, "other model", REQUEST) is None


def test_what_is_too_old_is_not_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = AnswerCache(tmp_path / "answers.sqlite")
    put(cache, "m", REQUEST, ANSWER)
    now = time.time()
    monkeypatch.setattr("time.time", lambda: now + cache_module.MAX_AGE_S + 1)
    assert get(cache, "m", REQUEST) is None
    put(cache, "m", replace(REQUEST, max_tokens=5), ANSWER)
    assert cache.stats().entries == 1


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
        Completion("", "m", logprobs=((KEY[:9], -0.1), (KEY[9:], -0.1))),
    ],
    ids=["text", "data", "escaped data", "calls", "tokens"],
)
def test_an_answer_that_holds_a_secret_is_not_kept(tmp_path: Path, secret: Completion) -> None:
    cache = AnswerCache(tmp_path / "answers.sqlite")
    put(cache, "m", REQUEST, secret)
    assert get(cache, "m", REQUEST) is None
    put(cache, "m", REQUEST, ANSWER)
    assert get(cache, "m", REQUEST) is not None
    cache.close()
    for file in tmp_path.iterdir():
        assert b"Ab1Ab1" not in file.read_bytes()


def test_text_that_is_no_unicode_is_not_kept(cache: AnswerCache) -> None:
    put(cache, "m", REQUEST, replace(ANSWER, text="\ud800"))
    assert get(cache, "m", REQUEST) is None
