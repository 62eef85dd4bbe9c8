"""What agents and their clients send: paths, empty results, nulls, keys in the environment, odd places."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.life.conftest import Owner, until

PATHS = [
    "/etc/hosts", "/home/me/kestrel/deploy.py", "/tmp", "/usr/local/bin/kestrel:", "//server/share",
    "/kestrel.log", "/etc,", "/api/v1/deploys", "  /srv/run.sh", "/home/me\n", "/etc和/usr：", "/var/log/*.log",
    "/1.txt", "/dev/sda1",
]  # fmt: skip
ASKED = "When is Kestrel deployed by Mira from Bergen?"
FACT = "# Memory\n\n- Kestrel is deployed by Mira from Bergen on Thursdays.\n"


def test_a_prompt_that_begins_with_a_path_is_no_command(owner: Owner) -> None:
    owner.note("MEMORY.md", FACT)
    for n, path in enumerate(PATHS):
        owner.note(
            f"memory/n{n}.md", f"# Note {n}\n\n- {path.strip()} was written by Mira in Bergen on Thursdays.\n"
        )
    owner.ok("sync")
    given = {
        path: owner.hook(
            "UserPromptSubmit", session_id=f"s{n}", prompt=f"{path} was written by Mira in Bergen?"
        )
        for n, path in enumerate(PATHS)
    }
    assert [path for path, text in given.items() if "Thursdays" not in text] == []


@pytest.mark.parametrize("prompt", ["/clear", f"/compact {ASKED}", f"/mcp:kestrel:deploy {ASKED}"])
def test_a_command_of_the_client_is_no_question(owner: Owner, prompt: str) -> None:
    owner.note("MEMORY.md", FACT)
    assert owner.hook("UserPromptSubmit", prompt=prompt) == ""


SILENT: dict[str, Any] = {
    "empty streams": {"stdout": "", "stderr": "", "interrupted": False, "isImage": False},
    "output alone": {"output": ""},
    "a list of nothing": [{"type": "text", "text": ""}],
    "JSON as text": '{"output": "", "metadata": {"exit_code": 0, "duration_seconds": 0.1}}',
    "flags alone": {"interrupted": False, "success": True, "exitCode": 0},
    "nested": {"result": {"stdout": "", "stderr": ""}},
    "nothing": None,
}


def test_a_silent_command_leaves_no_json_in_the_notes(owner: Owner) -> None:
    owner.environment["COMMONPLACE_SERVER_START"] = "never"
    for number, response in enumerate(SILENT.values()):
        owner.hook(
            "PostToolUse",
            tool_name="Bash",
            tool_input={"command": f"make target{number}"},
            tool_response=response,
        )

    def noted() -> str:
        owner.hook("Stop")  # tools are noted by processes that nobody waits for
        return "".join(path.read_text() for path in (owner.folder / "memory").glob("*.md"))

    until(lambda: noted().count("make target") == len(SILENT))
    assert "{" not in noted()


@pytest.mark.parametrize(
    "method", ["tools/list", "resources/list", "prompts/list", "resources/templates/list", "ping"]
)
def test_params_of_null_are_no_params(owner: Owner, method: str) -> None:
    assert "result" in owner.mcp().request(method, None)


def test_null_as_a_text_is_no_value(owner: Owner) -> None:
    owner.note("MEMORY.md", "# Memory\n\n- Kestrel is deployed on Thursdays.\n")
    mcp = owner.mcp()
    for null in ("null", "None", "undefined", " NULL ", "", None):
        assert "Thursdays" in mcp.call(
            "memory_search", query="Kestrel", limit=null, budget=null, layer=null, collections=null
        )


def test_a_settings_file_with_a_byte_order_mark_is_used_and_keeps_it(owner: Owner, tmp_path: Path) -> None:
    owner.environment |= {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    file = tmp_path / "config" / "commonplace" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"\xef\xbb\xbf[search]\nlimit = 3\n")
    assert owner.ok("config", "get", "search.limit").strip() == "3"
    owner.ok("config", "set", "search.limit", "4")
    assert file.read_bytes() == b"\xef\xbb\xbf[search]\nlimit = 4\n"


def test_keys_of_other_programs_start_no_further_server(owner: Owner) -> None:
    owner.note("MEMORY.md", "# Memory\n\n- Kestrel is deployed on Thursdays.\n")
    with tempfile.TemporaryDirectory(prefix="run-") as folder:
        owner.environment["XDG_RUNTIME_DIR"] = folder
        pids = set()
        for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "STRIPE_API_KEY", "A_API_KEY", "ZED_API_KEY"):
            owner.environment[name] = f"value-{len(pids)}-of-a-key"
            owner.mcp().call("memory_status")
            pids |= {line for line in owner.ok("serve", "status").splitlines() if "process" in line}
        assert len(list(Path(folder).rglob("*.sock"))) == 1
        owner.ok("serve", "stop")


@pytest.mark.parametrize(
    "path", ["memory/link.md", "memory/loop.md", "memory/folder", "memory/a.md/b", "memory/" + 300 * "x"]
)
def test_an_error_names_no_path_of_this_machine(owner: Owner, path: str) -> None:
    owner.note("memory/a.md", "# a\n")
    (owner.folder / "memory" / "link.md").symlink_to("/etc/passwd")
    (owner.folder / "memory" / "loop.md").symlink_to("loop.md")
    (owner.folder / "memory" / "folder").mkdir()
    answer = owner.mcp().call("memory_get", path=path)
    assert str(owner.folder) not in answer
    assert answer.startswith("memory_get")


@pytest.mark.parametrize(
    "tool", sorted(path.name for path in (Path(__file__).parents[2] / "tools").glob("measure_*.py"))
)
def test_a_tool_says_how_it_is_used(tool: str) -> None:
    done = subprocess.run(
        [sys.executable, Path(__file__).parents[2] / "tools" / tool, "--help"],
        capture_output=True,
        timeout=120,
    )
    assert done.returncode == 0, done
    assert done.stdout.startswith(b"usage")
