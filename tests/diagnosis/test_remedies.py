"""Remedies: each way to fail has one, and the commands in them say what to do."""

from __future__ import annotations

import pytest

from commonplace.diagnosis import remedies
from commonplace.errors import (
    BudgetExceeded,
    CommonplaceError,
    ConfigError,
    MissingExtra,
    NoteUnreadable,
    ProviderError,
)


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (MissingExtra("models", "openai"), "pip install 'commonplace[openai]'"),
        (BudgetExceeded("llm.max_tokens_a_day", "used up"), "raise llm.max_tokens_a_day"),
        (ConfigError("llm.model", "needs one"), "mend llm.model"),
        (NoteUnreadable("ledger.sqlite", "damaged"), "see to the file"),
        (ProviderError("p", "HTTP 401", status=401, permanent=True), "put a valid key into A_KEY"),
        (ProviderError("p", "HTTP 402", status=402, permanent=True), "add credit"),
        (ProviderError("p", "HTTP 404", status=404, permanent=True), "check the model's name"),
        (ProviderError("p", "HTTP 429", status=429), "wait, or raise the quota"),
        (ProviderError("p", "HTTP 503", status=503), "wait: the provider itself"),
        (ProviderError("p", "cannot be reached"), "see whether its server runs"),
        (ProviderError("p", "not on this machine", permanent=True), "mend what it says"),
    ],
)
def test_by_how_it_failed(error: CommonplaceError, remedy: str) -> None:
    assert remedies.of(error, "A_KEY").startswith(remedy)


def test_a_key_that_is_missing() -> None:
    refused = ProviderError("p", "HTTP 401", status=401, permanent=True)
    assert remedies.of(refused, "", ("A_KEY", "B_KEY")).startswith("set A_KEY or B_KEY, or")
    assert remedies.of(refused).startswith("set a key, or")
