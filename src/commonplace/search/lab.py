"""Settings of measurements that differ from those of a memory in use."""

from __future__ import annotations

from commonplace.base.tuples import NamedTuple
from commonplace.chunking.settings import DEFAULT as DEFAULT_CHUNKS
from commonplace.chunking.settings import ChunkSettings
from commonplace.search.ranking import DEFAULT as DEFAULT_RANKING
from commonplace.search.ranking import RankSettings

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from pathlib import Path


class Lab(NamedTuple):
    """Where the index lies (in its usual place for None), how notes are cut, how passages are ranked."""

    index_path: Path | None = None
    chunks: ChunkSettings = DEFAULT_CHUNKS
    ranking: RankSettings = DEFAULT_RANKING


DEFAULT = Lab()
