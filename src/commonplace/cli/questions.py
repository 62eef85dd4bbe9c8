"""What the commands of `eval` share: the question set that is named, and the workspaces it is about."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from commonplace.cli import session
from commonplace.cli.options import option

if TYPE_CHECKING:
    from commonplace.bench.sets import QuestionSet

_Decorated = TypeVar("_Decorated", bound=Callable[..., Any])


def workspaces_option() -> Callable[[_Decorated], _Decorated]:
    """Declare `--workspaces DIR`."""
    return option(
        "--workspaces",
        metavar="DIR",
        type=click.Path(path_type=Path, file_okay=False),
        help="Folder of workspaces; otherwise workspaces/ beside the questions.",
    )


def mode_option() -> Callable[[_Decorated], _Decorated]:
    """Declare `--mode`."""
    return option(
        "--mode",
        type=click.Choice(["hybrid", "lexical", "semantic"]),
        default="hybrid",
        show_default=True,
        help="What answers: both lists, words alone, meaning alone.",
    )


def read(ctx: click.Context, queries: Path, workspaces: Path | None) -> QuestionSet:
    """Read a question set; one about `.` is about the workspace that the options name, or that it lies in."""
    from commonplace.bench import sets

    return sets.read(queries, workspaces, lambda: _own(ctx, queries))


def _own(ctx: click.Context, queries: Path) -> Path:
    from commonplace import paths

    if session.workspace(ctx) is None:
        around = paths.find_workspace(Path(os.path.abspath(queries)).parent)
        if around is not None:
            return around
    return Path(session.workspace_root(ctx))


def as_json(record: dict[str, Any]) -> str:
    """Write a record as JSON, indented."""
    import json

    return json.dumps(record, ensure_ascii=False, indent=1)
