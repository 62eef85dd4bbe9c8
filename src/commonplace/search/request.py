"""The request of one search: one value from the command line, Python and the servers down to the pipeline.

Field names, defaults and limits stand here. The arguments of `Memory.search` and of `Memory.recall`, the
options of the command line (`cli/flags.py`) and the schema of `memory_search` are tested against it.
"""

from __future__ import annotations

import reprlib
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from commonplace.base.errors import ConfigError, UnknownCollection
from commonplace.base.messages import message
from commonplace.base.tuples import NamedTuple
from commonplace.chunking.settings import DEFAULT as DEFAULT_CHUNKS
from commonplace.chunking.settings import ChunkSettings
from commonplace.config.settings import READERS
from commonplace.search.ranking import DEFAULT as DEFAULT_RANKING
from commonplace.search.ranking import RankSettings
from commonplace.types.results import MODES, Level, Mode

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path

    from commonplace.search.query import Line
    from commonplace.search.ranking import Ranked
    from commonplace.types.results import Hit

_ALLOWED = {"mode": MODES, "rerank": (None, *READERS)}


class Request(NamedTuple):
    """A question with its options; None leaves a choice to the settings.

    `limit` is the most hits (`search.limit`), `min_score` the least score of a hit, 0 to 1
    (`search.min_score`, otherwise the calibrated threshold), `now` the day that dates are counted from
    (today). `rerank` says who reads the best hits again (`search.rerank`), `expand` whether a language model
    widens the question (`search.expand`). No `collections` are all that are not excluded. `history` takes in
    struck text, `as_of` keeps to the text that held at the end of a day. With `strict` there are hits only
    for a clear answer. `lines` are added to the text by an expansion. Notes of the session
    `without_session` are left out.
    """

    text: str
    limit: int | None = None
    mode: Mode = "hybrid"
    collections: tuple[str, ...] = ()
    min_score: float | None = None
    now: date | None = None
    rerank: str | None = None
    expand: bool | None = None
    history: bool = False
    as_of: date | None = None
    strict: bool = False
    lines: tuple[Line, ...] = ()
    complete: bool = True
    without_session: str = ""

    @property
    def past(self) -> bool:
        """True if it asks for more than the standing text of today."""
        return self.history or self.as_of is not None

    @property
    def today(self) -> date | None:
        """The day for ends and ages; None for the real one."""
        return self.as_of or self.now

    def check(self, collections: Collection[str]) -> None:
        """Raise ConfigError for a value outside its limits, UnknownCollection."""
        for name, allowed in _ALLOWED.items():
            if (value := getattr(self, name)) not in allowed:
                known = ", ".join(filter(None, allowed))
                raise ConfigError(name, f"{value!r} is not allowed; it must be one of {known}")
        if self.limit is not None:
            check_whole("limit", self.limit)
        if self.min_score is not None and not (_is_number(self.min_score) and 0 <= self.min_score <= 1):
            raise _refused("min_score", self.min_score, "a number from 0 to 1")
        check_time("now", self.now)
        check_time("as_of", self.as_of)
        for name in self.collections:
            if name not in collections:
                raise UnknownCollection(name, list(collections))


class Lab(NamedTuple):
    """Of measurements: where the index lies (None: in its usual place), how notes are cut and ranked."""

    index_path: Path | None = None
    chunks: ChunkSettings = DEFAULT_CHUNKS
    ranking: RankSettings = DEFAULT_RANKING


def check_whole(name: str, value: object) -> None:
    """Raise ConfigError unless a value is a whole number from 0."""
    if not (_is_number(value) and isinstance(value, int) and value >= 0):
        raise _refused(name, value, "a whole number from 0")


def check_time(name: str, value: object, kind: str = "date") -> None:
    """Raise ConfigError unless a value is of a kind of `datetime` (`date`, `datetime`), or None."""
    if value is None:
        return
    import datetime  # few questions name a day

    is_moment = isinstance(value, datetime.datetime)
    if not (isinstance(value, datetime.date) and is_moment is (kind == "datetime")):
        raise _refused(name, value, f"a datetime.{kind}, as datetime.{kind}(2026, 11, 20)")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _refused(name: str, value: object, allowed: str) -> ConfigError:
    return ConfigError(name, f"{reprlib.repr(value)} is not allowed; it must be {allowed}")


class Outcome:
    """The outcome of a request: hits, the level that answered, all ranked passages, warnings.

    `timings_ms` says where the time went, in milliseconds a stage. `confidence` is the best score against
    what nonsense reaches in this memory, see `search.confidence`; None where it was not measured. A
    `listing` is not ranked.
    """

    __slots__ = ("confidence", "hits", "level", "listing", "ranked", "timings_ms", "warnings")

    def __init__(self) -> None:
        self.hits: list[Hit] = []
        self.ranked: Sequence[Ranked] = ()
        self.level: Level = 2
        self.listing = False
        self.warnings: list[str] = []
        self.timings_ms: dict[str, float] = {}
        self.confidence: float | None = None

    def warn(self, code: str, english: str, **values: object) -> None:
        """Add a warning."""
        self.warnings.append(message(code, english, **values))

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the time spent inside to a stage."""
        start = time.perf_counter()
        try:
            yield
        finally:
            spent = (time.perf_counter() - start) * 1000
            self.timings_ms[stage] = self.timings_ms.get(stage, 0.0) + spent
