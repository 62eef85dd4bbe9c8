"""Write docs/quality.md and docs/images/quality.svg from question sets: presets, ablation, recall by budget.

    python tools/make_quality_docs.py SETS_DIR [--sets a,b] [--out DIR]

Every folder of SETS_DIR that holds `queries.jsonl` or `dev/queries.jsonl`, with `workspaces/` beside it, is a set.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass, replace
from datetime import date
from html import escape
from pathlib import Path

import compare_answers as comparison
import numpy as np
from measuring import evaluation, metrics, presets, questions
from measuring.evaluation import Evaluation, Options
from measuring.questions import QuestionSet

from commonplace import __version__
from commonplace.search.ranking import DEFAULT, fitted

DOCS = Path(__file__).parents[1] / "docs"
FIGURE = "r@2000c"
BUDGET_FIGURES = tuple(f"r@{budget}c" for budget in metrics.BUDGETS)
BUDGETS = (500, 1000, 1500, 2000, 3000, 4000, 6000, 8000)  # characters; a token is some four
CHARACTERS = 4  # a token


@dataclass(frozen=True, slots=True)
class Step:
    """One configuration: its name, and how questions are asked in it."""

    name: str
    options: Options


def without(name: str, *features: str) -> Step:
    """The default without some of its features."""
    return Step(name, Options(ranking=DEFAULT._replace(weights=fitted() | dict.fromkeys(features, 0.0))))


INSTALLED = "## As installed"
ALONE = f" Measured on {date.today()}; the tables below this one are older.\n"
PRESETS = tuple(Step(name, options) for name, options in presets.PRESETS.items())
# One list by itself: over the same passages, with nothing of what ranks them further.
AROUND = ("neighbours", "section", "speaker", "asks", "date", "words one by one")
PLAIN = DEFAULT._replace(weights=fitted() | dict.fromkeys(AROUND, 0.0), updates=False, gated=False)
RANKS = DEFAULT._replace(fusion="ranks", lexical=1 - DEFAULT.vector)
OFF = {"search.rerank": "off"}
BM25 = Step("BM25 alone", Options(ranking=PLAIN, mode="lexical", settings=OFF))
VECTORS = Step("vectors alone", Options(ranking=PLAIN, mode="semantic", settings=OFF))
ABLATION = (
    Step("no vectors", Options(mode="lexical")),
    Step("no full text", Options(mode="semantic")),
    Step("not read again (no reranking)", Options(settings=OFF)),
    Step("rank fusion (k 60) for calibrated scores", Options(ranking=RANKS)),
    without("no speaker, no owner", "speaker"),
    without("no neighbours, no section", "neighbours", "section"),
    without("no dates of the question", "date"),
    Step("no newer statement before an older one", Options(ranking=DEFAULT._replace(updates=False))),
    Step("passages of 400 tokens for 60", Options(chunks=presets.PRESETS["openclaw"].chunks)),
)


def ask(name: str, asked: QuestionSet, step: Step) -> Evaluation:
    """Ask a set in one configuration, on its own or in a process of its own."""
    print(f"{name}: {step.name}", file=sys.stderr, flush=True)
    return evaluation.evaluate(asked.questions, asked.folder, step.options)


class Measured:
    """Runs of one question set, each made once."""

    def __init__(self, name: str, asked: QuestionSet, fewer: int | None = None) -> None:
        """Take a set; parts of the default are left out over `fewer` of its questions, if so many are named."""
        self.name = name
        self.asked = asked
        self.ablated = sampled(asked, fewer) if fewer else asked
        self.runs: dict[str, Evaluation] = {}

    def questions(self, step: Step) -> QuestionSet:
        """The questions that are asked in one configuration."""
        return self.ablated if step in ABLATION else self.asked

    def run(self, step: Step) -> Evaluation:
        """Ask the set in one configuration."""
        if step.name not in self.runs:
            self.runs[step.name] = ask(self.name, self.questions(step), step)
        return self.runs[step.name]

    def mean(self, step: Step, figure: str) -> float:
        """The mean of a figure over the questions."""
        return float(np.mean([figures[figure] for figures in self.run(step).figures.values()]))

    def difference(self, step: Step, figure: str) -> comparison.Difference:
        """What a step changes against the default, question by question."""
        changed, usual = self.run(step).figures, self.run(PRESETS[0]).figures
        second = [figures[figure] for figures in changed.values()]
        first = [usual[question][figure] for question in changed]
        (found,) = comparison.paired(np.array(second)[:, None] - np.array(first)[:, None])
        return found

    def recall(self, step: Step) -> list[float]:
        """Recall at each of BUDGETS."""
        answers, sizes = self.run(step).answers, self.asked.line_sizes()
        asked = [question for question in self.asked.questions if question.evidence]
        return [
            float(
                np.mean(
                    [
                        metrics.recall_within(answers[q.id].results, q.evidence, sizes(q.workspace), budget)
                        for q in asked
                    ]
                )
            )
            for budget in BUDGETS
        ]


def run_all(measured: Sequence[Measured], pool: Executor) -> None:
    """Run every configuration of the page, large sets first, and what shares no passages before what does."""
    largest_first = sorted(measured, key=lambda one: -len(one.asked.questions))
    waiting = [
        (one, step, pool.submit(ask, one.name, one.questions(step), step))
        for step in (*PRESETS, *reversed(ABLATION), BM25, VECTORS)
        for one in largest_first
    ]
    for one, step, run in waiting:
        one.runs[step.name] = run.result()


def reject(measured: Sequence[Measured]) -> list[evaluation.Rejection]:
    """Ask every set the questions of the others."""
    print("questions of another set", file=sys.stderr, flush=True)
    return evaluation.reject([one.asked for one in measured], Options())


# --- the page -------------------------------------------------------------------------------------------


def page(measured: Sequence[Measured], refused: Sequence[evaluation.Rejection]) -> str:
    """Return docs/quality.md."""
    covered = ", ".join(f"{one.name} ({len(one.run(PRESETS[0]).figures)})" for one in measured)
    parts = [
        "# Quality\n",
        "Made by `python tools/make_quality_docs.py SETS_DIR`; run it again instead of editing this page. What the figures"
        " and presets mean stands in [measuring.md](measuring.md).\n",
        f"commonplace {__version__}; sets and their questions: {covered}. The mean is over sets, each counting once.\n",
        installed(measured),
        "![Recall against the token budget](images/quality.svg)\n",
        f"## Presets, {FIGURE}\n",
        table(["preset", *names(measured), "mean"], preset_rows(measured, FIGURE)),
        "## Presets, ndcg@10\n",
        table(["preset", *names(measured), "mean"], preset_rows(measured, "ndcg@10")),
        f"## What each step brings, {FIGURE}\n",
        f"One part of the default is left out or replaced at a time{of_fewer(measured)}; cells are the change against the default, with a star"
        " where its 95 % interval (paired bootstrap over the questions) leaves zero out.\n",
        table(["the default, but", *names(measured), "mean"], ablation_rows(measured)),
        "## Ahead of each, at every budget\n",
        f"The least that the default is ahead over {', '.join(BUDGET_FIGURES)}; a star where the 95 % interval leaves zero out"
        " at every one of them.\n",
        table(["the default, against", *names(measured)], ahead_rows(measured)),
        "## By language, the default\n",
        table(["set", "language", "n", FIGURE, "ndcg@10"], language_rows(measured)),
        *refusals(measured, refused),
    ]
    return "\n".join(parts)


def installed(measured: Sequence[Measured], note: str = "\n") -> str:
    """The section on the search as a user gets it, with a note below its introduction."""
    rows = evaluation.by_set({one.name: one.run(PRESETS[0]) for one in measured})
    parts = [
        f"{INSTALLED}\n",
        f"commonplace {__version__}, one configuration, refusal on: what a search leaves out as noise is not counted as found,"
        " `weak` is the share of questions that nothing clearly answered, `ms` the median of a search for 100 hits on the machine"
        " that made this page (`tools/evaluate.py SETS_DIR/*`)." + note,
        evaluation.table(rows, markdown=True),
    ]
    return "\n".join([*parts, ""])


def with_installed(text: str, section: str) -> str:
    """A page with its section on the search as installed exchanged, or put before the chart."""
    before, mark, rest = text.partition(INSTALLED)
    if not mark:
        before, mark, rest = text.partition("![Recall")
        return f"{before}{section}\n{mark}{rest}"
    after = rest.find("![Recall")
    return f"{before}{section}\n{rest[after:]}"


def of_fewer(measured: Sequence[Measured]) -> str:
    """Say of how many questions the ablation is, where not of all."""
    if all(one.ablated is one.asked for one in measured):
        return ""
    counts = ", ".join(f"{one.name} {len(one.run(ABLATION[0]).figures)}" for one in measured)
    return f", over questions evenly taken ({counts})"


def names(measured: Iterable[Measured]) -> list[str]:
    """The sets' names, as the head of a table."""
    return [one.name for one in measured]


