"""Four memories and four who ask: what each may read, and words that stand in one memory alone."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from commonplace.base.paths import Workspace
from commonplace.storage.queue import Queue
from commonplace.types import Entry
from tests.cli.conftest import called

EVERYWHERE = "harbour"  # stands in every note
DAY = "2026-02-13"


class Place(NamedTuple):
    """A workspace: its folder, the word that its names hold, and the one that its texts hold."""

    root: Path
    named: str
    told: str

    @property
    def collection(self) -> str:
        return f"{self.named}-shelf"

    @property
    def note(self) -> str:
        return f"memory/{self.named}-plan.md"


class Realm(NamedTuple):
    """Workspaces by whose they are, and the user's home."""

    home: Path
    places: Mapping[str, Place]

    def __getitem__(self, name: str) -> Place:
        return self.places[name]

    def readable(self, agent: str) -> list[Place]:
        """What an agent may read; the one that it is to be asked in first."""
        return [self.places[name] for name in READS[agent]]

    def forbidden(self, agent: str) -> list[Place]:
        return [place for name, place in self.places.items() if name not in READS[agent]]

    def leaks(self, agent: str, *outputs: bytes | str, echoed: Iterable[str] = ()) -> list[str]:
        """The words of forbidden workspaces in what an agent is answered, apart from what it said itself."""
        text = "\n".join(one if isinstance(one, str) else one.decode("utf-8", "replace") for one in outputs)
        for said in sorted(echoed, key=len, reverse=True):
            text = text.replace(said, "").replace(json.dumps(said)[1:-1], "")
        return [word for place in self.forbidden(agent) for word in place[1:] if word in text.casefold()]


WORDS = {
    "alice": ("zorvex", "marblint"),
    "bob": ("quillon", "saffrode"),
    "team": ("brinnet", "tolverine"),
    "owner": ("maplewick", "grundelow"),
}
READS = {
    "alice": ("alice", "team"),
    "bob": ("bob", "team"),
    "reader": ("team",),
    "": ("owner", "alice", "bob", "team"),  # nothing is said about whoever is none of them
}
LIMITED = ("alice", "bob", "reader")


def build(folder: Path) -> Realm:
    """Make the workspaces, each with its words wherever a workspace holds any, and the user's settings."""
    places = {}
    for name, (named, told) in WORDS.items():
        places[name] = Place(folder / f"{named}-home", named, told)
        _fill(places[name], folder)
    realm = Realm(folder, places)
    config = folder / "config" / "commonplace" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(settings(realm), "utf-8")
    return realm


def settings(realm: Realm, agents: Mapping[str, str] | None = None) -> str:
    """The user's settings: names, contexts and collections of all, and who may do what."""
    agents = AGENTS if agents is None else agents
    tables = []
    for place in realm.places.values():
        of = f'workspaces."{place.root}"'
        shelf = realm.home / f"{place.named}-shelf"
        tables += [
            f'[{of}]\nname = "{place.named}"',
            f'[{of}.contexts]\nmemory = "The {place.told} of {place.named}."',
            f'[{of}.collections.{place.collection}]\npath = "{shelf}"\nweight = "own"',
        ]
    named = {name: place.named for name, place in realm.places.items()}
    tables += [f"[agents.{name}]\n{text.format(**named)}" for name, text in agents.items()]
    return "\n\n".join([*tables, ""])


AGENTS = {
    "alice": 'reads = ["{team}"]\nwrites = "{alice}"',
    "bob": 'reads = ["{team}"]\nwrites = "{bob}"',
    "reader": 'reads = ["{team}"]\nwrites = "none"',
}


def _fill(place: Place, folder: Path) -> None:
    root, named, told = place
    (root / "memory").mkdir(parents=True)
    (root / "sessions").mkdir()
    shelf = folder / f"{named}-shelf"
    shelf.mkdir()
    (root / "MEMORY.md").write_text(
        f"# Memory of {named}\n\n## {told} people\n\n- The {EVERYWHERE} belongs to {told} folk. #{told}\n"
        f"- ~~The {EVERYWHERE} of {told} is shut.~~\n"
    )
    (root / place.note).write_text(
        f"---\ntitle: Plan {named}\ntags: [{told}]\n---\n# Plan {named}\n\n## {told} matters\n\n"
        f"- The {EVERYWHERE} plan of {told} stands.\n\nSee [[{named}-plan]].\n"
    )
    (root / "memory" / f"{DAY}.md").write_text(
        f"# {DAY}\n\n## {told} day\n\n- The {EVERYWHERE} opened for {told}.\n"
        f"- TODO: paint the {told} {EVERYWHERE}.\n"
    )
    (shelf / f"{named}-book.md").write_text(f"# Book {named}\n\nThe {EVERYWHERE} book tells of {told}.\n")
    (root / "sessions" / f"{named}-talk.jsonl").write_text(
        json.dumps({"role": "user", "content": f"Tell me of the {EVERYWHERE} of {told}."}) + "\n"
    )
    for note in [*root.rglob("*.md"), *shelf.rglob("*.md")]:
        os.utime(note, (1_770_000_000, 1_770_000_000))


def live(realm: Realm) -> None:
    """Use each memory as its own agent does: questions, corrections, what hooks observe."""
    for name, place in realm.places.items():
        agent = name if name in LIMITED else ""
        for arguments in (
            ("sync",),
            ("search", EVERYWHERE, place.told),
            ("get", place.note),
            (
                "correct",
                f"The {EVERYWHERE} plan of {place.told} stands.",
                f"The {EVERYWHERE} {place.told} goes.",
            ),
        ):
            done = called("-w", place.root, "--agent", agent, *arguments)
            assert done.returncode == 0, done.stderr
        Queue(Workspace(place.root)).append(
            Entry(f"Ran the {EVERYWHERE} tool of {place.told}.", datetime(2026, 2, 14, 10, tzinfo=UTC))
        )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Realm:
    """The realm, used by everybody once; tests of it read."""
    folder = tmp_path_factory.mktemp("realm")
    realm = build(folder)
    with pytest.MonkeyPatch.context() as patch:
        enter(realm, patch)
        live(realm)
    return realm


def enter(realm: Realm, patch: pytest.MonkeyPatch) -> None:
    """Let everything that is run be run by the user of the realm."""
    for name in [one for one in os.environ if one.startswith("COMMONPLACE_")]:
        patch.delenv(name)
    patch.setenv("HOME", str(realm.home))
    for name in ("CONFIG", "CACHE", "DATA", "STATE"):
        patch.setenv(f"XDG_{name}_HOME", str(realm.home / name.lower()))
    patch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    patch.setenv("COMMONPLACE_OUTPUT_FRAME", "never")
