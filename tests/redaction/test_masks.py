"""Marks for what is hidden: nothing shows, everything comes back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.redaction.masks import MarkLost, mask, unmask
from commonplace.redaction.redact import holds_secret

SECRET = "ghp_" + "a1B2" * 9
KEY = (
    "-----BEGIN PRIVATE KEY-----\n"
    + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n" * 2
    + "-----END PRIVATE KEY-----"
)
PIECES = ["<private>x</private>", "<private>\ny", "</private>", f"token {SECRET}", KEY, "a", "\n", "\n\n", "茶。", "\udcff", "\ue000"]  # fmt: skip
TEXT = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


@given(TEXT)
def test_what_is_not_touched_comes_back_as_it_was(text: str) -> None:
    masked = mask(text)
    assert SECRET not in masked.text
    assert "MIIEvQ" not in masked.text
    assert "\udcff" not in masked.text
    assert unmask(masked.text, masked) == text


@given(TEXT, TEXT)
def test_nothing_hidden_is_lost_by_any_rewriting(text: str, other: str) -> None:
    masked = mask(text)
    try:
        found = unmask(other.replace("\udcff", ""), masked)
    except MarkLost:
        return
    assert all(part in found for part in masked.private)
    assert all(
        line.replace("<private>…</private>", "") in found or masked.private for _, line in masked.secret
    )


def test_a_key_with_a_blank_line_in_it_is_one_secret() -> None:
    armour = KEY.replace("PRIVATE KEY-----", "PGP PRIVATE KEY BLOCK-----").replace("\n", "\n\n", 1)
    text = f"a\n\n{armour}\n\nb\n\n- token {SECRET}\n"
    masked = mask(text)
    assert masked.text == "a\n\n[REDACTED:private-key]\n\nb\n\n- token [REDACTED:github-token]\n"
    assert unmask(masked.text, masked) == text


def test_new_text_may_stand_around_the_marks() -> None:
    masked = mask(f"- a <private>x</private>\n- token {SECRET}\n")
    found = unmask(f"new\n{masked.text}- key {SECRET}\n", masked)
    assert found == f"new\n- a <private>x</private>\n- token {SECRET}\n- key [REDACTED:github-token]\n"
    assert not holds_secret(unmask(f"- {SECRET}", mask("")))
    assert SECRET in unmask(f"- {SECRET}", mask(""), redacted=False)


def test_a_mark_that_is_missing_twice_there_or_moved_is_an_error() -> None:
    masked = mask(f"- a <private>x</private>\n- token {SECRET}\n- other {KEY}\n")
    first, second = masked.text.split("\n")[1:3]
    for text in (
        "",
        masked.text.replace("<private>…</private>", ""),
        masked.text * 2,
        f"{second}\n{first}\n<private>…</private>",
    ):
        with pytest.raises(MarkLost):
            unmask(text, masked)


def test_a_mark_within_a_new_private_part_is_an_error() -> None:
    masked = mask(f"- token {SECRET}\n- b\n")
    with pytest.raises(MarkLost):
        unmask(f"<private>\n{masked.text}", masked)
