"""Receipts: what was put into prompts, why, and whether the model used it; a part of the record of use.

A passage counts as used when a reply or the input of a tool that follows in its session holds some of its
words that the question did not hold. The record holds places and figures alone: words are read from the notes
when they are looked for.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from commonplace.base import tokens as estimates
from commonplace.base.errors import CommonplaceError, ConfigError
from commonplace.language import compare, lexicon, stopwords
from commonplace.render import count, screen
from commonplace.render.hits import shares
from commonplace.search import journal
from commonplace.upkeep.observations import is_own

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.types import Hit

Prefix = Literal["kept", "new", "unknown"]
How = Literal["reply", "tool"]
MOST = 500  # receipts that are listed at once
_LAST, _WITHIN_S = 3, 86_400.0  # receipts of a session that what follows is compared with
_SHORTEST, _ENOUGH = 3, 2  # characters of a word, and words of a passage that turn up
_INSERT = """
INSERT INTO receipts(at, agent, session, question, tokens, prefix, passages) VALUES(?, ?, ?, ?, ?, ?, ?)
"""
_MOST_READ = 100_000  # characters of what a model said or did at once


@dataclass(frozen=True, slots=True)
class GivenPassage:
    """A passage that a prompt was given; without factors it was not found by a question.

    `used` says where its words turned up; empty where they did not.
    """

    citation: str
    tokens: int
    score: float
    factors: tuple[Mapping[str, Any], ...] = ()
    used: str = ""


@dataclass(frozen=True, slots=True)
class Receipt:
    """A block that a prompt was given.

    `prefix` says whether the prompt before it kept its bytes: `kept` where the block stands beside the newest
    message, `new` where a conversation begins, `unknown` where the host puts it wherever it likes.
    """

    at: str
    agent: str
    session: str
    question: str
    tokens: int
    prefix: str
    passages: tuple[GivenPassage, ...] = ()

    JSON: ClassVar = "at agent session question tokens prefix passages"


def record(
    memory: Memory,
    hits: Sequence[Hit],
    *,
    agent: str,
    session: str,
    message: str,
    tokens: int,
    prefix: Prefix,
) -> None:
    """Record a block of passages that is handed out, where questions are recorded. Never raises."""
    passages = [
        {
            "citation": hit.citation,
            "path": hit.path,
            "tokens": estimates.about(hit.text),
            "score": round(hit.score, 4) if hit.factors else 0.0,
            "factors": [{"name": name, "value": value} for name, value, _ in shares(hit.score, hit.factors)]
            if hit.factors
            else [],
        }
        for hit in memory._own_hits(hits)
    ]
    if passages:
        row = (
            *(time.time(), agent or memory._journal.asker, session),
            *(journal.question(message), tokens, prefix, json.dumps(passages)),
        )
        memory._journal.write(lambda connection: connection.execute(_INSERT, row))


def mark(memory: Memory, session: str, text: str, how: How) -> None:
    """Mark the passages that a session was given and whose words turn up in a text. Never raises."""
    record = memory.workspace.usage
    if not (text.strip() and session and memory.settings.usage.record and record.exists()):
        return
    with suppress(CommonplaceError), journal.patient(record) as database:
        with database.reading() as connection:
            rows: list[Any] = connection.execute(
                "SELECT id, question, passages FROM receipts WHERE session = ? AND at > ?"
                " ORDER BY id DESC LIMIT ?",
                (session, time.time() - _WITHIN_S, _LAST),
            ).fetchall()
        said = _words(text[:_MOST_READ]) if rows else frozenset()
        for id_, question, data in rows:
            passages = json.loads(data)
            found = [one for one in passages if not one.get("used") and _is_used(memory, one, question, said)]
            for one in found:
                one["used"] = how
            if found:
                used = sum(bool(one.get("used")) for one in passages)
                with database.transaction() as connection:
                    connection.execute(
                        "UPDATE receipts SET passages = ?, used = ? WHERE id = ?",
                        (json.dumps(passages), used, id_),
                    )


def mark_tool(memory: Memory, session: str, tool: str, arguments: object) -> None:
    """Do as `mark` does with the input of a tool, unless it is one of memory's own."""
    if isinstance(arguments, Mapping) and arguments and not is_own(tool):
        mark(memory, session, json.dumps(arguments, ensure_ascii=False, default=str), "tool")


def _is_used(memory: Memory, passage: Mapping[str, Any], question: str, said: frozenset[str]) -> bool:
    try:
        text = "\n".join(memory._read(passage["citation"]).lines)
    except CommonplaceError:  # moved or gone since
        return False
    rare = _words(text) - _words(question)
    return len(rare & said) >= min(_ENOUGH, max(1, len(rare)))


def _words(text: str) -> frozenset[str]:
    """The words of a text that say what it is about, each as its stem; Chinese in pairs of characters."""
    words = compare.read(text).words - stopwords.ENGLISH
    plain = {lexicon.stem(word) for word in words if len(word) >= _SHORTEST or word.isdigit()}
    pairs = (pair for run in lexicon.cjk_runs(text) for pair in lexicon.bigrams(run))
    return frozenset(plain).union(stopwords.meaningful(pairs))


def listed(memory: Memory, which: str = "LAST") -> list[Receipt]:
    """Return receipts, newest first: LAST, so many of the last, or all of a session. Raises NoteUnreadable.

    Raises ConfigError for a number that is not from 1 to 500.
    """
    record = memory.workspace.usage
    most = 1 if which == "LAST" else int(which) if which.isdecimal() else MOST
    if not 1 <= most <= MOST:
        raise ConfigError("which", f"{which} is not allowed; ask for 1 to {MOST} receipts")
    if not record.exists():
        return []
    session = "" if which == "LAST" or which.isdecimal() else which
    with journal.patient(record) as database, database.reading() as connection:
        rows: list[Any] = connection.execute(
            "SELECT at, agent, session, question, tokens, prefix, passages FROM receipts"
            " WHERE ?1 = '' OR session = ?1 ORDER BY id DESC LIMIT ?2",
            (session, most),
        ).fetchall()
    return [
        Receipt(datetime.fromtimestamp(at).isoformat(timespec="seconds"), *rest, _passages(data))  # type: ignore[call-arg]
        for at, *rest, data in rows
    ]


def _passages(data: str) -> tuple[GivenPassage, ...]:
    return tuple(
        GivenPassage(one["citation"], one["tokens"], one["score"], tuple(one["factors"]), one.get("used", ""))
        for one in json.loads(data)
    )


def text(receipts: list[Receipt]) -> str:
    """Render receipts for a terminal: a line of what was handed out, then a line for each passage."""
    blocks = []
    for one in receipts:
        head = [
            one.at.replace("T", " "),
            one.agent,
            one.session,
            count(one.tokens, "token"),
            f"prefix {one.prefix}",
        ]
        lines = [" · ".join(screen.one_line(part) for part in head if part)]
        lines.append(
            f"asked: {screen.one_line(one.question)}" if one.question else "at the start, without a question"
        )
        for passage in one.passages:
            why = " + ".join(f"{factor['value']:.4f} {factor['name']}" for factor in passage.factors)
            found = f" · {passage.score:.4f} = {why}".replace("+ -", "- ")
            why = found if why else " · a note for every prompt"
            used = (
                f"used in a {passage.used}"
                if passage.used == "reply"
                else "used by a tool"
                if passage.used
                else "not used"
            )
            lines.append(
                f"  {screen.name(passage.citation)} · {count(passage.tokens, 'token')} · {used}{why}"
            )
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)
