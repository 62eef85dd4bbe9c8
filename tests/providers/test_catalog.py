"""Models by name: known ones, one each a process, imported late."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from commonplace.base.errors import ConfigError
from commonplace.providers.catalog import EMBEDDERS, RERANKERS
from commonplace.providers.fake import FakeEmbedder

HEAVY = {"numpy", "onnxruntime", "tokenizers", "concurrent.futures"}


def modules_after(code: str) -> set[str]:
    """Names of the modules a fresh interpreter holds after some code."""
    program = f"{code}\nimport sys\nprint(*sys.modules, sep='\\n')"
    # Python 3.12 and later warn of any fork beside threads, numpy's included.
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return set(done.stdout.split())


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"'word2vec'; known: builtin, .*fake, .*none") as caught:
        EMBEDDERS.create("word2vec")
    assert caught.value.key == "embedding.provider"
    with pytest.raises(
        ConfigError, match=r"reranking\.provider: unknown provider 'nobody'; known: fastembed"
    ):
        RERANKERS.create("nobody")


def test_a_model_is_made_once_whoever_asks_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EMBEDDERS, "made", {})
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(EMBEDDERS.create, ["fake"] * 32))
    assert isinstance(made[0], FakeEmbedder)
    assert all(model is made[0] for model in made)


def test_the_bundled_model_says_nothing_on_standard_error() -> None:
    code = (
        "import os\n"
        "from commonplace.providers.catalog import EMBEDDERS\n"
        "EMBEDDERS.create('builtin').embed(['a text', 'and another'], 'passage')\n"
        "child = os.fork() if hasattr(os, 'fork') else 0\n"
        "if child: os.waitpid(child, 0)\n"
        "elif hasattr(os, 'fork'):\n"
        "    EMBEDDERS.create('builtin').embed(['in a child', 'of a process'], 'passage'); os._exit(0)"
    )
    assert "onnxruntime" in modules_after(code)
