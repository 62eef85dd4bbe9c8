"""What a name and a few flags make of the settings, and which model answers until the switch."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace import config
from commonplace.base.errors import ConfigError
from commonplace.config.settings import Embedding
from commonplace.providers import selection
from commonplace.providers.catalog import EMBEDDERS


def settings(**values: object) -> Embedding:
    return config.load(Path("/"), overrides={f"embedding.{k}": v for k, v in values.items()}).embedding


def own(found: Embedding) -> dict[str, object]:
    """What is set of a provider's own."""
    return {key: getattr(found, key) for key in selection.OWN["embedding"] if getattr(found, key)}


def test_what_belonged_to_the_former_provider_is_left_out(tmp_path: Path) -> None:
    former = settings(
        provider="openai", model="x", dimensions=8, base_url="http://h/v1", key_file="/k", deadline_s=7
    )
    found = selection.select("fastembed/BAAI/bge-small-zh-v1.5", former)
    assert (found.provider, own(found)) == ("fastembed", {"model": "BAAI/bge-small-zh-v1.5"})
    assert found.deadline_s == 7
    assert own(selection.select("builtin", former)) == {}
    assert own(selection.select("none", former)) == {}


def test_another_model_of_the_same_server_keeps_address_and_key() -> None:
    former = settings(provider="compatible", model="a", dimensions=8, base_url="http://h/v1", key_file="/k")
    found = selection.select("compatible/b", former)
    assert own(found) == {"model": "b", "base_url": "http://h/v1", "key_file": "/k"}
    same = selection.select("compatible", former, {"model": "a"})
    assert own(same) == own(former)
    elsewhere = selection.select("compatible/b", former, {"base_url": "http://other/v1"})
    assert own(elsewhere) == {"model": "b", "base_url": "http://other/v1"}, "a key is for an address"


def test_what_auto_means_counts_as_the_former() -> None:
    found = selection.select("ollama/b", settings(base_url="http://127.0.0.1:11434", model="a"))
    assert own(found) == {"model": "b", "base_url": "http://127.0.0.1:11434"}


def test_paths_are_written_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    keyed = selection.select("openai", settings(), {"key_file": "~/key"})
    assert keyed.key_file == str(Path.home() / "key")


def test_what_cannot_be_is_refused() -> None:
    for name, flags, told in [
        ("opnai", {}, "unknown provider 'opnai'; did you mean openai"),
        ("onnx", {}, "unknown provider"),
        ("compatible", {"base_url": "http://h/v1"}, "embedding.model: compatible needs one"),
        ("compatible/m", {}, "embedding.base_url: compatible needs one; add --base-url"),
        ("builtin", {"dimensions": 5}, "embedding.dimensions: builtin makes no use of it"),
        ("builtin/other", {}, "embedding.model: builtin makes no use of it"),
        ("none", {"model": "x"}, "none makes no use of it"),
        ("fastembed", {"base_url": "http://h"}, "fastembed makes no use of it"),
        ("openai", {"path": "/x"}, "openai makes no use of it"),
        ("openai/a", {"model": "b"}, "a and b are two models"),
        ("openai", {"dimensions": 0}, "embedding.dimensions: 0 as a flag is not allowed"),
    ]:
        with pytest.raises(ConfigError) as caught:
            selection.select(name, settings(), flags)
        assert told in str(caught.value)


def test_the_only_model_of_a_provider_may_be_named() -> None:
    assert own(selection.select("builtin/all-MiniLM-L6-v2", settings())) == {}


def test_every_provider_has_settings_that_it_takes() -> None:
    for provider in [*EMBEDDERS.rows, "auto", "none"]:
        assert set(selection.takes(provider)) <= set(selection.OWN["embedding"])


# --- until the switch ---------------------------------------------------------------------------------


def until(former: Embedding, name: str, **flags: object) -> tuple[tuple[str, ...], str]:
    found, told = selection.keep_former(former, selection.select(name, former, flags))
    return found.fallback, told


def test_a_provider_elsewhere_is_named_first_among_those_that_stand_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-former-0123456789")
    former = settings(provider="openai", model="text-embedding-3-large", fallback=("ollama", "builtin"))
    fallback, told = until(former, "ollama")
    assert fallback == ("openai/text-embedding-3-large", "builtin"), "and the chosen one stands in no more"
    assert "first into embedding.fallback" in told
    assert until(former._replace(model=""), "builtin")[0][0] == "openai"
    again = former._replace(fallback=("builtin", "openai/text-embedding-3-large"))
    assert until(again, "fake")[0] == ("openai/text-embedding-3-large", "builtin")


def test_what_ships_answers_without_being_named() -> None:
    assert until(settings(), "ollama") == ((), "the vectors of builtin answer until then")


def test_another_model_at_the_same_place_answers_without_being_named() -> None:
    former = settings(provider="ollama", model="nomic-embed-text", base_url="http://127.0.0.1:9")
    fallback, told = until(former, "ollama/bge-m3")
    assert (fallback, told) == ((), "the vectors of ollama/nomic-embed-text answer until then")
    moved, told = until(former, "ollama/bge-m3", base_url="http://127.0.0.1:10")
    assert moved == ()
    assert told.startswith("full text answers until then (ollama/nomic-embed-text cannot: an address")


def test_what_fallback_cannot_express_is_told() -> None:
    former = settings(provider="compatible", model="m", base_url="http://127.0.0.1:9/v1")
    fallback, told = until(former, "builtin")
    assert fallback == ()
    assert told.startswith("full text answers until then (compatible/m cannot")


def test_a_former_model_that_never_was_is_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    fallback, told = until(settings(provider="openai", model="never-was"), "builtin")
    assert fallback == ()
    assert "no key" in told


def test_nothing_is_told_where_nothing_changes() -> None:
    assert until(settings(), "auto") == ((), "")
    assert until(settings(provider="fake"), "none") == ((), "")
    assert until(settings(provider="none"), "fake") == ((), "full text answers until then")
