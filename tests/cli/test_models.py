"""`models list|pull|use|test`, over real HTTP on loopback: what is printed, written, and with what it ends."""

from __future__ import annotations

import json
import os
import subprocess
import termios
import tomllib
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import apsw
import httpx
import pytest

from commonplace import config
from commonplace.base.paths import Workspace
from commonplace.memory import Memory
from commonplace.providers.cache import VectorCache
from commonplace.providers.catalog import EMBEDDERS, LLMS
from commonplace.providers.fake import FakeEmbedder
from commonplace.providers.http import Endpoint
from tests.cli.conftest import Program, Run, command, environment
from tests.providers.embedding.apis import KEY, compatible
from tests.providers.server import Reply, Request, Server, serving

HERE = find_spec("fastembed") is not None and find_spec("onnx") is not None
needs_fastembed = pytest.mark.skipif(not HERE, reason="fastembed is an extra")


@pytest.fixture(autouse=True)
def free(monkeypatch: pytest.MonkeyPatch, workspace: Path) -> None:
    """No variable decides, and no key lies in the environment."""
    monkeypatch.delenv("COMMONPLACE_EMBEDDING_PROVIDER")
    for row in (*EMBEDDERS.rows.values(), *LLMS.rows.values()):
        for name in row.keys:
            monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def closed_connections(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Close what the models of a test opened; they are kept for the life of a process."""
    used: list[Endpoint] = []
    opened = Endpoint._opened

    def tracked(endpoint: Endpoint) -> httpx.Client:
        used.append(endpoint)
        return opened(endpoint)

    monkeypatch.setattr(Endpoint, "_opened", tracked)
    yield
    for endpoint in used:
        endpoint.close()


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(compatible) as running:
        yield running


def written() -> dict[str, dict[str, object]]:
    """What the user's file says."""
    file = config.user_file()
    return tomllib.loads(file.read_text()) if file.exists() else {}


def write(**tables: dict[str, object]) -> None:
    file = config.user_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        f"[{t}]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in rows.items())
        for t, rows in tables.items()
    ]
    file.write_text("# mine\n" + "\n".join(lines))


def listed(run: Run, *arguments: str) -> dict[tuple[str, str], dict[str, object]]:
    found = json.loads(run("models", "list", "--format", "json", *arguments).stdout)
    return {(row["kind"], row["name"]): row for row in found}


# --- list ---------------------------------------------------------------------------------------------


def test_every_provider_is_listed_once_with_its_state(run: Run) -> None:
    found = listed(run)
    assert {name for kind, name in found if kind == "embedding"} == set(EMBEDDERS.rows) - {"fake"}
    assert {name for kind, name in found if kind == "llm"} == set(LLMS.rows) - {"fake"}
    builtin = found["embedding", "builtin"]
    assert (builtin["role"], builtin["ready"], builtin["state"]) == ("active", True, "ready")
    assert found["embedding", "openai"]["state"] == "no key"
    assert found["embedding", "openai"]["remedy"] == "set OPENAI_API_KEY"
    text = run("models", "list").stdout
    assert all(f" {name} " in text for _, name in found)


