"""Health: index, collections and models, use and its costs, and what an examination finds, with remedies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from functools import partial

from textual.app import ComposeResult

from commonplace.base import clock, remedies
from commonplace.base.errors import CommonplaceError
from commonplace.memory import Memory
from commonplace.panel import text
from commonplace.panel.host import Pane
from commonplace.panel.rows import NoteLines, Row, Rows
from commonplace.providers import costs
from commonplace.render import count, screen
from commonplace.types import LEVEL_NAMES, Finding, Status

_DAYS = 30  # of use that are shown
_MOST = 10  # questions, and notes
_MARKS: Mapping[str, tuple[str, str]] = {
    "wrong": ("✗", "bold $text-error"),
    "warning": ("!", "bold $text-warning"),
    "ok": ("✓", "$text-success"),
    "skipped": ("-", "dim"),
}


class HealthPane(Pane):
    """One list: the state, then the findings, the worst of each group first."""

    NAME = "health"

    def compose(self) -> ComposeResult:
        """Show the list."""
        yield Rows(id="state-of-all", classes="main")

    def renew(self) -> None:
        """Examine."""
        self.host.act(self._renew(), "health")

    review = renew  # the key `r`

    async def _renew(self) -> None:
        memory = self.host.memory
        try:
            rows = list(_status_rows(await self.host.ask(memory.status)))
        except CommonplaceError as error:
            rows = [_row("wrong", str(error))]
        settings = memory.settings
        rows.append(
            _pair("language model", " ".join(filter(None, [settings.llm.provider, settings.llm.model])))
        )
        rows.append(_pair("reranking", settings.search.rerank))
        figures, missing = await self.host.ask(partial(_use_rows, memory, self.host.now().date()))
        rows += figures
        self.main.put([*rows, Row(text.plain("")), Row(text.plain("examining …", "dim"), "examining")])
        groups = await self.host.ask(lambda: list(self.host.examine()))
        self.main.put([*rows, Row(text.plain("")), *_finding_rows(groups), Row(text.plain("")), *missing])


def _pair(name: str, value: object) -> Row:
    return Row(text.joined((name.ljust(14), "dim"), str(value) or "none"), name)


def _row(state: str, told: str) -> Row:
    mark, style = _MARKS[state]
    return Row(text.joined((mark, style), told), told)


def _status_rows(status: Status) -> Iterator[Row]:
    yield _pair("workspace", status.workspace)
    stale = f", {count(status.stale, 'file')} changed since" if status.stale else ""
    syncing = ", a sync is running" if status.syncing else ""
    yield _pair("answers by", f"{LEVEL_NAMES[status.level]}{stale}{syncing}")
    yield _pair("index", f"{count(status.notes, 'note')}, {count(status.passages, 'passage')}, "
                f"{screen.size(status.index_bytes)}")  # fmt: skip
    yield _pair("embedding", f"{status.model}: {count(status.vectors, 'vector')}, {status.pending:,} pending")
    yield _pair(
        "MEMORY.md", f"about {status.long_term:,} of {status.long_term_budget:,} tokens for a session"
    )
    for one in status.collections:
        yield _pair("collection", f"{one.name}: {count(one.notes, 'note')}, {count(one.passages, 'passage')}")
    for warning in status.warnings:
        yield _row("warning", warning)


def _use_rows(memory: Memory, today: date) -> tuple[list[Row], list[Row]]:
    """Return rows of recent use with its costs, and rows of unanswered questions and notes never found."""
    try:
        used = memory.usage(_DAYS)
        since = clock.began(today - timedelta(_DAYS - 1))
        calls = costs.Ledger(memory.workspace.ledger).costs("model", since)
    except CommonplaceError as error:
        return [_row("warning", str(error))], []
    cost, number = sum(one.cost for one in calls), sum(one.calls for one in calls)
    figures = [
        _pair("asked", f"{count(used.questions, 'question')} in {_DAYS} days, {used.answered:,} answered"),
        _pair("tokens", f"{used.tokens:,} given, of {used.all_tokens:,} with all notes each time"),
        _pair("models cost", f"${cost:.4f} in {_DAYS} days, {count(number, 'call')}"),
    ]
    missing = [
        _pair("found nothing", f"{screen.one_line(one.question)} × {one.times:,}")
        for one in used.unanswered[:_MOST]
    ]
    for note in used.never_found[:_MOST]:
        place = NoteLines(note.path, 1, 1)
        missing.append(_pair("never found", screen.name(note.path))._replace(place=place))
    if (more := len(used.never_found) - _MOST) > 0:
        missing.append(_pair("never found", f"… and {more:,} more: {remedies.say('usage.never')}"))
    return figures, missing


def _finding_rows(groups: Sequence[tuple[str, Sequence[Finding]]]) -> Iterator[Row]:
    order = list(_MARKS)
    for group, found in groups:
        worst = min((finding.state for finding in found), key=order.index, default="skipped")
        mark, style = _MARKS[worst]
        shown = [finding for finding in found if finding.state in ("wrong", "warning")]
        told = "" if shown else "fine" if worst == "ok" else "skipped"
        yield Row(text.joined((mark, style), (group.ljust(12), "bold"), (told, "dim")), group)
        for finding in sorted(shown, key=lambda one: order.index(one.state)):
            mark, style = _MARKS[finding.state]
            yield Row(text.joined(f"  {mark}", finding.told), (group, finding.told))
            if finding.remedy:
                yield Row(text.joined("    →", finding.remedy), (group, finding.told, "remedy"))
