"""`ask`: one answer by the language model, with where it is from."""

from __future__ import annotations

import sys

import click

from commonplace.cli import failures, session
from commonplace.cli.options import command, completed, flags, format_option, option
from commonplace.config import keys
from commonplace.render import reports, to_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from commonplace.config import Settings

_BUDGET = keys.find("recall.budget", "as a flag")
NOTHING = "the memory holds nothing about it"
UNSAID = "the notes that come nearest do not say it"


@command("ask", several=True)
@click.argument("query", nargs=-1, required=True, shell_complete=completed("filters"))
@option("--model", metavar="M", help="The language model, as MODEL or PROVIDER/MODEL.")
@option("--base-url", metavar="URL", help="Where it is, for a server that speaks OpenAI's chat completions.")
@option(
    "--budget",
    type=click.IntRange(int(_BUDGET.low or 0), int(_BUDGET.high or 0)),
    metavar="N",
    help="Most tokens of notes that the model reads.",
)
@flags("collections", "strict", "now", "as_of")
@format_option(("text", "json"))
@click.pass_context
def ask(
    ctx: click.Context,
    /,
    query: tuple[str, ...],
    model: str | None,
    base_url: str | None,
    form: str,
    **options: Any,  # noqa: ANN401 - what `Memory.ask` takes by the same name
) -> None:
    """Answer a question from the notes: the language model reads what is recalled, and cites it.

    [1] in the answer is the first place listed below it. The question and the recalled passages are sent to
    the model, nothing else; where nothing is recalled, nothing is sent. A single - reads the question from
    standard input. Ends with 3 where the notes do not say it, with 4 where no language model is set.
    """

    def change(settings: Settings) -> Mapping[str, object]:
        from commonplace.providers import selection

        return selection.llm_overrides(settings.llm, model, base_url)

    memory = session.open_memories(ctx, change)
    answer = memory.ask(session.text_argument(query), **options)
    for message in answer.warnings:
        failures.warn(message)
    if form == "json":
        session.write(to_json(reports.answer_data(answer)))
    elif answer.text:
        out = session.screen_of(sys.stdout)
        look = session.look_at(out, memory.settings)
        text = reports.answer_text(answer, look, session.locator(memory) if look.links else None)
        session.write(session.recalled(text, out, memory.settings))
    if form == "text":
        if not answer.text:
            session.note(UNSAID if answer.given else NOTHING)
        if answer.given:
            session.note(reports.answer_footer(answer))
    if not answer.text:
        ctx.exit(failures.NOTHING_FOUND)
