"""Providers left alone: at once for good reasons, later for passing ones, one trial at a time, told to all."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.base.errors import ProviderError
from commonplace.providers import breaker
from commonplace.providers.breaker import Breaker
from commonplace.providers.guard import Guard

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
def made(tmp_path: Path, clock: Clock) -> Breaker:
    return Breaker(tmp_path / "state" / "breakers.json", clock)


def guarding(made: Breaker) -> AbstractContextManager[None]:
    return Guard("openai", "m", breaker=made, breaker_name="openai").asking()


def test_a_provider_that_works_leaves_no_trace(made: Breaker) -> None:
    with guarding(made):
        pass
    assert not made.path.exists()


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


def test_what_the_provider_asks_to_wait_counts(made: Breaker, clock: Clock) -> None:
    made.failed("openai", ProviderError("openai", "quota", 7200.0, permanent=True))
    assert made.opened()[0].until_s == clock.now + 7200


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


def test_a_success_forgets_everything(made: Breaker, clock: Clock) -> None:
    made.failed("openai", WRONG_KEY)
    clock.now += breaker.COOL_OFF_S
    with guarding(made):
        pass
    assert made.opened() == []
    assert json.loads(made.path.read_text()) == {}


def test_one_trial_at_a_time_whoever_asks(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "breakers.json"
    Breaker(path, clock).failed("openai", WRONG_KEY)
    clock.now += breaker.COOL_OFF_S

    def asked(_: int) -> bool:
        try:
            Breaker(path, clock).check("openai")
        except ProviderError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(asked, range(24))) == 1
    clock.now += breaker.CLAIM_S  # whose process died
    assert asked(0)


def test_providers_do_not_share_their_failures(made: Breaker) -> None:
    made.failed("openai", WRONG_KEY)
    made.check("voyage")
    assert [state.name for state in made.opened()] == ["openai"]
    made.reset()
    made.check("openai")


def test_a_new_key_or_address_begins_anew() -> None:
    names = {
        breaker.name_of("openai", "m", "", "key"),
        breaker.name_of("openai", "m", "", "other"),
        breaker.name_of("openai", "m", "http://localhost", "key"),
        breaker.name_of("openai", "", "", "key"),
    }
    assert len(names) == 4
    assert not any("key" in name for name in names)


def test_an_error_does_not_show_the_digits_of_a_key(made: Breaker) -> None:
    name = breaker.name_of("openai", "m", "", "key")
    made.failed(name, WRONG_KEY)
    with pytest.raises(ProviderError, match="left alone") as refused:
        made.check(name)
    assert str(refused.value).startswith("openai/m: left alone")


@given(st.one_of(st.binary(max_size=200), st.recursive(st.none() | st.floats() | st.text(max_size=5),
       lambda inner: st.dictionaries(st.sampled_from(["openai", "until_s", "permanent"]), inner), max_leaves=8)
       .map(lambda value: json.dumps(value).encode())))  # fmt: skip
def test_a_damaged_file_is_as_if_nothing_had_failed(content: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "breakers.json"
        path.write_bytes(content)
        made = Breaker(path)
        try:
            made.check("openai")
        except ProviderError:
            assert made.find("openai") or b"until_s" in content
        made.failed("openai", WRONG_KEY)
        assert made.find("openai")


def test_a_place_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    made = Breaker(tmp_path / "file" / "breakers.json")
    made.failed("openai", WRONG_KEY)
    made.check("openai")
    made.succeeded("openai")
