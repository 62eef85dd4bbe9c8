"""Browsers that are let in: codes work once and end, and neither cookie nor key lets in alone."""

from __future__ import annotations

import pytest

from commonplace.servers.visitors import CODE_S, MOST_CODES, VISIT_S, Visit, Visitors, is_own_page

HERE = {"host": "127.0.0.1:7412", "origin": "http://127.0.0.1:7412"}


def entered(visitors: Visitors) -> Visit:
    visit = visitors.enter(visitors.code())
    assert visit is not None
    return visit


def headers(visit: Visit, **more: str) -> dict[str, str]:
    return {"cookie": f"a=b; commonplace={visit.cookie}", "x-commonplace-key": visit.key, **HERE, **more}


def test_a_code_works_once_and_ends() -> None:
    now = 0.0
    visitors = Visitors(clock=lambda: now)
    code, other = visitors.code(), visitors.code()
    assert visitors.enter("") is None
    assert visitors.enter(code) is not None
    assert visitors.enter(code) is None
    now = CODE_S + 1
    assert visitors.enter(other) is None


def test_codes_are_bounded_and_the_oldest_of_a_kind_goes() -> None:
    visitors = Visitors(key="ours")
    own = visitors.code("ours")
    codes = [visitors.code("theirs") for _ in range(MOST_CODES + 1)]
    assert visitors.enter(codes[0]) is None
    assert visitors.enter(codes[1]) is not None
    visit = visitors.enter(own)
    assert visit is not None
    visitor = visitors.admit("GET", headers(visit))
    assert visitor is not None
    assert visitor.is_own


def test_a_browser_stays_in_for_thirty_days_wherever_the_seal_is_the_same() -> None:
    now = 1e9
    before, after = (Visitors(seal="ours", clock=lambda: now) for _ in range(2))
    visit = entered(before)
    assert after.admit("GET", headers(visit))
    assert not Visitors(seal="theirs").admit("GET", headers(visit))
    assert not Visitors().admit("GET", headers(visit))
    now += VISIT_S - 1
    assert after.admit("GET", headers(visit))
    now += 2
    assert not after.admit("GET", headers(visit))


def test_a_visit_says_nothing_that_is_not_sealed() -> None:
    visitors = Visitors(seal="ours", clock=lambda: 1e9)
    cookie, key = entered(visitors)
    kind, until, nonce = cookie.split(".")
    assert kind == "other"
    for forged in (
        f"own.{until}.{nonce}",
        f"other.{int(until) + 1}.{nonce}",
        f"{cookie}x",
        "",
        "own",
        "own.9e9.x",
        "é",
    ):
        assert not visitors.admit("GET", headers(Visit(forged, key)))
        assert not visitors.admit("GET", headers(Visit(forged, "é")))


def test_a_browser_sends_cookie_and_key_of_one_visit() -> None:
    visitors = Visitors()
    mine, another = entered(visitors), entered(visitors)
    assert visitors.admit("GET", headers(mine))
    assert not visitors.admit("GET", headers(mine, cookie=""))
    assert not visitors.admit("GET", headers(mine) | {"x-commonplace-key": ""})
    assert not visitors.admit("GET", headers(mine) | {"x-commonplace-key": another.key})
    assert not visitors.admit("GET", headers(mine, cookie=f"other={mine.cookie}"))


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "get"])
def test_what_changes_anything_comes_from_a_page_of_this_server(method: str) -> None:
    visitors = Visitors()
    visit = entered(visitors)
    assert visitors.admit(method, headers(visit))
    for origin in (
        "http://127.0.0.1:8000",
        "http://localhost:7412",
        "null",
        "http://127.0.0.1",
        "https://evil.example",
    ):
        assert not visitors.admit(method, headers(visit, origin=origin))
    lacking = headers(visit)
    del lacking["origin"]
    assert not visitors.admit(method, lacking)


def test_a_page_of_this_server_has_its_port() -> None:
    assert is_own_page(HERE)
    assert is_own_page({"host": "Notes.example", "origin": "https://notes.example"})
    assert not is_own_page({"origin": "http://"})
    assert not is_own_page({})
