"""What is set where, what wins, and that every mistake is told in one line with its remedy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from commonplace import Memory, config
from commonplace.base.errors import ConfigError
from commonplace.config import files
from commonplace.config.settings import GONE
from tests.places import settings_file

CAPS = [name for name in GONE if ".max_" in name and "_a_" in name]
IGNORED = [name for name in GONE if name not in CAPS]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "work" / "memory").mkdir(parents=True)
    config.user_file().parent.mkdir(parents=True)
    return tmp_path / "work"


def problem(root: Path, environ: dict[str, str] | None = None, **more: object) -> str:
    with pytest.raises(ConfigError) as caught:
        config.load(root, environ, {key.replace("__", "."): value for key, value in more.items()})
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_defaults_are_those_of_the_table_and_cost_no_parser(root: Path) -> None:
    settings = config.load(root)
    for key in config.KEYS:
        group, name = key.name.split(".")
        assert getattr(getattr(settings, group), name) == key.default
    assert (settings.collections, settings.contexts) == ({}, {})
    code = (
        "import sys; from pathlib import Path; from commonplace import config;"
        "config.load(Path(sys.argv[1]), {});"
        "names = {'tomllib', 'tomlkit', 'difflib', 'hashlib', 'tempfile', 'yaml'};"
        "sys.exit(', '.join(names & set(sys.modules)) or 0)"
    )
    subprocess.run([sys.executable, "-c", code, str(root)], check=True)


def test_precedence(root: Path) -> None:
    limits: list[int] = []
    environ = dict(os.environ)
    for step in (
        lambda: config.user_file().write_text(
            "[search]\nlimit = 2\n[limits]\nwait_s = 60\n[recall]\nbudget = 200\n"
        ),
        lambda: settings_file(root).write_text("[search]\nlimit = 3\n[recall]\nbudget = 300\n"),
        lambda: config.user_file().write_text(
            config.user_file().read_text() + "[agents.a.search]\nlimit = 4\n"
        ),
        lambda: environ.update(COMMONPLACE_SEARCH_LIMIT="5", COMMONPLACE_AGENT="a"),
    ):
        step()
        limits.append(config.load(root, environ, agent="a").search.limit)
    overrides = {"search.limit": "6", "recall.budget": None, "usage.record": "off", "index.ignore": ["a/**"]}
    loaded = config.trace(root, environ, overrides)
    settings = loaded.settings
    assert [*limits, settings.search.limit] == [2, 3, 4, 5, 6]
    assert (settings.recall.budget, settings.limits.wait_s) == (300, 60)
    assert (settings.usage.record, settings.index.ignore) == (False, ("a/**",))
    assert loaded.origins["search.limit"] == "flag"
    assert loaded.origins["recall.budget"] == str(settings_file(root))
    del environ["COMMONPLACE_SEARCH_LIMIT"]
    assert config.trace(root, environ).origins["search.limit"] == f"{config.user_file()} [agents.a]"
    assert config.load(root, environ, agent="").search.limit == 3
    for name in ("a b", "../x", "-x", "x" * 65, "\x1b[31m"):
        with pytest.raises(ConfigError, match="is no name for one"):
            config.load(root, agent=name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[search]\nlimit = 0", "search.limit: 0 in {} is not allowed; it must be an integer from 1 to"),
        ("[search]\nlimit = true", "search.limit: True in {} is not allowed; it must be an integer"),
        ("[search]\nmin_score = nan", "search.min_score: nan in {} is not allowed; it must be a number"),
        ("[search]\nlimt = 3", "search.limt: unknown key in {}; did you mean search.limit?"),
        ("[serach]\nlimit = 3", "serach: unknown table in {}; did you mean search?"),
        ("search = 3", "search: 3 in {} must be a table"),
        ("[index]\ninclude = 3", "index.include: 3 in {} is not allowed; it must be a list of globs"),
        ("[index]\ninclude = ['../x']", "index.include: '../x' in {} must be relative and without '..'"),
        ("a = 1\nb b", "{}: not valid TOML: Expected '=' after a key in a key/value pair (at line 2, "),
        ("a = " + "[" * 5000, "{}: not valid TOML"),
        ("agents = 3", "agents: 3 in {} must be a table"),
    ],
)
def test_mistakes_of_a_file(root: Path, text: str, message: str) -> None:
    for file in (settings_file(root), config.user_file()):
        file.write_text(text)
        assert problem(root).startswith(message.format(file))
        file.unlink()


def test_mistakes_elsewhere(root: Path) -> None:
    allowed = "it must be an integer from 1 to 1000"
    assert problem(root, {"COMMONPLACE_SEARCH_LIMIT": "many"}) == (
        f"search.limit: 'many' in COMMONPLACE_SEARCH_LIMIT is not allowed; {allowed}"
    )
    assert problem(root, search__limit=5000) == f"search.limit: 5000 in overrides is not allowed; {allowed}"
    assert "unknown key in overrides; did you mean search.limit?" in problem(root, search__limits=5)
    assert "one of auto, always, never" in problem(root, {"COMMONPLACE_OUTPUT_FRAME": "maybe"})
    file = settings_file(root)
    file.write_bytes(b"a = 1\nb = '\xff'\n")
    assert problem(root) == f"{file}: not UTF-8 (at line 2)"
    file.unlink()
    file.mkdir()
    assert "a folder, not a regular file" in problem(root)
    file.rmdir()
    file.symlink_to(root / "nowhere")
    assert "no such note" in problem(root)


def test_what_a_folder_may_not_set_is_ignored_with_one_warning(root: Path) -> None:
    for key in [key for key in config.KEYS if not key.harmless]:
        group, name = key.name.split(".")
        value = json.dumps({"names": ["fake"]}.get(key.kind, 600 if key.default is None else key.default))
        file = settings_file(root)
        file.write_text(f"[{group}]\n{name} = {value}\n[recall]\nbudget = 90\n")
        settings = config.load(root)
        assert getattr(getattr(settings, group), name) == key.default
        assert settings.recall.budget == 90
        (warning,) = settings.warnings
        assert warning.startswith(f"{key.name} in {file} left out: ")
        assert warning.endswith(f"; to allow it: set {key.name} in your own config.toml")
        file.replace(config.user_file())
        assert config.load(root).warnings == ()
    config.user_file().unlink()
    settings_file(root).write_text(
        '[index]\ninclude = ["*.md", ".x/*.md"]\n[prompt]\nfile_names = [".env"]\n'
    )
    settings = config.load(root)
    assert (settings.index.include, settings.prompt.file_names) == (("*.md",), ())
    assert settings.warnings[0].startswith(".x/*.md of index.include, .env of prompt.file_names in ")
    settings_file(root).write_text(
        '[llm]\nkey = "/x"\nmodel = 3\n[server]\nport = 1\n[contexts]\n"" = "all"\n[agents.x]\nreads = ["/"]\n'
        f'[workspaces."{root}".updates]\n"/tmp" = ["sh"]\n[collections.c]\npath = "memory"\n'
    )
    settings = config.load(root, agent="x")
    assert (settings.collections, settings.contexts, config.limited()) == ({}, {}, [])
    assert settings.warnings[0].startswith("llm.key, llm.model, server.port and 4 more in ")


def test_a_file_of_the_first_version_is_read_while_it_is_the_only_one(root: Path) -> None:
    (root / "commonplace.toml").write_text("[search]\nlimit = 9\n")
    assert config.load(root).search.limit == 9
    settings_file(root).write_text("[search]\nlimit = 3\n")
    assert config.load(root).search.limit == 3
    assert config.load(root).warnings[0].startswith(f"{root / 'commonplace.toml'} is not read")


def test_contexts_apply_from_general_to_special(root: Path) -> None:
    config.user_file().write_text(
        f'[contexts]\n"" = "everything"\n[workspaces."{root}".contexts]\n"memory/" = "daily"\n'
        '"docs" = "papers"\n"docs/api" = "reference"\n'
    )
    contexts = config.load(root).contexts
    for path, collection, more in (
        ("memory/2026-02-13.md", "memory", ["daily"]), ("docs/api/x.md", "docs", ["papers", "reference"]),
        ("docs/apiary.md", "docs", ["papers"]), ("other.md", "notes", []),
    ):  # fmt: skip
        assert config.contexts_for(contexts, path, collection) == ("everything", *more)


def test_a_file_that_is_replaced_all_the_time_is_read_whole(tmp_path: Path) -> None:
    file, enough = tmp_path / "config.toml", threading.Event()
    texts = [f"[search]\nlimit = {limit}\n".encode() + b"#" * limit for limit in (7, 70)]
    file.write_bytes(texts[0])

    def replace() -> None:
        number = 0
        while not enough.is_set():
            number += 1
            (tmp_path / "next").write_bytes(texts[number % 2])
            os.replace(tmp_path / "next", file)

    writer = threading.Thread(target=replace)
    writer.start()
    try:
        assert {files.content(file) for _ in range(2000)} <= set(texts)
    finally:
        enough.set()
        writer.join()


# --- keys of former versions ---------------------------------------------------------------------------


def test_a_former_key_is_named_once_with_its_successor(root: Path) -> None:
    config.user_file().write_text("\n".join(f"{name} = 510" for name in IGNORED) + "\nsearch.limit = 3\n")
    settings = config.load(root)
    assert settings.search.limit == 3
    assert sorted(one.split()[0] for one in settings.warnings) == sorted(IGNORED)
    with Memory.open(root, overrides={"embedding.provider": "none"}) as memory:
        assert {*settings.warnings} <= {*memory.status().warnings}
    with pytest.raises(ConfigError, match=r"it is gone: use limits\.deadline_s"):
        config.set_values({"summary.deadline_s": "9"})
    config.user_file().unlink()
    settings_file(root).write_text("\n".join(f"{name} = 1" for name in GONE))
    assert len(config.load(root).warnings) == len(GONE)


@pytest.mark.parametrize("name", CAPS)
def test_a_cap_that_nothing_would_keep_is_an_error(root: Path, name: str) -> None:
    told = f"is gone: use limits.{name.partition('.')[2].replace('run', 'day')}"
    for text in (f"{name} = 5\n", f"[agents.scout]\n{name} = 5\n"):
        config.user_file().write_text(text)
        assert told in problem(root)
    config.user_file().unlink()
    assert told in problem(root, {f"COMMONPLACE_{name.upper().replace('.', '_')}": "5"})


def test_fields_follow_the_setting(root: Path) -> None:
    values = {"limits.wait_s": 2, "limits.deadline_s": 9, "llm.input_tokens": 700}
    settings = config.load(root, overrides=values)
    assert (settings.embedding.query_deadline_s, settings.embedding.deadline_s) == (2, 9)
    assert (settings.reranking.timeout_s, settings.chat.recall_wait_s, settings.summary.max_tokens) == (
        2,
        2,
        700,
    )
