"""JSON over HTTP to a provider: a deadline over all retries, bounded answers, and a key that never shows.

Also which addresses can be used, which lie on this machine, and where a key may go. No redirect is
followed: an API has one address, and a key must not travel to another.
"""

from __future__ import annotations

import ipaddress
import json
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from commonplace.base.deadline import Deadline
from commonplace.base.errors import ProviderError
from commonplace.base.tuples import NamedTuple
from commonplace.config.credentials import NO_KEY, Secret
from commonplace.providers.attempts import (
    ATTEMPTS,
    REACH_S,
    Unanswered,
    Unreachable,
    reason,
    repeated,
    translate,
    within,
)
from commonplace.redaction.redact import public
from commonplace.render import screen

if TYPE_CHECKING:
    import httpx


MAX_ANSWER_BYTES, MAX_ERROR_BYTES = 64_000_000, 64_000  # of a success, of another answer
_KEEP_ALIVE_S = 30.0
_JSON = {"Content-Type": "application/json"}


def as_dict(value: object) -> dict[str, Any]:
    """Return JSON that is an object, and an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}


def _outgoing(value: object) -> object:
    """Return JSON whose texts may leave this machine: without private parts and secrets."""
    if isinstance(value, str):
        return public(value)
    if isinstance(value, Mapping):
        return {key: _outgoing(one) for key, one in value.items()}
    return [*map(_outgoing, value)] if isinstance(value, list | tuple) else value


class Answer(NamedTuple):
    """An answer of status 2xx."""

    headers: Mapping[str, str]
    body: bytes


class Endpoint:
    """One provider's address and key; safe to use from several threads; the first request connects."""

    def __init__(
        self,
        provider: str,
        base_url: str,
        key: Secret = NO_KEY,
        *,
        header: str = "Authorization",
        scheme: str = "Bearer ",
    ) -> None:
        """Check address and key. Raises ProviderError if no request could or should be made with them."""
        self.provider = provider
        self.base_url = base_url.strip().rstrip("/")
        self.is_loopback = is_loopback(checked(provider, self.base_url, key))
        self.origin = origin(self.base_url)  # for people and for comparing
        self._key, self._header, self._scheme = key, header, scheme
        self._lock = threading.Lock()
        self._client: httpx.Client | None = None

    def post(
        self, path: str, body: object, deadline: Deadline, *, attempts: int = ATTEMPTS, max_bytes: int = 0
    ) -> object:
        """Send JSON to a path below the address; return the JSON that comes back. Raises as `send` does."""
        content = json.dumps(_outgoing(body), ensure_ascii=False).encode("utf-8", "replace")
        answer = self.send("POST", path, deadline, content, _JSON, attempts=attempts, max_bytes=max_bytes)
        data = self.parse(answer)
        if error := as_dict(data).get("error"):  # some servers put one into an answer of status 200
            code = as_dict(error).get("code")
            code = code if isinstance(code, int) and 400 <= code < 600 else 502
            raise translate(self.provider, code, {}, answer.body[:MAX_ERROR_BYTES], self._key)
        return data

    def get(self, path: str, deadline: Deadline) -> object:
        """Return the JSON at a path below the address. Raises ProviderError."""
        return self.parse(self.send("GET", path, deadline))

    def parse(self, answer: Answer) -> object:
        """Read an answer as JSON. Raises ProviderError."""
        try:
            return json.loads(answer.body)
        except (ValueError, RecursionError) as error:
            start = reason(answer.body[:MAX_ERROR_BYTES].decode("utf-8", "replace"), self._key)
            message = f"the answer of {self.origin} is not JSON: {screen.shorten(start, 80) or 'it is empty'}"
            raise ProviderError(self.provider, message, status=200) from error

    def send(
        self,
        method: str,
        path: str,
        deadline: Deadline,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        attempts: int = ATTEMPTS,
        max_bytes: int = 0,
    ) -> Answer:
        """Send a request, again after passing faults, until the deadline; return an answer of 2xx.

        `path` follows the address; one with a scheme must have the same origin. Raises ProviderError,
        attempts.TooLarge for a request that is longer than the provider takes.
        """
        url = path if "://" in path else f"{self.base_url}/{path.lstrip('/')}"
        if origin(url) != self.origin:
            message = "the provider names an address of another host"
            raise ProviderError(self.provider, message, permanent=True)
        most = max_bytes or MAX_ANSWER_BYTES

        def once() -> Answer:
            return self._once(method, url, deadline, content, headers or {}, most)

        return repeated(lambda: within(self.provider, once, deadline, self.origin), deadline, attempts)

    def close(self) -> None:
        """Close the connections that are kept; the next request opens new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _once(
        self,
        method: str,
        url: str,
        deadline: Deadline,
        content: bytes | None,
        headers: Mapping[str, str],
        most: int,
    ) -> Answer:
        """Send a request once. Raises ProviderError, permanent if a retry is useless."""
        import httpx

        key = {self._header: self._scheme + self._key.reveal()} if self._key else {}
        left, body = max(deadline.left_s(), 0.001), bytearray()
        timeout = httpx.Timeout(left, connect=min(REACH_S, left))
        try:
            with self._opened().stream(
                method, url, content=content, headers={**headers, **key}, timeout=timeout
            ) as response:
                most = most if response.is_success else MAX_ERROR_BYTES
                for part in response.iter_bytes(65_536):
                    body += part
                    if len(body) > most or not deadline.left_s():  # `within` has told that time is over
                        break
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError, ValueError) as error:
            raise self._broken(error, left) from error
        status, message = response.status_code, ""
        if response.is_redirect:
            target = origin(response.headers.get("location", "")) or "elsewhere"
            target = f"{self.origin} redirects to {screen.shorten(screen.one_line(target), 80)}"
            message = f"{target}, which is not followed; set the address it belongs to"
        elif response.is_success and len(body) > most:
            message = f"the answer of {self.origin} is larger than {most / 1e6:g} MB"
        if message:
            raise ProviderError(self.provider, message, permanent=True, status=status)
        if not response.is_success:
            raise translate(self.provider, status, response.headers, bytes(body[:most]), self._key)
        return Answer(response.headers, bytes(body))

    def _broken(self, error: Exception, left_s: float) -> ProviderError:
        """Return the error of a connection; a certificate that is not valid now stays so."""
        import httpx

        unsent = isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout)
        untrusted = "CERTIFICATE_VERIFY_FAILED" in str(error)
        words = screen.shorten(screen.one_line(self._key.remove_from(str(error))), 120)
        message = f"{self.origin} cannot be reached ({words or type(error).__name__})"
        if isinstance(error, httpx.TimeoutException):
            waited = max(0.1, round(min(REACH_S, left_s) if unsent else left_s, 1))
            message = f"{self.origin} did not answer within {waited:g} s"
        if unsent or (isinstance(error, httpx.ConnectError) and not untrusted):
            return Unreachable(self.provider, message)
        if isinstance(error, httpx.TimeoutException | httpx.ReadError | httpx.RemoteProtocolError):
            return Unanswered(self.provider, message)
        lasting = untrusted or not isinstance(error, httpx.TransportError)
        return ProviderError(self.provider, message, permanent=lasting)

    def _opened(self) -> httpx.Client:
        """Return the client, made when first needed; proxies of the environment are not for this machine."""
        import ssl

        import httpx

        with self._lock:
            if self._client is None:
                # No certificate is looked at over plain HTTP, and reading them all takes a tenth of a second.
                plain = self.base_url.startswith("http://")
                self._client = httpx.Client(
                    verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if plain else True,
                    trust_env=not self.is_loopback,
                    headers={"User-Agent": "commonplace", "Accept": "application/json"},
                    limits=httpx.Limits(keepalive_expiry=_KEEP_ALIVE_S),
                )
            return self._client


# --- addresses -----------------------------------------------------------------------------------------


def checked(provider: str, url: str, key: Secret = NO_KEY) -> str:
    """Return the host of an address that can be used with a key. Raises ProviderError.

    A key goes over plain HTTP only to this machine or to an address that no router forwards (a home's or an
    office's own network, where servers for models rarely have certificates). A name could lead anywhere.
    """
    host, fault = "", "the address is no http:// or https:// URL"
    with suppress(ValueError):
        address = urlsplit(url)
        if address.scheme in ("http", "https") and address.hostname and address.port != 0:
            extra = "@" in address.netloc or address.query or address.fragment
            host = address.hostname
            fault = "the address may hold no user, password, query or fragment" if extra else ""
    if not fault and not (key.reveal().isascii() and (key.reveal() or " ").isprintable()):
        fault = "the key holds characters that no key has"
    if not fault and key and not url.lower().startswith("https://"):
        place = _address_of(host)
        near = is_loopback(host) or (place is not None and not place.is_global and not place.is_multicast)
        fault = "" if near else f"a key is not sent to {host} in clear: use https"
    if fault:  # the address itself is not quoted, it may hold a secret
        raise ProviderError(provider, fault, permanent=True)
    return host


def origin(url: str) -> str:
    """Return scheme, host and port of a URL without a user; empty if it has no host."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    host = parts.netloc.rpartition("@")[2].lower()
    return f"{parts.scheme}://{host}" if host else ""


def _address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    with suppress(ValueError):
        address = ipaddress.ip_address(host.partition("%")[0])
        return getattr(address, "ipv4_mapped", None) or address
    return None


def is_loopback(host: str) -> bool:
    """Tell whether a host, a name or an IP address, is this machine."""
    address = _address_of(host)
    return host == "localhost" or (address is not None and address.is_loopback)
