"""The part of an ONNX graph that computes one value inside it, cut out of the file's bytes.

onnxruntime runs a graph as a whole, whatever is asked of it, so the first layers alone need a graph of their
own. What is read here is the wire format of protocol buffers and the numbers of a few fields in `onnx.proto`;
the library that knows all of them is ten times the size of ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

GRAPH = 7  # ModelProto
NODE, INITIALIZER, OUTPUT, VALUE_INFO = 1, 5, 12, 13  # GraphProto
NODE_INPUT, NODE_OUTPUT = 1, 2  # NodeProto
TENSOR_NAME, VALUE_NAME = 8, 1  # TensorProto, ValueInfoProto
VARINT, FIXED_64, BYTES, FIXED_32 = 0, 1, 2, 5  # how a field is written


class Field(NamedTuple):
    """One field of a message: its number, what it holds if that is bytes, and all of it as it stands."""

    number: int
    value: memoryview
    whole: memoryview


def truncate(model: bytes, output: str) -> bytes:
    """Return a model whose only output is the value of this name.

    Raises ValueError if the bytes are no ONNX model, or no node of it computes that value.
    """
    try:
        parts = list(_fields(memoryview(model)))
        pieces = [_cut(part.value, output) if part.number == GRAPH else [part.whole] for part in parts]
    except (IndexError, UnicodeDecodeError) as error:
        raise ValueError("these bytes are no ONNX model") from error
    return b"".join(piece for several in pieces for piece in several)


def _cut(graph: memoryview, output: str) -> list[memoryview | bytes]:
    """The graph with what the output needs, in pieces of the original: weights are copied only once."""
    fields = list(_fields(graph))
    nodes = [_node(field) for field in fields if field.number == NODE]
    wanted = _needed(nodes, output)
    kept: list[memoryview | bytes] = [field.whole for field in fields if _stays(field, wanted)]
    kept.append(_message(OUTPUT, _message(VALUE_NAME, output.encode())))
    return [_head(GRAPH, sum(map(len, kept))), *kept]


def _node(field: Field) -> tuple[list[str], list[str]]:
    inner = list(_fields(field.value))
    return _texts(inner, NODE_INPUT), _texts(inner, NODE_OUTPUT)


def _needed(nodes: Iterable[tuple[list[str], list[str]]], output: str) -> set[str]:
    """Every value that the output depends on, and itself; nodes stand after those they take from."""
    wanted = {output}
    found = False
    for inputs, outputs in reversed(list(nodes)):
        if not wanted.isdisjoint(outputs):
            found = found or output in outputs
            wanted.update(inputs, outputs)
    if not found:
        raise ValueError(f"no node of the model computes {output!r}")
    return wanted


def _stays(field: Field, wanted: set[str]) -> bool:
    """Whether a field of the graph belongs to what computes the wanted values."""
    if field.number == OUTPUT:
        return False
    if field.number == NODE:
        return not wanted.isdisjoint(_node(field)[1])
    if field.number in (INITIALIZER, VALUE_INFO):
        name = TENSOR_NAME if field.number == INITIALIZER else VALUE_NAME
        return not wanted.isdisjoint(_texts(_fields(field.value), name))
    return True


def _texts(fields: Iterable[Field], number: int) -> list[str]:
    return [str(field.value, "utf-8") for field in fields if field.number == number]


def _fields(message: memoryview) -> Iterator[Field]:
    """Split a message into its fields. Raises IndexError and ValueError for bytes that are none."""
    place = 0
    while place < len(message):
        start = place
        key, place = _varint(message, place)
        kind, begin = key & 7, place
        if kind == VARINT:
            _, place = _varint(message, place)
        elif kind == BYTES:
            length, begin = _varint(message, place)
            place = begin + length
        elif kind in (FIXED_64, FIXED_32):
            place += 8 if kind == FIXED_64 else 4
        else:
            raise ValueError("these bytes are no ONNX model")
        if place > len(message):
            raise ValueError("these bytes are no ONNX model")
        yield Field(key >> 3, message[begin:place], message[start:place])


def _varint(message: memoryview, place: int) -> tuple[int, int]:
    """An integer of seven bits a byte, lowest first, and where it ends."""
    value = shift = 0
    while True:
        byte = message[place]
        value |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return value, place


def _message(number: int, value: bytes) -> bytes:
    """A field that holds bytes."""
    return _head(number, len(value)) + value


def _head(number: int, length: int) -> bytes:
    """What stands before the bytes of a field."""
    return _varint_bytes(number << 3 | BYTES) + _varint_bytes(length)


def _varint_bytes(value: int) -> bytes:
    digits = bytearray()
    while value >= 0x80:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*digits, value])
