"""Who may set what, what wins, and that every mistake is told in one line with its remedy."""

import json
from pathlib import Path

import pytest

from commonplace import config
from commonplace.base.errors import ConfigError, NoteUnreadable, UnknownCollection
from tests.places import settings_file


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    (root / "memory").mkdir(parents=True)
    return root


def user(text: str) -> Path:
    file = config.user_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def own(root: Path, text: str) -> Path:
    file = settings_file(root)
    file.write_text(text)
    return file


def problem(root: Path, environ: dict[str, str] | None = None, **overrides: object) -> str:
    with pytest.raises(ConfigError) as caught:
        config.load(root, environ, {key.replace("__", "."): value for key, value in overrides.items()})
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_defaults_are_those_of_the_table(root: Path) -> None:
    settings = config.load(root)
    for key in config.KEYS:
        group, name = key.name.split(".")
        assert getattr(getattr(settings, group), name) == key.default
    assert settings.collections == {}
    assert settings.contexts == {}


def test_no_file_costs_no_parser(root: Path) -> None:
    import subprocess
    import sys

    code = (
        "import sys; from pathlib import Path; from commonplace import config;"
        "config.load(Path(sys.argv[1]), {});"
        "names = {'tomllib', 'tomlkit', 'difflib', 'hashlib', 'tempfile', 'yaml', 'pydantic'};"
        "heavy = names & set(sys.modules);"
        "sys.exit(', '.join(heavy) or 0)"
    )
    subprocess.run([sys.executable, "-c", code, str(root)], check=True)


def test_precedence(root: Path) -> None:
    variable = {"COMMONPLACE_SEARCH_LIMIT": "4"}
    user("[search]\nlimit = 2\n[recall]\nbudget = 200\n[limits]\nwait_s = 60")
    assert config.load(root).search.limit == 2
    own(root, "[search]\nlimit = 3\n[recall]\nbudget = 300")
    assert config.load(root).search.limit == 3
    environ = {"XDG_CONFIG_HOME": str(config.user_file().parent.parent), **variable}
    assert config.load(root, environ).search.limit == 4
    settings = config.load(root, environ, {"search.limit": 5, "recall.budget": None})
    assert (settings.search.limit, settings.recall.budget, settings.limits.wait_s) == (5, 300, 60)


@pytest.mark.parametrize(
    ("variable", "text", "key", "value"),
    [
        ("COMMONPLACE_SEARCH_MIN_SCORE", "0.25", "search.min_score", 0.25),
        ("COMMONPLACE_INDEX_SYNC_ON_SEARCH", "No", "index.sync_on_search", False),
        ("COMMONPLACE_REMEMBER_REDACT", "1", "remember.redact", True),
        ("COMMONPLACE_EMBEDDING_PROVIDER", "none", "embedding.provider", "none"),
        ("COMMONPLACE_SEARCH_LIMIT", "", "search.limit", 10),
    ],
)
def test_environment(root: Path, variable: str, text: str, key: str, value: object) -> None:
    group, name = key.split(".")
    assert getattr(getattr(config.load(root, {variable: text}), group), name) == value


def test_flags_may_be_text(root: Path) -> None:
    settings = config.load(root, None, {"search.limit": "7", "usage.record": "off", "index.ignore": ["a/**"]})
    assert (settings.search.limit, settings.usage.record, settings.index.ignore) == (7, False, ("a/**",))


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
        ("[contexts]\nx = 3", 'contexts."x": 3 in {} is not allowed; it must be a text of at most 2000'),
        ("[collections.x]\nglob = ['a']", "collections.x.path: None in {} is not allowed; it must be a"),
        ("[collections.x]\npaht = 'a'", "collections.x.paht: unknown key in {}; did you mean path?"),
        ("[collections.memory]\npath = 'a'", "collection: 'memory' is the workspace itself; choose another"),
        ("a = 1\n\nb = [", "{}: not valid TOML: Invalid value (at end of document)"),
        ("a = 1\nb b", "{}: not valid TOML: Expected '=' after a key in a key/value pair (at line 2, "),
        ("a = " + "[" * 5000, "{}: not valid TOML"),
    ],
)
def test_mistakes_of_a_workspace_file(root: Path, text: str, message: str) -> None:
    file = own(root, text)
    assert problem(root).startswith(message.format(file))


