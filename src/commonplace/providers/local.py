"""Models that run on this machine: embedding models and rerankers, loaded late, one text or pair at a time.

Vectors are always scaled to length 1. What is known of a model without loading it, its card, is kept in the
user's cache while its files stay. A reranker reads question and text as a pair; of too long a pair the text
is cut, and a question keeps half of the room at most.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from commonplace.base import paths
from commonplace.base.deadline import Deadline
from commonplace.base.errors import ConfigError, ProviderError
from commonplace.base.root import open_named
from commonplace.base.tuples import NamedTuple
from commonplace.providers import runtime
from commonplace.providers.catalog import Spec
from commonplace.providers.embedding.base import Kind
from commonplace.providers.runtime import CHARACTERS_A_TOKEN, Shared

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from commonplace.providers.embedding.base import Floats

# --- embedding models ----------------------------------------------------------------------------------

VERSION = 1  # of the cards
Stamp = tuple[str, int, int, int]  # path, bytes, and when content and inode changed, in nanoseconds
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Traits:
    """What a model is like: the name people call it, the scripts it serves, what it puts before a text.

    `max_tokens` is where a text is cut; `settings` whatever
    else changes a vector, such as the pooling. All but name and scripts goes into the fingerprint.
    """

    provider: str
    name: str
    scripts: frozenset[str]
    max_tokens: int
    query_prefix: str = ""
    passage_prefix: str = ""
    settings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Card:
    """A model's identity and size.

    `digest` is of its files' bytes, `dimensions` the length of a vector.
    """

    digest: str
    dimensions: int
    files: tuple[Stamp, ...]

    def unchanged(self) -> bool:
        """Tell whether the files are still the same."""
        try:
            return stamps("", (Path(stamp[0]) for stamp in self.files)) == self.files
        except ProviderError:
            return False


class LocalEmbedder(Generic[T]):
    """A model whose card is known and whose weights are loaded at its first text; safe in several threads.

    It is loaded at once where no card is kept of it: that and reading its files takes seconds for a large
    model, once.
    """

    def __init__(
        self,
        traits: Traits,
        key: str,
        files: Callable[[], Sequence[Path]],
        load: Callable[[], T],
        run: Callable[[T, str, Kind], Floats],
        dimensions: int | None = None,
    ) -> None:
        """Put a model together: `key` names its card, `files` are those that make it what it is.

        `run` gives the vector, (d,) of any float type and length, of one text with its prefix. Raises
        ConfigError if more dimensions are asked for than it has, ProviderError.
        """
        self._traits, self._run = traits, run

        def reload() -> T:
            if not card.unchanged():  # another model than the one whose fingerprint was given
                message = "the model's files have changed since it was opened; start again"
                raise ProviderError(traits.provider, message, permanent=True)
            return load()

        self.shared = Shared(reload)
        key = f"{traits.provider}:{key}"
        card = _kept_card(key) or self._learn(key, files, load)
        if dimensions is not None and not 0 < dimensions <= card.dimensions:
            message = f"{dimensions} is not allowed; {traits.name} has {card.dimensions} dimensions at most"
            raise ConfigError("embedding.dimensions", message)
        self.name, self.scripts = traits.name, traits.scripts
        self.dimensions = dimensions or card.dimensions
        self._characters = traits.max_tokens * CHARACTERS_A_TOKEN
        prefixes = [traits.query_prefix, traits.passage_prefix]
        rest = [card.digest, traits.max_tokens, self.dimensions, prefixes, traits.settings]
        digest = hashlib.sha256(json.dumps(rest).encode()).hexdigest()[:24]
        self.fingerprint = f"{traits.provider}-1:{digest}"

    def embed(self, texts: Sequence[str], kind: Kind) -> Floats:
        """Embed texts as (n, dimensions) float32 unit rows. Raises ProviderError."""
        import numpy as np

        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        traits = self._traits
        prefix = traits.query_prefix if kind == "query" else traits.passage_prefix
        with self.shared.use() as model:

            def work(text: str) -> Floats:
                prefixed = prefix + runtime.clean(text, self._characters)
                vector = runtime.run(traits.provider, lambda: self._run(model, prefixed, kind))
                return unit(traits.provider, vector, self.dimensions)

            return np.stack(runtime.each(work, texts))

    def _learn(self, key: str, files: Callable[[], Sequence[Path]], load: Callable[[], T]) -> Card:
        """Make a card of the files and of what the loaded model tells, and keep it for the next process."""
        provider, named = self._traits.provider, files()
        before = stamps(provider, named)
        model = load()
        dimensions = len(runtime.run(provider, lambda: self._run(model, "a", "passage")))
        self.shared.put(model)
        whole = hashlib.sha256()
        for path in named:
            try:
                with open_named(path) as file:
                    whole.update(hashlib.file_digest(file, "sha256").digest())
            except OSError as error:
                raise _unreadable(provider, path, error) from error
        card = Card(whole.hexdigest(), dimensions, before)
        if not card.unchanged():
            message = "the model's files have changed since it was opened; start again"
            raise ProviderError(provider, message, permanent=True)
        content = {"version": VERSION, "key": key, "digest": card.digest, "dimensions": card.dimensions}
        data = json.dumps({**content, "files": card.files})
        place = _card_file(key)
        with suppress(OSError):  # where it cannot be kept, the next process reads the files again
            paths.root_of(place).exchange(place, data.encode(), durable=False)
        return card


def _kept_card(key: str) -> Card | None:
    """The card kept for a model, unless one of its files is another now."""
    place = _card_file(key)
    try:
        data = json.loads(paths.root_of(place).read(place))
        files = tuple((str(path), int(size), int(m), int(c)) for path, size, m, c in data["files"])
        card = Card(str(data["digest"]), int(data["dimensions"]), files)
        return card if data["version"] == VERSION and data["key"] == key and card.unchanged() else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _card_file(key: str) -> Path:
    name = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return paths.user_cache_dir() / "models" / "cards" / f"{name}.json"


def stamps(provider: str, files: Iterable[Path]) -> tuple[Stamp, ...]:
    """Return what tells whether files are still the same. Raises ProviderError for one that is missing."""
    marks = []
    for path in files:
        try:
            status = os.stat(path)
        except OSError as error:
            raise _unreadable(provider, path, error) from error
        marks.append((os.fspath(path), status.st_size, status.st_mtime_ns, status.st_ctime_ns))
    return tuple(marks)


def _unreadable(provider: str, path: Path, error: OSError) -> ProviderError:
    message = f"{paths.shown(path)} cannot be read ({paths.reason(error)})"
    return ProviderError(provider, message, permanent=True)


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
    row: Floats = (cut / length).astype(np.float32)
    return row


# --- rerankers -----------------------------------------------------------------------------------------

MAX_TOKENS = 8192  # attention over more takes gigabytes; a passage has about 60


class Pairing(NamedTuple):
    """A loaded model: its tokenizer, where a pair is cut, and what gives the probability of a pair."""

    tokenizer: Tokenizer
    max_tokens: int
    score: Callable[[str, str], float]
    model: Any = None


class LocalReranker:
    """A model whose weights are loaded at its first pair; safe in several threads.

    `fingerprint` changes with anything that changes a score.
    """

    def __init__(
        self,
        spec: Spec,
        model: str,
        fingerprint: str,
        load: Callable[[], Pairing],
        max_tokens: int = MAX_TOKENS,
    ) -> None:
        """Put a model together; nothing is loaded."""
        self.name = f"{spec.provider}:{model}"
        self.model, self.fingerprint = model, fingerprint
        self.shared = Shared(load)
        self._provider, self._timeout_s = spec.provider, spec.query_deadline_s
        self._characters = max_tokens * CHARACTERS_A_TOKEN

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return the scores of texts. Raises ProviderError, also when time is over.

        Loading does not count: it happens once, and would otherwise never come to its end.
        """
        if not texts:
            return []
        with self.shared.use() as model:
            deadline = Deadline(self._timeout_s)
            question = runtime.clean(question, self._characters)
            asked = runtime.run(
                self._provider, lambda: shorten(model.tokenizer, question, model.max_tokens // 2)
            )

            def work(text: str) -> float:
                if not deadline.left_s():
                    message = f"the model did not score {len(texts)} texts within {deadline.seconds:g} s"
                    raise ProviderError(self._provider, message)
                pair = runtime.clean(text, self._characters)
                return runtime.run(self._provider, lambda: model.score(asked, pair))

            return runtime.each(work, texts)

    def close(self) -> None:
        """Nothing is kept open; the model is given back when it is idle."""


def shorten(tokenizer: Tokenizer, question: str, most: int) -> str:
    """Return a question cut behind its first tokens, where it has more of them."""
    # As the second of a pair: the first one is never cut, and a tokenizer fails on one that is too long.
    encoding = tokenizer.encode("", question, add_special_tokens=False)
    return question[: encoding.offsets[most - 1][1]] if len(encoding.ids) > most > 0 else question
