"""Credentials in the forms in which people write them down go, and texts of the same forms stay."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest
from tests.notes.forms import forms, lookalikes
from tests.notes.planted import Draw, Planted, drawn, fixed

from commonplace.redaction.redact import redact


def kept(secrets: Iterable[Planted]) -> list[tuple[str, str, str]]:
    """The secrets of which a part is still there; a part that is one word is looked for as a word."""
    found = []
    for secret in secrets:
        shown = redact(secret.text)[0]
        for part in secret.parts:
            expression = rf"(?<!\w){re.escape(part)}(?!\w)" if part.isalpha() else re.escape(part)
            if re.search(expression, shown):
                found.append((secret.kind, secret.text, shown))
    return found


def test_the_lists_are_long_enough() -> None:
    secrets = list(forms(fixed, 0))
    kinds = [secret.kind for secret in secrets]
    assert len(secrets) >= 140
    assert min(map(kinds.count, kinds)) >= 2
    assert len(set(lookalikes())) >= 120


@pytest.mark.parametrize(
    ("draw", "seed"),
    [
        (fixed, 0),
        (drawn(1), 1),
        *(pytest.param(drawn(seed), seed, marks=pytest.mark.slow) for seed in (2, 3)),
    ],
)
def test_credentials_of_every_form_are_gone(draw: Draw, seed: int) -> None:
    assert kept(forms(draw, seed)) == []


def test_texts_of_the_same_forms_stay() -> None:
    assert [text for text in lookalikes() if redact(text) != (text, ())] == []


def test_lines_stay_and_redacting_twice_changes_nothing() -> None:
    for secret in forms(fixed, 0):
        shown, kinds = redact(secret.text)
        assert kinds, secret.text
        assert shown.count("\n") == secret.text.count("\n"), secret.text
        assert redact(shown) == (shown, ()), secret.text


@pytest.mark.parametrize("end", ["\r\n", "\n> ", "\n    "])
def test_a_form_is_found_in_files_of_windows_in_quotations_and_deeper(end: str) -> None:
    secrets = [
        secret for secret in forms(fixed, 0) if secret.kind not in ("kubernetes", "pgpass", "next-line")
    ]
    assert kept(secret._replace(text=secret.text.replace("\n", end)) for secret in secrets) == []
