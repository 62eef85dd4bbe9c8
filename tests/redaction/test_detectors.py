"""The table of detectors against planted secrets of its kinds and against texts that only look like them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest
from tests.notes.innocents import innocents
from tests.notes.planted import Draw, Planted, drawn, fixed, planted

from commonplace.redaction import assignments, detectors, phrases
from commonplace.redaction.detectors import INSIDE, SHAPES
from commonplace.redaction.masks import mask, unmask
from commonplace.redaction.redact import redact, rules_digest

HIDDEN = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\ufe0f\U000e0041"
WIDE = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}


def missed(secrets: Sequence[Planted], disguise: Callable[[str], str] = str) -> list[tuple[str, str]]:
    """The secrets of which a part is still there, as they stood in their text."""
    texts = [(secret, disguise(secret.text)) for secret in secrets]
    return [
        (secret.kind, text)
        for secret, text in texts
        if any(
            part in shown or disguise(part) in shown for shown in [redact(text)[0]] for part in secret.parts
        )
    ]


def test_the_list_is_long_enough() -> None:
    secrets = list(planted(fixed))
    assert len(secrets) >= 300
    assert len({secret.kind for secret in secrets}) >= 200
    assert len({row.kind for row in (*SHAPES, *INSIDE)}) >= 150
    assert len(set(innocents())) >= 250


@pytest.mark.parametrize(
    "draw", [drawn(1), *(pytest.param(drawn(seed), marks=pytest.mark.slow) for seed in (2, 3))]
)
def test_planted_secrets_are_gone(draw: Draw) -> None:
    secrets = list(planted(draw))
    assert len(missed(secrets)) <= len(secrets) // 100


def test_every_planted_secret_of_the_fixed_half_is_gone() -> None:
    assert missed(list(planted(fixed))) == []


def test_nothing_that_only_looks_like_a_secret_is_altered() -> None:
    assert [text for text in innocents() if redact(text) != (text, ())] == []


def test_characters_without_width_hide_nothing() -> None:
    chance = random.Random(5)

    def sprinkle(text: str) -> str:
        return "".join(letter + chance.choice(HIDDEN) * (chance.random() < 0.3) for letter in text)

    lines = [secret for secret in planted(fixed) if "\n" not in secret.text]
    assert [kind for secret in lines for kind in [secret.kind] if not redact(sprinkle(secret.text))[1]] == []
    assert missed(lines, "\u200b".join) == []


def test_full_width_hides_nothing() -> None:
    lines = [secret for secret in planted(fixed) if "\n" not in secret.text]
    assert missed(lines, lambda text: text.translate(WIDE)) == []


@pytest.mark.parametrize("draw", [fixed, drawn(4)], ids=["fixed", "drawn"])
def test_what_is_masked_comes_back(draw: Draw) -> None:
    wide = [secret.text.translate(WIDE) for secret in planted(draw)][::7]
    text = "\n\n".join([*(secret.text for secret in planted(draw)), *wide])
    masked = mask(text)
    assert unmask(masked.text, masked) == text


def test_secrets_go_from_one_note_with_all_of_them() -> None:
    secrets = list(planted(fixed))
    shown, kinds = redact("\n\n".join(secret.text for secret in secrets))
    assert [secret.kind for secret in secrets if any(part in shown for part in secret.parts)] == []
    assert len(kinds) >= 150
    assert redact(shown) == (shown, ())


def test_the_digest_changes_with_any_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    digests = {rules_digest()}
    for module, name, value in (
        (detectors, "SHAPES", SHAPES[:-1]), (detectors, "INSIDE", (INSIDE[0]._replace(before=5), *INSIDE[1:])),
        (detectors, "WORD_LISTS", detectors.WORD_LISTS | {"services": ("acme",)}),
        (assignments, "_CONTEXT", 33), (phrases, "_KEY_LEAST", 17),
    ):  # fmt: skip
        with monkeypatch.context() as patch:
            patch.setattr(module, name, value)
            rules_digest.cache_clear()
            digests.add(rules_digest())
    rules_digest.cache_clear()
    assert len(digests) == 6
