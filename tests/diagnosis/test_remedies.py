"""Remedies: each way to fail that providers have has one of its own."""

from __future__ import annotations

import pytest

from commonplace.diagnosis import providers


@pytest.mark.parametrize(
    ("trouble", "remedy"),
    [
        ("p: HTTP 401: no", "put a valid key into A_KEY"),
        ("p: HTTP 402: pay", "add credit"),
        ("p: HTTP 404: no such model", "check the model's name and the address"),
        ("p: HTTP 400: what?", "check the model's name and its settings"),
        ("p: HTTP 429: slow down", "wait, or raise the quota"),
        ("p: HTTP 503", "wait: the provider itself"),
        ("p: http://127.0.0.1:1 cannot be reached (refused)", "see whether its server runs"),
        ("p: http://127.0.0.1:1 did not answer within 5 s", "see whether its server runs"),
        ("p: no answer within 5 s", "see whether its server runs"),
        ("llm.model: x needs one", "mend llm.model: `commonplace config`"),
        ("openai: no key: set A_KEY or B_KEY", "set A_KEY or B_KEY, or name a file"),
        ("p: something else", "mend what it says"),
    ],
)
def test_by_what_was_told(trouble: str, remedy: str) -> None:
    assert providers.remedy_of(trouble, "A_KEY").startswith(remedy)


def test_a_key_whose_place_is_not_known() -> None:
    assert providers.remedy_of("p: HTTP 401", "", ("A_KEY", "B_KEY")) == "put a valid key into A_KEY or B_KEY"
    assert providers.remedy_of("p: HTTP 403") == "put a valid key into a file, and name that in the settings"
