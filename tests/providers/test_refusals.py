"""Refusals: permanent or passing, how long to wait, too long, one clean line without the key."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.config.credentials import Secret
from commonplace.providers import attempts

KEY = Secret("sk-live-0123456789")


def refusal(status: int, body: object = "", headers: dict[str, str] | None = None):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return attempts.translate("acme", status, headers or {}, content, KEY)


QUOTA = {
    "error": {
        "message": "You exceeded your current quota, please check your plan",
        "code": "insufficient_quota",
    }
}
TRIAL = {"message": "You are using a Trial key, which is limited to 1000 API calls / month"}
MINUTE = {
    "detail": "Add a payment method in the billing page; until then you have reduced rate limits of 3 RPM"
}
PER_MINUTE = {"error": {"message": "Quota exceeded for quota metric 'Embed requests per minute'"}}
BUSY = {"error": {"message": "Rate limit reached"}}


@pytest.mark.parametrize(
    ("status", "body", "headers", "permanent"),
    [
        (401, {"error": {"message": "no"}}, {}, True),
        (402, {"error": "insufficient balance"}, {}, True),
        (403, {}, {}, True),
        (404, {"error": 'model "x" not found, try pulling it first'}, {}, True),
        (400, {"error": "bad value"}, {}, True),
        (422, {"detail": [{"msg": "field required"}]}, {}, True),
        (501, {}, {}, True),
        (408, {}, {}, False),
        (409, {}, {}, False),
        (425, {}, {}, False),
        (500, {}, {}, False),
        (503, {}, {}, False),
        (529, {}, {}, False),
        (429, BUSY, {}, False),
        (429, QUOTA, {}, True),
        (429, QUOTA, {"Retry-After": "20"}, False),
        (429, TRIAL, {}, True),
        (429, MINUTE, {}, False),
        (429, PER_MINUTE, {}, False),
        (429, {"error": {"message": "Too many tokens per minute"}}, {}, False),
    ],
)
def test_some_refusals_stay_and_some_pass(status, body, headers, permanent) -> None:
    error = refusal(status, body, headers)
    assert (error.permanent, error.status, error.provider) == (permanent, status, "acme")
    assert not isinstance(error, attempts.TooLarge)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "This model's maximum context length is 8192 tokens, however you requested 9000 tokens"),
        (400, "Invalid 'input[0]': maximum input length is 8192 tokens."),
        (400, "Requested 309209 tokens, max 300000 tokens per request"),
        (400, "Too many tokens in batch. Max is 16384 got 17555"),
        (400, "Too many inputs in request, split into more batches."),
        (400, "The max allowed tokens per submitted batch is 120000. Your batch has 121138 tokens"),
        (400, "too many tokens: total number of tokens in the prompt cannot exceed 512"),
        (400, "the input length exceeds the context length"),
        (400, "BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch"),
        (400, "Request payload size exceeds the limit: 36000 bytes."),
        (400, "Too many tokens overall, split into more batches."),
        (
            400,
            "<400> InternalError.Algo.InvalidParameter: Value error, batch size is invalid, it should not be"
            " larger than 10.: input.contents",
        ),
        (400, "input batch size 64 > maximum allowed batch size 32"),
        (413, "`inputs` must have less than 512 tokens. Given: 600"),
        (413, ""),
        (
            429,
            "Request too large for text-embedding-3-small in organization org-1 on tokens per min (TPM):"
            " Limit 10000, Requested 32000.",
        ),
        (422, "input is too long"),
        (500, "input (992 tokens) is too large to process. increase the physical batch size"),
    ],
)
def test_what_is_too_long_is_told_apart(status: int, said: str) -> None:
    error = refusal(status, {"error": {"message": said}})
    assert isinstance(error, attempts.TooLarge)
    assert error.permanent
    assert error.status == status


@pytest.mark.parametrize(
    ("headers", "body", "expected"),
    [
        ({"retry-after": "7"}, "", 7),
        ({"Retry-After": "1.5"}, "", 1.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, "", 0.25),
        ({}, '{"error":{"details":[{"@type":"RetryInfo","retryDelay":"28.5s"}]}}', 28.5),
        ({}, '{"error":{"message":"try again in a while"}}', None),
        ({"retry-after": "3"}, '{"error":{"message":"Please try again in 1.2s."}}', 3),
        ({"retry-after": "99999999999"}, "", 86_400),
        ({"retry-after": "soon"}, "", None),
        ({"retry-after": "-3"}, "", None),
        ({"retry-after": "nan"}, "", None),
        ({}, "", None),
    ],
)
def test_what_a_provider_asks_to_wait(headers: dict[str, str], body: str, expected: float | None) -> None:
    assert attempts.wait_s(headers, body) == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "no such model"}},
        {"error": "no such model"},
        {"message": "no such model"},
        {"detail": "no such model"},
        {"detail": [{"msg": "no such model"}]},
        [{"error": {"message": "no such model"}}],
        b"no such model",
        b"<html><head><style>p{}</style></head><body><p>no such\n model</p></body></html>",
    ],
)
def test_the_sentence_is_found_wherever_it_stands(body: object) -> None:
    assert str(refusal(404, body)) == "acme: HTTP 404: no such model"


@given(st.text(max_size=600))
def test_whatever_is_said_is_one_short_clean_line(said: str) -> None:
    line = str(refusal(500, {"error": {"message": said + KEY.reveal()}}))
    assert len(line) < 340
    assert KEY.reveal() not in line
    assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 or c in "\u2028\u2029\u202e" for c in line)


def test_nested_beyond_reason() -> None:
    assert "HTTP 500" in str(refusal(500, b"[" * 50_000))
