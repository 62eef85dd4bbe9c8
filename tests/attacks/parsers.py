"""Everything that parses what somebody else wrote, by name: one function of a text each."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from datetime import date, datetime
from functools import partial
from pathlib import Path

from commonplace import language
from commonplace.agent import answers as agent_answers
from commonplace.agent import chunks, loop, pieces, seen
from commonplace.base import tokens
from commonplace.base.errors import CommonplaceError
from commonplace.chunking import breakpoints, code, passages
from commonplace.chunking.settings import ChunkSettings
from commonplace.config import collections as config_collections
from commonplace.config import loading
from commonplace.edit import resolve
from commonplace.edit.forget import targets as cutting
from commonplace.edit.forget.targets import Block, CutNote, Targets
from commonplace.edit.forget.words import Words
from commonplace.language import (
    compare,
    dates,
    identifiers,
    letters,
    lexicon,
    scripts,
    sentences,
    similarity,
    stopwords,
    values,
)
from commonplace.markdown import (
    comments,
    encoded,
    fences,
    metadata,
    references,
    statements,
    struck,
    structure,
    turns,
    visible,
)
from commonplace.markdown.document import Document, Strike, decode, parse
from commonplace.notes import appends, layout
from commonplace.providers import attempts
from commonplace.providers.llm import schemas
from commonplace.providers.llm.base import Completion
from commonplace.redaction import masks, personal, phrases, recalled, redact
from commonplace.render import hits, screen
from commonplace.render import reports as render_revisions
from commonplace.search import (
    candidates,
    dedupe,
    expansion,
    filters,
    pack,
    query,
    ranking,
)
from commonplace.servers import protocol
from commonplace.storage import diffs, queue
from commonplace.transcripts import content, formats, ours, rendering, session
from commonplace.transcripts.injected import without_injected
from commonplace.transcripts.rendering import cleaned
from commonplace.types import Hit, Note, SearchResult
from commonplace.types.changes import Change, Entry, Provenance
from commonplace.types.events import Call, ToolExecution, Turn
from commonplace.upkeep import (
    compaction,
    dialogue,
    excerpts,
    flush,
    observations,
    prose,
    rollup,
    summaries,
)
from commonplace.upkeep.consolidation import (
    checks,
    evidence,
    plan,
    sources,
)
from commonplace.upkeep.consolidation import (
    page as pages,
)

Parser = Callable[[str], object]

TODAY = date(2026, 2, 13)
NOW = datetime(2026, 2, 13, 14, 5)
PATH = "memory/2026-02-12.md"
NEEDLE = "Mira Koch"
_FORGET = Targets(
    people=("Mira",), texts=("green tea", "绿茶"), sentences=("Ann prefers tea.",), sessions=("s1",)
)
_SCHEMA = {
    "type": "object", "additionalProperties": True, "required": ["a"],
    "properties": {"a": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}},
}  # fmt: skip


def _note(text: str, path: str = PATH) -> Note:
    return parse(_decoded(text), path, redacted=False)


def _decoded(text: str) -> str:
    return decode(_bytes(text))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _surroundings(text: str) -> list[str]:
    return _decoded(text).split("\n")


def _each(parser: Callable[[str], object]) -> Parser:
    """Apply what reads one line to each of a text."""
    return lambda text: [parser(line) for line in text.split("\n")]


def _hit(text: str, number: int = 1) -> Hit:
    last = number + text.count("\n")
    return Hit(PATH, number, last, text, 1.0, "Title", ("Heading",), "2026-02-12", "workspace", "abcdef")


def _hits(text: str) -> list[Hit]:
    parts = [text[at : at + 2000] for at in range(0, len(text), 2000)]
    return [_hit(part, number * 100 + 1) for number, part in enumerate(parts[:60])]


def _transcript(text: str, name: str, path: str = "sessions/a.jsonl") -> Note:
    return formats.note(io.BytesIO(_bytes(text)), path, name)


def _said(text: str, name: str) -> object:
    """A transcript of a few messages, each of which says the text."""
    made = {
        "ours": {"role": "user", "text": text, "at": "2026-02-13T10:00:00"},
        "openai": {"role": "user", "content": [{"type": "text", "text": text}]},
        "claude-code": {
            "type": "user",
            "message": {"role": "user", "content": text},
            "timestamp": "2026-02-13",
        },
        "codex": {
            "type": "response_item",
            "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]},
        },
        "openclaw": {
            "type": "message",
            "message": {"role": "user", "content": [{"type": "text", "text": text}]},
        },
        "nanobot": {"role": "user", "content": text, "timestamp": "2026-02-13"},
    }[name]
    return _transcript(json.dumps(made), name if name in formats.readers() else "auto")


def _passages(settings: ChunkSettings) -> Parser:
    return lambda text: passages.split(_note(text), settings)


def _insert(text: str) -> object:
    return Document.of(_decoded(text)).insert("- a new entry", heading="Notes")


def _insert_many(text: str) -> object:
    entries = [(line, None) for line in text.split("\n")[:2000]]
    return appends.insert_all(Document.of(_decoded(text)), [*entries, ("- a new entry", "Notes")], "# Title")


def _document(text: str) -> object:
    """Read every unit of a document, and take some lines out."""
    document = Document.read(_bytes(text), PATH)
    numbers = range(1, len(document.lines) + 1)
    units = [document.unit(number) for number in (*numbers[:500], *numbers[-500:])]
    return units, document.delete(document.whole(set(numbers[::3]))).document.data


def _strike(text: str) -> object:
    """Strike the statements of a note, as `correct` does with those that say one thing."""
    end, strikes = 0, []
    for statement in statements.read(_note(text)):
        if statement.first > end:
            strikes.append(Strike(statement, "2026-02-13"))
            end = statement.end
    return Document.of(_decoded(text), PATH).strike_all(strikes).document.data


def _beside(text: str) -> object:
    stated = statements.read(_note(text))
    return statements.entry_like(stated[0], text[:20_000], since="2026-02-13") if stated else None


def _matched(text: str) -> object:
    """Look for a statement that is not there in each statement of a note, as `correct` does."""
    words = resolve.Words.of("Ann prefers green tea to black tea in the morning")
    return [resolve.matched(statement, words) for statement in statements.read(_note(text))]


def _shares(text: str) -> object:
    stated = statements.read(_note(text))
    return [similarity.share("Ann prefers green tea to black tea", one.text) for one in stated]


def _page(text: str) -> object:
    page = CutNote.read(_bytes(text), PATH)
    return [
        (page.unit(number), page.owners.get(number)) for number in range(1, min(len(page.lines), 50_000) + 1)
    ]


def _cut(text: str) -> object:
    return cutting.cut(CutNote.read(_bytes(text), PATH), _FORGET)


def _cut_first_word(text: str) -> object:
    """Take a word that the text holds everywhere out of it."""
    word = next((one for one in text[:4000].split() if 1 < len(one) < 40 and one.isalpha()), "")
    return cutting.cut(CutNote.read(_bytes(text), PATH), Targets(texts=(word,))) if word else None


def _cut_people(text: str) -> object:
    """Take whatever mentions a word that the text holds everywhere out of it."""
    word = next((one for one in text[:4000].split() if 1 < len(one) < 40 and one.isalpha()), "")
    return cutting.cut(CutNote.read(_bytes(text), PATH), Targets(people=(word,))) if word else None


def _cut_line(text: str) -> object:
    rows = tuple(CutNote.read(_bytes(text), PATH).bare[0].split("\n")) if text else ("a",)
    return cutting.cut(CutNote.read(_bytes(text), PATH), Targets(blocks=(Block(PATH, 1, rows, 1),)))


def _moved(text: str) -> object:
    block = Block(PATH, 1, tuple(_surroundings(text)[:1]), 1)
    found = cutting.cut(CutNote.read(_bytes(text), PATH), Targets(blocks=(block,)))
    return [found.edit.moved(line) for line in range(1, text.count("\n") + 2)] if found else None


def _of_month(text: str) -> object:
    daily = rollup.Daily(PATH, "2026-02-12", _decoded(text))
    month, _ = rollup.compose(_decoded(text), [daily])
    return rollup.trouble([daily], month)


def _observed(text: str) -> object:
    execution = ToolExecution(
        "s", "bash", {"command": text[:100_000], "new_string": text}, text, "Error: " + text
    )
    return observations.Observer(loading.load(Path("/nowhere"), {})).observe(execution)


def _operation(text: str) -> dict[str, object]:
    return {
        "op": "add",
        "targets": text.split(),
        "sources": [],
        "section": text,
        "text": text,
        "reason": text,
    }


def _turn(text: str) -> Turn:
    return Turn("user", text, "2026-02-13T10:00:00")


def _turns(text: str) -> list[Turn]:
    return [_turn(part) for part in (text[at : at + 3000] for at in range(0, len(text), 3000))]


def _diff(text: str) -> object:
    before = _bytes(text)
    rows = before.split(b"\n")
    after = b"\n".join([*rows[1 : len(rows) // 2], b"- something new", *rows[len(rows) // 2 : -1]])
    return diffs.counted(before, after)


def _shown_diff(text: str) -> object:
    before = _bytes(text)
    rows = before.split(b"\n")
    after = b"\n".join([*rows[1 : len(rows) // 2], b"- something new", *rows[len(rows) // 2 : -1]])
    return diffs.of_changes([Change(PATH, before, after)])


def _undone(text: str) -> object:
    before = _bytes(text)
    rows = before.split(b"\n")
    after = b"\n".join([*rows[: len(rows) // 2], b"- something new", *rows[len(rows) // 2 :]])
    try:
        return diffs.revert(before, after, after + b"\n- more\n")
    except diffs.Overlap:
        return None


def _json(text: str) -> object:
    return schemas.parse(Completion(text, "model"), _SCHEMA)


def _problem(text: str) -> object:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = {"a": text.split()}
    return schemas.problem(value, _SCHEMA)


def _elements(text: str) -> object:
    return sum(1 for _ in content.elements(io.BytesIO(_bytes(text))))


def _decode_json(text: str) -> object:
    try:
        return protocol.decode(_bytes(text))
    except protocol.Refusal:
        return None


def _rows(text: str) -> object:
    return [list(screen.rows(line, 80, screen.hang(line))) for line in screen.clean(text).split("\n")]


def _passage(text: str) -> object:
    pattern = screen.matcher(["tea", "a", "字", "get*"])
    return hits.passage(text, screen.Look(color=True, width=80), pattern, None)


def _hits_text(text: str) -> object:
    result = SearchResult("tea", tuple(_hits(text)), "hybrid")
    return [hits.in_form(result.hits, form) for form in ("json", "md", "files")]


def _labels(text: str) -> object:
    said = comments.Annotations(_note(text))
    count = min(text.count("\n"), 50_000)
    return [said.of(number, number, standing=True) for number in range(1, count)], [
        said.differ(n, n + 1) for n in range(1, count)
    ]


def _factors(text: str) -> object:
    return [ranking.labels(own, lambda: TODAY) for own in _note(text).annotations.values()]


def _told(text: str) -> object:
    told = dedupe.Repeats()
    for hit in _hits(text):
        told.rest(hit)
        told.add(hit)
    return told


def _of_pieces(text: str) -> object:
    note = _note(text)
    return pieces.joined(
        [*chunks.of_facts(note, TODAY, tentative=True), *chunks.of_entries(note, TODAY, tentative=True)]
    )


def _supported(text: str) -> object:
    said = [evidence.Said(text, TODAY)]
    found = [evidence.missing(one, said) for one in ("Ann prefers green tea.", text[:300])]
    return found, evidence.opens(text[:300], said[0])


def _living(text: str) -> object:
    page = pages.read(_decoded(text), "MEMORY.md")
    return sources.check(page.entries, lambda path: _bytes(text))


def _statement_pairs(text: str) -> object:
    half = len(text) // 2
    return evidence.says(text[:half], text[half:]), evidence.whole_sentences(text)


def _wordings(text: str) -> object:
    half = len(text) // 2
    one, other = compare.read(text[:half]), compare.read(text[half:])
    return compare.same(one, other), compare.shingles(one.tokens)


def _outline(text: str) -> Iterator[bool]:
    return iter([code.closes(line) for line in text.split("\n")])


def _find_name(text: str) -> object:
    return Words([NEEDLE, "王伟", "green tea"]).spans(text), Words([NEEDLE], names=True).spans(text)


def _settings(text: str) -> object:
    return loading.parse(_bytes(text), Path("commonplace.toml"))


def _spooled(text: str) -> object:
    return queue.decode(queue.encode(queue.clean(Entry(text, NOW, provenance=Provenance("tool")))))


def _refused(text: str) -> object:
    return attempts.translate("openai", 429, {}, _bytes(text)), attempts.wait_s({}, text)


PARSERS: dict[str, Parser] = {
    # Notes.
    "markdown.document.decode": lambda text: decode(_bytes(text)),
    "markdown.document.parse": _note,
    "markdown.structure.read": lambda text: structure.read(_surroundings(text)),
    "markdown.structure.atx": _each(structure.atx),
    "markdown.structure.unclosed": structure.unclosed,
    "markdown.structure.plain": structure.plain,
    "markdown.comments.take": lambda text: comments.take(text.split("\n")),
    "markdown.comments.guessed": lambda text: comments.guessed(text, text.split("\n")),
    "markdown.comments.disarmed": lambda text: (comments.disarmed(text, entirely=False), comments.disarmed(text, entirely=True)),
    "markdown.comments.of_front_matter": lambda text: comments.of_front_matter({"trigger": text, "by": text, text: "pinned"}),
    "markdown.comments.sources": lambda text: comments.sources({"from": text}),
    "markdown.comments.of_sources": lambda text: comments.of_sources(text.split()),
    "markdown.references.parse_reference": references.parse_reference,
    "notes.recalled.strip_recalled": recalled.strip_recalled,
    "notes.recalled.strip_blocks": recalled.strip_blocks,
    "markdown.document.Document": _document,
    "markdown.document.insert": _insert,
    "notes.appends.insert_all": _insert_many,
    "markdown.metadata.date_of": metadata.date_of,
    "markdown.statements.bullet": statements.bullet,
    "notes.layout.own_words": lambda text: layout.own_words(text, Provenance("owner"), False),
    # Cutting.
    "markdown.structure.sections": lambda text: structure.sections(_note(text)),
    "chunking.passages.split": _passages(ChunkSettings()),
    "markdown.comments.Annotations": _labels,
    "markdown.statements.read": lambda text: statements.read(_note(text)),
    "markdown.fences.find": lambda text: (fences.find(_surroundings(text)), fences.closed(text)),
    "markdown.visible.text": lambda text: (visible.text(text), visible.of_lines(text, 1, [(2, 4), (9, 9)])),
    "markdown.encoded.left_out": lambda text: (encoded.left_out(text), encoded.left_out(f"base64 data:image/png;base64,{text}")),
    "language.letters.fold": lambda text: (letters.fold(text), lexicon.figures(text), lexicon.runs(text)),
    "markdown.struck.of_note": lambda text: struck.of_note(_note(text)),
    "markdown.struck.plain": lambda text: (struck.plain(text), _each(struck.plain)(text)),
    "markdown.struck.rest": lambda text: struck.rest(_note(text), struck.of_note(_note(text))),
    "markdown.struck.says_something": _each(struck.says_something),
    "markdown.struck.read": lambda text: (struck.read(text.split("\n")), struck.read([text])),
    "markdown.struck.lead": lambda text: (struck.lead(text, turn=True), _each(lambda line: struck.lead(line, turn=True))(text)),
    "markdown.struck.escaped": struck.escaped,
    "markdown.turns.speaker": lambda text: (turns.speaker(text), turns.read(text.split("\n"))),
    "chunking.breakpoints.pieces": lambda text: breakpoints.pieces(text, 1200),
    "chunking.code.closes": _outline,
    # Searching.
    "search.wording.read": compare.read,
    "search.wording.same": _wordings,
    "search.query.parse": lambda text: query.parse(text, lambda: frozenset({"topic"})),
    "search.query.terms": query.terms,
    "search.filters.split": lambda text: filters.split(text, lambda: frozenset({"topic"})),
    "search.dates.spans": lambda text: dates.spans(text, TODAY),
    "search.dates.read": lambda text: dates.read(text, TODAY),
    "search.expansion.read": expansion.read,
    "language.identifiers.spellings": identifiers.spellings,
    "language.identifiers.wholes": lambda text: list(identifiers.wholes(text)),
    "search.candidates.phrases": lambda text: list(candidates.phrases(json.dumps({"trigger": text}))),
    "search.stopwords.without": stopwords.without,
    "search.dedupe.Repeats": _told,
    "search.pack.compose": lambda text: pack.compose(_hits(text), 1500),
    "search.pack.compose, one": lambda text: pack.compose([_hit(text)], 1500),
    "search.pack.framed": lambda text: pack.framed([_hit(text)], text),
    "render.hits.passage": lambda text: hits.passage(text, screen.PLAIN, screen.matcher(["tea", "a"]), 4),
    "search.ranking.labels": _factors,
    "index.lexicon.index_text": lexicon.index_text,
    "index.lexicon.expression": lambda text: (lexicon.expression(text), lexicon.any_of(text.split())),
    "index.lexicon.cjk_share": lexicon.cjk_share,
    "language.scripts.script_of": scripts.script_of,
    "characters.fold": lambda text: (language.fold(text), language.compose(text), language.fold_width(text)),
    "estimates.about": lambda text: (tokens.about(text), tokens.quarters(text)),
    # Correcting.
    "revision.finding.matched": _matched,
    "revision.finding.Words": resolve.Words.of,
    "revision.sentences.spans": sentences.spans,
    "revision.likeness.share": _shares,
    "revision.likeness.stems": lambda text: similarity.stems.__wrapped__(text),
    "revision.values.read": values.read,
    "revision.striking.struck": _strike,
    "revision.striking.beside": _beside,
    "revision.references.shifted": lambda text: references.shifted(text, {"MEMORY.md": lambda line: f"MEMORY.md#L{line + 1}"}),
    "revision.references.reference": lambda text: references.reference(text, {"MEMORY.md": lambda line: f"MEMORY.md#L{line + 1}"}),
    # Forgetting.
    "erasure.words.spans": _find_name,
    "erasure.pages.unit": _page,
    "erasure.cutting.cut": _cut,
    "erasure.cutting.cut, a word": _cut_first_word,
    "erasure.cutting.cut, a person": _cut_people,
    "erasure.cutting.cut, a line": _cut_line,
    "erasure.cutting.moved": _moved,
    "erasure.messages.message": lambda text: session.without(_bytes(json.dumps({"text": text + " Mira"})), _FORGET),
    # Refining.
    "lifecycle.prose.sentences": prose.sentences,
    "lifecycle.prose.within": lambda text: prose.within(text, 50),
    "lifecycle.prose.plain": prose.plain,
    "lifecycle.prose.terms": prose.terms,
    "lifecycle.prose.words": lambda text: (prose.words(text), prose.language([text]), prose.is_in(text, "zh")),
    "upkeep.summaries.extract": lambda text: summaries.extract([_turn(text), Turn("assistant", text)], "en"),
    "lifecycle.dialogue.clean": lambda text: dialogue.clean([_turn(text)]),
    "lifecycle.dialogue.written": lambda text: dialogue.written(_turns(text), 2000, results=400),
    "lifecycle.dialogue.unframed": dialogue.unframed,
    "lifecycle.dialogue.subject": lambda text: dialogue.subject(Call("1", "bash", text)),
    "lifecycle.excerpts.public": excerpts.public,
    "lifecycle.excerpts.lines_of": lambda text: excerpts.lines_of(text, 2000),
    "lifecycle.failures.teaches": lambda text: (observations.teaches(text), observations.failure_kind(text), observations.failure("", text)),
    "lifecycle.flush.wanted": lambda text: flush.wanted(Completion(text, "model")),
    "upkeep.prose.news": lambda text: prose.news(text.split("\n")[:12], text),
    "upkeep.summaries.read": lambda text: summaries.read(dict.fromkeys(summaries._PARTS, text) | {"worth_keeping": True}, prose.terms("tea"), "en"),
    "lifecycle.actions.without_folder": lambda text: (observations.without_folder(text), observations.bare(text), observations.is_own(text)),
    "lifecycle.compaction.is_summary": lambda text: compaction.is_summary(_turn(text)),
    "lifecycle.observations.Observer": _observed,
    "lifecycle.queue.decode": _spooled,
    "upkeep.rollup.compose": _of_month,
    "lifecycle.consolidation.candidates.of_note": lambda text: sources.of_note(PATH, _bytes(text), date(2026, 2, 12), TODAY),
    "lifecycle.consolidation.checks.faults": lambda text: checks.faults(text[:300], [evidence.Said(text, TODAY)]),
    "lifecycle.consolidation.support.supports": _supported,
    "lifecycle.consolidation.standing.read": lambda text: pages.read(_decoded(text), "MEMORY.md"),
    "lifecycle.consolidation.wholeness.check": lambda text: pages.check_whole(_decoded(text), "MEMORY.md"),
    "lifecycle.consolidation.words.read": lambda text: evidence.facts.__wrapped__(text, TODAY),
    "lifecycle.consolidation.words.resolved": lambda text: evidence.resolved(text, TODAY),
    "lifecycle.consolidation.words.last_day": lambda text: evidence.last_day(text, TODAY),
    "lifecycle.consolidation.pairs": _statement_pairs,
    "lifecycle.consolidation.living.check": _living,
    "lifecycle.consolidation.plan.read": lambda text: plan.read({"operations": [_operation(text)]}),
    # Transcripts.
    "transcripts.formats.note": lambda text: _transcript(text, "auto"),
    "transcripts.formats.note, archive": lambda text: _transcript(text, "auto", "a.json"),
    "transcripts.formats.turns": lambda text: list(formats.turns(io.BytesIO(_bytes(text)), "a.jsonl", "auto")),
    "transcripts.content.elements": _elements,
    "transcripts.content.backwards": lambda text: sum(1 for _ in content.backwards(io.BytesIO(_bytes(text)))),
    "transcripts.ours.parsed": lambda text: ours.parsed(_bytes(text)),
    "transcripts.content.text_of": lambda text: (content.text_of(text), content.time(text), content.day(text)),
    "transcripts.rendering.shortened": lambda text: (rendering.shortened(text, 300), rendering.clean(text)),
    "transcripts.injected.without_injected": without_injected,
    **{
        f"transcripts.{name}": partial(_said, name=name)
        for name in ("ours", "openai", "claude-code", "codex", "openclaw", "nanobot")
    },
    "sessions.cleaning.cleaned": lambda text: cleaned(Turn("user", text, calls=(Call("1", "bash", text),))),
    # Agents, models, servers.
    "agent.pieces": _of_pieces,
    "agent.injected": lambda text: seen.trimmed(_hit(text), lambda digest: False),
    "agent.answers": lambda text: agent_answers.found(SearchResult("tea", tuple(_hits(text)), "hybrid"), "tea", "full", 2000),
    "agent.answers.framed": agent_answers.framed,
    "agent.loop.parsed": loop.parsed,
    "llm.schemas.parse": _json,
    "llm.schemas.problem": _problem,
    "servers.protocol.decode": _decode_json,
    "config.loading.parse": _settings,
    "config.collections.normal_prefix": config_collections.normal_prefix,
    "attempts.translate": _refused,
    # Screens.
    "screen.clean": lambda text: (screen.clean(text), screen.one_line(text)),
    "screen.cells": screen.cells,
    "screen.shorten": lambda text: screen.shorten(screen.one_line(text), 80),
    "screen.rows": _rows,
    "screen.matches": lambda text: screen.matches(text, screen.matcher(["tea", "running", "a", "字", "get*"])),
    "screen.matcher": lambda text: screen.matcher(text.split()[:20]),
    "render.results.passage": _passage,
    "render.results.hits": _hits_text,
    "render.revisions.diff_text": render_revisions.diff_text,
    "history.lines.counted": _diff,
    "history.lines.taken_back": _undone,
    "history.diffs.of_changes": _shown_diff,
}  # fmt: skip

# Those of secrets and personal data.
REDACTION: dict[str, Parser] = {
    "notes.redact.redact": redact.redact,
    "notes.redact.redact_personal": redact.redact_personal,
    "notes.redact.holds_secret": redact.holds_secret,
    "notes.redact.strip_private": redact.strip_private,
    "notes.personal.find": lambda text: list(personal.find(text)),
    "notes.phrases.cards": lambda text: list(phrases.cards(text)),
    "notes.masks.mask": masks.mask,
}  # fmt: skip
PARSERS |= REDACTION

# What somebody may answer with instead of a value.
REFUSALS = (CommonplaceError, UnicodeEncodeError)
