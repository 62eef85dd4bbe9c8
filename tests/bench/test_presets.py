"""The presets of `tools/evaluate.py`: their sizes are those that the sources state, and every preset answers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from commonplace.markdown.document import parse

TOOLS = Path(__file__).parents[2] / "tools"
sys.path.insert(0, str(TOOLS))

from measuring import presets  # noqa: E402
from measuring.presets import split  # noqa: E402

LATIN = "# Title\n\n" + "\n".join(f"- line {n} " + "words of a note " * 6 for n in range(200)) + "\n"
CHINESE = "# 标题\n\n" + "\n".join(f"- 第{n}行，" + "今天的笔记内容" * 6 for n in range(200)) + "\n"


def test_chunks_have_the_stated_size_in_both_scripts() -> None:
    for name, latin, chinese in [
        ("qmd", 3600, 900),
        ("openclaw", 1600, 400),
        ("nanobot", 800, 800),
        ("nanocrab", 2048, 683),
    ]:
        for text, size in ((LATIN, latin), (CHINESE, chinese)):
            _, passages = split(parse(text, "note.md"), presets.PRESETS[name].chunks)
            longest = max(len(passage.text) for passage in passages)
            assert 0.7 * size < longest < 1.3 * size, (name, latin, chinese)


def test_chunks_repeat_the_stated_overlap() -> None:
    for name, overlaps in [("qmd", True), ("openclaw", True), ("nanobot", False)]:
        # nanobot's 100 characters are less than one of these lines: whole lines only are repeated.
        _, passages = split(parse(LATIN, "note.md"), presets.PRESETS[name].chunks)
        assert all((after.start_line <= before.end_line) is overlaps for before, after in pairwise(passages))


class Ones:
    """A model whose vectors can be computed by hand."""

    name = fingerprint = "ones"
    dimensions = 4
    scripts = frozenset({"latin"})

    def embed(self, texts: Sequence[str], kind: object) -> np.ndarray:
        return np.full((len(texts), 4), 0.5, dtype=np.float32)


def test_every_script_changes_nothing_but_the_claim() -> None:
    model = presets.EveryScript(Ones())
    assert model.fingerprint == "ones"
    assert model.scripts == {"latin", "cjk"}
    assert (model.embed(["a", "b"], "passage") == 0.5).all()


@pytest.mark.parametrize("name", presets.PRESETS)
def test_every_preset_answers(queries: Path, name: str) -> None:
    command = [sys.executable, TOOLS / "evaluate.py", "--preset", name, queries, "--json"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    (record,) = json.loads(done.stdout).values()
    assert record["figures"]["(all)"]["hit@5"] == 1.0
