"""Access over HTTP: host names against rebound domains, origins of pages, a token."""

from __future__ import annotations

import hmac
import ipaddress
import os
import secrets
import string
from collections.abc import Mapping
from pathlib import Path

from commonplace.base import paths
from commonplace.base.errors import ConfigError
from commonplace.base.messages import message
from commonplace.base.tuples import NamedTuple
from commonplace.config import credentials
from commonplace.config.credentials import NO_KEY, Secret

TOKEN_VARIABLE = "COMMONPLACE_SERVER_TOKEN"  # noqa: S105 - a name
CLIENTS = "/mcp"  # the path that clients get a token for; that token opens no other path
_IN_A_NAME = frozenset(string.ascii_lowercase + string.digits + "_-")
_IN_IPV6 = frozenset(string.hexdigits.lower() + ":.")
_SHORTEST, _LONGEST = 16, 16_384  # characters of a token; shorter ones are guessed


class Access(NamedTuple):
    """The requirements of a request: the token if one is set, and a host name of this machine.

    `anywhere` says that the server listens beyond this machine, where an address is as good as a name: only
    names can be made to lead elsewhere.
    """

    token: Secret = NO_KEY
    hosts: frozenset[str] = frozenset()
    anywhere: bool = False


class Denied(NamedTuple):
    """The refusal of a request: HTTP status, reason, and the challenge for credentials."""

    status: int
    reason: str
    challenge: str = ""  # of 401, in words of RFC 6750


def token(file: str, environ: Mapping[str, str] | None = None) -> Secret:
    """Return the token in a file, or that of the environment; NO_KEY if missing. Raises ConfigError."""
    where = "server.token_file" if file else TOKEN_VARIABLE
    environ = os.environ if environ is None else environ
    found = credentials.named(file, where) if file else credentials.from_environment([where], environ)
    if found and len(found.reveal()) < _SHORTEST:
        raise ConfigError(where, f"a token has {_SHORTEST} characters at least")
    return found


def own_token(path: Path, *, new: bool = False) -> Secret:
    """Return the token in a file of the user; it is made where the file is missing, or if `new`.

    Only the user may read the file and its folder. Raises ConfigError for a file that others could have read
    or put there, and if the token cannot be kept.
    """
    try:
        root = paths.root_of(path)
        if new or not os.path.lexists(path):
            root.make_folder(path.parent)
            root.tighten(path.parent)
            root.unlink(path, missing_ok=True)  # whose mode may be open
            root.exchange(path, f"{secrets.token_urlsafe(32)}\n".encode("ascii"))
        with root.open(path) as file:
            status = os.fstat(file.fileno())
            value = file.read(_LONGEST + 1).decode("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = paths.reason(error) if isinstance(error, OSError) else "not a token"
        remedy = "name a file with --token-file, or serve without one (--no-token)"
        message = f"no token can be kept in {paths.shown(path)} ({reason}); {remedy}"
        raise ConfigError("serve", message) from error
    safe = status.st_uid == os.geteuid() and not status.st_mode & 0o077
    if not safe or not _SHORTEST <= len(value) <= _LONGEST or len(value.split()) != 1:
        wrong = "it holds no token" if safe else "others may know it"
        remedy = "make another with `commonplace serve --new-token`"
        raise ConfigError("serve", f"{paths.shown(path)} is not used: {wrong}; {remedy}")
    return Secret(value)


def part(token: Secret, place: str) -> Secret:
    """Return the token of one place of a server, such as `/agents/NAME`: HMAC-SHA256 (RFC 2104) of it.

    It opens this place only; the token of the server opens every place.
    """
    return Secret(hmac.new(token.reveal().encode(), place.encode(), "sha256").hexdigest())


def names(text: str) -> frozenset[str]:
    """Return the names of hosts in a setting."""
    return frozenset(name.strip().strip("[]").rstrip(".").lower() for name in text.split(",") if name.strip())


def denied(
    access: Access,
    headers: Mapping[str, str],
    *,
    open_to_all: bool = False,
    place: str = "",
    for_clients: bool = False,
) -> Denied | None:
    """Return why a request is not served, or None; `headers` by name in lower case.

    An `open_to_all` path needs no token; a `place` has a token of its own as well, and is refused on a server
    without a token. A path `for_clients` is opened by their token too.
    """
    host = host_of(headers.get("host", ""))
    if not _is_known(host, access) and not (access.anywhere and _address(host)):
        return Denied(
            421, message("host", "the Host header names another machine; server.hosts can allow it")
        )
    origin = headers.get("origin")
    if origin is not None and not _is_known(_origin_host(origin), access):
        return Denied(403, message("origin", "pages of this origin may not ask; server.hosts can allow it"))
    if access.token and not open_to_all:
        kind, _, given = headers.get("authorization", "").partition(" ")
        places = [*([place] if place else []), *([CLIENTS] if for_clients else [])]
        tokens = [access.token, *(part(access.token, one) for one in places)]
        same = [hmac.compare_digest(given.strip().encode(), one.reveal().encode()) for one in tokens]
        if kind.lower() != "bearer" or not any(same):
            if kind.lower() == "bearer" and given.strip():
                wrong = (
                    "the token is wrong, or lets in elsewhere; `commonplace serve status` says where it is"
                )
                return Denied(401, wrong, 'Bearer error="invalid_token"')
            return Denied(401, message("token", "a token is needed: Authorization: Bearer TOKEN"), "Bearer")
    if place and not access.token:
        return Denied(403, "what is served apart needs a token; serve it without --no-token")
    return None


def is_loopback(host: str) -> bool:
    """Return True if a name or an address means this machine itself."""
    found = _address(host)
    return found.is_loopback if found else host == "localhost" or host.endswith(".localhost")


def host_of(text: str) -> str:
    """Return the host of a Host header, without its port and the brackets of IPv6; empty for anything else.

    A host is a name, an IPv4 address or an IPv6 address in brackets: no user, path, zone or final dot.
    Text is never repaired: if two programs could read it as two hosts, it is invalid.
    """
    lower = text.lower() if text.isascii() else ""
    if lower.startswith("["):
        host, bracket, rest = lower[1:].partition("]")
        valid = bool(bracket) and ":" in host and _IN_IPV6.issuperset(host)
    else:
        host, colon, rest = lower.partition(":")
        rest, valid = colon + rest, all(map(_is_label, host.split(".")))
    return host if valid and (not rest or _is_port(rest)) else ""


def _is_port(text: str) -> bool:
    """Return True if a text is a colon and a port."""
    number = text.removeprefix(":")
    return text.startswith(":") and number.isdigit() and len(number) < 6 and int(number) < 65_536


def _is_label(text: str) -> bool:
    return 0 < len(text) < 64 and text[0] != "-" and _IN_A_NAME.issuperset(text)


def _origin_host(origin: str) -> str:
    scheme, mark, host = origin.partition("://")
    return host_of(host) if mark and scheme in ("http", "https") else ""


def _is_known(host: str, access: Access) -> bool:
    return bool(host) and (is_loopback(host) or host in access.hosts)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
