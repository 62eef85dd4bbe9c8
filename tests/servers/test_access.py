"""Who may ask: names of this machine, origins, tokens."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from commonplace.base.errors import ConfigError
from commonplace.config.credentials import Secret
from commonplace.servers import access
from commonplace.servers.access import Access

TOKEN = Secret("correct horse battery".replace(" ", "-"))


def status(allowed: Access = Access(), **headers: str) -> int:  # noqa: B008 - an immutable value
    found = access.denied(allowed, {"host": "localhost", **headers})
    return found.status if found else 200


def test_the_host_must_be_this_machine() -> None:
    for host, expected in [
        ("localhost", 200), ("localhost:7412", 200), ("LOCALHOST:1", 200), ("127.0.0.1:7412", 200),
        ("127.8.9.1", 200), ("[::1]:7412", 200), ("a.localhost", 200), ("", 421), ("evil.example", 421),
        ("evil.example:7412", 421), ("localhost.evil.example", 421), ("127.0.0.1.evil.example", 421),
        ("192.168.1.5:7412", 421), ("localhost@evil.example", 421), ("evil.example@localhost", 421),
        ("[::1", 421), ("localhost x:1", 421), ("127.0.0.1 evil", 421), ("box.home", 421),
        ("[::1].evil", 421), ("[::1]evil:1", 421), ("localhost/evil", 421), ("127.0.0.1@evil", 421),
        ("@localhost", 421), ("localhost?evil", 421), ("localhost#evil", 421), ("localhost\\evil", 421),
        ("localhost,evil.example", 421), ("localhost.", 421), ("127.0.0.1.", 421), ("localhost..", 421),
        (".localhost", 421), ("evil.example.localhost.", 421), ("[::1%25evil]", 421), ("[::1%evil]:1", 421),
        ("[127.0.0.1]", 421), ("::1", 421), ("[]", 421), ("[:]", 421), ("localhost:", 421), (":7412", 421),
        ("localhost:x", 421), ("localhost:1:2", 421), ("localhost:99999", 421), ("localhost:-1", 421),
        ("localhost:\u0661", 421), ("\u24dbocalhost", 421), ("localho\u017ft", 421), ("127.0.0.1\u3002evil", 421),
        ("\uff11\uff12\uff17.0.0.1", 421), ("127.1", 421), ("2130706433", 421), ("0x7f.0.0.1", 421),
        ("localhost\n", 421), (" localhost", 421), ("localhost\t", 421), ("localhost\x00", 421), ("*", 421),
        ("[::1]:65535", 200), ("[0:0:0:0:0:0:0:1]", 200), ("[FE80::1]", 421), ("127.0.0.1:0", 200),
    ]:  # fmt: skip
        assert status(host=host) == expected


def test_further_names_are_allowed_by_the_owner() -> None:
    allowed = Access(hosts=access.names(" Box.home, [fd00::5] ,"))
    assert [status(allowed, host=host) for host in ("box.home:80", "[fd00::5]", "other.home")] == [
        200,
        200,
        421,
    ]
    assert status(allowed, origin="https://box.home") == 200


def test_beyond_this_machine_addresses_are_names() -> None:
    allowed = Access(anywhere=True)
    assert [status(allowed, host=host) for host in ("192.168.1.5:1", "[fe80::1]", "evil.example")] == [
        200,
        200,
        421,
    ]


def test_an_origin_must_be_this_machine() -> None:
    for origin, expected in [
        ("http://localhost:3000", 200), ("https://127.0.0.1", 200), ("http://[::1]:1", 200), ("null", 403),
        ("", 403), ("https://evil.example", 403), ("file://localhost", 403), ("http://localhost.evil.example", 403),
        ("http://192.168.1.5", 403), ("http://[", 403),
        ("http://[::1].evil", 403), ("http://localhost/evil", 403), ("http://localhost/", 403),
        ("http://127.0.0.1@evil", 403), ("http://evil@127.0.0.1", 403), ("http://localhost.", 403),
        ("http://LOCALHOST:3000", 200), ("http:localhost", 403), ("localhost", 403), ("//localhost", 403),
        ("http://localhost http://evil.example", 403), ("javascript://localhost", 403), ("http://", 403),
        ("http://http://localhost", 403),
    ]:  # fmt: skip
        assert status(origin=origin) == expected
        assert status() == 200, (origin, expected)


def test_the_token_is_asked_for() -> None:
    for header, expected in [
        (f"Bearer {TOKEN.reveal()}", 200), (f"bearer  {TOKEN.reveal()} ", 200), ("", 401), ("Bearer", 401),
        (f"Basic {TOKEN.reveal()}", 401), (f"Bearer {TOKEN.reveal()}x", 401), (TOKEN.reveal(), 401),
        ("Bearer \xff", 401),
    ]:  # fmt: skip
        assert status(Access(TOKEN), authorization=header) == expected
        assert access.denied(Access(TOKEN), {"host": "localhost"}, open_to_all=True) is None, (
            header,
            expected,
        )


@pytest.mark.parametrize(
    ("header", "is_wrong"),
    [("Bearer 0123456789abcdefg", True), ("bearer x", True), ("", False), ("Bearer ", False), ("Basic x", False)],
)  # fmt: skip
def test_a_wrong_token_is_told_from_a_missing_one(header: str, is_wrong: bool) -> None:
    denied = access.denied(Access(TOKEN), {"host": "localhost", "authorization": header})
    assert denied is not None
    assert denied.reason.startswith("the token is wrong" if is_wrong else "a token is needed")
    assert denied.challenge == ('Bearer error="invalid_token"' if is_wrong else "Bearer")  # RFC 6750, 3.1
    assert header.partition(" ")[2] in ("", "x") or header.partition(" ")[2] not in denied.reason
    assert TOKEN.reveal() not in denied.reason


def test_a_token_comes_from_a_file_or_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("0123456789abcdef\n")
    assert access.token(str(file), {access.TOKEN_VARIABLE: "fedcba9876543210"}).reveal() == "0123456789abcdef"
    assert access.token("", {access.TOKEN_VARIABLE: "fedcba9876543210"}).reveal() == "fedcba9876543210"
    assert not access.token("", {})
    with pytest.raises(ConfigError, match="16 characters at least"):
        access.token("", {access.TOKEN_VARIABLE: "short"})
    with pytest.raises(ConfigError, match="cannot be read"):
        access.token(str(tmp_path / "none"), {})


# --- a token of our own ---------------------------------------------------------------------------------


def test_our_own_token_is_made_once_and_only_ours_to_read(tmp_path: Path) -> None:
    place = tmp_path / "config" / "servers" / "a.token"
    token = access.own_token(place)
    assert len(token.reveal()) >= 43  # 256 bits
    assert access.own_token(place) == token
    assert access.own_token(place, new=True) != token
    assert (place.stat().st_mode & 0o777, place.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert [path.name for path in place.parent.iterdir()] == ["a.token"]


def test_a_token_that_others_may_know_is_not_used(tmp_path: Path) -> None:
    place = tmp_path / "a.token"
    access.own_token(place)
    place.chmod(0o640)
    with pytest.raises(
        ConfigError, match="others may know it; make another with `commonplace serve --new-token`"
    ):
        access.own_token(place)
    assert access.own_token(place, new=True)
    assert access.own_token(place)


def test_a_file_without_a_token_is_not_used(tmp_path: Path) -> None:
    for text in ["", "short", "two words of a token that is long", "x" * 20_000, "é" * 40]:
        place = tmp_path / "a.token"
        place.touch(0o600)
        place.write_text(text)
        with pytest.raises(ConfigError, match="serve: "):
            access.own_token(place)


def test_nothing_but_a_file_is_read_or_written(tmp_path: Path) -> None:
    place, other = tmp_path / "a.token", tmp_path / "other"
    other.write_text("a token of somebody else")
    other.chmod(0o600)
    place.symlink_to(other)
    with pytest.raises(ConfigError, match="no token can be kept"):
        access.own_token(place)
    assert access.own_token(place, new=True)
    assert not place.is_symlink()
    assert other.read_text() == "a token of somebody else"
    place.unlink()
    os.mkfifo(place, 0o600)
    with pytest.raises(ConfigError, match="a fifo, not a regular file"):
        access.own_token(place)
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="name a file with --token-file, or serve without one"):
        access.own_token(tmp_path / "file" / "a.token")


def test_each_place_has_a_token_of_its_own() -> None:
    parts = [access.part(TOKEN, place) for place in ("/agents/a", "/agents/b", "/workspaces/a", "/agents/A")]
    assert len({one.reveal() for one in (TOKEN, *parts)}) == 5
    assert access.part(Secret("another-token-than-that"), "/agents/a") != parts[0]
    for place, given, expected in (
        ("/agents/a", parts[0], 200), ("/agents/a", TOKEN, 200), ("/agents/a", parts[1], 401),
        ("/agents/a", parts[2], 401), ("", parts[0], 401), ("/agents/a/mcp", parts[0], 401),
    ):  # fmt: skip
        headers = {"host": "localhost", "authorization": f"Bearer {given.reveal()}"}
        found = access.denied(Access(TOKEN), headers, place=place)
        assert (found.status if found else 200) == expected
    open_to_all = access.denied(Access(), {"host": "localhost"}, place="/agents/a")
    assert open_to_all is not None
    assert open_to_all.status == 403
