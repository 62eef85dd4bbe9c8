"""Every place that `paths` knows is in the table of docs/upkeep.md: a new one must say what becomes of it."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from commonplace.base import paths

PAGE = (Path(__file__).parents[3] / "docs" / "upkeep.md").read_text("utf-8")
TABLE = PAGE.split("### Where it is removed")[1].split("\n### ")[0]
NAMED = " ".join(
    re.findall(r"`([^`]+)`", " ".join(row.split("|")[1] for row in TABLE.splitlines() if "|" in row))
)
# What functions of `paths` return, as the table names it; None for what is no place of its own.
FUNCTIONS = {
    "user_config_dir": "~/.config/commonplace/",
    "user_cache_dir": "~/.cache/commonplace/",
    "default_workspace": "~/commonplace",
    "user_state_dir": None,  # what lies there is named one by one
    "state_folder": None,
    "server_token": "~/.config/commonplace/",
    "server_note": "~/.config/commonplace/",
    "lock_file": "locks/",
    "resolve_workspace": None,
    "contain": None,
    "_user_dir": None,
    "home": None,
}  # fmt: skip


def test_places_of_a_workspace_are_in_the_table() -> None:
    workspace = paths.Workspace(Path("/w"))
    places = {**vars(workspace), "memory_file": workspace.memory_file}
    for name in ("root", "files", "derived", "reader", "state", "kept", "index"):
        del places[name]
    assert len(places) >= 6
    named = {name.rstrip("/").rpartition("/")[2] for name in NAMED.split()}
    for name, place in places.items():
        assert place.parent in (Path("/w"), workspace.state)
        assert place.name in named, f"say in docs/upkeep.md what becomes of {name}"


def test_places_of_a_user_are_in_the_table() -> None:
    returned = {
        name
        for name, value in vars(paths).items()
        if inspect.isfunction(value) and value.__module__ == paths.__name__
        and str(inspect.signature(value).return_annotation) == "Path"
    }  # fmt: skip
    assert returned == FUNCTIONS.keys(), "say in docs/upkeep.md what becomes of it"
    for name, place in FUNCTIONS.items():
        assert place is None or place in NAMED, name


def test_what_lies_in_the_folder_of_ours_is_in_the_table(tmp_path: Path) -> None:
    source = Path(paths.__file__).parent
    texts = "\n".join(path.read_text("utf-8") for path in source.rglob("*.py") if path.parent.name != "bench")
    for name in sorted(
        {
            *re.findall(r'"([a-z]+\.sqlite)"', texts),
            *re.findall(r'"(server\.log|batches\.json|providers\.json)"', texts),
        }
    ):
        shown = "indexes/" if name == "index.sqlite" else name
        assert any(place.endswith(shown) for place in NAMED.split()), name
