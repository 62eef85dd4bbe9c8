"""Settings, commands and options of former versions, each with what to use instead: data alone."""

from __future__ import annotations

SETTINGS: dict[str, str] = {}
# By the words of the command line; an option stands behind its command.
COMMANDS = {
    "bench": "run tools/measure_prompts.py in a clone",
    "eval compare": "run tools/compare_answers.py A B --queries FILE in a clone",
    "eval init --no-llm": "leave it out; no language model is asked",
    "eval init --estimate": "leave it out; no language model is asked",
}


def command(typed: str) -> str:
    """What to do instead of a command or option that is gone; empty for another. The program comes first."""
    return COMMANDS.get(typed.partition(" ")[2], "")
