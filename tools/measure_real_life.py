"""Ask sixty questions of the sample workspace beside two large collections, and say how many are answered.

    python tools/measure_real_life.py [--bench DIR] [--keep DIR] [--questions] [--json FILE]

The questions stand in `tools/real_life.toml`. The collections are the workspaces of `rgb_zh` and `squad_dev`
below the folder of evaluation data (default: $COMMONPLACE_BENCH). A question counts as answered if one of the
first three hits lies on a line that answers; one without an answer counts as told if the result is empty or
marked weak. `--keep` names a folder whose index is used again.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import tomllib
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import mean
from typing import Any

from commonplace import Memory, config
from commonplace.config import editing
from commonplace.types import Hit

HERE = Path(__file__).parent
DEMO = HERE.parent / "src/commonplace/demo/workspace"
COLLECTIONS = ("rgb_zh", "squad_dev")
FIRST = 3  # hits that somebody reads


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bench", type=Path, default=os.environ.get("COMMONPLACE_BENCH"))
    parser.add_argument("--keep", type=Path, help="work in this folder and leave it")
    parser.add_argument("--questions", action="store_true", help="print each question")
    parser.add_argument("--json", type=Path, help="write what came of each question")
    options = parser.parse_args()
    data = tomllib.loads((HERE / "real_life.toml").read_text("utf-8"))
    with ExitStack() as stack:
        folder = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        root = folder.absolute() / "workspace"
        if not root.exists():
            shutil.copytree(DEMO, root)
        os.environ["XDG_CONFIG_HOME"] = str(root.parent / "settings")  # not those of whoever measures
        if options.bench:
            _add_collections(root, Path(options.bench))
        memory = stack.enter_context(Memory.open(root, overrides={"usage.record": False}))
        memory.sync()
        rows = [_ask(memory, question, data["now"]) for question in data["question"]]
    for row in rows if options.questions else ():
        print(
            f"{row['id']:14} {row['rank'] or '-':>3} {row['hits']:>3} {'weak' if row['weak'] else '':4} {row['text']}"
        )
    _print(rows)
    if options.json:
        options.json.write_text(json.dumps(rows, ensure_ascii=False, indent=1))


def _add_collections(root: Path, bench: Path) -> None:
    known = config.load(root, os.environ).collections
    for name in COLLECTIONS:
        if name not in known:
            (folder,) = (bench / name / "dev/workspaces").iterdir()
            editing.add_collection(root, name, str(folder))


def _ask(memory: Memory, question: dict[str, Any], now: Any) -> dict[str, Any]:
    answers = [_place(reference) for reference in question.get("answers", ())]
    result = memory.search(question["text"], now=now)
    rank = next((at for at, hit in enumerate(result.hits, 1) if _answers(hit, answers)), None)
    block = memory.recall(question["text"], now=now)
    notes = {path for path, *_ in answers}
    return {
        "id": question["id"],
        "kind": question["kind"],
        "text": question["text"],
        "rank": rank,
        "hits": len(result.hits),
        "weak": result.weak,
        "confidence": result.confidence,
        "told": bool(rank and rank <= FIRST) if answers else not result.hits or result.weak,
        "recalled": any(_answers(hit, answers) for hit in block.hits),
        "tokens": sum(hit.tokens for hit in block.hits),
        "tokens_of_answers": sum(hit.tokens for hit in block.hits if hit.path in notes),
        "top": [hit.citation for hit in result.hits[:FIRST]],
    }


def _place(reference: str) -> tuple[str, int, int]:
    path, _, lines = reference.partition("#L")
    first, _, last = lines.partition("-L")
    return path, int(first), int(last or first)


def _answers(hit: Hit, answers: Sequence[tuple[str, int, int]]) -> bool:
    return any(
        p == hit.path and first <= hit.end_line and hit.start_line <= last for p, first, last in answers
    )


def _print(rows: Sequence[dict[str, Any]]) -> None:
    for kind in dict.fromkeys(row["kind"] for row in rows):
        told = [row["told"] for row in rows if row["kind"] == kind]
        print(f"{kind:12} {sum(told):3} of {len(told):3}  {mean(told):.2f}")
    asked = [row for row in rows if row["kind"] != "nothing"]
    share = sum(row["tokens_of_answers"] for row in asked) / max(1, sum(row["tokens"] for row in asked))
    print(
        f"recall: answers held {mean(row['recalled'] for row in asked):.2f}, tokens of their notes {share:.2f}"
    )


if __name__ == "__main__":
    main()
