"""Models behind OpenAI's chat completions: OpenAI itself and the many servers that speak its language.

The SDK (extra `openai`) makes the request and the connection; it is not let to ask twice, to follow redirects
or to send headers of the environment to another host. What a server refuses is put in another way once, and
remembered: see `chat_completions.Dialect`.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from commonplace import addresses, refusals, screen
from commonplace.config.credentials import NO_KEY, Secret
from commonplace.deadline import Deadline
from commonplace.errors import ConfigError, MissingExtra, ProviderError
from commonplace.llm import attempts, registry
from commonplace.llm.base import Completion, Request, Spec, Unanswered
from commonplace.llm.chat_completions import Collector, Dialect, Malformed, body, completion, concede

if TYPE_CHECKING:
    import openai

CONNECT_S = 10.0
MAX_ANSWER_BYTES = 16_000_000
_MAX_ERROR_BYTES = 64_000
_MAX_CONCESSIONS = 6
# What Anthropic's and DeepSeek's pages say about their endpoints: the one ignores `response_format`, the
# other knows `json_object` only.
_DIALECTS: Mapping[str, Dialect] = {
    "openai": Dialect(limit="max_completion_tokens"),
    "anthropic": Dialect(schema="words"),
    "deepseek": Dialect(schema="json_object"),
}
# The rest says what machine this is, or belongs to OpenAI and not to whoever is asked. By the last of these
# the SDK knows how its answer is to be given.
_HEADERS = frozenset(
    "host accept accept-encoding connection content-type content-length user-agent authorization"
    " x-stainless-raw-response".split()
)
_OWN_HEADERS = frozenset({"openai-organization", "openai-project"})
# What happens to a connection once a request is on its way, as httpx and httpx2 call it.
_CUT_OFF = frozenset({"ReadError", "RemoteProtocolError"})
_Result = TypeVar("_Result")


class OpenAiModel:
    """A model behind an address; safe to use from several threads, and does nothing until it is asked."""

    def __init__(self, spec: Spec) -> None:
        """Check model, address and key. Raises ConfigError, ProviderError for an address no key may go to."""
        row = registry.find(spec.provider)
        self.provider = row.name
        self.name = spec.model or row.model
        self._base_url = (spec.base_url or row.base_url).strip().rstrip("/")
        for key, value in (("llm.base_url", self._base_url), ("llm.model", self.name)):
            if not value:
                raise ConfigError(key, f"{row.name} needs one; set it in your own config.toml")
        self._own = self._base_url == row.base_url
        self._key = _key(spec, row, own=self._own)
        self._host = addresses.checked(row.name, self._base_url, self._key)
        self._dialect = _DIALECTS.get(row.name, Dialect())
        self._lock = threading.Lock()
        self._client: openai.OpenAI | None = None

    @property
    def fingerprint(self) -> str:
        """Provider, host and model."""
        return f"{self.provider}@{self._base_url}:{self.name}"

    def answer(self, request: Request) -> Completion:
        """Answer a request, asking again after faults that pass. Raises ProviderError, MissingExtra."""
        self._connected()
        deadline = Deadline(request.deadline_s)

        def once() -> Completion:
            return attempts.within(self.provider, lambda: self._whole(request, deadline), deadline)

        return attempts.repeated(lambda: self._conceding(once, request), deadline)

    def stream(self, request: Request) -> Generator[str, None, Completion]:
        """Yield the answer in pieces and return it whole; what has begun is not begun again."""
        self._connected()
        deadline, collector = Deadline(request.deadline_s), Collector()

        def begin() -> tuple[object, Iterator[object]]:
            chunks = attempts.relayed(self.provider, lambda: self._chunks(request, deadline), deadline)
            return next(chunks, None), chunks

        chunk, chunks = attempts.repeated(lambda: self._conceding(begin, request), deadline)
        while chunk is not None:
            with self._understood():
                piece = collector.add(chunk)
            if piece:
                yield piece
            chunk = next(chunks, None)
        if not collector.finish:
            raise Unanswered(self.provider, "the stream ended in the middle of the answer")
        return collector.completion(request)

    def close(self) -> None:
        """Close the connections that are kept; the next request opens new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _conceding(self, ask: Callable[[], _Result], request: Request) -> _Result:
        """Ask, and where the server refuses a part of the request, ask without it."""
        for _ in range(_MAX_CONCESSIONS):
            dialect = self._dialect
            try:
                return ask()
            except ProviderError as error:
                refused = error.status in (400, 404, 422) and not isinstance(error, refusals.TooLarge)
                other = concede(dialect, request, str(error)) if refused else None
                if other is None:
                    raise
                self._dialect = other
        return ask()

    def _whole(self, request: Request, deadline: Deadline) -> Completion:
        with self._response(request, deadline, stream=False) as response:
            data = b"".join(self._bounded(response))
        with self._understood():
            return completion(self._parsed(data), request)

    def _chunks(self, request: Request, deadline: Deadline) -> Iterator[object]:
        """The JSON of server-sent events, https://html.spec.whatwg.org/multipage/server-sent-events.html."""
        with self._response(request, deadline, stream=True) as response:
            kind = response.headers.get("content-type", "")
            if "event-stream" not in kind:
                self._parsed(b"".join(self._bounded(response)))
                raise ProviderError(self.provider, f"asked for a stream and got {kind or 'something else'}")
            for line in _lines(self._bounded(response)):
                if line.startswith(b"data:"):
                    event = line[5:].strip()
                    if event == b"[DONE]":
                        return
                    yield self._parsed(event)

    @contextmanager
    def _response(self, request: Request, deadline: Deadline, *, stream: bool) -> Iterator[Any]:
        """Open a response of 2xx; translate what goes wrong until it is read."""
        import openai

        left = max(deadline.left_s(), 0.001)
        timeout = openai.Timeout(left, connect=min(CONNECT_S, left))
        sent = body(self.name, request, self._dialect, stream=stream)
        create = self._connected().chat.completions.with_streaming_response.create
        with self._translated(), create(**sent, timeout=timeout) as response:
            yield response

    def _bounded(self, response: Any) -> Iterator[bytes]:  # noqa: ANN401
        size = 0
        for part in response.iter_bytes():
            size += len(part)
            if size > MAX_ANSWER_BYTES:
                message = f"the answer is larger than {MAX_ANSWER_BYTES / 1e6:g} MB"
                raise ProviderError(self.provider, message, permanent=True)
            yield part

    def _parsed(self, data: bytes) -> object:
        """Read JSON; some servers put an error into an answer of status 200. Raises ProviderError."""
        try:
            read = json.loads(data)
        except (ValueError, RecursionError) as error:
            said = refusals.reason(data[:_MAX_ERROR_BYTES].decode("utf-8", "replace"), self._key)
            message = f"the answer is not JSON: {screen.shorten(said, 80) or 'it is empty'}"
            raise ProviderError(self.provider, message, status=200) from error
        if isinstance(read, dict) and read.get("error"):
            code = read["error"].get("code") if isinstance(read["error"], dict) else None
            status = code if isinstance(code, int) and 400 <= code < 600 else 502
            raise refusals.translate(self.provider, status, {}, data[:_MAX_ERROR_BYTES], self._key)
        return read

    @contextmanager
    def _understood(self) -> Iterator[None]:
        try:
            yield
        except Malformed as error:
            raise ProviderError(self.provider, str(error), status=200) from error

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn errors of the SDK and of what lies below it into ours, without the key."""
        import openai

        try:
            yield
        except openai.APIStatusError as error:
            # Not `from error`: the SDK quotes the server's answer, and a server may quote the key.
            raise self._refused(error) from None
        except openai.APITimeoutError as error:
            # What was never connected was never sent.
            if type(error.__cause__).__name__ == "ConnectTimeout":
                raise ProviderError(self.provider, f"{self._host} cannot be reached in time") from error
            raise Unanswered(self.provider, "the server did not answer in time") from error
        except openai.OpenAIError as error:
            said = screen.one_line(self._key.remove_from(str(error.__cause__ or error)))
            message = f"{addresses.origin(self._base_url)} cannot be reached ({screen.shorten(said, 120)})"
            if type(error.__cause__).__name__ in _CUT_OFF:
                raise Unanswered(self.provider, message) from error
            permanent = "CERTIFICATE_VERIFY_FAILED" in said
            raise ProviderError(self.provider, message, permanent=permanent) from error
        except _transport_errors() as error:  # below the SDK there is a response already
            said = screen.one_line(self._key.remove_from(str(error)))
            message = f"the answer broke off ({screen.shorten(said, 120)})"
            raise Unanswered(self.provider, message) from error

    def _refused(self, error: openai.APIStatusError) -> ProviderError:
        status = error.status_code
        if 300 <= status < 400:
            target = addresses.origin(error.response.headers.get("location", "")) or "elsewhere"
            message = f"the address redirects to {screen.one_line(target)[:80]}, which is not followed"
            return ProviderError(self.provider, message, permanent=True, status=status)
        content = error.response.content[:_MAX_ERROR_BYTES]
        return refusals.translate(self.provider, status, error.response.headers, content, self._key)

    def _connected(self) -> openai.OpenAI:
        """The client, made when it is first needed. Raises MissingExtra."""
        with self._lock:
            if self._client is None:
                self._client = self._connect()
            return self._client

    def _connect(self) -> openai.OpenAI:
        try:
            import openai
        except ImportError as error:
            raise MissingExtra(f"the language model provider {self.provider!r}", "openai") from error
        transport = openai.DefaultHttpxClient(
            follow_redirects=False,
            trust_env=not addresses.is_loopback(self._host),
            event_hooks={"request": [self._trim]},
        )
        return openai.OpenAI(
            api_key="none",  # the SDK wants one; what is sent and never logged comes from `_trim`
            base_url=self._base_url,
            max_retries=0,
            http_client=transport,
        )

    def _trim(self, request: Any) -> None:  # noqa: ANN401 - httpx's or httpx2's, as the SDK has it
        """Leave only the headers that the request needs."""
        allowed = _HEADERS | _OWN_HEADERS if self._own and self.provider == "openai" else _HEADERS
        for name in [name for name in request.headers if name.lower() not in allowed]:
            del request.headers[name]
        request.headers["user-agent"] = "commonplace"
        request.headers.pop("authorization", None)
        if self._key:
            request.headers["authorization"] = f"Bearer {self._key.reveal()}"


def load(spec: Spec) -> OpenAiModel:
    """Make a model of a provider that speaks chat completions. Raises ConfigError, ProviderError."""
    return OpenAiModel(spec)


def _key(spec: Spec, row: registry.Provider, *, own: bool) -> Secret:
    """The key as given or set for language models; a provider's own variable only at its own address."""
    key = spec.key or registry.own_key() or (registry.provider_key(row) if own else NO_KEY)
    if row.keys and own and not key:
        raise ProviderError(row.name, f"no key: set {' or '.join(row.keys)}", permanent=True)
    return key


def _transport_errors() -> tuple[type[Exception], ...]:
    """What the HTTP library under the SDK raises; the SDK changed from httpx to httpx2 with version 3."""
    loaded = (sys.modules.get(name) for name in ("httpx2", "httpx"))
    return tuple(module.HTTPError for module in loaded if module is not None)


def _lines(parts: Iterator[bytes]) -> Iterator[bytes]:
    """Lines of a stream, however it is cut into parts."""
    rest = b""
    for part in parts:
        *whole, rest = (rest + part).split(b"\n")
        yield from (line.rstrip(b"\r") for line in whole)
    if rest:
        yield rest.rstrip(b"\r")
