"""Days of a person who works with an agent, made with a seed: what is said, decided, changed and babbled."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Literal

from commonplace import Memory
from commonplace.types import Entry, Provenance

Kind = Literal["person", "preference", "decision", "fact", "lesson", "chatter", "observation", "error"]
FIRST = date(2026, 2, 2)

_PEOPLE = ["Mira Vance", "Tomas Lindqvist", "Priya Raman", "Hugo Abara", "Elena Brandt", "Noor Haddad"]
_人 = ["林晓", "周子昂", "沈一诺", "贺兰青"]
_ROLES = [
    "the billing service",
    "the release train",
    "the search index",
    "the on-call rota",
    "the data export",
]
_职责 = ["计费服务", "发布流程", "搜索索引", "值班安排", "数据导出"]
# What changes: a thing that is preferred, and what it may be at a time; one sentence for each, in two languages.
_PREFERENCES = [
    (
        "The user prefers {} for the morning meeting.",
        ["filter coffee", "oolong tea", "sparkling water", "cocoa", "orange juice", "cold brew"],
    ),
    (
        "Weekly reports to the board are preferred in {}.",
        ["plain prose", "bullet points", "three tables", "one chart", "short letters", "annotated slides"],
    ),
    ("The user prefers code reviews before {}.", ["10:00", "11:30", "16:45", "09:15", "14:20", "17:05"]),
    ("用户出差喜欢住在{}附近。", ["火车站", "西湖", "机场", "老城区", "大学", "会展中心"]),
    ("晚饭以后用户只喜欢喝{}。", ["白茶", "热牛奶", "大麦茶", "菊花茶", "温水", "豆浆"]),
]
_DECISIONS = [
    "We decided to ship {} on the {} of the month because the auditors asked for it.",
    "We agreed that {} is frozen from the {} on until the migration is finished.",
    "我们决定{}从{}号开始只读，等迁移完成。",
]
_LESSONS = [
    "Lesson: restart {} only after the queue is drained, or {} jobs are lost.",
    "教训：重启{}之前要先清空队列，否则会丢{}个任务。",
]
CHATTER = [
    "ok, thanks!",
    "haha, see you later",
    "let me think about it",
    "好的，谢谢",
    "今天天气不错",
    "嗯嗯",
]


@dataclass(frozen=True, slots=True)
class Said:
    """One entry of a day; `topic` is the same for statements of which the later replaces the earlier."""

    text: str
    kind: Kind
    hour: time
    topic: str = ""


def day(number: int, seed: int = 5) -> list[Said]:
    """Return what is said on the day of a number, 0 for the first; the same for the same seed."""
    rng = random.Random(f"{seed}:{number}")
    told = [*_durable(number, rng), *_noise(number, rng)]
    rng.shuffle(told)
    hours = sorted(rng.sample(range(8 * 60, 22 * 60), len(told)))
    return [
        Said(text, kind, time(minute // 60, minute % 60), topic)
        for minute, (text, kind, topic) in zip(hours, told, strict=True)
    ]


def _durable(number: int, rng: random.Random) -> Iterator[tuple[str, Kind, str]]:
    if number % 2:
        yield (
            f"{rng.choice(_PEOPLE)} owns {rng.choice(_ROLES)} since day {number} of the project.",
            "person",
            "",
        )
    else:
        yield f"{rng.choice(_人)}从项目第{number}天起负责{rng.choice(_职责)}。", "person", ""
    place = number % len(_PREFERENCES)
    sentence, values = _PREFERENCES[place]
    yield (
        sentence.format(values[number // len(_PREFERENCES) % len(values)]),
        "preference",
        f"preference {place}",
    )
    sentence = _DECISIONS[number % len(_DECISIONS)]
    role = (_职责 if sentence.startswith("我们") else _ROLES)[rng.randrange(5)]
    yield sentence.format(role, rng.randint(1, 28)), "decision", ""
    sentence = _LESSONS[number % 2]
    yield sentence.format((_ROLES, _职责)[number % 2][rng.randrange(5)], 20 + number), "lesson", ""


def _noise(number: int, rng: random.Random) -> Iterator[tuple[str, Kind, str]]:
    yield from ((text, "chatter", "") for text in rng.sample(CHATTER, 3))
    yield f"Ran pytest tests/part_{number}: 3 failed, 41 passed", "observation", ""
    yield f"Error: connection refused at 10.0.0.{number + 1}:5432 after 3 retries", "error", ""


def write(memory: Memory, number: int, seed: int = 5) -> list[Said]:
    """Write a day into its note, in the ways that entries come: remembered by an agent, observed of a tool."""
    at = FIRST + timedelta(days=number)
    told = day(number, seed)
    for said in told:
        now = datetime.combine(at, said.hour)
        if said.kind in ("observation", "error"):
            memory.capture(
                [Entry(said.text, now, "Observations", Provenance("tool", "nanobot", f"s{number}"))]
            )
        else:
            by = Provenance("agent", "nanobot", f"s{number}", now.isoformat()) if number % 3 else None
            memory.remember(said.text, now=now, provenance=by)
    return told


def tree(root: Path) -> dict[str, bytes]:
    """The files of the owner in a workspace, by path."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".commonplace" not in path.parts and ".git" not in path.parts
    }
