"""Models fetched on purpose: from a hub on loopback; stopped, broken off, refused."""

from __future__ import annotations

import os
import shutil
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
from commonplace.providers.fastembed import load
from tests.providers.server import Reply, Request, serving

HERE = find_spec("fastembed") is not None and find_spec("onnx") is not None
needs_fastembed = pytest.mark.skipif(not HERE, reason="fastembed is an extra")
SOURCE = Path(__file__).parents[3] / "src"
SPEC = Spec("fastembed", "BAAI/bge-small-zh-v1.5")


class Heard:
    """Notes how far a download says it has come."""

    def __init__(self) -> None:
        self.steps: list[tuple[int, int]] = []

    def __call__(self, done: int, total: int) -> None:
        self.steps.append((done, total))


@needs_fastembed
def test_a_model_is_fetched_once_and_can_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.providers.embedding.hub import REVISION, hub

    with hub(tmp_path / "made", monkeypatch) as (server, answers):
        assert fastembed.is_missing(SPEC)
        heard = Heard()
        found = fastembed.fetch(SPEC, heard)
        assert (found.model, found.before) == (SPEC.model, False)
        assert Path(found.place).parts[-2:] == ("snapshots", REVISION)
        assert Path(found.place).is_relative_to(fastembed.folder())
        assert found.bytes == sum(map(len, answers.content.values()))
        assert heard.steps[-1] == (90_000_000, 90_000_000)  # as the table has it
        assert not fastembed.is_missing(SPEC)
        server.requests.clear()
        assert fastembed.fetch(SPEC, heard) == found._replace(before=True)
        assert server.requests == []
    model = load(SPEC)
    assert model.embed(["walnut desk"], "passage").shape == (1, model.dimensions)


@needs_fastembed
def test_nothing_is_fetched_that_was_not_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.providers.embedding.hub import hub

    with hub(tmp_path / "made", monkeypatch) as (server, _):
        with pytest.raises(ProviderError, match=r"fetch BAAI/bge-small-zh-v1\.5"):
            load(SPEC)
        with pytest.raises(ConfigError, match=r"did you mean .*BAAI/bge-small-zh-v1\.5"):
            fastembed.fetch(Spec("fastembed", "BAAI/bge-small-zh"), Heard())
        assert server.requests == []


@needs_fastembed
def test_without_a_connection_the_reason_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as gone:
        address = gone.url
    monkeypatch.setenv("HF_ENDPOINT", address)
    with pytest.raises(ProviderError) as caught:
        fastembed.fetch(SPEC, Heard())
    assert str(caught.value).startswith(f"fastembed: {address} cannot be reached (")


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
        assert not fastembed.fetch(SPEC, Heard()).before
    model = load(SPEC)
    assert model.embed(["walnut desk"], "passage").shape == (1, model.dimensions)


def test_other_providers_have_nothing_to_fetch() -> None:
    with pytest.raises(ConfigError, match="not those of openai"):
        fastembed.fetch(Spec("openai", "text-embedding-3-small"), Heard())
    with pytest.raises(ConfigError, match="`ollama pull bge-m3` fetches it"):
        fastembed.fetch(Spec("ollama", "bge-m3"), Heard())
    assert not fastembed.is_missing(Spec("openai"))


def test_a_folder_counts_what_it_links_to_once(tmp_path: Path) -> None:
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / "a").write_bytes(b"x" * 100)
    (tmp_path / "link").symlink_to(tmp_path / "blobs" / "a")
    (tmp_path / "broken").symlink_to(tmp_path / "gone")
    (tmp_path / "b").write_bytes(b"x" * 11)
    assert 111 <= fastembed.size_of(tmp_path) < 111 + 1000  # links themselves are short
    assert fastembed.size_of(tmp_path, follow=True) == 211
    assert fastembed.size_of(tmp_path / "nowhere") == 0


def test_folders_that_vanish_while_they_are_measured_count_as_empty(tmp_path: Path) -> None:
    over = threading.Event()

    def churn() -> None:
        number = 0
        while not over.is_set():
            folder = tmp_path / f"tmp{number % 7}"
            folder.mkdir()
            (folder / "part").write_bytes(b"x" * 10)
            shutil.rmtree(folder)
            number += 1

    (tmp_path / "whole").write_bytes(b"x" * 1000)
    thread = threading.Thread(target=churn)
    thread.start()
    try:
        sizes = {fastembed.size_of(tmp_path) for _ in range(2000)}
    finally:
        over.set()
        thread.join()
    assert sizes <= {1000, 1010}