def test_file_that_is_not_text(root: Path) -> None:
    file = own(root, "")
    file.write_bytes(b"a = 1\nb = '\xff'\n")
    assert problem(root) == f"{file}: not UTF-8 (at line 2)"
    file.unlink()
    file.mkdir()
    assert "a folder, not a regular file" in problem(root)


def test_mistakes_elsewhere(root: Path) -> None:
    allowed = "it must be an integer from 1 to 1000"
    assert problem(root, {"COMMONPLACE_SEARCH_LIMIT": "many"}) == (
        f"search.limit: 'many' in COMMONPLACE_SEARCH_LIMIT is not allowed; {allowed}"
    )
    assert problem(root, search__limit=5000) == f"search.limit: 5000 in overrides is not allowed; {allowed}"
    assert (
        problem(root, search__limits=5)
        == "search.limits: unknown key in overrides; did you mean search.limit?"
    )
    assert "one of auto, always, never" in problem(root, {"COMMONPLACE_OUTPUT_FRAME": "maybe"})
    user('[collections.x]\npath = "/x"')
    assert '[workspaces."/path".collections.NAME]' in problem(root)
    user('[workspaces."/x"]\ncolections = {}')
    assert "did you mean collections?" in problem(root)


def test_harmful_keys_are_refused_in_a_workspace(root: Path) -> None:
    config.user_file().parent.mkdir(parents=True)
    for key in [key for key in config.KEYS if not key.harmless]:
        group, name = key.name.split(".")
        lists = {"names": ["fake"], "command": ["/bin/cat", "-u"]}
        value = json.dumps(lists.get(key.kind, 600 if key.default is None else key.default))
        file = own(root, f"[{group}]\n{name} = {value}")
        assert problem(root) == (
            f"{key.name}: {file} comes with the folder and may not set it; set it in your own config.toml"
        )
        file.replace(config.user_file())
        config.load(root)
        config.user_file().unlink()


@pytest.mark.parametrize("path", ["../other", "/", "memory/../../other", "link"])
def test_collection_of_a_workspace_stays_inside(root: Path, path: str) -> None:
    (root.parent / "other").mkdir()
    (root / "link").symlink_to(root.parent / "other")
    own(root, f'[collections.x]\npath = "{path}"')
    assert "leaves the workspace" in problem(root)


def test_workspace_cannot_speak_for_others(root: Path) -> None:
    own(root, f'[workspaces."{root}".collections.x]\npath = "/"')
    settings = config.load(root)
    assert settings.collections == {}
    assert "set it in your own config.toml" in settings.warnings[0]


