"""JSON over HTTP to a provider: a deadline over all retries, bounded answers, and a key that never shows.

No redirect is followed: an API has one address, and a key must not travel to another. An attempt runs in a
thread that is left behind when the deadline comes, because neither a name server nor a server that sends one
byte a second respects a timeout.
"""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, BinaryIO, NamedTuple
from urllib.parse import urljoin

from commonplace import addresses, refusals, screen
from commonplace.config.credentials import NO_KEY, Secret
from commonplace.deadline import Deadline
from commonplace.errors import ProviderError
from commonplace.refusals import Unanswered

if TYPE_CHECKING:
    import httpx

ATTEMPTS = 8
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 20.0  # doubled each time; all together outlast a limit of a minute
CONNECT_S = 10.0
READ_S = 60.0  # without a byte
MAX_ANSWER_BYTES = 64_000_000
MAX_ERROR_BYTES = 64_000  # of an answer that is no success
_TICK_S = 0.2  # how soon a call that waits sees that it was ended
_KEEP_ALIVE_S = 30.0


class Answer(NamedTuple):
    """What came back with a status of 2xx; the body is empty if it went into a file."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class _Request:
    """What one attempt sends, and where its answer of at most so many bytes goes."""

    method: str
    url: str
    content: bytes | None
    headers: Mapping[str, str]
    max_bytes: int
    file: BinaryIO | None = None


class _Moved(ProviderError):
    """A redirect, which is followed for files only."""

    location = ""


class Endpoint:
    """One provider's address and key; safe to use from several threads, and does nothing until it is used."""

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
        self._host = addresses.checked(provider, self.base_url, key)
        self._key, self._header, self._scheme = key, header, scheme
        self._lock = threading.Lock()
        self._client: httpx.Client | None = None

    @property
    def origin(self) -> str:
        """Scheme, host and port, for people and for comparing."""
        return addresses.origin(self.base_url)

    @property
    def is_loopback(self) -> bool:
        """Whether requests stay on this machine."""
        return addresses.is_loopback(self._host)

    def post(self, path: str, body: object, deadline: Deadline, *, attempts: int = ATTEMPTS) -> object:
        """Send JSON to a path below the address and return the JSON that comes back.

        Raises ProviderError when it cannot be had before the deadline, refusals.TooLarge for a request that
        is longer than the provider takes.
        """
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        headers = {"Content-Type": "application/json"}
        return self.parse(self.send("POST", path, deadline, content, headers, attempts=attempts))

    def get(self, path: str, deadline: Deadline) -> object:
        """Return the JSON at a path below the address. Raises ProviderError."""
        return self.parse(self.send("GET", path, deadline))

    def parse(self, answer: Answer) -> object:
        """Read an answer as JSON. Raises ProviderError."""
        try:
            return json.loads(answer.body)
        except (ValueError, RecursionError) as error:
            said = refusals.reason(answer.body[:MAX_ERROR_BYTES].decode("utf-8", "replace"), self._key)
            message = f"the answer of {self.origin} is not JSON: {screen.shorten(said, 80) or 'it is empty'}"
            raise ProviderError(self.provider, message, status=answer.status) from error

    def send(
        self,
        method: str,
        path: str,
        deadline: Deadline,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        attempts: int = ATTEMPTS,
        max_bytes: int | None = None,
    ) -> Answer:
        """Send a request, again after passing faults, until the deadline; return an answer of 2xx.

        `path` follows the address; one with a scheme must have the same origin. Raises ProviderError: with
        `retry_after_s` where the provider asked to wait longer than is left.
        """
        url = path if "://" in path else f"{self.base_url}/{path.lstrip('/')}"
        if addresses.origin(url) != self.origin:
            message = "the provider names an address of another host"
            raise ProviderError(self.provider, message, permanent=True)
        most = MAX_ANSWER_BYTES if max_bytes is None else max_bytes
        sent = {**(headers or {}), **self._credentials()}
        return self._retried(_Request(method, url, content, sent, most), deadline, attempts)

    def download(self, path: str, deadline: Deadline, file: BinaryIO, max_bytes: int) -> None:
        """Write what lies at a path into an open file, from its start. Raises ProviderError.

        One redirect is followed, without the key: files lie in stores whose addresses are signed.
        """
        url = f"{self.base_url}/{path.lstrip('/')}" if "://" not in path else path
        request = _Request("GET", url, None, self._credentials(), max_bytes, file)
        try:
            self._retried(request, deadline, ATTEMPTS)
        except _Moved as moved:
            target = urljoin(url, moved.location)
            if not target.startswith("https://") and addresses.origin(target) != self.origin:
                raise
            self._retried(replace(request, url=target, headers={}), deadline, ATTEMPTS)

    def close(self) -> None:
        """Close the connections that are kept; the next request opens new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _retried(self, request: _Request, deadline: Deadline, attempts: int) -> Answer:
        for attempt in range(1, attempts):
            try:
                return self._within(request, deadline)
            except ProviderError as error:
                wait = refusals.pause_s(error, attempt, FIRST_PAUSE_S, LONGEST_PAUSE_S)
                if error.permanent or wait >= deadline.left_s():
                    raise
                deadline.pause(wait)
        return self._within(request, deadline)

    def _within(self, request: _Request, deadline: Deadline) -> Answer:
        """Run one attempt in a thread of its own, and leave it behind when time is over."""
        outcome: list[Answer | BaseException] = []

        def run() -> None:
            try:
                outcome.append(self._once(request, deadline))
            except BaseException as error:  # noqa: BLE001 - raised again where the caller waits
                outcome.append(error)

        thread = threading.Thread(target=run, name="commonplace-http", daemon=True)
        thread.start()
        while thread.is_alive() and deadline.left_s():
            thread.join(min(_TICK_S, deadline.left_s()))
        if not outcome:
            raise Unanswered(self.provider, f"{self.origin} did not answer within {deadline.seconds:g} s")
        if isinstance(outcome[0], BaseException):
            raise outcome[0]
        return outcome[0]

    def _once(self, request: _Request, deadline: Deadline) -> Answer:
        """One attempt. Raises ProviderError, permanent where another attempt is of no use."""
        import httpx

        left = max(deadline.left_s(), 0.001)
        timeout = httpx.Timeout(min(READ_S, left), connect=min(CONNECT_S, left))
        try:
            with self._opened().stream(
                request.method, request.url, content=request.content, headers=request.headers, timeout=timeout
            ) as response:
                body = self._read(response, request, deadline)
        except httpx.TimeoutException as error:
            message = f"{self.origin} did not answer within {min(READ_S, left):g} s"
            unsent = isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout)
            raise (ProviderError if unsent else Unanswered)(self.provider, message) from error
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError, ValueError) as error:
            raise self._unreachable(error) from error
        if response.is_success:
            return Answer(response.status_code, response.headers, body)
        if response.is_redirect:
            raise self._moved(response)
        raise refusals.translate(self.provider, response.status_code, response.headers, body, self._key)

    def _read(self, response: httpx.Response, request: _Request, deadline: Deadline) -> bytes:
        """The body, as far as size and time allow; that of an error is cut where it is too large."""
        file = request.file if response.is_success and request.file else io.BytesIO()
        limit = request.max_bytes if response.is_success else MAX_ERROR_BYTES
        file.seek(0)
        file.truncate()
        for part in response.iter_bytes(65_536):
            if not deadline.left_s():
                raise Unanswered(self.provider, f"{self.origin} did not answer within {deadline.seconds:g} s")
            if file.tell() + len(part) > limit:
                if response.is_success:
                    message = f"the answer of {self.origin} is larger than {limit / 1e6:g} MB"
                    raise ProviderError(self.provider, message, permanent=True, status=response.status_code)
                file.write(part[: limit - file.tell()])
                break
            file.write(part)
        return file.getvalue() if isinstance(file, io.BytesIO) else b""

    def _opened(self) -> httpx.Client:
        """The client, made when it is first needed; proxies of the environment are not for this machine."""
        import ssl

        import httpx

        with self._lock:
            if self._client is None:
                # No certificate is looked at over plain HTTP, and reading them all takes a tenth of a second.
                plain = self.base_url.startswith("http://")
                self._client = httpx.Client(
                    verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if plain else True,
                    follow_redirects=False,
                    trust_env=not self.is_loopback,
                    headers={"User-Agent": "commonplace", "Accept": "application/json"},
                    limits=httpx.Limits(keepalive_expiry=_KEEP_ALIVE_S),
                )
            return self._client

    def _credentials(self) -> dict[str, str]:
        return {self._header: self._scheme + self._key.reveal()} if self._key else {}

    def _unreachable(self, error: Exception) -> ProviderError:
        """What went wrong below HTTP; a certificate that does not hold will not hold the next time."""
        said = screen.shorten(screen.one_line(self._key.remove_from(str(error))), 120)
        message = f"{self.origin} cannot be reached ({said or type(error).__name__})"
        if isinstance(error, _cut_off()):
            return Unanswered(self.provider, message)
        permanent = "CERTIFICATE_VERIFY_FAILED" in str(error) or not isinstance(error, _transport_error())
        return ProviderError(self.provider, message, permanent=permanent)

    def _moved(self, response: httpx.Response) -> _Moved:
        location = response.headers.get("location", "")
        target = screen.shorten(screen.one_line(addresses.origin(location) or "elsewhere"), 80)
        message = f"{self.origin} redirects to {target}, which is not followed; set the address it belongs to"
        error = _Moved(self.provider, message, permanent=True, status=response.status_code)
        error.location = location
        return error


def _cut_off() -> tuple[type[Exception], ...]:
    """What happens to a connection once a request is on its way."""
    import httpx

    return httpx.ReadError, httpx.RemoteProtocolError


def _transport_error() -> type[Exception]:
    import httpx

    return httpx.TransportError
