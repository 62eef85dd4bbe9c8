"""Addresses of providers: which can be used, which lie on this machine, and where a key may go."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from commonplace.base.errors import ProviderError
from commonplace.config.credentials import NO_KEY, Secret


def checked(provider: str, url: str, key: Secret = NO_KEY) -> str:
    """Return the host of an address that can be used with a key. Raises ProviderError.

    A key goes over plain HTTP only to this machine or to an address that no router forwards (a home's or an
    office's own network, where servers for models rarely have certificates). A name could lead anywhere.
    """
    fault, host = "", ""
    try:
        address = urlsplit(url)
        host = address.hostname or ""
        if address.scheme not in ("http", "https") or not host or address.port == 0:
            fault = "the address is no http:// or https:// URL"
        elif "@" in address.netloc or address.query or address.fragment:
            fault = "the address may hold no user, password, query or fragment"
    except ValueError:
        fault = "the address is no http:// or https:// URL"
    if not fault and key:
        place = _address_of(host)
        near = is_loopback(host) or (place is not None and not place.is_global and not place.is_multicast)
        if not (key.reveal().isascii() and key.reveal().isprintable()):
            fault = "the key holds characters that no key has"
        elif not near and not url.lower().startswith("https://"):
            fault = f"a key is not sent to {host} in clear: use https"
    if fault:  # the address itself is not quoted, it may hold a secret
        raise ProviderError(provider, fault, permanent=True)
    return host


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
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def is_loopback(host: str) -> bool:
    """Whether a host, written as a name or in figures, is this machine."""
    address = _address_of(host)
    return host == "localhost" or (address is not None and address.is_loopback)
