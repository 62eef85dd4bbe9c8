"""Model files: how llama.cpp is asked, what is told, and (where it is installed) a real tiny model.

llama.cpp is compiled for minutes, so the last part is left out where it is not installed; `./run test --gguf`
installs it and leaves nothing out.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from commonplace.base.errors import ConfigError, MissingExtra, ProviderError
from commonplace.providers.catalog import Spec
from commonplace.providers.gguf import GgufModel
from commonplace.providers.llm.base import Completion, Message, Request, ToolSpec
from commonplace.providers.llm.client import Client
from commonplace.providers.refusals import TooLarge, Unanswered

REQUEST = Request((Message("system", "Be brief."), Message("user", "When?")), max_tokens=50, deadline_s=10)
SCHEMA = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}


class FakeLlama:
    """Answers like llama-cpp-python: in chunks, one answer at a time, and notes how it was asked."""

    made: list[dict[str, Any]]
    asked: list[dict[str, Any]]
    words = ("On ", "Tuesday.")
    pause_s = 0.0
    busy = threading.Lock()

    def __init__(self, path: str, **options: Any) -> None:
        if not Path(path).read_bytes().startswith(b"GGUF"):
            raise ValueError(f"Failed to load model from file: {path}")
        self.made.append(options)

    def create_chat_completion(self, **asked: Any) -> Iterator[dict[str, Any]]:
        self.asked.append(asked)
        if len(str(asked["messages"])) > 5000:
            raise ValueError("Requested tokens (9000) exceed context window of 8192")
        assert self.busy.acquire(blocking=False), "two answers at once"
        try:
            yield self.chunk({"role": "assistant"})
            for word in self.words:
                time.sleep(self.pause_s)
                yield self.chunk({"content": word})
            yield self.chunk({}, "stop")
        finally:
            self.busy.release()

    def chunk(self, delta: dict[str, str], finish: str | None = None) -> dict[str, Any]:
        return {"model": "/path/to/it", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


@pytest.fixture
def llama(monkeypatch: pytest.MonkeyPatch) -> type[FakeLlama]:
    """The library, replaced."""
    module = ModuleType("llama_cpp")
    cls = type("Llama", (FakeLlama,), {"made": [], "asked": []})
    module.Llama = cls  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "llama_cpp", module)
    return cls


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small-model.gguf"
    path.write_bytes(b"GGUF and what follows")
    return path


def model(path: Path, **fields: Any) -> GgufModel:
    return GgufModel(Spec("gguf", path=str(path), **fields))


def test_without_it_the_extra_is_named(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    with pytest.raises(MissingExtra, match=r"pip install .*'llama-cpp-python>=0.3.9,<1'"):
        model(file).answer(REQUEST)


def test_a_file_is_needed() -> None:
    for path in ["", "/no/such/model.gguf", "/tmp"]:
        with pytest.raises(ConfigError, match=r"llm\.path: .*must be a model file"):
            GgufModel(Spec("gguf", path=path))


def test_it_is_opened_once_and_asked_in_pieces(file: Path, llama: type[FakeLlama]) -> None:
    made = model(file, context=4096)
    assert llama.made == []
    assert list(made.stream(REQUEST)) == ["On ", "Tuesday."]
    got = made.answer(replace(REQUEST, schema=SCHEMA))
    assert got == Completion("On Tuesday.", "small-model", got.tokens_in, 3, estimated=True)
    assert llama.made == [{"n_ctx": 4096, "verbose": False}]
    plain, constrained = llama.asked
    assert plain == {
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "When?"}],
        "max_tokens": 50,
        "temperature": 0.0,
        "stream": True,
    }
    assert constrained["response_format"] == {"type": "json_object", "schema": SCHEMA}


def test_one_answer_at_a_time(file: Path, llama: type[FakeLlama]) -> None:
    llama.pause_s = 0.01
    made = model(file)
    with ThreadPoolExecutor(6) as pool:
        texts = [found.text for found in pool.map(lambda _: made.answer(REQUEST), range(12))]
    assert texts == ["On Tuesday."] * 12
    assert len(llama.made) == 1


def test_the_deadline_is_kept_between_two_tokens(file: Path, llama: type[FakeLlama]) -> None:
    llama.pause_s, llama.words = 0.05, ("word ",) * 100
    made = model(file)
    begun = time.monotonic()
    with pytest.raises(Unanswered, match=r"within 0\.2 s"):
        made.answer(replace(REQUEST, deadline_s=0.2))
    assert time.monotonic() - begun < 2
    stream = made.stream(REQUEST)
    next(stream)
    with pytest.raises(ProviderError, match="another answer took longer"):
        made.answer(replace(REQUEST, deadline_s=0.1))
    stream.close()
    assert next(made.stream(REQUEST)) == "word "


def test_what_goes_wrong_is_told(file: Path, llama: type[FakeLlama]) -> None:
    with pytest.raises(TooLarge, match="exceed context window"):
        model(file).answer(replace(REQUEST, messages=(Message("user", "x" * 9000),)))
    file.write_bytes(b"something else")
    with pytest.raises(ProviderError, match="Failed to load") as caught:
        model(file).answer(REQUEST)
    assert caught.value.permanent


def test_what_it_cannot_do_is_refused(file: Path, llama: type[FakeLlama]) -> None:
    for request in (replace(REQUEST, tools=(ToolSpec("f", "", {}),)), replace(REQUEST, logprobs=1)):
        with pytest.raises(ConfigError, match="gguf cannot"):
            model(file).answer(request)


def test_another_file_is_another_model(file: Path) -> None:
    before = model(file).fingerprint
    assert model(file, context=512).fingerprint != before
    file.write_bytes(b"GGUF and something else")
    assert model(file).fingerprint != before


# --- the real library -----------------------------------------------------------------------------------

REAL = find_spec("llama_cpp") is not None and find_spec("gguf") is not None
needs_llama = pytest.mark.skipif(
    not REAL and "REQUIRE_GGUF" not in os.environ, reason="llama.cpp is not installed: ./run test --gguf"
)
WIDTH, TOKENS = 32, 512


def write_gguf(path: Path) -> None:
    """A llama of one layer and drawn weights, whose tokens are bytes: it says what nobody understands."""
    import gguf as library

    draw = np.random.default_rng(5)
    words = [b"<unk>", b"<s>", b"</s>", *(f"<0x{byte:02X}>".encode() for byte in range(256)), "▁".encode()]
    writer = library.GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_context_length(TOKENS)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(2 * WIDTH)
    writer.add_head_count(2)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // 2)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(words)
    writer.add_token_scores([0.0] * len(words))
    writer.add_token_types([2, 3, 3, *[6] * 256, 1])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    shapes = {"token_embd": (len(words), WIDTH), "output": (len(words), WIDTH)}
    shapes |= {f"blk.0.attn_{part}": (WIDTH, WIDTH) for part in ("q", "k", "v", "output")}
    shapes |= {"blk.0.ffn_up": (2 * WIDTH, WIDTH), "blk.0.ffn_gate": (2 * WIDTH, WIDTH)}
    shapes |= {"blk.0.ffn_down": (WIDTH, 2 * WIDTH)}
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", draw.normal(size=shape).astype(np.float32) * 0.3)
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(WIDTH, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@needs_llama
def test_a_real_model_is_held_to_a_schema(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write_gguf(tmp_path / "tiny.gguf")
    made = model(tmp_path / "tiny.gguf", context=TOKENS)
    got = Client(made).complete([Message("user", "ok?")], SCHEMA, max_tokens=200)
    assert got.data in ({"ok": True}, {"ok": False})
    assert capfd.readouterr() == ("", "")


@needs_llama
def test_a_real_model_streams_and_says_the_same_again(tmp_path: Path) -> None:
    write_gguf(tmp_path / "tiny.gguf")
    made = model(tmp_path / "tiny.gguf", context=TOKENS)
    request = replace(REQUEST, max_tokens=20)
    pieces = list(made.stream(request))
    assert "".join(pieces) == made.answer(request).text
    assert made.answer(request).finish == "length"
    with pytest.raises(TooLarge):
        made.answer(replace(request, messages=(Message("user", "x" * 2000),)))
