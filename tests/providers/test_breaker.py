"""The breaker: open at once after permanent failures, later after passing ones."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import SimpleNamespace

import pytest

from commonplace.base.errors import ProviderError
from commonplace.providers import guard as breaker
from commonplace.providers.guard import Breaker, Guard

WRONG_KEY = ProviderError("openai", "401 wrong key", permanent=True, status=401)
SLOW = ProviderError("openai", "no answer in time")


class Clock:
    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def made(clock: Clock) -> Breaker:
    return Breaker(clock)


def guarding(made: Breaker) -> AbstractContextManager[None]:
    guard = Guard(SimpleNamespace(name="m"), breaker=made)
    guard.breaker_name = "openai"
    return guard.asking()


def test_a_failure_for_good_opens_it_at_once_and_longer_each_time(made: Breaker, clock: Clock) -> None:
    pause = breaker.COOL_OFF_S
    for _ in range(12):
        with pytest.raises(ProviderError) as raised, guarding(made):
            raise WRONG_KEY
        assert raised.value is WRONG_KEY
        assert made.opened()[0].permanent
        with pytest.raises(ProviderError, match="left alone after a failure") as refused:
            made.check("openai")
        assert refused.value.permanent
        assert refused.value.retry_after_s == pytest.approx(pause)
        clock.now += pause
        pause = min(pause * 2, breaker.COOL_OFF_MAX_S)


def test_passing_failures_open_it_after_a_few_in_a_row(made: Breaker, clock: Clock) -> None:
    for _ in range(breaker.PASSING_FAILURES - 1):
        made.failed("openai", SLOW)
        made.check("openai")
    made.succeeded("openai")
    for _ in range(breaker.PASSING_FAILURES):
        made.check("openai")
        made.failed("openai", SLOW)
    assert made.find("openai")
    assert not made.opened()[0].permanent
    clock.now += breaker.PASSING_S
    made.check("openai")


def test_faults_that_pass_are_no_second_permanent_failure(made: Breaker, clock: Clock) -> None:
    made.failed("openai", WRONG_KEY)
    clock.now += breaker.COOL_OFF_S
    for _ in range(breaker.PASSING_FAILURES + 1):
        made.failed("openai", SLOW)
        made.check("openai")
