"""A scripted language model: the prompt on standard input, the answer on standard output.

model.py answer FILE             what a file holds
model.py edit FILE NOTE          the same, once an editor has saved a note
model.py plan PLANNER SEED       what the planner of the tests plans; SEED is - for an honest plan
model.py summary                 a summary, as JSON, of sentences of the prompt
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path


def main() -> str:
    """Answer a prompt."""
    mode, *arguments = sys.argv[1:]
    prompt = sys.stdin.buffer.read().decode("utf-8", "replace")
    if mode == "edit":
        note = Path(arguments[1])
        note.write_text(
            note.read_text("utf-8").replace("\n- ", "\n- 18:00 Wen added this meanwhile.\n- ", 1), "utf-8"
        )
    if mode in ("answer", "edit"):
        return Path(arguments[0]).read_text("utf-8")
    if mode == "plan":
        module = planner(Path(arguments[0]))
        return module["Planner"](None if arguments[1] == "-" else arguments[1]).plan(prompt)
    said = [line.strip() for line in re.findall(r"(?:User|user|Assistant|assistant)[^:\n]*: *(.+)", prompt)]
    chosen = [line for line in said if 8 <= len(line) <= 300] or ["Nothing was said."]
    parts = {
        "request": chosen[0],
        "done": chosen[1:3],
        "decisions": chosen[3:5],
        "learned": [],
        "open": chosen[-1:],
    }
    return json.dumps({"worth_keeping": True, **parts}, ensure_ascii=False)


def planner(path: Path) -> dict:
    """Load a module of the tests that needs the product for its annotations alone."""
    text = re.sub(r"^from (commonplace|tests)\b.*\n", "", path.read_text("utf-8"), flags=re.MULTILINE)
    names: dict = {
        "__name__": path.stem,
        "Request": object,
        "Memory": object,
        "Entry": object,
        "Provenance": object,
    }
    sys.modules[path.stem] = type(sys)(path.stem)  # where dataclasses look for their module
    exec(compile(text, path, "exec"), names)  # the tests are our own
    return names


if __name__ == "__main__":
    sys.stdout.buffer.write(main().encode("utf-8", "surrogateescape"))
