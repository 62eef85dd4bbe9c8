"""What is known of a local model without loading it, kept in the user's cache while its files stay."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from commonplace import paths
from commonplace.base.root import open_named
from commonplace.errors import ProviderError

VERSION = 1
Stamp = tuple[str, int, int, int]  # path, bytes, and when content and inode changed, in nanoseconds


@dataclass(frozen=True, slots=True)
class Card:
    """A model's identity and size.

    `digest` is of its files' bytes, `dimensions` the length of a vector, `context` how many tokens the file
    itself says that it reads, 0 where other files say that.
    """

    digest: str
    dimensions: int
    context: int
    files: tuple[Stamp, ...]


def find(key: str) -> Card | None:
    """Return the card kept for a model, unless one of its files is another now."""
    try:
        path = _file(key)
        kept = json.loads(paths.root_of(path).read(path))
        files = tuple((str(path), int(size), int(m), int(c)) for path, size, m, c in kept["files"])
        card = Card(str(kept["digest"]), int(kept["dimensions"]), int(kept["context"]), files)
        return card if kept["version"] == VERSION and kept["key"] == key and unchanged(card) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def keep(key: str, card: Card) -> None:
    """Keep a card for the next process; where that cannot be, the next one reads the files again."""
    kept = {"version": VERSION, "key": key, "digest": card.digest, "dimensions": card.dimensions}
    data = json.dumps({**kept, "context": card.context, "files": card.files})
    path = _file(key)
    with suppress(OSError):
        paths.root_of(path).exchange(path, data.encode(), durable=False)


def stamps(provider: str, files: Iterable[Path]) -> tuple[Stamp, ...]:
    """Return what tells whether files are still the same. Raises ProviderError for one that is missing."""
    found = []
    for path in files:
        try:
            status = os.stat(path)
        except OSError as error:
            raise ProviderError(
                provider, f"{paths.shown(path)} cannot be read ({paths.reason(error)})", permanent=True
            ) from error
        found.append((os.fspath(path), status.st_size, status.st_mtime_ns, status.st_ctime_ns))
    return tuple(found)


def digest(provider: str, files: Sequence[Path]) -> str:
    """Return the SHA-256 of the SHA-256 of each file. Raises ProviderError."""
    whole = hashlib.sha256()
    for path in files:
        try:
            with open_named(path) as file:
                whole.update(hashlib.file_digest(file, "sha256").digest())
        except OSError as error:
            raise ProviderError(
                provider, f"{paths.shown(path)} cannot be read ({paths.reason(error)})", permanent=True
            ) from error
    return whole.hexdigest()


def unchanged(card: Card) -> bool:
    """Tell whether a model's files are still those of its card."""
    try:
        return stamps("", (Path(stamp[0]) for stamp in card.files)) == card.files
    except ProviderError:
        return False


def verify(provider: str, card: Card) -> None:
    """See that a model about to be loaded is the one whose fingerprint was given. Raises ProviderError."""
    if not unchanged(card):
        raise ProviderError(
            provider, "the model's files have changed since it was opened; start again", permanent=True
        )


def _file(key: str) -> Path:
    name = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return paths.user_cache_dir() / "models" / "cards" / f"{name}.json"
