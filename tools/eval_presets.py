"""Score question sets with the settings of other systems, in the same engine: a side-by-side run.

    python tools/eval_presets.py NAME QUERIES... [--mode hybrid|lexical|semantic] [--json]

A preset sets how text is cut and how the two lists are fused; the model, the tokenizer and BM25 are ours, so that
only the settings differ. One token counts as four characters, a CJK character as one token.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.base import paths
from commonplace.base.errors import CommonplaceError
from commonplace.bench import evaluation, questions
from commonplace.bench.evaluation import Options
from commonplace.chunking.settings import ChunkSettings
from commonplace.providers import opening
from commonplace.providers.costs import Accounts
from commonplace.search import fusion
from commonplace.search.ranking import RankSettings

if TYPE_CHECKING:
    from commonplace.config import Settings
    from commonplace.providers.embedding.base import Embedder, Floats, Kind

TOKEN = 4  # characters


class EveryScript:
    """A model that claims to serve every script, as systems do that do not distinguish scripts.

    It shares the fingerprint of the model inside, whose vectors are the same.
    """

    scripts = frozenset({"latin", "cjk"})

    def __init__(self, inner: Embedder) -> None:
        self.inner, self.name, self.dimensions = inner, inner.name, inner.dimensions
        self.fingerprint = inner.fingerprint
        if hasattr(inner, "estimate"):
            self.estimate = inner.estimate

    def embed(self, texts: Sequence[str], kind: Kind) -> Floats:
        """Embed with the model inside; (n, d) float32."""
        return self.inner.embed(texts, kind)


def every_script(settings: Settings, folder: Path) -> Embedder | None:
    """Return the model of the settings as one for every script; None without a model."""
    if settings.embedding.provider == "none":
        return None
    models = opening.models(settings.embedding, Accounts(paths.Workspace(folder), folder))
    return next((EveryScript(model) for model in models if not isinstance(model, str)), None)


# QMD 2.8.3: chunks of 900 tokens, 135 overlap, cut at the best break within the last 200, never inside a
# fence; headings are breaks, not borders. Reciprocal rank fusion with k = 60 (search.fusion.RANK_CONSTANT)
# of both lists, with its bonuses for first places, 40 candidates. Its BM25 weighs the title 4 and the body 1.
# Left out: the query expansion and the reranking by language models, and its demand that a passage hold
# every word of the question, under which full text finds nothing for natural questions (0 of 25 in its own
# set): OR flatters it.
QMD = Options(
    chunks=ChunkSettings(
        target=900 * TOKEN,
        window=200 * TOKEN,
        overlap=135 * TOKEN,
        fence=900 * TOKEN,
        line=900 * TOKEN,
        wide=TOKEN,
        by_heading=False,
    ),
    ranking=RankSettings(
        fusion="ranks",
        vector=fusion.RANK_WEIGHT,
        lexical=fusion.RANK_WEIGHT,
        bonuses=fusion.RANK_BONUSES,
        header=4.0,
        gated=False,
    ),
    embedder=every_script,
)

# OpenClaw 2026.9.6: chunks of 400 tokens by line, overlap 80, weighted length for CJK; 0.7 cosine + 0.3
# BM25. Left out: its decay of dated notes (half-life 30 days) and its diversity step, which serve today's
# notes and would only lower its figures on sets that are years old.
OPENCLAW = Options(
    chunks=ChunkSettings(
        target=400 * TOKEN,
        window=0,
        overlap=80 * TOKEN,
        fence=0,
        line=400 * TOKEN,
        wide=TOKEN,
        by_heading=False,
    ),
    ranking=RankSettings(fusion="scores", vector=0.7, lexical=0.3, header=0.0, gated=False, saturate=True),
    embedder=every_script,
)

# nanobot's third memory design: chunks of 800 characters, overlap 100, reciprocal rank fusion.
NANOBOT = Options(
    chunks=ChunkSettings(target=800, window=0, overlap=100, fence=0, line=800, wide=1, by_heading=False),
    ranking=RankSettings(fusion="ranks", vector=0.5, lexical=0.5, header=0.0, gated=False),
    embedder=every_script,
)

# nanocrab: chunks by heading of 512 tokens, 0.5 vector + 0.3 BM25 + 0.2 recency.
NANOCRAB = Options(
    chunks=ChunkSettings(
        target=512 * TOKEN,
        window=0,
        overlap=0,
        fence=512 * TOKEN,
        line=512 * TOKEN,
        wide=TOKEN,
        by_heading=True,
    ),
    ranking=RankSettings(
        fusion="scores",
        vector=0.5,
        lexical=0.3,
        recency=0.2,
        header=1.0,
        gated=False,
    ),
    embedder=every_script,
)

PRESETS = {"default": Options(), "qmd": QMD, "openclaw": OPENCLAW, "nanobot": NANOBOT, "nanocrab": NANOCRAB}


def main(arguments: Sequence[str] | None = None) -> int:
    """Score the sets with one preset; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("preset", choices=PRESETS)
    parser.add_argument("queries", nargs="+", type=Path)
    parser.add_argument("--mode", choices=["hybrid", "lexical", "semantic"], default="hybrid")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    options = replace(PRESETS[given.preset], mode=given.mode)
    try:
        asked = [questions.read_set(questions.file_of(path)) for path in given.queries]
        scored = evaluation.evaluate_all(asked, options)
    except CommonplaceError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if given.json:
        print(json.dumps({name: evaluation.as_record(one) for name, one in scored.items()}, indent=1))
    elif len(scored) == 1:
        print(evaluation.as_text(*scored.values()))
    else:
        print(evaluation.table(evaluation.by_set(scored)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
