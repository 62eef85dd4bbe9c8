"""`commonplace bench`: speed, size and memory beside the bare cost of the same work; what prompts cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from commonplace.cli import failures, session
from commonplace.cli.groups import Group
from commonplace.cli.options import command, option

if TYPE_CHECKING:
    from commonplace.bench.probes import Model
    from commonplace.bench.prompts import Measured


@command("speed")
@option(
    "--corpus",
    metavar="DIR",
    required=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder of Markdown files; it is copied and left alone.",
)
@option(
    "--model",
    type=click.Choice(["none", "builtin", "random"]),
    default="none",
    show_default=True,
    help="Vectors: none, the bundled model's, or random ones with the bundled model for questions.",
)
@option(
    "--questions",
    metavar="FILE",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Questions, one a line; otherwise made from the corpus's own words.",
)
@option(
    "--repeat", type=click.IntRange(min=1), default=3, show_default=True, help="Turns; medians are shown."
)
@option("--json", "as_json", is_flag=True, help="Print JSON.")
def speed(corpus: Path, model: Model, questions: Path | None, repeat: int, as_json: bool) -> None:
    """Time build, sync and search beside the bare cost of the same work on the same files."""
    from commonplace.bench import speed as measuring
    from commonplace.bench import speed_report

    options = measuring.Options(model=model, questions=_lines(questions), repeat=repeat)
    found = measuring.measure(corpus, options, lambda line: click.echo(line, err=True))
    if as_json:
        import json

        click.echo(json.dumps(speed_report.as_record(found), ensure_ascii=False, indent=1))
    else:
        click.echo(speed_report.as_text(found))


@command("prompt")
@option(
    "--questions",
    metavar="FILE",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Questions with their evidence (TOML), asked of the workspace; otherwise the demo's thirty.",
)
@option("--budget", type=click.IntRange(1), metavar="N", help="Most tokens a block; otherwise prompt.budget.")
@option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def prompt(ctx: click.Context, questions: Path | None, budget: int | None, as_json: bool) -> None:
    """Count the tokens of blocks for prompts against loading MEMORY.md and seven days, and their evidence.

    Without --questions the workspace that ships is asked thirty, in a folder of its own.
    """
    from commonplace.bench import prompts

    if questions is None:
        found = _of_the_demo(ctx, budget)
    else:
        found = prompts.measure(session.open_memory(ctx), prompts.read(questions), budget)
    if as_json:
        import json

        click.echo(json.dumps(prompts.as_record(found), ensure_ascii=False, indent=1))
    else:
        click.echo(prompts.as_text(found))


def _of_the_demo(ctx: click.Context, budget: int | None) -> Measured:
    import tempfile

    from commonplace.bench import prompts
    from commonplace.demo import PROMPT_QUESTIONS, unpack
    from commonplace.memory import Memory

    if session.workspace(ctx) is not None:
        raise click.UsageError("A workspace needs questions about it: --questions FILE.")
    with tempfile.TemporaryDirectory(prefix="commonplace-demo-") as folder:
        root = Path(folder, "notes")
        unpack(root)
        with Memory.open(root, overrides={"usage.record": False}) as memory:
            for warning in memory.sync().warnings:
                failures.warn(warning)
            return prompts.measure(memory, prompts.read(PROMPT_QUESTIONS), budget)


@command("capture")
@option(
    "--count",
    type=click.IntRange(1, 100_000),
    default=1000,
    show_default=True,
    help="Observations, twice: in one go and 2 ms apart.",
)
@option(
    "--model",
    type=click.Choice(["none", "builtin"]),
    default="builtin",
    show_default=True,
    help="What embeds them meanwhile.",
)
@option("--json", "as_json", is_flag=True, help="Print JSON.")
def capture(count: int, model: str, as_json: bool) -> None:
    """Time what submitting observations costs an event loop, in a workspace that is made for it."""
    from commonplace.bench import capture as measuring

    found = measuring.measure(count, model)
    if as_json:
        import json
        from dataclasses import asdict

        click.echo(json.dumps(asdict(found), indent=1))
    else:
        click.echo(measuring.as_text(found))


bench = Group(
    "bench",
    commands=[speed, prompt, capture],
    help="Measure speed, size and memory, and what prompts cost, on your own notes.",
)


def _lines(path: Path | None) -> list[str]:
    if path is None:
        return []
    from commonplace.base.root import read_named

    text = read_named(path).decode("utf-8", "replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        raise click.BadParameter("holds no questions", param_hint="--questions")
    return lines
