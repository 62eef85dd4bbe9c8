"""A model that runs on this machine, as the rest of the system sees it: loaded late, one text at a time."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from commonplace.embedding import cards, runtime
from commonplace.embedding.base import Kind, Spec
from commonplace.embedding.cards import Card
from commonplace.embedding.loading import Shared
from commonplace.errors import ConfigError, ProviderError

if TYPE_CHECKING:
    from commonplace.embedding.base import Floats

# A token is rarely more than a dozen characters; cutting first keeps a megabyte of text cheap.
CHARACTERS_A_TOKEN = 32
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Traits:
    """What a model is like: the name people call it, the scripts it serves, what it puts before a text.

    `max_tokens` is where a text is cut; `settings` whatever else changes a vector, such as the pooling. All
    but name and scripts goes into the fingerprint.
    """

    provider: str
    name: str
    scripts: frozenset[str]
    max_tokens: int
    query_prefix: str = ""
    passage_prefix: str = ""
    settings: tuple[str, ...] = ()


class Probed(NamedTuple):
    """What a loaded model tells: the length of a vector, how many tokens it says that it reads."""

    dimensions: int
    context: int = 0


class LocalEmbedder(Generic[T]):
    """A model whose card is known and whose weights are loaded at its first text; safe in several threads.

    `run` gives the vector, (d,) of any float type and length, of one text with its prefix. Raises ConfigError
    if more dimensions are asked for than it has.
    """

    def __init__(
        self,
        traits: Traits,
        card: Card,
        shared: Shared[T],
        run: Callable[[T, str, Kind], Floats],
        dimensions: int | None = None,
    ) -> None:
        """Put a model together; nothing is loaded."""
        if dimensions is not None and not 0 < dimensions <= card.dimensions:
            told = f"{dimensions} is not allowed; {traits.name} has {card.dimensions} dimensions at most"
            raise ConfigError("embedding.dimensions", told)
        self.name = traits.name
        self.scripts = traits.scripts
        self.dimensions = dimensions or card.dimensions
        self.fingerprint = _fingerprint(traits, card, self.dimensions)
        self.shared = shared
        self._traits = traits
        self._run = run
        self._characters = traits.max_tokens * CHARACTERS_A_TOKEN

    def embed(self, texts: Sequence[str], kind: Kind) -> Floats:
        """Embed texts as (n, dimensions) float32 unit rows. Raises ProviderError."""
        import numpy as np

        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        traits = self._traits
        prefix = traits.query_prefix if kind == "query" else traits.passage_prefix
        with self.shared.use() as model:

            def work(text: str) -> Floats:
                told = prefix + runtime.clean(text, self._characters)
                vector = runtime.run(traits.provider, lambda: self._run(model, told, kind))
                return unit(traits.provider, vector, self.dimensions)

            return np.stack(runtime.each(work, texts))


def unit(provider: str, vector: Floats, dimensions: int) -> Floats:
    """Cut a vector to its first dimensions and scale it to length 1, as float32.

    One without any length, as of a text without tokens, becomes the first unit vector. Raises ProviderError
    for one that is too short or holds no numbers.
    """
    import numpy as np

    cut = np.asarray(vector, np.float64)[:dimensions]
    if cut.shape != (dimensions,) or not np.isfinite(cut).all():
        raise ProviderError(provider, "the model failed (its vector is too short or holds no numbers)")
    length = float(np.linalg.norm(cut))
    if not length:
        cut[0] = length = 1.0
    found: Floats = (cut / length).astype(np.float32)
    return found


def location(spec: Spec, what: str) -> Path:
    """Return the absolute path of a model's file or folder. Raises ConfigError, ProviderError."""
    if not spec.path:
        raise ConfigError("embedding.path", f"the {spec.provider} provider needs the path of {what}")
    path = Path(os.path.abspath(os.path.expanduser(spec.path)))
    cards.stamps(spec.provider, [path])
    return path


def learn(provider: str, key: str, files: Callable[[], Sequence[Path]], probe: Callable[[], Probed]) -> Card:
    """Return a model's card: the one kept by this key, or one made now from its files and what they tell.

    `probe` loads the model; that and reading its files takes seconds for a large one, once. Raises
    ProviderError.
    """
    known = cards.find(f"{provider}:{key}")
    if known is not None:
        return known
    found = files()
    stamps = cards.stamps(provider, found)
    dimensions, context = probe()
    card = Card(cards.digest(provider, found), dimensions, context, stamps)
    cards.verify(provider, card)
    cards.keep(f"{provider}:{key}", card)
    return card


def _fingerprint(traits: Traits, card: Card, dimensions: int) -> str:
    prefixes = [traits.query_prefix, traits.passage_prefix]
    told = json.dumps([card.digest, traits.max_tokens, dimensions, prefixes, traits.settings])
    return f"{traits.provider}-1:{hashlib.sha256(told.encode()).hexdigest()[:24]}"
