"""What a subagent does is noted under the session of its parent, and takes nothing from it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.life.conftest import Owner, until

TEA = "Aged white tea after lunch, decided with Lin on the terrace."
ASKED = "Which tea after lunch?"
SUBAGENT = {"agent_id": "a1f3", "agent_type": "explorer"}


@pytest.fixture
def tea(owner: Owner) -> Owner:
    owner.environment["COMMONPLACE_SERVER_START"] = "never"
    owner.note("MEMORY.md", f"# Memory\n\n- {TEA}\n")
    owner.ok("sync")
    return owner


def asks(owner: Owner, session: str = "s1", **more: Any) -> bool:
    """Tell whether a message brings the tea."""
    return TEA in owner.hook("UserPromptSubmit", session_id=session, prompt=ASKED, **more)


def ran(owner: Owner, command: str, session: str = "s1", **more: Any) -> None:
    done: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": command}}
    owner.hook("PostToolUse", session_id=session, tool_response={"stdout": "built"}, **done, **more)


def noted(owner: Owner, command: str) -> str:
    """The entry of a command: its first two lines; empty where it is not written down yet."""
    lines = "\n".join(path.read_text() for path in (owner.folder / "memory").glob("*.md")).splitlines()
    at = next((number for number, line in enumerate(lines) if f"Ran {command}" in line), -1)
    return "\n".join(lines[at : at + 2]) if at >= 0 else ""


def test_its_tools_are_noted_under_its_parents_session(tea: Owner) -> None:
    ran(tea, "make parts", **SUBAGENT)
    ran(tea, "make whole")
    ran(tea, "make other", "s2", agent_id="b2", agent_type="")
    tea.hook("SubagentStop", **SUBAGENT, last_assistant_message="Done.")
    until(lambda: tea.ok("sync") and noted(tea, "make parts") and noted(tea, "make other"))
    assert "agent: claude-code; session: s1;" in noted(tea, "make parts")
    assert "Bash, by subagent explorer" in noted(tea, "make parts")
    assert "session: s1;" in noted(tea, "make whole")
    assert "subagent" not in noted(tea, "make whole")
    assert "session: s2;" in noted(tea, "make other")
    assert "Bash, by subagent b2" in noted(tea, "make other")


def test_what_it_is_given_its_parent_is_given_too(tea: Owner) -> None:
    assert asks(tea, **SUBAGENT)
    assert asks(tea)
    assert not asks(tea)
    assert asks(tea, "s2")  # and each session by itself


def test_its_compaction_is_not_its_parents(tea: Owner) -> None:
    assert asks(tea)
    assert asks(tea, "s2")
    for session in ("s1", "s2"):
        tea.hook("PreCompact", session_id=session, trigger="auto", **SUBAGENT)
    tea.hook("PreCompact", session_id="s1", trigger="auto")
    until(lambda: asks(tea))
    assert not asks(tea, "s2")
