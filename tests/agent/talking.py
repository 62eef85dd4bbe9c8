"""What conversations of tests are made of: a workspace, a scripted model, a loop between them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from commonplace.agent.loop import AgentLoop
from commonplace.memory import Memory
from commonplace.providers import attempts
from commonplace.providers.opening import open_llm
from tests.agent.model_server import Asked, Model, Say, call, is_chat, last, model_serving

Begin = Callable[..., AgentLoop]
TEA = "Aged white tea after lunch."


@pytest.fixture
def model() -> Iterator[Model]:
    with model_serving() as running:
        running.aside = aside
        yield running


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    (folder / "memory").mkdir(parents=True)
    (folder / "MEMORY.md").write_text(f"# Memory\n\n## Tea\n\n- {TEA}\n", "utf-8")
    family = "# 2026-01-05\n\n## 豆豆\n\n- 豆豆九月起上青禾小学，一年级二班。\n"
    (folder / "memory" / "2026-01-05.md").write_text(family, "utf-8")
    (folder / "draft.txt").write_text("The draft of the speech.\n", "utf-8")
    return folder


@pytest.fixture
def begin(root: Path, model: Model, monkeypatch: pytest.MonkeyPatch) -> Iterator[Begin]:
    """Begin a session on the workspace; what is left open is closed at the end."""
    monkeypatch.setattr(attempts, "FIRST_PAUSE_S", 0.001)
    opened: list[AgentLoop] = []

    def start(session: str = "s", **more: Any) -> AgentLoop:
        memory = Memory.open(root, overrides={**own(model), **more.pop("settings", {})})
        llm = more.pop("llm", None) or open_llm(memory.workspace, memory.settings)
        loop = AgentLoop(memory, llm, session=session, **more)
        loop.start()
        opened.append(loop)
        return loop

    yield start
    for loop in opened:
        loop.close()
        loop.memory.close()
        if hasattr(loop.llm.model, "close"):
            loop.llm.model.close()


def own(model: Model) -> dict[str, object]:
    """The settings of a workspace without vectors and of the scripted model, for machines that are busy."""
    llm = {"llm.provider": "compatible", "llm.model": "scripted", "llm.base_url": model.url}
    return {"embedding.provider": "none", "limits.wait_s": 30, **llm}


def aside(asked: Asked) -> Say:
    """Answer a flush, a compaction or a summary out of the conversation that stands in the prompt."""
    prompt = last(asked)
    said = [line.removeprefix("[user] ") for line in prompt.splitlines() if line.startswith("[user] ")]
    english = [line for line in said if line.isascii()] or ["The user talked about the launch of Kestrel."]
    if offered(asked) == ["append_today"]:
        agreed = [line for line in english if line.startswith("We agreed")]
        return call("append_today", text="\n".join(agreed)) if agreed else Say("NO_REPLY")
    if "response_format" in asked:
        parts = {"request": english[0], "done": [], "decisions": english[-1:], "learned": [], "open": []}
        return Say(json.dumps({"worth_keeping": True, **parts}))
    return Say("\n".join(f"- {line}" for line in english[-4:]))


def offered(asked: Asked) -> list[str]:
    return [tool["function"]["name"] for tool in asked.get("tools", [])]


def kind(asked: Asked) -> str:
    if is_chat(asked):
        return "chat"
    if offered(asked) == ["append_today"]:
        return "flush"
    return "summary" if "response_format" in asked else "compaction"


def note(root: Path) -> str:
    path = root / "memory" / f"{date.today():%Y-%m-%d}.md"
    return path.read_text("utf-8") if path.exists() else ""


def wait_for(found: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not found():
        assert time.monotonic() < deadline
        time.sleep(0.02)
