"""A question set with the folders it is about, found beside it or in the owner's own workspace."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from commonplace.bench import bare, datasets, qmd
from commonplace.bench.datasets import SELF, Question
from commonplace.bench.metrics import LineSizes


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions, and the folder that holds their workspaces.

    `own` says that the folder is a workspace of the owner's, to be searched as its settings say, and not a
    folder of folders; `roots` are then the folders of its collections by name.
    """

    path: Path
    questions: tuple[Question, ...]
    folder: Path
    own: bool = False
    roots: Mapping[str, str] = field(default_factory=dict)

    def line_sizes(self) -> Callable[[str], LineSizes]:
        """Return a function from a workspace's name to the sizes of the lines of its files."""
        known: dict[str, LineSizes] = {}

        def sizes(name: str) -> LineSizes:
            if name not in known:
                folder = datasets.workspace_folder(self.folder, name)
                known[name] = datasets.line_sizes(folder, self.roots)
            return known[name]

        return sizes


def read(queries: Path, workspaces: Path | None = None, own: Callable[[], Path] | None = None) -> QuestionSet:
    """Read a question set, or a fixture of QMD's, and find its workspaces.

    They lie in `workspaces`, or in `workspaces/` beside the set; where there is no such folder and the
    questions name none, `own` says which workspace they are about. Raises as `datasets.read_questions` and
    `own` do.
    """
    questions = datasets.read_questions(queries)
    folder = workspaces or datasets.workspaces_beside(queries)
    if workspaces is None and own is not None and not folder.is_dir():
        if _of_files(questions):
            return _located(QuestionSet(queries, tuple(questions), own()))
        if all(question.workspace == SELF for question in questions):
            root = own()
            return QuestionSet(queries, tuple(questions), root, own=True, roots=_collections(root))
    return _located(QuestionSet(queries, tuple(questions), folder))


def _of_files(questions: Iterable[Question]) -> bool:
    """Whether questions are those of a fixture, whose evidence is whole files."""
    return any(span.end_line == qmd.LAST_LINE for one in questions for span in one.evidence)


def _collections(root: Path) -> dict[str, str]:
    from commonplace import config
    from commonplace.notes import scan

    return {source.name: source.root for source in scan.sources(os.fspath(root), config.load(root))[1:]}


def _located(found: QuestionSet) -> QuestionSet:
    """Give the questions of a fixture the folder and the files that they mean."""
    if not _of_files(found.questions):
        return found
    files: dict[str, list[str]] = {}
    questions = []
    for question in found.questions:
        name = question.workspace if (found.folder / question.workspace).is_dir() else SELF
        if name not in files and (found.folder / name).is_dir():
            root = datasets.workspace_folder(found.folder, name)
            files[name] = sorted(os.path.relpath(path, root).replace(os.sep, "/") for path in bare.walk(root))
        evidence = qmd.located(question.evidence, files.get(name, ()))
        questions.append(replace(question, workspace=name, evidence=evidence))
    return replace(found, questions=tuple(questions))
