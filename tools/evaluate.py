"""Score the search, as a user gets it, against question sets (docs/measuring.md).

python tools/evaluate.py QUERIES... [--preset NAME] [--workspaces DIR] [--mode M] [--limit N] [--no-refusal]
    [--out FILE] [--json]
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

from measuring import evaluation, presets, questions

from commonplace.base.errors import CommonplaceError


def main() -> int:
    """Score the sets of the command line."""
    parser = argparse.ArgumentParser(description="Score the search against question sets.")
    parser.add_argument("queries", nargs="+", type=Path)
    parser.add_argument("--preset", choices=presets.PRESETS, default="default")
    parser.add_argument("--workspaces", type=Path)
    parser.add_argument("--mode", choices=["hybrid", "lexical", "semantic"], default="hybrid")
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("--no-refusal", action="store_true")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    options = replace(
        presets.PRESETS[given.preset],
        mode=given.mode, limit=given.limit, fresh=given.fresh, refuse=not given.no_refusal,
    )  # fmt: skip
    try:
        sets = [questions.read_set(questions.file_of(path), given.workspaces) for path in given.queries]
        scored = evaluation.evaluate_all(sets, options)
        if given.out:
            questions.write_answers(given.out, next(iter(scored.values())).answers.values())
    except CommonplaceError as error:
        print(f"evaluate: {error}", file=sys.stderr)
        return 1
    if given.json:
        print(json.dumps({name: evaluation.as_record(one) for name, one in scored.items()}, indent=1))
    elif len(scored) == 1:
        print(evaluation.as_text(*scored.values()))
    else:
        print(evaluation.table(evaluation.by_set(scored)))
    for name, one in scored.items():
        for line in evaluation.faults(one):
            print(f"{name}: {line}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
