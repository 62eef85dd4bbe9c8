"""Addresses of providers: which can be used, which lie on this machine, and where a key may go."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from commonplace.config.credentials import NO_KEY, Secret
from commonplace.errors import ProviderError


def checked(provider: str, url: str, key: Secret = NO_KEY) -> str:
    """Return the host of an address that can be used with a key. Raises ProviderError.

    A key goes over plain HTTP only to this machine or to an address that no router forwards (a home's or an
    office's own network, where servers for models rarely have certificates). A name could lead anywhere.
    """
    fault, host = _split(url)
    if not fault and key:
        fault = _unfit(key, host, in_clear=not url.lower().startswith("https://"))
    if fault:
        raise ProviderError(provider, fault, permanent=True)
    return host


def _split(url: str) -> tuple[str, str]:
    """What is wrong with an address, and its host; the address itself is not quoted, it may hold a secret."""
    try:
        address = urlsplit(url)
        usable = address.scheme in ("http", "https") and address.hostname and address.port != 0
    except ValueError:
        usable = False
    if not usable:
        return "the address is no http:// or https:// URL", ""
    if "@" in address.netloc or address.query or address.fragment:
        return "the address may hold no user, password, query or fragment", ""
    return "", address.hostname or ""


def _unfit(key: Secret, host: str, *, in_clear: bool) -> str:
    if not (key.reveal().isascii() and key.reveal().isprintable()):
        return "the key holds characters that no key has"
    return f"a key is not sent to {host} in clear: use https" if in_clear and not _is_near(host) else ""


def origin(url: str) -> str:
    """Return scheme, host and port of a URL, or nothing if it has none; no user before the host."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    host = parts.netloc.rpartition("@")[2].lower()
    return f"{parts.scheme}://{host}" if host else ""


def _address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        found = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found


def is_loopback(host: str) -> bool:
    """Whether a host, written as a name or in figures, is this machine."""
    address = _address_of(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def _is_near(host: str) -> bool:
    """Whether a host is this machine, or an address of a private network written in figures."""
    address = _address_of(host)
    return is_loopback(host) or (address is not None and not address.is_global and not address.is_multicast)
