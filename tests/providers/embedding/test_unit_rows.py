"""Vectors of providers: unit rows, or an error that says what is wrong with them."""

from __future__ import annotations

import base64
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.base.errors import ProviderError
from commonplace.providers.catalog import Spec
from commonplace.providers.embedding import remote

NUMBER = st.floats(allow_nan=False, allow_infinity=False)


def packed(*values: float) -> str:
    return base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode()


def test_rows_have_length_one() -> None:
    rows = remote.unit_rows("acme", [[3, 4], packed(0.0, -2.0)], 2)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0, -1]], atol=1e-7)


@given(st.lists(st.lists(NUMBER, min_size=3, max_size=3).filter(any), min_size=1, max_size=4))
def test_however_large_or_small_the_numbers(found: list[list[float]]) -> None:
    rows = remote.unit_rows("acme", found, len(found))
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), np.ones(len(found)), atol=1e-5)


def test_what_is_no_vector() -> None:
    for found, said in [
        ([], "0 vectors for 1"),
        ([[1.0], [2.0]], "2 vectors for 1"),
        ([[]], "not lists"),
        ([None], "not lists"),
        ([["1", "2"]], "not lists"),
        ([[True, False]], "not lists"),
        ([[[1.0], [2.0]]], "not lists"),
        ([[1.0, [2.0]]], "not lists"),
        ([{"a": 1}], "not lists"),
        (["not base64!"], "not lists"),
        (["QUJD"], "not lists"),
        ([[10**400]], "not lists"),
        ([[1.0, None]], "no number"),
        ([[1.0, float("nan")]], "no number"),
        ([[1.0, float("inf")]], "no number"),
        ([packed(float("nan"))], "no number"),
        ([[0.0, 0.0]], "zeros"),
    ]:
        with pytest.raises(ProviderError, match=said) as caught:
            remote.unit_rows("acme", found, 1)
        assert not caught.value.permanent, (found, said)


def test_a_bad_vector_among_others_becomes_the_first_unit_vector() -> None:
    rows = remote.unit_rows("acme", [[3.0, 4.0], [None, 1.0], [0.0, 0.0]], 3, patch=True)
    np.testing.assert_allclose(rows, [[0.6, 0.8], [1, 0], [1, 0]], atol=1e-7)
    with pytest.raises(ProviderError, match="zeros"):
        remote.unit_rows("acme", [[0.0, 0.0]] * 2, 2, patch=True)


def test_vectors_of_two_lengths_do_not_mix() -> None:
    with pytest.raises(ProviderError, match="not lists of as many"):
        remote.unit_rows("acme", [[1.0], [1.0, 2.0]], 2)
    model = remote.RemoteEmbedder(Spec("ollama", "m", dimensions=3))
    with pytest.raises(ProviderError, match="2 dimensions instead of 3") as caught:
        model.checked([[1.0, 2.0]], 1)
    assert caught.value.permanent