def preset_rows(measured: Sequence[Measured], figure: str) -> list[list[str]]:
    """One row a preset."""
    rows = []
    for step in PRESETS:
        values = [one.mean(step, figure) for one in measured]
        rows.append([f"`{step.name}`", *(f"{value:.3f}" for value in (*values, np.mean(values)))])
    return rows


def ablation_rows(measured: Sequence[Measured]) -> list[list[str]]:
    """One row a step, as differences."""
    rows = []
    for step in ABLATION:
        found = [one.difference(step, FIGURE) for one in measured]
        cells = [f"{one.mean:+.3f}{'*' if one.is_sure else ''}" for one in found]
        rows.append([step.name, *cells, f"{np.mean([one.mean for one in found]):+.3f}"])
    return rows


def ahead_rows(measured: Sequence[Measured]) -> list[list[str]]:
    """How far the default is ahead of each rival, at the budget where that is least."""
    rows = []
    for step in (BM25, VECTORS, *PRESETS[1:]):
        row = [step.name]
        for one in measured:
            found = [one.difference(step, figure) for figure in BUDGET_FIGURES]
            least = round(-max(difference.mean for difference in found), 3) + 0.0  # no -0
            sure = all(difference.is_sure and difference.mean < 0 for difference in found)
            row.append(f"{least:+.3f}{'*' if sure else ''}")
        rows.append(row)
    return rows


