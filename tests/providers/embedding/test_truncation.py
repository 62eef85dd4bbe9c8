"""A graph cut out of a graph."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from commonplace.providers import runtime
from commonplace.providers.embedding import builtin


def chain(steps: int = 4) -> bytes:
    """Adds 1 at each step, and 100 beside the last: x -> s1 -> s2 …, other."""
    nodes = [helper.make_node("Add", [f"s{i}" if i else "x", f"c{i}"], [f"s{i + 1}"]) for i in range(steps)]
    nodes.append(helper.make_node("Add", [f"s{steps}", "hundred"], ["other"]))
    constants = [numpy_helper.from_array(np.array([1.0], np.float32), f"c{i}") for i in range(steps)]
    constants.append(numpy_helper.from_array(np.full(1000, 100.0, np.float32)[:1], "hundred"))
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in ("x", "other")]
    graph = helper.make_graph(nodes, "chain", ports[:1], ports[1:], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    data: bytes = model.SerializeToString()
    return data


def test_what_is_cut_out_computes_the_same() -> None:
    for step in [1, 2, 4]:
        cut = builtin.truncate(chain(), f"s{step}")
        session = runtime.session("test", cut)
        assert [port.name for port in session.get_outputs()] == [f"s{step}"]
        (found,) = session.run([f"s{step}"], {"x": np.array([5.0], np.float32)})
        assert found.tolist() == [5.0 + step]


def test_what_is_not_needed_is_gone() -> None:
    model = onnx.load_from_string(builtin.truncate(chain(), "s2"))
    assert [node.output[0] for node in model.graph.node] == ["s1", "s2"]
    assert {constant.name for constant in model.graph.initializer} == {"c0", "c1"}
    assert [value.name for value in model.graph.output] == ["s2"]
    assert model.ir_version == 9


def test_the_bundled_model_is_cut_between_its_layers() -> None:
    whole = (builtin.FOLDER / builtin.MODEL).read_bytes()
    cut = builtin.truncate(whole, "encoder.layer.2")
    assert len(cut) < 0.8 * len(whole)
    names = [node.name for node in onnx.load_from_string(cut).graph.node]
    assert "encoder.layer.2" in names
    assert not any(name.startswith("encoder.layer.3") for name in names)


def test_a_value_that_nothing_computes_is_an_error() -> None:
    with pytest.raises(ValueError, match="no node of the model computes 'nothing'"):
        builtin.truncate(chain(), "nothing")


@given(st.binary(max_size=200))
def test_bytes_that_are_no_model_are_an_error(data: bytes) -> None:
    try:
        builtin.truncate(data, "x")
    except ValueError:
        return
    assert builtin.GRAPH not in [field.number for field in builtin._fields(memoryview(data))]


@given(st.integers(0, len(chain()) - 1), st.integers(0, 255))
def test_a_damaged_model_is_an_error_or_another_model(place: int, byte: int) -> None:
    data = bytearray(chain())
    data[place] = byte
    try:
        found = builtin.truncate(bytes(data), "s2")
    except ValueError:
        return
    assert isinstance(found, bytes)
