"""Ask fifty questions as owners ask them; count right first hits, those marked weak, and false answers.

    python tools/measure_weak.py [--keep DIR] [--questions]

The questions stand in `tests/life/data/questions.toml`, over the sample workspace and a diary of sixty notes
in two languages. A first hit is right if it shows a line that answers. A question without an answer is
answered falsely if there are hits and they are not marked weak.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
DATA = ROOT / "tests/life/data"
DEMO = "src/commonplace/demo/workspace"


class Asked(NamedTuple):
    """A question, the places that answer it (`note#Lnumber`), and what came: rank of the first right hit."""

    text: str
    places: tuple[str, ...]
    rank: int | None
    hits: int
    weak: bool
    confidence: float | None
    first: str


def main() -> None:
    """Measure, and print one line a figure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--keep", type=Path, help="work in this folder and leave it")
    parser.add_argument("--tree", type=Path, default=ROOT, help="the tree whose sample workspace is asked")
    parser.add_argument("--questions", action="store_true", help="print each question")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):  # not those of whoever measures
            os.environ[name] = str(folder.absolute() / name)
        asked = [one for name in ("demo", "diary") for one in ask(folder / name, name, options.tree)]
    for one in asked if options.questions else ():
        told = f"{one.confidence:.2f}" if one.confidence is not None else ""
        mark = "weak" if one.weak else ""
        print(f"{one.rank or '-':>3} {one.hits:>3} {mark:4} {told:>5} {one.text} | {one.first}")
    answered, unanswered = [one for one in asked if one.places], [one for one in asked if not one.places]
    firsts = [one for one in answered if one.rank == 1]
    print(f"right firsts        {len(firsts):3} of {len(answered)}")
    print(f"right in three      {sum((one.rank or 9) <= 3 for one in answered):3} of {len(answered)}")
    print(f"right firsts, weak  {sum(one.weak for one in firsts):3} of {len(firsts)}")
    print(
        f"no answer, not weak {sum(bool(one.hits) and not one.weak for one in unanswered):3} of {len(unanswered)}"
    )


def unpack(folder: Path, name: str, tree: Path = ROOT) -> None:
    """Write the notes of `demo` or `diary` into a folder."""
    if name == "demo":
        shutil.copytree(tree / DEMO, folder, dirs_exist_ok=True)
        return
    for part in (DATA / "diary.txt").read_text("utf-8").split("@@ ")[1:]:
        path, _, text = part.partition("\n")
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")


def ask(folder: Path, name: str, tree: Path = ROOT) -> Iterator[Asked]:
    """Ask the questions of one workspace."""
    from commonplace import Memory

    data = tomllib.loads((DATA / "questions.toml").read_text("utf-8"))[name]
    unpack(folder, name, tree)
    overrides = {"usage.record": False, "index.include": ["MEMORY.md", "**/*.md"]}
    with Memory.open(folder, overrides=overrides) as memory:
        memory.sync()
        for question in data["question"]:
            lines = [line for answer in question.get("answers", ()) for line in _lines(folder, *answer)]
            result = memory.search(question["text"], limit=10, now=data["now"])
            ranks = (at for at, hit in enumerate(result.hits, 1) if _is_right(hit, lines))
            yield Asked(
                question["text"],
                tuple(f"{path}#L{line}" for path, line in lines),
                next(ranks, None),
                len(result.hits),
                result.weak,
                result.confidence,
                result.hits[0].citation if result.hits else "",
            )


def _lines(folder: Path, path: str, words: str) -> list[tuple[str, int]]:
    """Return the lines of a note that hold some words. Raises ValueError if none does."""
    text = (folder / path).read_text("utf-8").split("\n")
    if found := [(path, number) for number, line in enumerate(text, 1) if words in line]:
        return found
    raise ValueError(f"{path} does not hold {words!r}")


def _is_right(hit: Any, lines: list[tuple[str, int]]) -> bool:
    return any(path == hit.path and hit.start_line <= line <= hit.end_line for path, line in lines)


if __name__ == "__main__":
    main()