def language_rows(measured: Sequence[Measured]) -> list[list[str]]:
    """One row for each set and language of its questions."""
    from measuring import evaluation

    return [
        [one.name, language, f"{row['n']:.0f}", f"{row[FIGURE]:.3f}", f"{row['ndcg@10']:.3f}"]
        for one in measured
        for language, row in evaluation.by_language(one.run(PRESETS[0])).items()
    ]


def refusals(measured: Sequence[Measured], refused: Sequence[evaluation.Rejection]) -> list[str]:
    """What happens to questions that nothing answers; nothing for a set that stands alone."""
    if not refused:
        return []
    rows = [
        [name, str(row.wrong), f"{row.empty:.3f}", f"{row.answered:.3f}", f"{row.found:.3f}"]
        for name, row in zip(names(measured), refused, strict=True)
    ]
    return [
        "## Questions of another set\n",
        table(["set", "wrong questions", "empty answers", "own answered", "own found"], rows),
    ]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


# --- the chart ------------------------------------------------------------------------------------------

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 56, 120, 44, 52
# Readable on white and on near black alike (contrast of 4 or so on both), since a page can be either and an
# image cannot ask which; told apart without colours by their dashes. After Okabe and Ito.
COLOURS = ("#d55e00", "#2f81c7", "#0a9270", "#c26a9b", "#a07d00")
DASHES = ("", "7 4", "2 4", "10 4 2 4", "4 3")
STYLE = """text{font:13px system-ui,sans-serif;fill:#737b85}.faint{stroke:#8b949e;stroke-opacity:.35}
.title{font-weight:600;font-size:15px}"""
APART = 17  # between two names at the ends of lines


def chart(lines: Mapping[str, Sequence[float]]) -> str:
    """Return an SVG of recall (0..1) at each of BUDGETS, one line a preset, without a background."""
    tops = ends([ordinate(values[-1]) for values in lines.values()])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
        f' aria-label="Recall against the token budget"><style>{STYLE}</style>',
        f'<text class="title" x="{LEFT}" y="24">Share of the evidence read within a budget (mean of the sets)</text>',
        *grid(),
    ]
    for place, (name, values) in enumerate(lines.items()):
        colour, dash = COLOURS[place % len(COLOURS)], DASHES[place % len(DASHES)]
        points = " ".join(
            f"{abscissa(b):.1f},{ordinate(v):.1f}" for b, v in zip(BUDGETS, values, strict=True)
        )
        width = 3 if place == 0 else 2
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{width}"'
            f' stroke-linejoin="round" stroke-dasharray="{dash or "none"}"/>'
        )
        x, y = abscissa(BUDGETS[-1]) + 10, tops[place]
        parts.append(
            f'<text x="{x:.1f}" y="{y + 4:.1f}" style="fill:{colour};font-weight:600">{escape(name)}</text>'
        )
    return "\n".join([*parts, "</svg>\n"])


