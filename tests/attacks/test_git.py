"""Repositories that somebody else has made: none of the programs they name is run, and nothing outside changes."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from commonplace.base import paths
from commonplace.cli.application import cli
from commonplace.storage import git, journal
from tests.cli.conftest import command, environment

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
DAY = "# 2026-02-13\n\n- Mira called about the deploy.\n- The deploy moved to Thursday.\n"
HOOKS = (
    "applypatch-msg commit-msg fsmonitor-watchman p4-changelist post-applypatch post-checkout post-commit "
    "post-index-change post-merge post-receive post-rewrite post-update pre-applypatch pre-auto-gc pre-commit "
    "pre-merge-commit pre-push pre-rebase pre-receive prepare-commit-msg proc-receive push-to-checkout "
    "reference-transaction sendemail-validate update"
).split()
# Every setting that names a program, with what makes git ask for it where there is such a thing.
PROGRAMS = (
    "core.alternateRefsCommand", "core.askPass", "core.editor", "core.fsmonitor", "core.gitProxy", "core.pager",
    "core.sshCommand", "credential.helper", "diff.evil.command", "diff.evil.textconv", "diff.external",
    "difftool.evil.cmd", "filter.evil.clean", "filter.evil.process", "filter.evil.smudge", "gc.recentObjectsHook",
    "gpg.openpgp.program", "gpg.program", "gpg.ssh.defaultKeyCommand", "gpg.ssh.program", "gpg.x509.program",
    "gui.pager", "help.browser", "hook.evil.command", "interactive.diffFilter", "merge.evil.driver",
    "pager.cat-file", "pager.config", "pager.diff-tree", "pager.log", "pager.rev-list", "remote.origin.receivepack",
    "remote.origin.uploadpack", "sendemail.toCmd", "sequence.editor", "trailer.evil.command", "trailer.evil.cmd",
    "uploadpack.packObjectsHook", "browser.evil.cmd",
)  # fmt: skip
SWITCHES = {
    "log.showSignature": "true", "commit.gpgSign": "true", "tag.gpgSign": "true", "diff.submodule": "diff",
    "status.submoduleSummary": "true", "submodule.recurse": "true", "filter.evil.required": "true",
    "core.untrackedCache": "true", "log.diffMerges": "remerge", "push.gpgSign": "true", "hook.evil.event": "post-commit",
    "core.splitIndex": "true", "fetch.fsckObjects": "true", "gc.auto": "1", "maintenance.auto": "true",
}  # fmt: skip
COMMANDS = (
    ("status",), ("sync",), ("search", "the deploy"), ("remember", "Tea at four."),
    ("correct", "The deploy moved to Thursday.", "The deploy moved to Friday."), ("confirm", "Lin hikes"),
    ("forget", "--dry-run", "--person", "Mira"), ("consolidate", "--estimate"), ("rollup", "--dry-run"),
    ("forget", "--yes", "--person", "Mira"), ("log",), ("undo", "--yes"), ("doctor",), ("prompt", "the deploy"),
    ("usage",),
)  # fmt: skip


@pytest.fixture(autouse=True)
def owner_wants_commits(private_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The owner wants generated changes committed."""
    monkeypatch.setenv("COMMONPLACE_HISTORY_GIT", "auto")


