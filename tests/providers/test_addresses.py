"""Addresses: usable ones, and where a key may go in clear."""

from __future__ import annotations

import pytest

from commonplace.base.errors import ProviderError
from commonplace.config.credentials import Secret
from commonplace.providers import http

KEY = Secret("sk-live-0123456789")


def test_a_key_goes_over_tls_or_stays_near() -> None:
    for url in (
        "https://api.example.com/v1", "http://localhost:11434", "http://127.0.0.1:8080/v1", "http://[::1]:8080",
        "http://192.168.1.20:8000/v1", "http://10.1.2.3", "http://[fd00::1]:8000",
        "http://100.100.1.2:8000",  # an overlay network
        "http://[::ffff:192.168.1.20]",
    ):  # fmt: skip
        assert http.checked("acme", url, KEY), url


def test_a_key_is_not_sent_in_clear() -> None:
    for url in (
        "HTTP://api.example.com", "http://gpu-box:8000", "http://8.8.8.8", "http://[::ffff:8.8.8.8]", "http://127.1",
    ):  # fmt: skip
        with pytest.raises(ProviderError, match="in clear: use https") as caught:
            http.checked("acme", url, KEY)
        assert caught.value.permanent, url
        assert http.checked("acme", url), url


def test_other_addresses_are_refused_and_not_quoted() -> None:
    for url in (
        "", "api.example.com", "ftp://example.com", "http://", "http://[::1", "http://host:99999", "http://host:x",
        "https://user:secretword@example.com", "https://example.com/v1?key=secretword",
        "https://example.com/#secretword", "https://example.com\\@127.0.0.1/",
    ):  # fmt: skip
        with pytest.raises(ProviderError) as caught:
            http.checked("acme", url, KEY)
        assert caught.value.permanent, url
        assert "secretword" not in str(caught.value)


def test_a_key_no_header_can_carry_is_refused_and_not_shown() -> None:
    for key in ("sk-1\nX-Evil: 1", "钥匙", "sk-\x00"):
        with pytest.raises(ProviderError, match="characters that no key has") as caught:
            http.checked("acme", "https://example.com", Secret(key))
        assert key not in str(caught.value)


def test_an_origin_names_no_user() -> None:
    assert http.origin("https://me:secretword@Example.com:8443/x?y") == "https://example.com:8443"
    assert http.origin("/relative") == http.origin("http://[") == ""


def test_this_machine() -> None:
    assert all(map(http.is_loopback, ("localhost", "127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1")))
    assert not any(map(http.is_loopback, ("example.com", "10.0.0.1", "localhost.example.com", "")))
