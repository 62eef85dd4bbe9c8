"""Question sets, one JSON object a line, with the folders they are about; and result files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from commonplace.base import paths, records
from commonplace.base.errors import ConfigError, NoteNotFound, NoteUnreadable
from commonplace.base.root import Root, read_named
from commonplace.types.data import to_data
from measuring.metrics import LineSizes, Span

CJK, OTHER = "cjk", "other"  # languages of questions, as far as they are distinguished
SETS = ("queries.jsonl", "dev/queries.jsonl", "gold.jsonl")  # where a folder keeps its questions
SELF = "."  # the workspace of questions that are about the very folder
LARGEST = 1 << 30  # bytes of a question set
SIZES_KEPT = 4096  # files whose line sizes are remembered; the largest known workspace has fewer


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the lines that answer it; `stale` are lines that once did.

    `review` marks one that was made by a program and that nobody has looked at, `nothing` one that the notes
    do not answer, which has no evidence.
    """

    id: str
    workspace: str
    text: str
    category: str
    evidence: tuple[Span, ...]
    stale: tuple[Span, ...] = ()
    review: bool = False
    nothing: bool = False

    @property
    def is_asked(self) -> bool:
        """Whether it is known what should come back."""
        return self.nothing or bool(self.evidence)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a search returned for a question, best first, and how long it took."""

    id: str
    results: tuple[Span, ...]
    latency_ms: float

    JSON: ClassVar = "id results latency_ms=shown_ms"

    @property
    def shown_ms(self) -> float:
        """The milliseconds as they are written: to three places."""
        return round(self.latency_ms, 3)


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
        return cache(lambda name: line_sizes(workspace_folder(self.folder, name), self.roots))


def file_of(path: Path) -> Path:
    """Return the question set that a path names: the file itself, or the first of SETS in a folder.

    Raises NoteNotFound for a folder without one.
    """
    if not path.is_dir():
        return path
    inside = (path / name for name in SETS)
    file = next((file for file in inside if file.is_file()), None)
    if file is None:
        raise NoteNotFound(str(path), reason=f"holds no question set ({', '.join(SETS)})")
    return file


def names_of(asked_sets: Sequence[QuestionSet]) -> list[str]:
    """Name sets by what their paths do not share; one alone by its file."""
    parts = [Path(os.path.abspath(asked.path)).parts for asked in asked_sets]
    if len(set(parts)) < 2:
        return [asked.path.name for asked in asked_sets]
    while len({path[0] for path in parts}) == 1:
        parts = [path[1:] for path in parts]
    while len({path[-1] for path in parts}) == 1:
        parts = [path[:-1] for path in parts]
    return ["/".join(path) for path in parts]


def read_set(
    queries: Path, workspaces: Path | None = None, own: Callable[[], Path] | None = None
) -> QuestionSet:
    """Read a question set and find its workspaces.

    They lie in `workspaces`, or in `workspaces/` beside the set; where there is no such folder and the
    questions name none, `own` says which workspace they are about. Raises as `read_questions` and `own` do.
    """
    questions = tuple(read_questions(queries))
    folder = workspaces or queries.parent / "workspaces"
    names_none = {question.workspace for question in questions} == {SELF}
    if workspaces is None and own is not None and not folder.is_dir() and names_none:
        return _own_set(queries, questions, own())
    return QuestionSet(queries, questions, folder)


def _own_set(queries: Path, questions: tuple[Question, ...], root: Path) -> QuestionSet:
    """A set about a workspace of the owner's, with its collections."""
    from commonplace import config
    from commonplace.notes import scan

    roots = {source.name: source.root for source in scan.sources(os.fspath(root), config.load(root))[1:]}
    return QuestionSet(queries, questions, root, own=True, roots=roots)


def walk(root: Path) -> Iterator[str]:
    """Yield the Markdown files below a folder, each with one `stat`, as any check for changes must."""
    pending = [os.fspath(root)]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if not entry.name.startswith("."):
                        pending.append(entry.path)
                elif entry.name.endswith(".md") and entry.stat(follow_symlinks=False).st_size >= 0:
                    yield entry.path


def workspace_folder(workspaces: Path, name: str) -> Path:
    """Return the folder of one workspace. Raises ConfigError if it leaves `workspaces` or is missing."""
    folder = workspaces / name
    if "\0" in name or not paths.is_within(os.path.realpath(folder), os.path.realpath(workspaces)):
        raise ConfigError("workspace", f"{name!r} leaves {workspaces}")
    if not os.path.isdir(folder):
        raise ConfigError("workspace", f"no folder {name!r} in {workspaces}")
    return folder