class Trap:
    """A repository of somebody else, a program of its own for everything that could be run, and what ran."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.folder = root, folder
        self.fired_folder = folder / "fired"
        self.fired_folder.mkdir()

    def program(self, name: str) -> str:
        """A program that leaves a trace of its own."""
        path = self.folder / "programs" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\ntouch '{self.fired_folder}/{name}'\nexit 1\n")
        path.chmod(0o755)
        return str(path)

    @property
    def fired(self) -> list[str]:
        return sorted(path.name for path in self.fired_folder.iterdir())

    def git(self, *words: str, data: str | None = None) -> str:
        """Run git as the attacker did, before anything is planted."""
        who = ["-c", "user.name=m", "-c", "user.email=m@localhost", "-c", "protocol.file.allow=always"]
        done = subprocess.run(
            ["git", "-C", str(self.root), *who, *words],
            input=data,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def settings(self, names: tuple[str, ...] = PROGRAMS) -> dict[str, str]:
        return {name: self.program(name) for name in names} | SWITCHES

    def plant(self, file: Path, settings: dict[str, str]) -> None:
        """Write settings behind those of a file: of two of a name the last one counts."""
        with open(file, "a", encoding="utf-8") as config:
            for key, value in settings.items():
                section, _, rest = key.partition(".")
                within, _, name = rest.rpartition(".")
                head = f'[{section} "{within}"]' if within else f"[{section}]"
                quoted = value.replace("\\", "\\\\").replace('"', '\\"')
                config.write(f'{head}\n\t{name} = "{quoted}"\n')

    def sign(self, begin: str) -> None:
        """Put a commit on top that says it is signed."""
        text = self.git("cat-file", "commit", "HEAD").replace("\ncommitter", "\ncommitter", 1)
        head, _, message = text.partition("\n\n")
        signed = f"{head}\ngpgsig -----BEGIN {begin}-----\n \n iQ==\n -----END {begin}-----\n\n{message}\n"
        name = self.git("hash-object", "-t", "commit", "-w", "--stdin", data=signed)
        self.git("update-ref", "HEAD", name)

    def run(self, *arguments: str) -> Result:
        return CliRunner().invoke(cli, ["-w", str(self.root), *arguments])


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace in a repository with two commits, to be copied."""
    folder = tmp_path_factory.mktemp("repository")
    root = folder / "notes"
    (root / "memory").mkdir(parents=True)
    (root / "MEMORY.md").write_text("# Memory\n\n- Mira likes tea.\n- Lin hikes. <!-- tentative -->\n")
    (root / "memory" / "2026-02-13.md").write_text(DAY)
    found = Trap(root, folder)
    found.git("init", "-qb", "main")
    found.git("add", ".")
    found.git("commit", "-qm", "first")
    (root / "memory" / "2026-02-14.md").write_text("# 2026-02-14\n\n- Mira brought cake.\n")
    found.git("add", ".")
    found.git("commit", "-qm", "second")
    return root