def grid() -> Iterable[str]:
    """Lines and numbers behind the curves."""
    for tenth in range(0, 11, 2):
        y = ordinate(tenth / 10)
        yield f'<line class="faint" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{tenth / 10:.1f}</text>'
    for budget in BUDGETS:
        if budget in (500, 1500, 3000):  # too near to their neighbours for a number
            continue
        x = abscissa(budget)
        tokens = budget // CHARACTERS
        yield f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{tokens:,}</text>'
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield f'<text x="{middle}" y="{HEIGHT - 10}" text-anchor="middle">tokens (of four characters)</text>'


def abscissa(budget: int) -> float:
    """Where a budget stands from the left."""
    return LEFT + (WIDTH - LEFT - RIGHT) * budget / BUDGETS[-1]


def ordinate(recall: float) -> float:
    """Where a recall stands from the top."""
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - recall)


def ends(wanted: Sequence[float]) -> list[float]:
    """Move names apart that would lie on each other, the order kept, and none below the chart."""
    placed: dict[int, float] = {}
    last = -float(APART)
    for place in sorted(range(len(wanted)), key=lambda at: wanted[at]):
        last = placed[place] = max(wanted[place], last + APART)
    over = max(0.0, last - (HEIGHT - BOTTOM))
    return [placed[place] - over for place in range(len(wanted))]


# --- the command ----------------------------------------------------------------------------------------


def find(
    folder: Path, wanted: Sequence[str], sample: int | None = None, ablated: int | None = None
) -> list[Measured]:
    """Read the sets of a folder, those named or all."""
    found = []
    for one in sorted(path for path in folder.iterdir() if path.is_dir()):
        queries = next(
            (p for p in (one / "queries.jsonl", one / "dev" / "queries.jsonl") if p.is_file()), None
        )
        if queries is not None and (not wanted or one.name in wanted):
            asked = questions.read_set(queries)
            found.append(Measured(one.name, sampled(asked, sample) if sample else asked, ablated))
    missing = set(wanted) - {one.name for one in found}
    if missing or not found:
        raise SystemExit(f"no sets in {folder}: {', '.join(sorted(missing)) or 'none at all'}")
    return found


def sampled(asked: QuestionSet, count: int) -> QuestionSet:
    """The set with so many of its questions that have evidence, evenly taken."""
    able = [question for question in asked.questions if question.evidence]
    chosen = [able[place * len(able) // count] for place in range(count)] if count < len(able) else able
    return replace(asked, questions=tuple(chosen))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and write the page and the chart."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", metavar="SETS_DIR", type=Path)
    parser.add_argument("--sets", default="", help="names of sets, with commas between; otherwise all")
    parser.add_argument("--out", type=Path, default=DOCS, help="folder of quality.md and images/quality.svg")
    parser.add_argument("--sample", type=int, help="ask that many questions of a set, evenly taken, at most")
    parser.add_argument("--ablated", type=int, help="the same for the table of what each step brings")
    parser.add_argument(
        "--jobs", type=int, default=1, help="processes, each with a set and a configuration of its own"
    )
    parser.add_argument(
        "--installed", action="store_true", help="exchange the section on the search as installed alone"
    )
    given = parser.parse_args(arguments)
    wanted = [name for name in given.sets.split(",") if name]
    measured = find(given.folder, wanted, given.sample, given.ablated)
    if given.installed:
        for one in measured:
            one.run(PRESETS[0])
        page_file = given.out / "quality.md"
        page_file.write_text(
            with_installed(page_file.read_text("utf-8"), installed(measured, ALONE)), "utf-8"
        )
        return 0
    alone = len(measured) < 2
    if given.jobs > 1:
        with ProcessPoolExecutor(given.jobs) as pool:
            wrong = None if alone else pool.submit(reject, measured)
            run_all(measured, pool)
            refused = wrong.result() if wrong else []
    else:
        refused = [] if alone else reject(measured)
    text = page(measured, refused)
    lines = {step.name: np.mean([one.recall(step) for one in measured], axis=0) for step in PRESETS}
    (given.out / "images").mkdir(parents=True, exist_ok=True)
    (given.out / "quality.md").write_text(text, encoding="utf-8")
    (given.out / "images" / "quality.svg").write_text(chart(lines), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