def line_sizes(folder: Path, roots: Mapping[str, str] = MappingProxyType({})) -> LineSizes:
    """Return a function from a path to its lines' sizes in characters; files are read once.

    `roots` are the folders of collections, whose paths start with their name.
    """

    @lru_cache(maxsize=SIZES_KEPT)
    def sizes(path: str) -> Sequence[int]:
        name, _, rest = path.partition("/")
        root, inner = (roots[name], rest) if name in roots else (folder, path)
        try:
            text = Root(root).read(inner, links=True).decode("utf-8", "replace").replace("\r\n", "\n")
        except (OSError, ValueError):  # a NUL in its name
            return ()
        return tuple(len(line) + 1 for line in text.removesuffix("\n").split("\n")) if text else ()

    return sizes


def by_workspace(questions: Iterable[Question]) -> dict[str, list[Question]]:
    """Group questions by workspace, both in the order of the file."""
    groups: dict[str, list[Question]] = {}
    for question in questions:
        groups.setdefault(question.workspace, []).append(question)
    return groups


def language(text: str) -> str:
    """Tell in which of two ways a text is written: `cjk` where most letters are, otherwise `other`."""
    from commonplace.language.scripts import is_wide

    return CJK if is_wide(text) else OTHER


# --- files ----------------------------------------------------------------------------------------------


def read_questions(path: Path) -> list[Question]:
    """Read a question set.

    Raises NoteUnreadable for a file that cannot be read, ConfigError naming file and line for a bad line.
    """
    questions: dict[str, Question] = {}
    for place, record in lines(path):
        with placed(place):
            id_, workspace, text = (string(record, key) for key in ("id", "workspace", "question"))
            category, review = str(record.get("category") or "-"), record.get("review") is True
            evidence, stale = spans(record, "evidence"), spans(record, "stale")
            nothing = record.get("nothing", False)
            if not isinstance(nothing, bool):
                raise ValueError(f"'nothing' must be true or false, not {nothing!r:.40}")
            question = Question(id_, workspace, text, category, evidence, stale, review, nothing)
            if "evidence" not in record and not nothing:
                raise ValueError("'evidence' is missing")
            if evidence and nothing:
                raise ValueError("'nothing' is true, yet 'evidence' names lines")
            if question.id in questions:
                raise ValueError(f"the id {question.id!r} occurs twice")
            questions[question.id] = question
    if not questions:
        raise ConfigError(str(path), "holds no questions")
    return list(questions.values())


def write_answers(path: Path, answers: Iterable[Answer]) -> None:
    """Write a result file, one line a question. Raises NoteUnreadable."""
    lines = (json.dumps(to_data(answer), ensure_ascii=False) + "\n" for answer in answers)
    with records.translated(path):
        path.write_text("".join(lines), encoding="utf-8")


Record = Mapping[str, Any]


@contextmanager
def placed(place: str) -> Iterator[None]:
    """Name the place of a record in what is wrong with it."""
    try:
        yield
    except ValueError as error:
        raise ConfigError(place, str(error)) from error


def lines(path: Path) -> Iterator[tuple[str, Record]]:
    """Yield the objects on the lines that are not blank, each with its place."""
    if not path.exists():
        raise NoteNotFound(str(path), reason="no such file")
    with records.translated(path):
        data = read_named(path, LARGEST)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NoteUnreadable(str(path), "not UTF-8 text") from error
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        place = f"{path}:{number}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ConfigError(place, f"not JSON: {error}") from error
        with placed(place):
            _check_text(record)
        if not isinstance(record, dict):
            raise ConfigError(place, "not a JSON object")
        yield place, record


def _check_text(record: object) -> None:
    """Raise ValueError for what is no text, which can be neither looked for nor written."""
    try:
        json.dumps(record, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ValueError("holds half a surrogate pair, which is no text") from error
    except RecursionError as error:
        raise ValueError("not JSON: too deep") from error


def string(record: Record, key: str) -> str:
    """Return a text of a record that is not empty. Raises ValueError."""
    value = record.get(key)
    if isinstance(value, str) and value:
        return value
    raise ValueError(f"{key!r} is missing" if value is None else f"{key!r} must be text, not {value!r:.40}")


def spans(record: Record, key: str) -> tuple[Span, ...]:
    """The spans at a key of a record; none where there is no such key. Raises ValueError."""
    items, spans = record.get(key, ()), []
    if not isinstance(items, list | tuple | None):
        raise ValueError(f"{key!r} must be a list")
    for item in items or ():
        if not isinstance(item, dict):
            raise ValueError(f"{key!r} must hold objects with path, start_line and end_line")
        path, start, end = string(item, "path"), item.get("start_line"), item.get("end_line")
        if type(start) is not int or type(end) is not int or not 1 <= start <= end:
            raise ValueError(f"{key!r}: no line range {start!r}-{end!r} (1-based, inclusive)")
        spans.append(Span(path, start, end))
    return tuple(spans)
