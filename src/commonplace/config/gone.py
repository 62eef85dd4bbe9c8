"""Settings, commands and options of former versions, each with what to use instead: data alone."""

from __future__ import annotations

_SERVE_IT = 'serve it with llama.cpp or another server, provider = "compatible"'
SETTINGS = {
    "embedding.path": _SERVE_IT,
    "reranking.path": _SERVE_IT,
    "llm.path": _SERVE_IT,
    "llm.command": 'give the program the form of a server, provider = "compatible"',
    "observe.enrich": "leave it out; observations keep their own titles",
    "observe.enrich_batch": "leave it out, with observe.enrich",
    "observe.enrich_deadline_s": "leave it out, with observe.enrich",
    "llm.context": "the server of the model decides",
}
PROVIDERS = {
    "gguf": _SERVE_IT,
    "onnx": f'provider = "fastembed", or {_SERVE_IT}',
    "command": SETTINGS["llm.command"],
}
# By the words of the command line; an option stands behind its command.
COMMANDS = {
    "schedule install": "`commonplace schedule print` prints what starts it, --write puts the files in place",
    "schedule remove": "`commonplace schedule print` prints the command that takes it away",
    "watch --install": "`commonplace schedule print --watch` prints a service",
    "watch --uninstall": "`commonplace schedule print --watch` prints the command that takes it away",
    "watch --dry-run": "`commonplace schedule print --watch` prints a service",
    "models use --path": _SERVE_IT,
    "bench": "run tools/measure_prompts.py in a clone",
    "eval compare": "run tools/compare_answers.py A B --queries FILE in a clone",
    "eval run --preset": "run tools/eval_presets.py NAME QUERIES in a clone",
    "eval init --no-llm": "leave it out; no language model is asked",
    "eval init --estimate": "leave it out; no language model is asked",
}


def command(typed: str) -> str:
    """What to do instead of a command or option that is gone; empty for another. The program comes first."""
    return COMMANDS.get(typed.partition(" ")[2], "")
