"""What the graph of a text model is fed, from the tokens of a text or of a pair of texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from commonplace.errors import ProviderError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Encoding

    from commonplace.embedding.runtime import Session

Inputs = tuple[tuple[str, str], ...]  # names, and the integer type of each
# What each input is fed, from the ids of tokens and of the segments they belong to.
_INPUTS: dict[str, Callable[[list[int], list[int]], list[int]]] = {
    "input_ids": lambda ids, segments: ids,
    "attention_mask": lambda ids, segments: [1] * len(ids),
    "token_type_ids": lambda ids, segments: segments,
    "position_ids": lambda ids, segments: list(range(len(ids))),
}


def inputs(provider: str, session: Session, task: str) -> Inputs:
    """Return what a graph wants to be fed; `task` is what it should have been exported for.

    Raises ProviderError for a graph that wants what nobody can give.
    """
    declared = {found.name: found.type for found in session.get_inputs()}
    if unknown := declared.keys() - _INPUTS.keys():
        told = f"the graph wants {', '.join(sorted(unknown))}; only {', '.join(_INPUTS)} can be given"
        raise ProviderError(provider, f"{told}: export it for {task}", permanent=True)
    if "input_ids" not in declared:
        raise ProviderError(provider, "the graph takes no input_ids; it is no text model", permanent=True)
    return tuple((name, "int32" if "int32" in kind else "int64") for name, kind in declared.items())


def feed(wanted: Inputs, encoding: Encoding) -> dict[str, NDArray[np.int_]]:
    """Return a batch of one, each input (1, tokens)."""
    import numpy as np

    # Without marks of beginning and end, a text without words has no tokens; graphs fail on none.
    ids, segments = encoding.ids or [0], encoding.type_ids or [0]
    return {name: np.array([_INPUTS[name](ids, segments)], kind) for name, kind in wanted}
