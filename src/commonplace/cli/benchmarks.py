"""`commonplace bench`: speed, size and memory beside the bare cost of the same work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from commonplace.cli.groups import Group
from commonplace.cli.options import command, option

if TYPE_CHECKING:
    from commonplace.bench.probes import Model


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


bench = Group("bench", commands=[speed, capture], help="Measure speed, size and memory on your own notes.")


def _lines(path: Path | None) -> list[str]:
    if path is None:
        return []
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        raise click.BadParameter("holds no questions", param_hint="--questions")
    return lines