@pytest.fixture
def trap(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trap:
    """The workspace; nothing is planted yet."""
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    shutil.copytree(repository, tmp_path / "notes", symlinks=True)
    return Trap(tmp_path / "notes", tmp_path)


def plant_programs(trap: Trap) -> None:
    trap.sign("PGP SIGNATURE")
    (trap.root / ".gitattributes").write_text("*.md filter=evil diff=evil merge=evil\n")
    trap.plant(trap.root / ".git/config", trap.settings() | {"core.hooksPath": str(trap.folder / "hooks")})


def plant_ssh_signature(trap: Trap) -> None:
    trap.sign("SSH SIGNATURE")
    trap.plant(
        trap.root / ".git/config",
        trap.settings() | {"gpg.format": "ssh", "gpg.ssh.allowedSignersFile": "/dev/null"},
    )


def plant_hooks(trap: Trap) -> None:
    for name in HOOKS:
        shutil.copy(trap.program(name), trap.root / ".git" / "hooks" / name)


def plant_hooks_path(trap: Trap) -> None:
    for name in HOOKS:
        (trap.folder / "hooks").mkdir(exist_ok=True)
        shutil.copy(trap.program(name), trap.folder / "hooks" / name)
    trap.plant(trap.root / ".git/config", {"core.hooksPath": str(trap.folder / "hooks")})


def plant_include(trap: Trap) -> None:
    trap.sign("PGP SIGNATURE")
    trap.plant(trap.root / ".git" / "more", trap.settings())
    trap.plant(trap.root / ".git/config", {"include.path": "more"})


def plant_conditional_include(trap: Trap) -> None:
    trap.sign("PGP SIGNATURE")
    trap.plant(trap.root / ".git" / "more", trap.settings())
    trap.plant(trap.root / ".git/config", {"includeIf.onbranch:main.path": "more"})


def plant_worktree_settings(trap: Trap) -> None:
    trap.sign("PGP SIGNATURE")
    trap.plant(trap.root / ".git" / "config.worktree", trap.settings())
    trap.plant(
        trap.root / ".git/config", {"core.repositoryFormatVersion": "1", "extensions.worktreeConfig": "true"}
    )


def plant_aliases(trap: Trap) -> None:
    names = ("log", "ls-files", "cat-file", "rev-list", "diff-tree", "commit-tree", "update-index", "ls-tree")
    trap.plant(trap.root / ".git/config", {f"alias.{name}": f"!{trap.program(name)}" for name in names})


def lack(trap: Trap, revision: str) -> None:
    name = trap.git("rev-parse", revision)
    (trap.root / ".git" / "objects" / name[:2] / name[2:]).unlink()


def plant_promise(trap: Trap, url: str, further: dict[str, str]) -> None:
    """A partial clone that lacks an old version of a note and a staged one."""
    (trap.root / "MEMORY.md").write_text("# Memory\n\n- Staged.\n")
    trap.git("add", "MEMORY.md")
    for revision in ("HEAD:memory/2026-02-13.md", ":MEMORY.md"):
        lack(trap, revision)
    settings = {
        "core.repositoryFormatVersion": "1", "extensions.partialClone": "origin", "remote.origin.promisor": "true",
        "remote.origin.partialCloneFilter": "blob:none", "remote.origin.url": url, "protocol.allow": "always",
        "protocol.ext.allow": "always", "protocol.file.allow": "always",
    }  # fmt: skip
    trap.plant(trap.root / ".git/config", settings | further)


def plant_upload_pack(trap: Trap) -> None:
    plant_promise(trap, str(trap.root), {"remote.origin.uploadpack": trap.program("uploadpack")})


def plant_remote_helper(trap: Trap) -> None:
    plant_promise(trap, f"ext::{trap.program('ext')} x", {})


def plant_ssh(trap: Trap) -> None:
    plant_promise(trap, "ssh://localhost/x", {"core.sshCommand": trap.program("ssh")})


def plant_proxy(trap: Trap) -> None:
    plant_promise(trap, "git://localhost/x", {"core.gitProxy": trap.program("proxy")})


def plant_helper_in_the_folder(trap: Trap) -> None:
    plant_promise(trap, "evil::x", {"remote.origin.vcs": "evil"})
    shutil.copy(trap.program("git-remote-evil"), trap.root / "git-remote-evil")


def plant_submodule(trap: Trap) -> None:
    """A repository within, at two commits of the one without, whose own settings name programs."""
    inner = Trap.__new__(Trap)
    inner.root, inner.folder, inner.fired_folder = (
        trap.root / "memory" / "sub",
        trap.folder,
        trap.fired_folder,
    )
    inner.root.mkdir()
    inner.git("init", "-qb", "main")
    for text in ("one", "two"):
        (inner.root / "a.md").write_text(f"Mira {text}\n")
        inner.git("add", ".")
        inner.git("commit", "-qm", text)
        trap.git("add", "memory/sub")
        trap.git("commit", "-qm", f"sub {text}")
    inner.plant(inner.root / ".git" / "config", inner.settings())
    trap.plant(trap.root / ".git/config", {"diff.submodule": "diff", "submodule.recurse": "true"})


PLANTS: dict[str, Callable[[Trap], None]] = {
    name.removeprefix("plant_"): value for name, value in list(globals().items())
    if name.startswith("plant_") and name != "plant_promise"
}  # fmt: skip


@pytest.mark.parametrize("plant", PLANTS)
def test_no_program_of_a_repository_is_run(trap: Trap, plant: str) -> None:
    PLANTS[plant](trap)
    for words in (COMMANDS[4], COMMANDS[9]):  # which look at its history and write to it
        result = trap.run(*words)
        assert result.exit_code in (0, 1), (words, result.output)
    assert trap.fired == []


def test_no_command_runs_any_of_them(trap: Trap) -> None:
    outside = trap.folder / "outside.md"
    outside.write_text("Mira's own.\n")
    plant_submodule(trap)
    plant_programs(trap)
    plant_hooks(trap)
    plant_aliases(trap)
    for words in COMMANDS:
        result = trap.run(*words)
        assert not isinstance(result.exception, Exception), (words, result.output)
        assert trap.fired == [], words
    assert "The deploy moved to Friday." in (trap.root / "memory" / "2026-02-13.md").read_text()
    assert outside.read_text() == "Mira's own.\n"


def test_no_program_runs_any_of_them(trap: Trap) -> None:
    plant_programs(trap)
    plant_hooks(trap)
    for words in (COMMANDS[6], COMMANDS[4]):
        done = subprocess.run(
            command("-w", trap.root, *words),
            capture_output=True,
            env=environment(),
            cwd=trap.root,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr.decode()
    assert trap.fired == []


def test_variables_of_the_caller_steer_nothing(trap: Trap, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_EDITOR", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_PROXY_COMMAND",
        "GIT_SEQUENCE_EDITOR", "PAGER", "EDITOR",
    ):  # fmt: skip
        monkeypatch.setenv(name, trap.program(name))
    for name in ("GIT_TRACE", "GIT_TRACE2", "GIT_TRACE2_EVENT", "GIT_TRACE_SETUP", "GIT_TRACE_PACK_ACCESS"):
        monkeypatch.setenv(name, str(trap.fired_folder / name))
    monkeypatch.setenv("GIT_EXEC_PATH", str(trap.folder / "programs"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", trap.program("fsmonitor"))
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", f"'core.fsmonitor={trap.program('fsmonitor')}'")
    monkeypatch.setenv("GIT_ALTERNATE_OBJECT_DIRECTORIES", str(trap.folder))
    assert trap.run(*COMMANDS[6]).exit_code == 0
    assert trap.run(*COMMANDS[4]).exit_code == 0
    assert trap.fired == []
    assert commits(trap)[0].startswith("commonplace: correct")


@pytest.mark.parametrize("place", ["", ".", "bin", "{root}", "{root}/bin"])
def test_a_git_in_the_folder_is_not_the_git(trap: Trap, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (trap.root / "bin").mkdir()
    for folder in (trap.root, trap.root / "bin"):
        shutil.copy(trap.program("git"), folder / "git")
    monkeypatch.chdir(trap.root)
    monkeypatch.setenv("PATH", os.pathsep.join([place.format(root=trap.root), os.environ["PATH"]]))
    assert trap.run(*COMMANDS[6]).exit_code == 0
    assert trap.run(*COMMANDS[4]).exit_code == 0
    assert trap.fired == []


# What git keeps elsewhere


def commits(trap: Trap) -> list[str]:
    return trap.git("log", "--format=%s", "main").splitlines()


@pytest.fixture
def private(trap: Trap) -> Iterator[Path]:
    """Another repository, the owner's own, which must stay as it is."""
    place = trap.folder / "private"
    place.mkdir()
    for words in (
        ["init", "-qb", "main"], ["-c", "user.name=o", "-c", "user.email=o@x", "commit", "-qm", "o", "--allow-empty"],
    ):  # fmt: skip
        subprocess.run(["git", "-C", str(place), *words], check=True)
    before = tree(place)
    yield place / ".git"
    assert tree(place) == before


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def correct(trap: Trap) -> str:
    """Correct a statement; return why it was not committed."""
    result = trap.run(*COMMANDS[4])
    assert result.exit_code == 0, result.output
    return journal.listed(paths.Workspace(trap.root))[0].uncommitted


@pytest.mark.parametrize("kind", ["file", "link", "common", "tree"])
def test_no_other_repository_is_written_to(trap: Trap, private: Path, kind: str) -> None:
    own = trap.root / ".git"
    if kind in ("file", "link"):
        shutil.rmtree(own)
        own.write_text(f"gitdir: {private}\n") if kind == "file" else own.symlink_to(private)
    elif kind == "common":  # a folder that says that it is a work tree of another repository
        shutil.rmtree(own)
        planted = trap.folder / "planted"
        planted.mkdir()
        own.write_text(f"gitdir: {planted}\n")
        (planted / "HEAD").write_text("ref: refs/heads/main\n")
        (planted / "commondir").write_text(f"{private}\n")
        (planted / "gitdir").write_text(f"{own}\n")
    else:
        trap.plant(own / "config", {"core.worktree": str(private.parent)})
    assert "not committed yet" in correct(trap)


@pytest.mark.parametrize(
    "part",
    [
        "logs/HEAD", "logs/refs/heads/main", "logs", "logs/refs", "refs/heads/main", "refs/heads", "refs", "index",
        "objects", "packed-refs", "HEAD", "objects/*",
    ],
)  # fmt: skip
def test_links_in_a_git_folder_lead_nowhere(trap: Trap, part: str) -> None:
    outside = trap.folder / "outside"
    outside.mkdir()
    (outside / "file").write_text("the owner's\n")
    folders = [f"objects/{number:02x}" for number in range(256)] if part == "objects/*" else [part]
    for name in folders:
        place = trap.root / ".git" / name
        is_file = place.is_file() or part == "packed-refs"
        target = outside / (name.replace("/", "-") if not is_file else "file")
        if place.is_dir():
            shutil.copytree(place, target)
            shutil.rmtree(place)
        elif not is_file:
            target.mkdir()
        elif part in ("HEAD", "index", "refs/heads/main"):
            shutil.copy(place, target)
        place.unlink(missing_ok=True)
        place.symlink_to(target)
    before = tree(outside)
    assert "not committed yet" in correct(trap)
    assert tree(outside) == before


def test_a_link_into_nothing_makes_no_file(trap: Trap) -> None:
    for part in ("logs/HEAD", "logs/refs/heads/main"):
        (trap.root / ".git" / part).unlink()
        (trap.root / ".git" / part).symlink_to(trap.folder / "new")
    assert "not committed yet" in correct(trap)
    assert not (trap.folder / "new").exists()


def test_a_bare_repository_laid_among_the_notes_is_none(trap: Trap, private: Path) -> None:
    for part in ("HEAD", "config", "objects", "refs"):
        place = trap.root / ".git" / part
        shutil.copytree(place, trap.root / part) if place.is_dir() else shutil.copy(place, trap.root / part)
    shutil.rmtree(trap.root / ".git")
    (trap.root.parent / ".git").mkdir()
    trap.plant(trap.root / "config", {"core.worktree": str(private.parent), "core.bare": "false"})
    assert "not committed yet" in correct(trap)


# What is honest stays useful


def test_a_linked_work_tree_is_left_alone(trap: Trap) -> None:
    trap.git("worktree", "add", "-qb", "side", str(trap.folder / "side"))
    side = Trap.__new__(Trap)
    side.root = trap.folder / "side"
    assert "no plain repository" in correct(side)
    assert commits(side) == ["second", "first"]


def test_a_clone_without_depth_and_one_that_borrows_objects_are_read(trap: Trap) -> None:
    for name, options in (("shallow", ["--depth=1"]), ("borrowing", ["--shared"])):
        url = f"file://{trap.root}" if name == "shallow" else str(trap.root)
        trap.git("clone", "-q", *options, url, str(trap.folder / name))
        other = Trap.__new__(Trap)
        other.root = trap.folder / name
        assert correct(other) == ""
        assert commits(other)[0].startswith("commonplace: correct")


def test_packed_refs_and_an_archive_of_commits(trap: Trap) -> None:
    trap.git("pack-refs", "--all")
    trap.git("gc", "-q")
    assert correct(trap) == ""


@pytest.mark.parametrize("part", ["info/exclude", "shallow", "HEAD", "info/attributes"])
def test_what_never_ends_is_not_waited_for(trap: Trap, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git, "TIMEOUT_S", 1.0)
    place = trap.root / ".git" / part
    place.unlink(missing_ok=True)
    os.mkfifo(place)
    assert "not committed yet" in correct(trap)


def test_settings_without_an_end_are_not_waited_for(trap: Trap, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git, "TIMEOUT_S", 2.0)
    trap.plant(trap.root / ".git/config", {"include.path": "/dev/zero"})
    assert "not committed yet" in correct(trap)


def test_nothing_is_left_of_the_view(trap: Trap, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    assert correct(trap) == ""
    assert list((tmp_path / "temporary").iterdir()) == []
    assert journal.names(paths.Workspace(trap.root))
