"""GGUF files: how llama.cpp is asked, what is told, and (where it is installed) a real tiny model.

llama.cpp is compiled for minutes, so the last part is left out where it is not installed; `./run test --gguf`
installs it and leaves nothing out.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from commonplace.base.errors import ConfigError, MissingExtra, ProviderError
from commonplace.providers import gguf, runtime
from commonplace.providers.catalog import EMBEDDERS, Spec
from commonplace.providers.local import LocalEmbedder

TEXTS = ["tea", "", "walnut desk", "milk " * 50, "words that nobody knows", "a\x00b", "\ud800"]


class FakeLlama:
    """Answers like llama.cpp: counts bytes, one thread at a time, and notes how it was asked."""

    made: list[dict[str, Any]]
    pooled = True
    busy = threading.Lock()
    threads: set[str]

    def __init__(self, path: str, **options: Any) -> None:
        if not Path(path).read_bytes().startswith(b"GGUF"):
            raise ValueError(f"Failed to load model from file:\n{path}")
        self.made.append(options)
        self.metadata = {"general.architecture": "bert", "bert.context_length": "512"}

    def tokenize(self, text: bytes) -> list[int]:
        return list(text)

    def embed(self, text: str, *, normalize: bool, truncate: bool) -> list[Any]:
        assert (normalize, truncate) == (False, True)
        assert self.busy.acquire(blocking=False), "two texts at once"
        try:
            assert text
            self.threads.add(threading.current_thread().name)
            counts = np.bincount(np.frombuffer(text.encode(), np.uint8) % 4, minlength=4)
        finally:
            self.busy.release()
        return counts.tolist() if self.pooled else [counts.tolist()]


@pytest.fixture
def llama(monkeypatch: pytest.MonkeyPatch) -> type[FakeLlama]:
    """The library, replaced."""
    module = ModuleType("llama_cpp")
    module.__spec__ = ModuleSpec("llama_cpp", None)
    cls = type("Llama", (FakeLlama,), {"made": [], "threads": set()})
    module.Llama = cls  # type: ignore[attr-defined]
    module.llama_log_callback = lambda function: function  # type: ignore[attr-defined]
    module.llama_log_set = lambda callback, data: None  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "llama_cpp", module)
    monkeypatch.setattr(gguf, "_silent", [])
    return cls


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "embeddinggemma-300M-Q8_0.gguf"
    path.write_bytes(b"GGUF and what follows")
    return path


def model(path: Path, **fields: Any) -> LocalEmbedder[gguf.Machine]:
    return gguf.load(Spec("gguf", path=str(path), **fields))


def test_without_it_the_extra_is_named(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    with pytest.raises(MissingExtra, match=r"pip install .*'llama-cpp-python>=0.3.9,<1'"):
        EMBEDDERS.create(Spec("gguf", path=str(file)))


def test_a_path_is_needed(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"embedding\.path: the gguf provider needs the path of a \.gguf file"
    ):
        gguf.load(Spec("gguf"))
    with pytest.raises(ProviderError, match="cannot be read"):
        model(tmp_path / "missing.gguf")


def test_it_is_opened_for_what_the_file_says(file: Path, llama: type[FakeLlama]) -> None:
    first = model(file)
    assert [options["n_ctx"] for options in llama.made] == [gguf.PROBE_TOKENS]
    assert not first.shared.loaded
    second = model(file)
    assert len(llama.made) == 1  # it is known by now
    assert second.fingerprint == first.fingerprint
    second.embed(["tea"], "query")
    expected = dict.fromkeys(("n_ctx", "n_batch", "n_ubatch"), 512)
    threads = dict.fromkeys(("n_threads", "n_threads_batch"), runtime.THREADS)
    assert llama.made[1] == {"embedding": True, "verbose": False, **expected, **threads}


def test_texts_queue_for_its_one_thread(file: Path, llama: type[FakeLlama]) -> None:
    found = model(file)
    alone = [found.embed([text], "passage")[0].tobytes() for text in TEXTS]
    with ThreadPoolExecutor(8) as pool:
        for rows in pool.map(lambda _: found.embed(TEXTS, "passage"), range(16)):
            assert [row.tobytes() for row in rows] == alone
    assert {name.rpartition("_")[0] for name in llama.threads} == {"commonplace-gguf"}


def test_a_family_puts_its_prefixes(file: Path, llama: type[FakeLlama]) -> None:
    found = model(file)
    assert (found.name, found.scripts) == ("embeddinggemma-300M-Q8_0", {"latin", "cjk"})
    told = "task: search result | query: tea"
    counts = np.bincount(np.frombuffer(told.encode(), np.uint8) % 4, minlength=4)
    np.testing.assert_allclose(found.embed(["tea"], "query")[0], counts / np.linalg.norm(counts), atol=1e-6)


def test_fewer_dimensions(file: Path, llama: type[FakeLlama]) -> None:
    assert model(file, dimensions=2).embed(["tea"], "query").shape == (1, 2)
    with pytest.raises(ConfigError, match="has 4 dimensions at most"):
        model(file, dimensions=5)


def test_a_file_that_cannot_be_used_is_told(file: Path, llama: type[FakeLlama]) -> None:
    llama.pooled = False
    with pytest.raises(ProviderError, match=r"names no pooling.*use an embedding model"):
        model(file)
    file.write_bytes(b"something else")
    with pytest.raises(ProviderError, match=r"Q8_0\.gguf cannot be loaded \(Failed to load") as caught:
        model(file)
    assert "\n" not in str(caught.value)


def test_a_file_changed_in_the_meantime_is_not_used(file: Path, llama: type[FakeLlama]) -> None:
    found = model(file)
    file.write_bytes(b"GGUF and something else")
    with pytest.raises(ProviderError, match="have changed since it was opened"):
        found.embed(["tea"], "query")


# --- the real library -----------------------------------------------------------------------------------

REAL = find_spec("llama_cpp") is not None and find_spec("gguf") is not None
needs_llama = pytest.mark.skipif(
    not REAL and "REQUIRE_GGUF" not in os.environ, reason="llama.cpp is not installed: ./run test --gguf"
)
MARKS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
WORDS = ("▁tea", "▁milk", "▁desk", "▁walnut", "▁a")
WIDTH, TOKENS = 32, 64


def write_gguf(path: Path, pooling: int | None = 1) -> dict[str, np.ndarray]:
    """A BERT of one layer; return its weights. `pooling` 1 averages, 2 takes the first token, None is unsaid."""
    import gguf as library

    draw = np.random.default_rng(3)
    writer = library.GGUFWriter(path, "bert")
    writer.add_block_count(1)
    writer.add_context_length(TOKENS)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(2 * WIDTH)
    writer.add_head_count(2)
    writer.add_layer_norm_eps(1e-12)
    writer.add_causal_attention(False)
    if pooling is not None:
        writer.add_pooling_type(library.PoolingType(pooling))
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([word.encode() for word in (*MARKS, *WORDS)])
    writer.add_token_types([3, 2, 3, 3, 3, *[1] * len(WORDS)])
    writer.add_token_type_count(2)
    for number, add in enumerate((writer.add_pad_token_id, writer.add_unk_token_id, writer.add_bos_token_id)):
        add(number)
    for add in (writer.add_eos_token_id, writer.add_sep_token_id):
        add(3)
    shapes = {
        "token_embd": (len(MARKS + WORDS), WIDTH),
        "token_types": (2, WIDTH),
        "position_embd": (TOKENS, WIDTH),
    }
    shapes |= {f"blk.0.attn_{part}": (WIDTH, WIDTH) for part in ("q", "k", "v", "output")}
    shapes |= {"blk.0.ffn_up": (2 * WIDTH, WIDTH), "blk.0.ffn_down": (WIDTH, 2 * WIDTH)}
    weights = {name: draw.normal(size=shape).astype(np.float32) * 0.3 for name, shape in shapes.items()}
    for name, weight in weights.items():
        writer.add_tensor(f"{name}.weight", weight)
        if name.startswith("blk"):
            writer.add_tensor(f"{name}.bias", np.zeros(len(weight), np.float32))
    for name in ("token_embd_norm", "blk.0.attn_output_norm", "blk.0.layer_output_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(WIDTH, np.float32))
        writer.add_tensor(f"{name}.bias", np.zeros(WIDTH, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return weights


def by_hand(weights: dict[str, np.ndarray], tokens: list[int], *, first: bool = False) -> np.ndarray:
    """The same BERT in numpy: embeddings, attention with two heads, feed-forward, pooling, length 1."""
    from math import erf

    def norm(x: np.ndarray) -> np.ndarray:
        return (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-12)

    def heads(name: str) -> np.ndarray:
        return (x @ weights[f"blk.0.attn_{name}"].T).reshape(len(tokens), 2, -1).transpose(1, 0, 2)

    x = weights["token_embd"][tokens] + weights["token_types"][0] + weights["position_embd"][: len(tokens)]
    x = norm(x)
    scores = heads("q") @ heads("k").transpose(0, 2, 1) / np.sqrt(WIDTH / 2)
    shares = np.exp(scores - scores.max(axis=2, keepdims=True))
    shares /= shares.sum(axis=2, keepdims=True)
    mixed = (shares @ heads("v")).transpose(1, 0, 2).reshape(len(tokens), -1)
    x = norm(x + mixed @ weights["blk.0.attn_output"].T)
    inner = x @ weights["blk.0.ffn_up"].T
    inner = inner * 0.5 * (1 + np.vectorize(erf)(inner / np.sqrt(2)))
    x = norm(x + inner @ weights["blk.0.ffn_down"].T)
    pooled = x[0] if first else x.mean(axis=0)
    return pooled / np.linalg.norm(pooled)


@needs_llama
@pytest.mark.parametrize("pooling", [1, 2])
def test_real_vectors_are_those_computed_by_hand(
    tmp_path: Path, pooling: int, capfd: pytest.CaptureFixture[str]
) -> None:
    weights = write_gguf(tmp_path / "tiny.gguf", pooling)
    found = model(tmp_path / "tiny.gguf")
    assert found.dimensions == WIDTH
    tokens = [2, 8, 5, 1, 3]  # walnut, tea, and a word that is not there, between the marks
    rows = found.embed(["walnut tea unheard", *TEXTS], "passage")
    # llama.cpp looks GELU up in a table of halves.
    np.testing.assert_allclose(rows[0], by_hand(weights, tokens, first=pooling == 2), atol=3e-3)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    alone = [found.embed([text], "query")[0].tobytes() for text in TEXTS]
    assert [row.tobytes() for row in rows[1:]] == alone
    assert capfd.readouterr() == ("", "")


@needs_llama
def test_a_real_file_that_cannot_be_used_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write_gguf(tmp_path / "unsaid.gguf", None)
    with pytest.raises(ProviderError, match="names no pooling"):
        model(tmp_path / "unsaid.gguf")
    (tmp_path / "broken.gguf").write_bytes(b"GGUF and what follows")
    with pytest.raises(ProviderError, match=r"broken\.gguf cannot be loaded"):
        model(tmp_path / "broken.gguf")
    assert capfd.readouterr() == ("", "")


REAL_FORK = """
import os, sys
from commonplace.providers.catalog import EMBEDDERS
from commonplace.providers.catalog import Spec

model = EMBEDDERS.create(Spec("gguf", path=sys.argv[1]))
texts = ["walnut tea " * 20, "milk"]
before = model.embed(texts, "passage").tobytes()
child = os.fork()
if child == 0:
    os._exit(0 if model.embed(texts, "passage").tobytes() == before else 1)
assert os.waitpid(child, 0)[1] == 0
model.shared._idle_s = 0
model.shared.expire()
assert not model.shared.loaded
assert model.embed(texts, "passage").tobytes() == before
"""


@needs_llama
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_real_model_works_in_a_forked_child_and_comes_back(tmp_path: Path) -> None:
    write_gguf(tmp_path / "tiny.gguf")
    command = [
        sys.executable,
        "-W",
        "ignore::DeprecationWarning",
        "-c",
        REAL_FORK,
        str(tmp_path / "tiny.gguf"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
