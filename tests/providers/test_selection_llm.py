"""What a name and a few flags make of the settings of the language model."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace import config
from commonplace.base.errors import ConfigError
from commonplace.config.settings import Llm
from commonplace.providers import selection


def settings(**values: object) -> Llm:
    return config.load(Path("/"), overrides={f"llm.{name}": value for name, value in values.items()}).llm


def own(found: Llm) -> dict[str, object]:
    return {key: getattr(found, key) for key in selection.OWN["llm"] if getattr(found, key)}


def test_what_belonged_to_the_former_provider_is_left_out() -> None:
    former = settings(provider="compatible", model="x", base_url="http://h/v1", key="/k", cache=False)
    found = selection.select_llm("openai/gpt-5-mini", former)
    assert (found.provider, own(found), found.cache) == ("openai", {"model": "gpt-5-mini"}, False)
    assert own(selection.select_llm("none", former)) == {}


def test_another_model_of_the_same_server_keeps_address_and_key() -> None:
    former = settings(provider="compatible", model="a", base_url="http://h/v1", key="/k")
    found = selection.select_llm("compatible/b", former)
    assert own(found) == {"model": "b", "base_url": "http://h/v1", "key": "/k"}
    moved = selection.select_llm("compatible/b", former, {"base_url": "http://other/v1"})
    assert own(moved) == {"model": "b", "base_url": "http://other/v1"}, "a key is for an address"


def test_a_server_with_a_model_of_its_own_needs_none() -> None:
    assert own(selection.select_llm("llamacpp", settings())) == {}


def test_what_cannot_be_is_refused() -> None:
    for name, flags, told in [
        ("opnai", {}, "unknown provider 'opnai'; did you mean openai"),
        ("openai", {}, "llm.model: openai needs one; name it as openai/MODEL"),
        ("compatible/m", {}, "llm.base_url: compatible needs one; add --base-url"),
        ("none/x", {}, "none makes no use of it"),
    ]:
        with pytest.raises(ConfigError) as caught:
            selection.select_llm(name, settings(), flags)
        assert told in str(caught.value)
