"""What a name and a few flags make of the settings, and which model answers until the switch."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace import config
from commonplace.base.errors import ConfigError
from commonplace.config.settings import Embedding
from commonplace.providers import selection


def settings(**values: object) -> Embedding:
    return config.load(Path("/"), overrides={f"embedding.{k}": v for k, v in values.items()}).embedding


def own(found: Embedding) -> dict[str, object]:
    """What is set of a provider's own."""
    return {key: getattr(found, key) for key in selection.OWN["embedding"] if getattr(found, key)}


def test_what_belonged_to_the_former_provider_is_left_out(tmp_path: Path) -> None:
    former = settings(provider="openai", model="x", dimensions=8, base_url="http://h/v1", key="/k")
    found = selection.select("fastembed/BAAI/bge-small-zh-v1.5", former)
    assert (found.provider, own(found)) == ("fastembed", {"model": "BAAI/bge-small-zh-v1.5"})
    assert own(selection.select("builtin", former)) == {}
    assert own(selection.select("none", former)) == {}


def test_another_model_of_the_same_server_keeps_address_and_key() -> None:
    former = settings(provider="compatible", model="a", dimensions=8, base_url="http://h/v1", key="/k")
    found = selection.select("compatible/b", former)
    assert own(found) == {"model": "b", "base_url": "http://h/v1", "key": "/k"}
    same = selection.select("compatible", former, {"model": "a"})
    assert own(same) == own(former)
    elsewhere = selection.select("compatible/b", former, {"base_url": "http://other/v1"})
    assert own(elsewhere) == {"model": "b", "base_url": "http://other/v1"}, "a key is for an address"


def test_what_auto_means_counts_as_the_former() -> None:
    found = selection.select("ollama/b", settings(base_url="http://127.0.0.1:11434", model="a"))
    assert own(found) == {"model": "b", "base_url": "http://127.0.0.1:11434"}


def test_paths_are_written_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    keyed = selection.select("openai", settings(), {"key": "~/key"})
    assert keyed.key == str(Path.home() / "key")


def test_what_cannot_be_is_refused() -> None:
    for name, flags, told in [
        ("opnai", {}, "unknown provider 'opnai'; did you mean openai"),
        ("onnx", {}, "unknown provider"),
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


def test_the_only_model_of_a_provider_may_be_named() -> None:
    assert own(selection.select("builtin/all-MiniLM-L6-v2", settings())) == {}


# --- until the switch ---------------------------------------------------------------------------------


def until(former: Embedding, name: str, **flags: object) -> str:
    return selection.meanwhile(former, selection.select(name, former, flags))


def test_what_answers_until_the_new_vectors_are_there() -> None:
    assert until(settings(), "ollama") == "the vectors of builtin answer until then"
    former = settings(provider="ollama", model="nomic-embed-text", base_url="http://127.0.0.1:9")
    assert until(former, "ollama/bge-m3") == "the vectors of ollama/nomic-embed-text answer until then"
    for name, flags in (("ollama/bge-m3", {"base_url": "http://127.0.0.1:10"}), ("builtin", {})):
        assert until(former, name, **flags) == "full text answers until then"
    assert until(settings(provider="none"), "fake") == "full text answers until then"


def test_nothing_is_told_where_nothing_changes() -> None:
    assert until(settings(), "auto") == ""
    assert until(settings(provider="fake"), "none") == ""


def test_a_chosen_model_stands_in_no_more() -> None:
    former = settings(provider="openai", fallback=("ollama", "builtin"))
    assert selection.select("ollama", former).fallback == ("builtin",)