def test_collections_of_both_files(root: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(root)
    own(root, '[collections.docs]\npath = "docs"\nglob = ["*.md"]\nignore = ["draft*"]')
    user(f'[workspaces."{tmp_path}/alias".collections.vault]\npath = "{tmp_path}/vault"\n[workspaces."/x"]\n')
    found = config.load(root).collections
    assert found["docs"] == config.Collection(
        "docs", str(root / "docs"), ("*.md",), ("draft*",), weight="own"
    )
    assert found["vault"] == config.Collection("vault", str(tmp_path / "vault"), ("**/*.md",), (), True)


def test_outside_collection_must_be_absolute(root: Path) -> None:
    user(f'[workspaces."{root}".collections.x]\npath = "vault"')
    assert "must be absolute" in problem(root)


def test_contexts_apply_from_general_to_special(root: Path) -> None:
    user('[contexts]\n"" = "everything"')
    own(root, '[contexts]\n"memory/" = "daily"\n"docs" = "papers"\n"docs/api" = "reference"')
    settings = config.load(root)
    assert config.contexts_for(settings.contexts, "memory/2026-02-13.md", "memory") == ("everything", "daily")
    assert config.contexts_for(settings.contexts, "docs/api/x.md", "docs") == (
        "everything",
        "papers",
        "reference",
    )
    assert config.contexts_for(settings.contexts, "docs/apiary.md", "docs") == ("everything", "papers")
    assert config.contexts_for(settings.contexts, "other.md", "notes") == ("everything",)


def test_outside_collection_goes_to_the_user(root: Path, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    file = user("# mine\n[output]\nframe = 'never'\n")
    added = config.add_collection(root, "vault", str(vault))
    assert added == config.Collection("vault", str(vault), outside=True)
    assert file.read_text().startswith("# mine\n[output]\nframe = 'never'\n")
    assert not settings_file(root).exists()
    assert config.load(tmp_path).collections == {}
    config.add_context(root, "vault", "papers")
    assert config.load(root).contexts == {"vault": "papers"}
    assert config.remove_collection(root, "vault").path == str(vault)
    assert config.load(root).collections == {}
    assert config.load(root).contexts == {}


@pytest.mark.parametrize("outside", [False, True])
def test_rename_takes_the_contexts_along(root: Path, tmp_path: Path, outside: bool) -> None:
    folder = (tmp_path if outside else root) / "papers"
    (folder / "sub").mkdir(parents=True)
    config.add_collection(root, "a", str(folder), ignore=["x"])
    config.add_context(root, "a/", "all")
    config.add_context(root, "a/sub", "some")
    config.add_context(root, "", "everything")
    renamed = config.rename_collection(root, "a", "b")
    assert renamed == config.Collection(
        "b", str(folder), ignore=("x",), outside=outside, weight="reference" if outside else "own"
    )
    settings = config.load(root)
    assert list(settings.collections) == ["b"]
    assert settings.contexts == {"": "everything", "b": "all", "b/sub": "some"}


def test_collections_that_cannot_be_added(root: Path) -> None:
    config.add_collection(root, "a", str(root / "memory"))
    for name, path, words in (
        ("a", str(root), "already"),
        ("memory", str(root), "is the workspace itself"),
        ("A b", str(root), "no name for one"),
        ("x" * 65, str(root), "at most 64"),
        ("b", str(root / "none"), "not a folder"),
    ):
        with pytest.raises(ConfigError, match=words):
            config.add_collection(root, name, path)
    with pytest.raises(UnknownCollection, match="known: a"):
        config.remove_collection(root, "b")
    with pytest.raises(UnknownCollection):
        config.rename_collection(root, "b", "c")
    with pytest.raises(ConfigError, match="already"):
        config.rename_collection(root, "a", "a")


def test_contexts_are_added_replaced_and_removed(root: Path) -> None:
    assert config.add_context(root, "./memory/", "daily notes") == "memory"
    config.add_context(root, "memory", "daily")
    assert config.load(root).contexts == {"memory": "daily"}
    config.remove_context(root, "memory/")
    assert config.load(root).contexts == {}
    with pytest.raises(ConfigError, match="known: none"):
        config.remove_context(root, "memory")
    for prefix in ("nowhere", "../x"):
        with pytest.raises(ConfigError):
            config.add_context(root, prefix, "text")
    with pytest.raises(ConfigError):
        config.add_context(root, "", " ")


def test_file_that_cannot_be_written_is_an_error_of_ours(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    before = own(root, "# mine\n").read_text()
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(NoteUnreadable, match="no space left"):
        config.add_context(root, "", "text")
    assert settings_file(root).read_text() == before
    assert [path.name for path in settings_file(root).parent.iterdir() if path.name.endswith(".tmp")] == []
