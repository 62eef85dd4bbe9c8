"""Settings of other systems, reproduced through the same engine, so that every claim is a side-by-side run.

What is reproduced is how text is cut and how lists are fused; the model, the tokenizer and BM25 are ours,
so that only the settings differ. One token counts as four characters, a CJK character as one token.
"""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.base.errors import ConfigError
from commonplace.bench import PRESETS
from commonplace.chunking import settings as chunking
from commonplace.chunking.settings import ChunkSettings
from commonplace.search import fusion, ranking
from commonplace.search.ranking import RankSettings

TOKEN = 4  # characters


@dataclass(frozen=True, slots=True)
class Preset:
    """One named configuration.

    `every_script` embeds passages and questions in scripts that the model does not serve as well; the
    systems reproduced here know no such distinction.
    """

    name: str
    summary: str
    chunks: ChunkSettings
    ranking: RankSettings
    every_script: bool = False


DEFAULT = Preset("default", "what a user gets", chunking.DEFAULT, ranking.DEFAULT)

# QMD 2.8.3: chunks of 900 tokens, 135 overlap, cut at the best break within the last 200, never inside a
# fence; headings are breaks, not borders. Reciprocal rank fusion with k = 60 (search.fusion.RANK_CONSTANT)
# of both lists, with its bonuses for first places, 40 candidates. Its BM25 weighs the title 4 and the body 1.
# Left out: the query expansion and the reranking by language models, and its demand that a passage hold
# every word of the question, under which full text finds nothing for natural questions (0 of 25 in its own
# set): OR flatters it.
QMD = Preset(
    "qmd",
    "QMD: chunks of 900 tokens, overlap 135, rank fusion",
    ChunkSettings(
        target=900 * TOKEN,
        window=200 * TOKEN,
        overlap=135 * TOKEN,
        fence=900 * TOKEN,
        line=900 * TOKEN,
        wide=TOKEN,
        by_heading=False,
    ),
    RankSettings(
        fusion="ranks",
        vector=fusion.RANK_WEIGHT,
        lexical=fusion.RANK_WEIGHT,
        bonuses=fusion.RANK_BONUSES,
        header=4.0,
        gated=False,
    ),
    every_script=True,
)

# OpenClaw 2026.9.6: chunks of 400 tokens by line, overlap 80, weighted length for CJK; 0.7 cosine + 0.3
# BM25. Left out: its decay of dated notes (half-life 30 days) and its diversity step, which serve today's
# notes and would only lower its figures on sets that are years old.
OPENCLAW = Preset(
    "openclaw",
    "OpenClaw: chunks of 400 tokens, overlap 80, 0.7 cosine + 0.3 BM25",
    ChunkSettings(
        target=400 * TOKEN,
        window=0,
        overlap=80 * TOKEN,
        fence=0,
        line=400 * TOKEN,
        wide=TOKEN,
        by_heading=False,
    ),
    RankSettings(fusion="scores", vector=0.7, lexical=0.3, header=0.0, gated=False, saturate=True),
    every_script=True,
)

# nanobot's third memory design: chunks of 800 characters, overlap 100, reciprocal rank fusion.
NANOBOT = Preset(
    "nanobot",
    "nanobot: chunks of 800 characters, overlap 100, rank fusion",
    ChunkSettings(target=800, window=0, overlap=100, fence=0, line=800, wide=1, by_heading=False),
    RankSettings(fusion="ranks", vector=0.5, lexical=0.5, header=0.0, gated=False),
    every_script=True,
)

# nanocrab: chunks by heading of 512 tokens, 0.5 vector + 0.3 BM25 + 0.2 recency.
NANOCRAB = Preset(
    "nanocrab",
    "nanocrab: heading chunks of 512 tokens, 0.5 cosine + 0.3 BM25 + 0.2 recency",
    ChunkSettings(
        target=512 * TOKEN,
        window=0,
        overlap=0,
        fence=512 * TOKEN,
        line=512 * TOKEN,
        wide=TOKEN,
        by_heading=True,
    ),
    RankSettings(
        fusion="scores",
        vector=0.5,
        lexical=0.3,
        recency=0.2,
        header=1.0,
        gated=False,
    ),
    every_script=True,
)

ALL = {preset.name: preset for preset in (DEFAULT, QMD, OPENCLAW, NANOBOT, NANOCRAB)}


def named(name: str) -> Preset:
    """Return a preset by name. Raises ConfigError that lists the names."""
    if name not in ALL:
        raise ConfigError("preset", f"no preset {name!r}; there are {', '.join(PRESETS)}")
    return ALL[name]
