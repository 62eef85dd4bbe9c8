"""Browsers that are let in: codes work once and end, and neither cookie nor key lets in alone."""

from __future__ import annotations

import pytest

from commonplace.servers.visitors import CODE_S, MOST, MOST_CODES, Visit, Visitors, is_own_page

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


def test_codes_and_browsers_are_bounded_and_the_oldest_goes() -> None:
    visitors = Visitors()
    codes = [visitors.code() for _ in range(MOST_CODES + 1)]
    assert visitors.enter(codes[0]) is None
    visits = [entered(visitors) for _ in range(MOST + 1)]
    admitted = [bool(visitors.admit("GET", headers(visit))) for visit in (visits[0], visits[1], visits[-1])]
    assert admitted == [False, True, True]


def test_the_token_alone_ends_nothing_of_the_users() -> None:
    visitors = Visitors(key="ours")
    code = visitors.code("ours")
    for _ in range(MOST_CODES):
        visitors.code("theirs")
    own = visitors.enter(code)
    assert own is not None
    for _ in range(MOST):
        entered(visitors)
    visitor = visitors.admit("GET", headers(own))
    assert visitor is not None
    assert visitor.is_own


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