def test_a_key_is_said_to_be_there_and_never_shown(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOYAGE_API_KEY", "pa-secret-0123456789")
    monkeypatch.setenv("COMMONPLACE_LLM_KEY", "sk-secret-0123456789")
    found = listed(run)
    assert found["embedding", "voyage"]["state"] == "key in VOYAGE_API_KEY"
    assert found["llm", "anthropic"]["state"] == "key in COMMONPLACE_LLM_KEY"
    everything = run("models", "list").output + run("models", "list", "--format", "json").output
    assert "secret" not in everything


def test_what_is_active_and_what_stands_in(run: Run, server: Server, tmp_path: Path) -> None:
    (tmp_path / "key").write_text(KEY)
    write(
        embedding={
            "provider": "compatible",
            "model": "m",
            "base_url": f"{server.url}/v1",
            "key": str(tmp_path / "key"),
            "fallback": ["ollama/bge-m3", "builtin"],
        },
    )
    found = listed(run)
    assert found["embedding", "compatible"]["role"] == "active"
    assert found["embedding", "compatible"]["model"] == "m"
    assert found["embedding", "compatible"]["state"] == f"a server at {server.url[7:]}"
    assert (found["embedding", "ollama"]["role"], found["embedding", "ollama"]["model"]) == (
        "stands in",
        "bge-m3",
    )
    assert found["embedding", "builtin"]["role"] == "stands in"
    assert server.requests == [], "nobody is asked for the list of providers"


def test_a_model_is_tried_set_and_synced(run: Run, server: Server, workspace: Path) -> None:
    write(embedding={"deadline_s": 7}, search={"limit": 4})
    address = f"{server.url}/v1"
    result = run("models", "use", "compatible/m", "--base-url", address, "--dimensions", "4")
    assert result.exit_code == 0
    assert "compatible/m answers in" in result.stdout
    assert "4 dimensions" in result.stdout
    assert "4 vectors computed" in run("sync").stdout
    assert written() == {
        "embedding": {
            "deadline_s": 7, "provider": "compatible", "model": "m", "base_url": address, "dimensions": 4
        },
        "search": {"limit": 4},
    }  # fmt: skip
    assert config.user_file().read_text().startswith("# mine\n"), "comments stay"
    with Memory.open(workspace) as memory:
        assert memory.status().pending == 0


def test_without_sync_it_says_what_one_takes(run: Run, server: Server) -> None:
    run("sync")
    result = run("models", "use", "compatible/m", "--base-url", f"{server.url}/v1")
    lines = result.stdout.splitlines()
    assert lines[-1].startswith("next: `commonplace sync`: ")
    assert " to embed with m (compatible)" in lines[-1]
    assert all(request.json["input"][0][:3] in ("Whe", "The") for request in server.requests), (
        "nothing is embedded yet"
    )


def test_the_former_model_answers_until_the_switch(run: Run, server: Server, workspace: Path) -> None:
    write(embedding={"provider": "compatible", "model": "a", "base_url": f"{server.url}/v1"})
    run("sync")
    result = run("models", "use", "compatible/b")
    assert result.exit_code == 0
    assert "fallback" not in written()["embedding"]
    asked = len(server.requests)
    with Memory.open(workspace) as memory:
        assert memory.search("When is the deploy?").level == 0
    assert {request.json["model"] for request in server.requests[asked:]} == {"a"}
    run("sync")
    with Memory.open(workspace) as memory:
        memory.search("Where is the deploy?")
    assert server.requests[-1].json["model"] == "b"


def test_a_model_that_changes_its_length_behind_its_name_is_refused(
    run: Run, server: Server, workspace: Path
) -> None:
    """The remedy that is named works, whatever the cache holds, and the index never holds two lengths."""

    def answer(request: Request) -> Reply:
        rows = FakeEmbedder(length).embed(request.json["input"], "passage").tolist()
        return Reply({"data": [{"index": place, "embedding": row} for place, row in enumerate(rows)]})

    def lengths() -> list[int]:
        with closing(apsw.Connection(str(Workspace(workspace).index))) as index:
            return [row[0] for row in index.execute("SELECT DISTINCT length(vector) FROM vectors")]

    def renew() -> None:
        for file in Workspace(workspace).index.parent.glob("index.sqlite*"):
            file.unlink()
        done = run("sync")
        assert done.exit_code == 0, done.output
        assert lengths() == [length]

    server.answer, length = answer, 64
    write(embedding={"provider": "compatible", "model": "bge-m3", "base_url": f"{server.url}/v1"})
    run("sync")
    length = 32
    run("remember", "The quince ripens in October.")
    told = "its vectors have 32 dimensions, those of the index 64; give it the former model again, or delete "
    done = run("sync")
    assert (done.exit_code, told in done.stderr) == (1, True), done.output
    assert "/index.sqlite*, then `commonplace sync`" in done.stderr
    assert lengths() == [64]
    done = run("search", "When is the deploy?", "--format", "json")
    assert (done.exit_code, told in done.stderr) == (0, True), done.output
    with Memory.open(workspace) as memory:
        for _ in range(2):  # by the extension, then by the matrix
            assert any(told in warning for warning in memory.search("When is the deploy?").warnings)
    assert "several lengths" not in run("doctor").output
    renew()
    assert "cannot" not in run("search", "When is the deploy?").stderr
    length = 64
    run("search", "Whose is the walnut desk?")  # the cache learns of it by a question
    renew()
    with closing(apsw.Connection(str(VectorCache().path))) as cache:  # one that has both
        assert cache.execute("SELECT count(*) FROM entries WHERE length(value) <> 64").get == 0
        cache.execute("UPDATE entries SET value = substr(value, 33) WHERE key IN (SELECT key FROM entries"
                      " ORDER BY key LIMIT 4)")  # fmt: skip
    renew()


@pytest.mark.parametrize("status", [401, 404, 503])
def test_a_model_that_does_not_answer_changes_nothing(run: Run, server: Server, status: int) -> None:
    server.answer = lambda request: Reply({"error": {"message": f"no: {KEY}"}}, status)
    write(embedding={"provider": "builtin"})
    before = config.user_file().read_bytes()
    key = Path(os.environ["HOME"], "key")
    key.write_text(KEY)
    result = run("models", "use", "compatible/m", "--base-url", f"{server.url}/v1", "--key", str(key))
    assert (result.exit_code, result.stdout) == (1, "")
    assert "not changed, since it does not answer" in result.stderr
    assert f"HTTP {status}" in result.stderr
    assert result.stderr.count("\n") == 1
    assert KEY not in result.output
    assert config.user_file().read_bytes() == before


def test_without_a_test_nobody_is_asked(run: Run, server: Server) -> None:
    address = f"{server.url}/v1"
    result = run("models", "use", "compatible/m", "--base-url", address, "--no-test")
    assert result.exit_code == 0
    assert written()["embedding"]["model"] == "m"
    assert server.requests == []
    told = run("models", "use", "openai/never-asked", "--no-test")
    assert "it cannot be used yet: openai: no key: set OPENAI_API_KEY" in told.stderr
    assert "the text of your notes goes to api.openai.com" in told.stdout
    assert written()["embedding"] == {"provider": "openai", "model": "never-asked"}, "no other's address"


def test_back_to_nothing_and_to_the_bundled_model(run: Run, server: Server) -> None:
    write(embedding={"provider": "compatible", "model": "m", "base_url": f"{server.url}/v1"})
    result = run("models", "use", "none")
    assert "full text alone answers" in result.stdout
    assert written()["embedding"] == {"provider": "none"}
    result = run("models", "use", "builtin")
    assert result.stdout.startswith("builtin/all-MiniLM-L6-v2 answers in ")
    assert written()["embedding"] == {"provider": "builtin"}


def test_the_model_of_an_agent_is_its_own(run: Run, workspace: Path) -> None:
    general = {"provider": "compatible", "model": "m", "base_url": "http://127.0.0.1:9/v1"}
    write(embedding=general)
    result = run("--agent", "scout", "models", "use", "builtin")
    assert (result.exit_code, result.stderr) == (0, "")
    assert f"set in {config.user_file()} [agents.scout]" in result.stdout
    assert written()["embedding"] == general
    own = config.load(workspace, agent="scout").embedding
    assert (own.provider, own.model, own.base_url) == ("builtin", "", "")
    assert config.load(workspace).embedding.base_url == general["base_url"]


def test_what_is_stronger_than_the_file_is_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    result = run("models", "use", "builtin")
    assert "embedding.provider is set by COMMONPLACE_EMBEDDING_PROVIDER all the same" in result.stderr
    assert written()["embedding"] == {"provider": "builtin"}


@pytest.mark.parametrize(
    "arguments",
    [("opnai",), ("onnx",), ("compatible/m",), ("builtin/x",)],
)
def test_what_cannot_be_set_is_one_line(run: Run, arguments: tuple[str, ...]) -> None:
    result = run("models", "use", *arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.count("\n") == 1
    assert written() == {}


def test_a_language_model_is_chosen(run: Run, server: Server) -> None:
    pytest.importorskip("openai")
    from tests.providers.llm.conftest import answer

    server.answer = lambda request: Reply(answer("yes"))
    result = run("models", "use", "--llm", "compatible/test-model", "--base-url", f"{server.url}/v1")
    assert result.exit_code == 0, result.stderr
    assert "compatible/test-model answers in" in result.stdout
    assert written() == {
        "llm": {"provider": "compatible", "model": "test-model", "base_url": f"{server.url}/v1"}
    }
    server.answer = lambda request: Reply({"error": {"message": "no such model"}}, 404)
    refused = run("models", "use", "--llm", "compatible/other")
    assert refused.exit_code == 1
    assert written()["llm"]["model"] == "test-model"
    assert run("models", "use", "--llm", "none").exit_code == 0
    assert written() == {"llm": {"provider": "none"}}


def test_the_language_model_takes_no_flags_of_vectors(run: Run) -> None:
    assert run("models", "use", "--llm", "fake", "--dimensions", "3").exit_code == 2


# --- test ---------------------------------------------------------------------------------------------


def test_a_trial_is_a_table_and_as_json(run: Run, server: Server) -> None:
    write(
        embedding={
            "provider": "compatible", "model": "m", "base_url": f"{server.url}/v1",
            "fallback": ["fastembed/nobody", "builtin"],
        }
    )  # fmt: skip
    result = run("models", "test")
    assert result.exit_code == 0, "the active one answers"
    head, first, second, trouble, third = result.stdout.splitlines()
    assert head.split() == ["model", "answered", "dims", "scripts", "ms"]
    assert first.split()[:5] == ["compatible/m", "yes", "8", "latin,", "cjk"]
    assert second.split()[:2] == ["fastembed/nobody", "no"]
    assert trouble.startswith("    ")
    assert third.split()[:5] == ["builtin/all-MiniLM-L6-v2", "yes", "384", "latin,", "han"]
    data = json.loads(run("models", "test", "--format", "json").stdout)
    assert [row["answered"] for row in data["embedding"]] == [True, False, True]
    assert data["llm"] is None


def test_one_that_does_not_answer_ends_with_1(run: Run, server: Server) -> None:
    server.answer = lambda request: Reply({"error": {"message": "invalid key"}}, 401)
    result = run("models", "test", "openai/never-tried")
    assert result.exit_code == 1
    assert "no key: set OPENAI_API_KEY" in result.stdout
    write(embedding={"provider": "compatible", "model": "m", "base_url": f"{server.url}/v1"})
    result = run("models", "test")
    assert result.exit_code == 1
    assert "compatible: HTTP 401: invalid key" in result.stdout


def test_the_language_model_is_tried_with_the_others(run: Run) -> None:
    write(embedding={"provider": "none"}, llm={"provider": "fake"})
    assert run("models", "test").stdout.splitlines()[1].split()[:2] == ["fake/fake", "yes"]
    assert run("models", "test", "--llm").exit_code == 0
    write(embedding={"provider": "none"})
    assert run("models", "test").stdout == "no model is set, and nothing needs one\n"
    assert run("models", "test", "--llm").exit_code == 1


def test_trials_are_in_the_ledger(run: Run, server: Server) -> None:
    run("models", "test", "builtin")
    write(embedding={"provider": "compatible", "model": "m", "base_url": f"{server.url}/v1"})
    run("models", "test")
    (row,) = json.loads(run("costs", "--format", "json").stdout)
    assert (row["name"], row["calls"]) == ("test", 2)


# --- pull ---------------------------------------------------------------------------------------------


def test_other_providers_have_nothing_to_pull(run: Run) -> None:
    result = run("models", "pull", "openai/text-embedding-3-small")
    assert result.exit_code == 1
    assert "only models of fastembed are fetched" in result.stderr


@needs_fastembed
def test_using_a_model_that_is_not_here_fetches_it(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.providers.embedding.hub import NAME, hub

    with hub(tmp_path / "made", monkeypatch) as (server, _):
        program("sync")
        assert server.requests == [], "neither a sync nor anything else fetches"
        done = program("models", "use", f"fastembed/{NAME}")
        assert done.returncode == 0, done.stderr
        first, second, third, *rest = done.stdout.decode().splitlines()
        assert first.startswith("fetched into /")
        assert second.startswith(f"fastembed/{NAME} answers in ")
        assert "512 dimensions, cjk" in second
        assert third.startswith("set in ")
        assert "1 text to embed" in rest[0]
    assert written()["embedding"] == {"provider": "fastembed", "model": NAME}
    pulled = program("models", "pull", NAME)
    assert pulled.stdout.startswith(f"{NAME}: /".encode())


@needs_fastembed
def test_a_bar_is_drawn_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pty = pytest.importorskip("pty")
    from tests.providers.embedding.hub import NAME, hub

    with hub(tmp_path / "made", monkeypatch):
        ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (24, 100))
        with subprocess.Popen(
            command("models", "pull", NAME),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=theirs,
            env=environment(TERM="xterm-256color"),
        ) as process:
            os.close(theirs)
            drawn = b""
            try:
                while part := os.read(ours, 65536):
                    drawn += part
            except OSError:  # how Linux says that the other side was closed
                pass
            os.close(ours)
            out, _ = process.communicate(timeout=60)
    assert out.startswith(f"{NAME}: /".encode())
    assert b"100%" in drawn


# --- what is printed ----------------------------------------------------------------------------------
