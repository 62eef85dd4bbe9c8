"""Prompts that ship, filled in."""

from __future__ import annotations

import re

import pytest

from commonplace.providers.llm import prompting


@pytest.mark.parametrize("path", sorted(prompting.FOLDER.glob("*.md")), ids=lambda path: path.stem)
def test_what_ships_can_be_filled_in(path: object) -> None:
    text = path.read_text()  # type: ignore[attr-defined]
    prompt = prompting.load(path.stem)  # type: ignore[attr-defined]
    values = {name: f"<{name}> {{{{x}}}}" for name in re.findall(r"\{\{\s*(\w+)\s*\}\}", text)}
    filled = prompt.messages(**values)
    assert [message.role for message in filled] == re.findall(r"^# (\w+)$", text, re.MULTILINE)
    whole = "\n".join(message.content for message in filled)
    assert all(value in whole for value in values.values())
    assert whole.count("{{") == whole.count("{{x}}")  # what values hold is not looked at for markers
    assert "purpose:" not in whole


def test_what_is_private_in_a_value_hides_no_more_than_the_rest_of_it() -> None:
    (message,) = prompting.load("repair").messages(error="a <private>secret", schema="{}")
    assert "secret" not in message.content
    assert "{}" in message.content
