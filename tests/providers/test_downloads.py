"""Models fetched on purpose: from a hub on loopback; stopped, broken off, refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path

import pytest

from commonplace.base.errors import ConfigError, ProviderError
from commonplace.providers import fastembed
from commonplace.providers.catalog import Spec
from commonplace.providers.fastembed import LocalEmbedder
from tests.providers.server import Reply, Request

HERE = find_spec("fastembed") is not None and find_spec("onnx") is not None
needs_fastembed = pytest.mark.skipif(not HERE, reason="fastembed is an extra")
SOURCE = Path(__file__).parents[3] / "src"
SPEC = Spec("fastembed", "BAAI/bge-small-zh-v1.5")


@needs_fastembed
def test_a_model_is_fetched_once_and_can_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.providers.embedding.hub import REVISION, hub

    with hub(tmp_path / "made", monkeypatch) as (server, _):
        assert fastembed.is_missing(SPEC)
        name, place = fastembed.fetch(SPEC)
        assert (name, place.parts[-2:]) == (SPEC.model, ("snapshots", REVISION))
        assert place.is_relative_to(fastembed.folder())
        assert not fastembed.is_missing(SPEC)
        server.requests.clear()
        assert fastembed.fetch(SPEC) == (name, place)
        assert server.requests == []
    model = LocalEmbedder(SPEC)
    assert model.embed(["walnut desk"], "passage").shape == (1, model.dimensions)


@needs_fastembed
def test_nothing_is_fetched_that_was_not_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.providers.embedding.hub import hub

    with hub(tmp_path / "made", monkeypatch) as (server, _):
        with pytest.raises(ProviderError, match=r"fetch BAAI/bge-small-zh-v1\.5"):
            LocalEmbedder(SPEC)
        with pytest.raises(ConfigError, match=r"did you mean .*BAAI/bge-small-zh-v1\.5"):
            fastembed.fetch(Spec("fastembed", "BAAI/bge-small-zh"))
        assert server.requests == []


@needs_fastembed
def test_ctrl_c_ends_it_at_once_and_another_attempt_mends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.providers.embedding.hub import hub

    with hub(tmp_path / "made", monkeypatch) as (server, answers):
        answers.delay_s = 120.0  # of the weights; the other files come
        asked = threading.Event()
        answered = server.answer

        def noticing(request: Request) -> Reply:
            if request.method == "GET" and request.path.endswith("model_optimized.onnx"):
                asked.set()
            return answered(request)

        server.answer = noticing
        process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "commonplace", "models", "pull", SPEC.model],
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert asked.wait(60)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=60)
        assert (process.returncode, out) == (130, b"")
        assert errors.endswith(b"commonplace: interrupted; run it again, it goes on from there\n")
        assert fastembed.is_missing(SPEC)
        answers.delay_s = 0.0
        server.answer = answered
        fastembed.fetch(SPEC)
    model = LocalEmbedder(SPEC)
    assert model.embed(["walnut desk"], "passage").shape == (1, model.dimensions)


def test_other_providers_have_nothing_to_fetch() -> None:
    with pytest.raises(ConfigError, match="not those of openai"):
        fastembed.fetch(Spec("openai", "text-embedding-3-small"))
    with pytest.raises(ConfigError, match="`ollama pull bge-m3` fetches it"):
        fastembed.fetch(Spec("ollama", "bge-m3"))
    assert not fastembed.is_missing(Spec("openai"))
