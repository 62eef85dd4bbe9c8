"""A made-up question set over two small workspaces, one English, one Chinese."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from commonplace.cli.application import cli

FILES = {
    "ada/memory/2026-01-05.md": (
        "# 2026-01-05\n\n## Morning\n\n"
        "- Moved the Kestrel gateway to port 8443.\n"
        "- Lena prefers oat milk in her coffee.\n\n"
        "## Evening\n\n"
        "- Booked the ferry to Harwich for 3 May.\n"
        "- Dentist appointment on Thursday at nine.\n"
    ),
    "ada/projects/kestrel.md": (
        "# Kestrel\n\nThe gateway speaks HTTP/2 and listens on port 8443.\n\n"
        "## Retention\n\nLogs are kept for thirty days, traces for seven.\n"
    ),
    "lin/MEMORY.md": "# 长期记忆\n\n## 人物\n\n- 妈妈的生日是三月十二日。\n- 张伟在北京大学教物理。\n",
    "lin/memory/2026-02-01.md": (
        "# 2026-02-01\n\n- 晚上和张伟吃了火锅。\n- 新的咖啡机到了，放在厨房。\n\n- 周末打算去爬香山。\n"
    ),
}
QUESTIONS = [
    ("ada-1", "ada", "Which port does the gateway listen on?", "facts",
     [("projects/kestrel.md", 3, 3), ("memory/2026-01-05.md", 5, 5)]),
    ("ada-2", "ada", "What does Lena like in her coffee?", "people", [("memory/2026-01-05.md", 6, 6)]),
    ("ada-3", "ada", "How long are logs kept?", "facts", [("projects/kestrel.md", 7, 7)]),
    ("lin-1", "lin", "妈妈的生日是哪天？", "people", [("MEMORY.md", 5, 5)]),
    ("lin-2", "lin", "张伟在哪里教书？", "people", [("MEMORY.md", 6, 6), ("memory/2026-02-01.md", 3, 3)]),
    ("lin-3", "lin", "天气怎么样？", "facts", []),
]  # fmt: skip


Done = subprocess.CompletedProcess[str]


def run(*arguments: object) -> Done:
    """Run a command as the program does, in this process: starting one takes longer than most commands."""
    done = CliRunner().invoke(cli, list(map(str, arguments)), prog_name="commonplace")
    return subprocess.CompletedProcess(arguments, done.exit_code, done.stdout, done.stderr)


@pytest.fixture
def queries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write the set; without a model unless the test asks for one."""
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    base = tmp_path / "set"
    for name, text in FILES.items():
        path = base / "workspaces" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    records = [
        {
            "id": id_,
            "workspace": workspace,
            "question": question,
            "category": category,
            "evidence": [{"path": p, "start_line": s, "end_line": e} for p, s, e in evidence],
        }
        for id_, workspace, question, category, evidence in QUESTIONS
    ]
    lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in records]
    (base / "queries.jsonl").write_text("".join(lines), encoding="utf-8")
    return base / "queries.jsonl"
