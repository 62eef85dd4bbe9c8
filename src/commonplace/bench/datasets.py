"""Question sets and result files: one JSON object a line, and the folders of Markdown they refer to."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from commonplace import paths
from commonplace.base.root import Root, read_named
from commonplace.bench import qmd
from commonplace.bench.metrics import LineSizes, Span
from commonplace.errors import ConfigError, NoteNotFound, NoteUnreadable

CJK, OTHER = "cjk", "other"  # languages of questions, as far as they are told apart
SELF = "."  # the workspace of questions that are about the very folder
LARGEST = 1 << 30  # bytes of a question set
SIZES_KEPT = 4096  # files whose line sizes are remembered; the largest known workspace has fewer


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the lines that answer it; `stale` are lines that once did.

    `review` marks one that was made by a program and that nobody has looked at.
    """

    id: str
    workspace: str
    text: str
    category: str
    evidence: tuple[Span, ...]
    stale: tuple[Span, ...] = ()
    review: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What a search returned for a question, best first, and how long it took."""

    id: str
    results: tuple[Span, ...]
    latency_ms: float


def read_questions(path: Path) -> list[Question]:
    """Read a question set, or a fixture of QMD's.

    Raises NoteUnreadable for a file that cannot be read, ConfigError naming file and line for a bad line.
    """
    questions: list[Question] = []
    known: set[str] = set()
    for place, record in _question_records(path):
        try:
            question = _question(record)
            if question.id in known:
                raise ValueError(f"the id {question.id!r} occurs twice")
        except ValueError as error:
            raise ConfigError(place, str(error)) from error
        known.add(question.id)
        questions.append(question)
    if not questions:
        raise ConfigError(str(path), "holds no questions")
    return questions


def read_answers(path: Path) -> dict[str, Answer]:
    """Read a result file into answers by id; the last line for an id counts. Raises as `read_questions`."""
    answers: dict[str, Answer] = {}
    for number, record in _records(path):
        try:
            id_, latency = _string(record, "id"), record.get("latency_ms", 0.0)
            if isinstance(latency, bool) or not isinstance(latency, int | float):
                raise ValueError("'latency_ms' must be a number")
            answers[id_] = Answer(id_, _spans(record, "results"), latency)
        except ValueError as error:
            raise ConfigError(f"{path}:{number}", str(error)) from error
    return answers


def check_writable(path: Path) -> None:
    """Make sure, before an hour of work, that a result file can be written; what it holds is kept.

    Raises NoteUnreadable.
    """
    try:
        path.open("a").close()
    except OSError as error:
        raise NoteUnreadable(str(path), _reason(error)) from error


def write_answers(path: Path, answers: Iterable[Answer]) -> None:
    """Write a result file, one line a question. Raises NoteUnreadable."""
    lines = (json.dumps(_answer_record(answer), ensure_ascii=False) + "\n" for answer in answers)
    try:
        path.write_text("".join(lines), encoding="utf-8")
    except OSError as error:
        raise NoteUnreadable(str(path), _reason(error)) from error


def workspaces_beside(queries: Path) -> Path:
    """Return the folder of workspaces that belongs to a question set."""
    return queries.parent / "workspaces"


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
        lines = text.removesuffix("\n").split("\n") if text else []
        return tuple(len(line) + 1 for line in lines)

    return sizes


def by_workspace(questions: Iterable[Question]) -> dict[str, list[Question]]:
    """Group questions by workspace, both in the order of the file."""
    groups: dict[str, list[Question]] = {}
    for question in questions:
        groups.setdefault(question.workspace, []).append(question)
    return groups


def language(text: str) -> str:
    """Tell in which of two ways a text is written: `cjk` where most letters are, otherwise `other`."""
    from commonplace.index.vectors import is_foreign

    return CJK if is_foreign(text) else OTHER


def _question_records(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield questions in our form, each with the place that an error names."""
    fixture = _fixture(path)
    if fixture is None:
        yield from ((f"{path}:{number}", record) for number, record in _records(path))
        return
    collection = fixture.get("collection") or SELF
    for number, query in enumerate(fixture[qmd.QUERIES], 1):
        place = f"{path}: query {number}"
        try:
            yield place, qmd.as_record(query, collection)
        except ValueError as error:
            raise ConfigError(place, str(error)) from error


def _fixture(path: Path) -> dict[str, Any] | None:
    """A file as one object that holds queries, or None."""
    try:
        record = json.loads(read_named(path, LARGEST))
    except (OSError, ValueError, RecursionError):
        return None  # read as lines, which tells what is wrong with it
    return record if qmd.is_fixture(record) else None


def _records(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield (line number, object) of the lines that are not blank."""
    try:
        text = read_named(path, LARGEST).decode("utf-8")
    except FileNotFoundError as error:
        raise NoteNotFound(str(path), reason="no such file") from error
    except OSError as error:
        raise NoteUnreadable(str(path), _reason(error)) from error
    except UnicodeDecodeError as error:
        raise NoteUnreadable(str(path), "not UTF-8 text") from error
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            json.dumps(record, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise ConfigError(f"{path}:{number}", "holds half a surrogate pair, which is no text") from error
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{path}:{number}", f"not JSON: {error}") from error
        if not isinstance(record, dict):
            raise ConfigError(f"{path}:{number}", "not a JSON object")
        yield number, record


def _question(record: Mapping[str, Any]) -> Question:
    """Check one record; raises ValueError with what is wrong."""
    id_, workspace, text = (_string(record, key) for key in ("id", "workspace", "question"))
    category = str(record.get("category") or "-")
    if "evidence" not in record:
        raise ValueError("'evidence' is missing")
    review = record.get("review") is True
    return Question(
        id_, workspace, text, category, _spans(record, "evidence"), _spans(record, "stale"), review
    )


def _string(record: Mapping[str, Any], key: str) -> str:
    value = record.get(key)
    if isinstance(value, str) and value:
        return value
    raise ValueError(f"{key!r} is missing" if value is None else f"{key!r} must be text, not {value!r:.40}")


def _spans(record: Mapping[str, Any], key: str) -> tuple[Span, ...]:
    value = record.get(key)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise ValueError(f"{key!r} must be a list")
    return tuple(_span(item, key) for item in value)


def _span(item: object, key: str) -> Span:
    if not isinstance(item, dict):
        raise ValueError(f"{key!r} must hold objects with path, start_line and end_line")
    path = _string(item, "path")
    start, end = (item.get(name) for name in ("start_line", "end_line"))
    if type(start) is not int or type(end) is not int or not 1 <= start <= end:
        raise ValueError(f"{key!r}: no line range {start!r}-{end!r} (1-based, inclusive)")
    return Span(path, start, end)


def _answer_record(answer: Answer) -> dict[str, Any]:
    results = [span._asdict() for span in answer.results]
    return {"id": answer.id, "results": results, "latency_ms": round(answer.latency_ms, 3)}


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
