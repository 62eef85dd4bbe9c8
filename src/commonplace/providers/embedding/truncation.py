"""The part of an ONNX graph that computes one value inside it, cut out of the file's bytes.

onnxruntime runs a graph as a whole, whatever is asked of it, so the first layers alone need a graph of their
own. What is read here is the wire format of protocol buffers and the numbers of a few fields in `onnx.proto`;
the library that knows all of them is ten times the size of this package.
"""

from __future__ import annotations

from collections.abc import Iterator
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
    pieces: list[memoryview | bytes] = []
    try:
        for part in _fields(memoryview(model)):
            pieces += _cut(part.value, output) if part.number == GRAPH else [part.whole]
    except (IndexError, UnicodeDecodeError) as error:
        raise ValueError("these bytes are no ONNX model") from error
    return b"".join(pieces)


def _cut(graph: memoryview, output: str) -> list[memoryview | bytes]:
    """The graph with what the output needs, in pieces of the original: weights are copied only once."""
    fields = list(_fields(graph))
    nodes = [
        (_texts(field, NODE_INPUT), _texts(field, NODE_OUTPUT)) for field in fields if field.number == NODE
    ]
    if not any(output in outputs for _, outputs in nodes):
        raise ValueError(f"no node of the model computes {output!r}")
    # Every value that the output depends on, and itself; nodes stand after those they take from.
    needed = {output}
    for inputs, outputs in reversed(nodes):
        if not needed.isdisjoint(outputs):
            needed.update(inputs, outputs)
    names = {NODE: NODE_OUTPUT, INITIALIZER: TENSOR_NAME, VALUE_INFO: VALUE_NAME}
    kept: list[memoryview | bytes] = []
    for field in fields:
        name = names.get(field.number)
        if field.number != OUTPUT and (name is None or not needed.isdisjoint(_texts(field, name))):
            kept.append(field.whole)
    value = output.encode()
    kept.append(
        _head(OUTPUT, len(_head(VALUE_NAME, len(value)) + value)) + _head(VALUE_NAME, len(value)) + value
    )
    return [_head(GRAPH, sum(map(len, kept))), *kept]


def _texts(message: Field, number: int) -> list[str]:
    return [str(field.value, "utf-8") for field in _fields(message.value) if field.number == number]


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
        else:
            place += {FIXED_64: 8, FIXED_32: 4}.get(kind, len(message) + 1)
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


def _head(number: int, length: int) -> bytes:
    """What stands before the bytes of a field: its number and its length, both as `_varint` reads them."""
    data = bytearray()
    for value in (number << 3 | BYTES, length):
        while value >= 0x80:
            data.append(value & 0x7F | 0x80)
            value >>= 7
        data.append(value)
    return bytes(data)
