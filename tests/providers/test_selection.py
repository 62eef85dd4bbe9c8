"""What a name and a few flags make of the settings, and which model settings imply."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace import config
from commonplace.base.errors import ConfigError
from commonplace.config.settings import Embedding, Llm
from commonplace.providers import opening, selection
from tests.providers.embedding.apis import KEY


def settings(**values: object) -> Embedding:
    return config.load(Path("/"), overrides={f"embedding.{k}": v for k, v in values.items()}).embedding


def llm(**values: object) -> Llm:
    return config.load(Path("/"), overrides={f"llm.{name}": value for name, value in values.items()}).llm


def own(found: Embedding | Llm) -> dict[str, object]:
    """What is set of a provider's own."""
    names = selection.OWN["embedding" if isinstance(found, Embedding) else "llm"]
    return {key: getattr(found, key) for key in names if getattr(found, key)}


@pytest.mark.parametrize(
    ("given", "chosen"),
    [
        ({}, ("builtin", "")),
        ({"provider": "voyage", "model": "bge-m3"}, ("voyage", "bge-m3")),
        ({"provider": "none"}, ("none", "")),
        ({"base_url": "http://127.0.0.1:11434/v1", "model": "bge-m3"}, ("compatible", "bge-m3")),
        ({"base_url": "http://[bad", "model": "m"}, ("compatible", "m")),
        ({"model": "bge-m3"}, ("ollama", "bge-m3")),
        ({"model": "BAAI/bge-small-zh-v1.5"}, ("fastembed", "BAAI/bge-small-zh-v1.5")),
        ({"model": "openai/text-embedding-3-large"}, ("openai", "text-embedding-3-large")),
    ],
)
def test_what_the_settings_imply(
    given: dict[str, object], chosen: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)  # a key that lies about is no leave to send notes
    assert opening.choose(settings(**given)) == chosen


def test_what_belonged_to_the_former_provider_is_left_out() -> None:
    former = settings(provider="openai", model="x", dimensions=8, base_url="http://h/v1", key="/k")
    found = selection.select("fastembed/BAAI/bge-small-zh-v1.5", former)
    assert (found.provider, own(found)) == ("fastembed", {"model": "BAAI/bge-small-zh-v1.5"})
    assert own(selection.select("builtin/all-MiniLM-L6-v2", former)) == {}
    assert own(selection.select("none", former)) == {}
    spoken = llm(provider="compatible", model="x", base_url="http://h/v1", key="/k", cache=False)
    other = selection.select_llm("openai/gpt-5-mini", spoken)
    assert (other.provider, own(other), other.cache) == ("openai", {"model": "gpt-5-mini"}, False)
    assert own(selection.select_llm("llamacpp", spoken)) == {}


def test_another_model_of_the_same_server_keeps_address_and_key() -> None:
    former = settings(provider="compatible", model="a", dimensions=8, base_url="http://h/v1", key="/k")
    found = selection.select("compatible/b", former)
    assert own(found) == {"model": "b", "base_url": "http://h/v1", "key": "/k"}
    elsewhere = selection.select("compatible/b", former, {"base_url": "http://other/v1"})
    assert own(elsewhere) == {"model": "b", "base_url": "http://other/v1"}, "a key is for an address"
    spoken = selection.select_llm(
        "compatible/b", llm(provider="compatible", base_url="http://h/v1", key="/k")
    )
    assert own(spoken) == {"model": "b", "base_url": "http://h/v1", "key": "/k"}


def test_paths_are_written_whole() -> None:
    assert selection.select("openai", settings(), {"key": "~/key"}).key == str(Path.home() / "key")


def test_a_model_of_one_question_is_named_in_short() -> None:
    former = llm(provider="ollama", model="a", base_url="http://h/v1", key="/k")
    assert selection.llm_overrides(former, None, None) == {}
    found = selection.llm_overrides(former, "b", None)
    assert (found["llm.provider"], found["llm.model"], found["llm.key"]) == ("ollama", "b", "/k")
    found = selection.llm_overrides(former, "openai/c", None)
    assert (found["llm.provider"], found["llm.model"], found["llm.key"]) == ("openai", "c", "")
    found = selection.llm_overrides(former, "org/c", "http://127.0.0.1:1/v1")
    assert (found["llm.provider"], found["llm.model"]) == ("compatible", "org/c")
    assert (found["llm.base_url"], found["llm.key"]) == ("http://127.0.0.1:1/v1", "")
    with pytest.raises(ConfigError, match=r"say --model PROVIDER/b or --base-url"):
        selection.llm_overrides(llm(), "b", None)


def test_what_cannot_be_is_refused() -> None:
    flags: dict[str, object]
    for name, flags, told in [
        ("opnai", {}, "unknown provider 'opnai'; known: builtin"),
        ("compatible", {"base_url": "http://h/v1"}, "embedding.model: compatible needs one; name it as"),
        ("compatible/m", {}, "embedding.base_url: compatible needs one; add --base-url"),
        ("builtin", {"dimensions": 5}, "embedding.dimensions: builtin makes no use of it"),
        ("builtin/other", {}, "embedding.model: builtin makes no use of it"),
        ("none", {"model": "x"}, "none makes no use of it"),
        ("openai", {"dimensions": 0}, "embedding.dimensions: 0 as a flag is not allowed"),
    ]:
        with pytest.raises(ConfigError) as caught:
            selection.select(name, settings(), flags)
        assert told in str(caught.value)
    for name, told in [
        ("openai", "llm.model: openai needs one; name it as openai/MODEL"),
        ("auto", "unknown provider 'auto'"),
        ("none/x", "none makes no use of it"),
    ]:
        with pytest.raises(ConfigError) as caught:
            selection.select_llm(name, llm())
        assert told in str(caught.value)
