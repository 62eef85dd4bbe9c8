"""Everything that parses what somebody else wrote, by name: one function of a text each."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from datetime import date, datetime
from functools import partial
from pathlib import Path

from commonplace import characters, estimates, refusals, screen
from commonplace.agent import answers as agent_answers
from commonplace.agent import calling, injected, pieces
from commonplace.chunking import (
    annotated,
    breakpoints,
    fences,
    outline,
    passages,
    sections,
    statements,
    strikes,
    struck,
    turns,
)
from commonplace.chunking.settings import ChunkSettings
from commonplace.config import collections as config_collections
from commonplace.config import loading
from commonplace.erasure import cutting, naming
from commonplace.erasure import messages as erasure_messages
from commonplace.erasure.pages import Page
from commonplace.erasure.wanted import Block, Wanted
from commonplace.erasure.words import Words, plain
from commonplace.errors import CommonplaceError
from commonplace.history import diffs
from commonplace.history import lines as history_lines
from commonplace.index import lexicon, scripts, vectors
from commonplace.lifecycle import (
    actions,
    compaction,
    dialogue,
    drafts,
    enrichment,
    excerpts,
    extract,
    failures,
    flush,
    observations,
    prose,
    spool,
)
from commonplace.lifecycle.consolidation import (
    candidates,
    durable,
    living,
    plan,
    sameness,
    standing,
    succession,
    support,
    wholeness,
)
from commonplace.lifecycle.consolidation import words as consolidation_words
from commonplace.lifecycle.months import blocks, composing, moves
from commonplace.llm import schemas, structured
from commonplace.llm.base import Completion
from commonplace.notes import (
    comments,
    excerpt,
    files,
    headings,
    layout,
    masks,
    parse,
    personal,
    phrases,
    recalled,
    redact,
)
from commonplace.render import results as render_results
from commonplace.render import revisions as render_revisions
from commonplace.revision import (
    claims,
    contradictions,
    finding,
    likeness,
    references,
    sentences,
    striking,
    values,
)
from commonplace.search import (
    dates,
    disclose,
    documents,
    expansion,
    factors,
    filters,
    identifiers,
    layers,
    query,
    repeats,
    stopwords,
    timeline,
    triggers,
    wording,
)
from commonplace.servers import protocol
from commonplace.sessions.cleaning import cleaned
from commonplace.transcripts import content, formats, lines, ours, reading, rendering
from commonplace.transcripts.injected import without_injected
from commonplace.types import Hit, Note, SearchResult
from commonplace.types.conversation import Call, ToolExecution, Turn
from commonplace.types.entries import Entry, Provenance
from commonplace.types.revisions import Change

Parser = Callable[[str], object]

TODAY = date(2026, 2, 13)
NOW = datetime(2026, 2, 13, 14, 5)
PATH = "memory/2026-02-12.md"
NEEDLE = "Mira Koch"
_FORGET = Wanted(people=("Mira",), texts=("green tea", "绿茶"), sentences=("Ann prefers tea.",), sessions=("s1",))
_SCHEMA = {
    "type": "object", "additionalProperties": True, "required": ["a"],
    "properties": {"a": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}},
}  # fmt: skip


def _note(text: str, path: str = PATH) -> Note:
    return parse.parse(_decoded(text), path, redacted=False)


def _decoded(text: str) -> str:
    return parse.decode(_bytes(text))


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
    return reading.note(io.BytesIO(_bytes(text)), path, name)


def _said(text: str, name: str) -> object:
    """A transcript of a few messages, each of which says the text."""
    made = {
        "ours": {"role": "user", "text": text, "at": "2026-02-13T10:00:00"},
        "openai": {"role": "user", "content": [{"type": "text", "text": text}]},
        "claude-code": {"type": "user", "message": {"role": "user", "content": text}, "timestamp": "2026-02-13"},
        "codex": {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}},
        "openclaw": {"type": "message", "message": {"role": "user", "content": [{"type": "text", "text": text}]}},
        "nanobot": {"role": "user", "content": text, "timestamp": "2026-02-13"},
    }[name]
    return _transcript(json.dumps(made), name if formats.find(name) else "auto")


def _passages(settings: ChunkSettings) -> Parser:
    return lambda text: passages.split(_note(text), settings)


def _insert(text: str) -> object:
    return files.insert_entry(_decoded(text), "- a new entry", "Notes")


def _insert_many(text: str) -> object:
    entries = [(line, None) for line in text.split("\n")[:2000]]
    return files.insert_all(_decoded(text), [*entries, ("- a new entry", "Notes")], "# Title")


def _strike(text: str) -> object:
    """Strike the statements of a note, as `correct` does with those that say one thing."""
    decoded = _decoded(text)
    stated = statements.read(_note(text))
    if not stated:
        return None
    raw = striking.Raw(striking.split(decoded), PATH)
    end = 0
    for statement in stated:
        if statement.first > end:
            raw.strike(statement, until="2026-02-13")
            end = statement.end
    return raw.lines


def _beside(text: str) -> object:
    stated = statements.read(_note(text))
    return striking.beside(stated[0], text[:20_000], since="2026-02-13") if stated else None


def _matched(text: str) -> object:
    """Look for a statement that is not there in each statement of a note, as `correct` does."""
    words = finding.Words.of("Ann prefers green tea to black tea in the morning")
    return [finding.matched(statement, words) for statement in statements.read(_note(text))]


def _shares(text: str) -> object:
    stated = statements.read(_note(text))
    return [likeness.share("Ann prefers green tea to black tea", one.text) for one in stated]


def _page(text: str) -> object:
    page = Page(PATH, _bytes(text))
    return [(page.unit(number), page.owner(number)) for number in range(1, min(len(page.lines), 50_000) + 1)]


def _cut(text: str) -> object:
    return cutting.cut(PATH, _bytes(text), _FORGET)


def _cut_first_word(text: str) -> object:
    """Take a word that the text holds everywhere out of it."""
    word = next((one for one in text[:4000].split() if 1 < len(one) < 40 and one.isalpha()), "")
    return cutting.cut(PATH, _bytes(text), Wanted(texts=(word,))) if word else None


def _cut_people(text: str) -> object:
    """Take whatever mentions a word that the text holds everywhere out of it."""
    word = next((one for one in text[:4000].split() if 1 < len(one) < 40 and one.isalpha()), "")
    return cutting.cut(PATH, _bytes(text), Wanted(people=(word,))) if word else None


def _cut_line(text: str) -> object:
    rows = tuple(Page(PATH, _bytes(text)).bare(1).split("\n")) if text else ("a",)
    return cutting.cut(PATH, _bytes(text), Wanted(blocks=(Block(PATH, 1, rows, 1),)))


def _moved(text: str) -> object:
    found = cutting.cut(PATH, _bytes(text), Wanted(blocks=(Block(PATH, 1, tuple(_surroundings(text)[:1]), 1),)))
    return [found.moved(line) for line in range(1, text.count("\n") + 2)] if found else None


def _of_month(text: str) -> object:
    daily = blocks.Daily(PATH, "2026-02-12", "archive/2026-02-12.md", _decoded(text))
    return composing.compose("2026-02", "memory/2026-02.md", [daily])


def _followed(text: str) -> object:
    note = moves.Moved("memory/2026-02-01.md", "memory/2026-02.md", lambda line: f"memory/2026-02.md#L{line}", "Day", "b.md#L1")
    return moves.follow(text, "MEMORY.md", {note.path: note, "a.md": note})


def _observed(text: str) -> object:
    execution = ToolExecution("s", "bash", {"command": text[:100_000], "new_string": text}, text, "Error: " + text)
    return observations.Observer(loading.load(Path("/nowhere"), {})).observe(execution)


def _operation(text: str) -> dict[str, object]:
    return {"op": "add", "targets": text.split(), "sources": [], "section": text, "text": text, "reason": text}


def _turn(text: str) -> Turn:
    return Turn("user", text, "2026-02-13T10:00:00")


def _turns(text: str) -> list[Turn]:
    return [_turn(part) for part in (text[at : at + 3000] for at in range(0, len(text), 3000))]


def _diff(text: str) -> object:
    before = _bytes(text)
    rows = before.split(b"\n")
    after = b"\n".join([*rows[1 : len(rows) // 2], b"- something new", *rows[len(rows) // 2 : -1]])
    return history_lines.counted(before, after)


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
        return history_lines.taken_back(before, after, after + b"\n- more\n")
    except history_lines.Overlap:
        return None


def _json(text: str) -> object:
    return structured.parse(Completion(text, "model"), _SCHEMA)


def _problem(text: str) -> object:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = {"a": text.split()}
    return schemas.problem(value, _SCHEMA)


def _elements(text: str) -> object:
    return sum(1 for _ in lines.elements(io.BytesIO(_bytes(text))))


def _decode_json(text: str) -> object:
    try:
        return protocol.decode(_bytes(text))
    except protocol.Refusal:
        return None


def _rows(text: str) -> object:
    return [list(screen.rows(line, 80, screen.hang(line))) for line in screen.clean(text).split("\n")]


def _passage(text: str) -> object:
    pattern = screen.matcher(["tea", "a", "字", "get*"])
    return render_results.passage(text, screen.Look(color=True, width=80), pattern, None)


def _hits_text(text: str) -> object:
    result = SearchResult("tea", tuple(_hits(text)), "hybrid")
    return [render_results.hits(result, form) for form in ("json", "csv", "md", "xml", "files")]


def _read_document(text: str) -> object:
    return documents.read_any(text, lambda: frozenset({"topic", "path"}))


def _labels(text: str) -> object:
    said = annotated.Said(_note(text))
    count = min(text.count("\n"), 50_000)
    return [said.still(number, number) for number in range(1, count)], [said.differ(n, n + 1) for n in range(1, count)]


def _factors(text: str) -> object:
    return [factors.labels(own, lambda: TODAY) for own in _note(text).annotations.values()]


def _told(text: str) -> object:
    told = repeats.Told()
    for hit in _hits(text):
        told.rest(hit)
        told.add(hit)
    return told


def _of_pieces(text: str) -> object:
    note = _note(text)
    return pieces.joined([*pieces.of_sections(note, TODAY, tentative=True), *pieces.of_entries(note, TODAY, tentative=True)])


def _supported(text: str) -> object:
    return support.supports("Ann prefers green tea.", [text], TODAY), support.supports(text[:2000], [text], TODAY)


def _contradicted(text: str) -> object:
    return contradictions.between("The standup is at 9:30.", statements.read(_note(text)))


def _living(text: str) -> object:
    page = standing.read(_decoded(text), "MEMORY.md")
    return living.check(page.entries, lambda path: _bytes(text))


def _statement_pairs(text: str) -> object:
    half = len(text) // 2
    return (
        sameness.says(text[:half], text[half:]), sameness.about_one_thing(text[:half], text[half:]),
        succession.replaces(text[:half], text[half:]), succession.ends(text[:half], text[half:]),
    )  # fmt: skip


def _wordings(text: str) -> object:
    half = len(text) // 2
    one, other = wording.read(text[:half]), wording.read(text[half:])
    return wording.same(one, other), wording.same_event(one, other), wording.shingles(one.tokens)


def _outline(text: str) -> Iterator[bool]:
    return iter([outline.closes(line) for line in text.split("\n")])


def _find_name(text: str) -> object:
    return Words([NEEDLE, "王伟", "green tea"]).spans(text), Words([NEEDLE], names=True).spans(text)


def _settings(text: str) -> object:
    return loading.parse(_bytes(text), Path("commonplace.toml"))


def _spooled(text: str) -> object:
    return spool.decode(spool.encode(spool.clean(Entry(text, NOW, provenance=Provenance("tool")))))


def _refused(text: str) -> object:
    return refusals.translate("openai", 429, {}, _bytes(text)), refusals.wait_s({}, text)


PARSERS: dict[str, Parser] = {
    # Notes.
    "notes.parse.decode": lambda text: parse.decode(_bytes(text)),
    "notes.parse.parse": _note,
    "notes.parse.structure": lambda text: parse.structure(_surroundings(text)),
    "notes.headings.atx": _each(headings.atx),
    "notes.headings.unclosed": headings.unclosed,
    "notes.headings.plain": headings.plain,
    "notes.comments.take": lambda text: comments.take(text.split("\n")),
    "notes.comments.guessed": lambda text: comments.guessed(text, text.split("\n")),
    "notes.comments.disarmed": lambda text: (comments.disarmed(text, entirely=False), comments.disarmed(text, entirely=True)),
    "notes.comments.of_front_matter": lambda text: comments.of_front_matter({"trigger": text, "by": text, text: "pinned"}),
    "notes.comments.sources": lambda text: comments.sources({"from": text}),
    "notes.comments.of_sources": lambda text: comments.of_sources(text.split()),
    "notes.excerpt.parse_reference": excerpt.parse_reference,
    "notes.recalled.strip_recalled": recalled.strip_recalled,
    "notes.recalled.strip_blocks": recalled.strip_blocks,
    "notes.files.decode": lambda text: files.encode(_bytes(text), files.decode(Path("a.md"), _bytes(text))),
    "notes.files.insert_entry": _insert,
    "notes.files.insert_all": _insert_many,
    "notes.layout.date_of": layout.date_of,
    "notes.layout.bullet": layout.bullet,
    "notes.layout.own_words": lambda text: layout.own_words(text, Provenance("owner"), False),
    # Cutting.
    "chunking.sections.split": lambda text: sections.split(_note(text)),
    "chunking.passages.split": _passages(ChunkSettings()),
    "chunking.passages.split, windows": _passages(ChunkSettings(window=400, fence=2000, overlap=100)),
    "chunking.annotated.Said": _labels,
    "chunking.statements.read": lambda text: statements.read(_note(text)),
    "chunking.statements.without_struck": statements.without_struck,
    "chunking.fences.nested": lambda text: list(fences.nested(text.split("\n"), ())),
    "chunking.struck.of_note": lambda text: struck.of_note(_note(text)),
    "chunking.struck.of_lines": lambda text: struck.of_lines(text.split("\n")),
    "chunking.struck.rest": lambda text: struck.rest(_note(text), struck.of_note(_note(text))),
    "chunking.struck.says_something": _each(struck.says_something),
    "chunking.strikes.find": lambda text: list(strikes.find(text, 0, len(text))),
    "chunking.strikes.read": lambda text: (strikes.read(text.split("\n"), turn=True), strikes.read([text], turn=False)),
    "chunking.strikes.lead": lambda text: (strikes.lead(text, turn=True), _each(lambda line: strikes.lead(line, turn=True))(text)),
    "chunking.strikes.escapes": strikes.escapes,
    "chunking.strikes.unescaped": strikes.unescaped,
    "chunking.turns.speaker": lambda text: (turns.speaker(text), turns.share(text.split("\n"))),
    "chunking.breakpoints.pieces": lambda text: breakpoints.pieces(text, 1200),
    "chunking.outline.closes": _outline,
    # Searching.
    "search.wording.read": wording.read,
    "search.wording.same": _wordings,
    "search.query.parse": lambda text: query.parse(text, lambda: frozenset({"topic"})),
    "search.query.terms": query.terms,
    "search.documents.read_any": _read_document,
    "search.documents.subject": lambda text: (documents.subject(text), documents.words(text)),
    "search.filters.split": lambda text: filters.split(text, frozenset({"topic"})),
    "search.filters.may_name_keys": filters.may_name_keys,
    "search.dates.spans": lambda text: dates.spans(text, TODAY),
    "search.dates.read": lambda text: dates.read(text, TODAY),
    "search.expansion.read": expansion.read,
    "search.identifiers.spellings": identifiers.spellings,
    "search.identifiers.wholes": lambda text: list(identifiers.wholes(text)),
    "search.triggers.phrases": lambda text: list(triggers.phrases(json.dumps({"trigger": text}))),
    "search.timeline.day": timeline.day,
    "search.stopwords.without": stopwords.without,
    "search.repeats.Told": _told,
    "search.disclose.compose": lambda text: disclose.compose(_hits(text), 1500),
    "search.disclose.compose, one": lambda text: disclose.compose([_hit(text)], 1500),
    "search.disclose.framed": lambda text: disclose.framed([_hit(text)], text),
    "search.layers.snippet": lambda text: layers.snippet(_hit(text), screen.matcher(["tea", "a"])),
    "search.factors.labels": _factors,
    "index.lexicon.index_text": lexicon.index_text,
    "index.lexicon.expression": lambda text: (lexicon.expression(text), lexicon.any_of(text.split())),
    "index.lexicon.cjk_share": lexicon.cjk_share,
    "index.scripts.script_of": scripts.script_of,
    "index.vectors.is_foreign": vectors.is_foreign,
    "characters.fold": lambda text: (characters.fold(text), characters.compose(text), characters.fold_width(text)),
    "estimates.about": lambda text: (estimates.about(text), estimates.quarters(text)),
    # Correcting.
    "revision.finding.matched": _matched,
    "revision.finding.Words": finding.Words.of,
    "revision.sentences.spans": sentences.spans,
    "revision.likeness.share": _shares,
    "revision.likeness.stems": lambda text: likeness.stems.__wrapped__(text),
    "revision.values.read": values.read,
    "revision.claims.of": lambda text: claims.of.__wrapped__(text),
    "revision.contradictions.between": _contradicted,
    "revision.striking.struck": _strike,
    "revision.striking.beside": _beside,
    "revision.references.shifted": lambda text: references.shifted(text, "MEMORY.md", lambda line: f"MEMORY.md#L{line + 1}"),
    "revision.references.reference": lambda text: references.reference(text, "MEMORY.md", lambda line: f"MEMORY.md#L{line + 1}"),
    # Forgetting.
    "erasure.words.spans": _find_name,
    "erasure.words.plain": plain,
    "erasure.pages.unit": _page,
    "erasure.cutting.cut": _cut,
    "erasure.cutting.cut, a word": _cut_first_word,
    "erasure.cutting.cut, a person": _cut_people,
    "erasure.cutting.cut, a line": _cut_line,
    "erasure.cutting.moved": _moved,
    "erasure.naming.longer": lambda text: naming.longer(["王伟", "字"], [text]),
    "erasure.messages.message": lambda text: erasure_messages.message(_bytes(json.dumps({"text": text + " Mira"})), _FORGET),
    "erasure.messages.unescaped": erasure_messages.unescaped,
    # Refining.
    "lifecycle.prose.sentences": prose.sentences,
    "lifecycle.prose.within": lambda text: prose.within(text, 50),
    "lifecycle.prose.plain": prose.plain,
    "lifecycle.prose.terms": prose.terms,
    "lifecycle.prose.words": lambda text: (prose.words(text), prose.language([text]), prose.is_in(text, "zh")),
    "lifecycle.extract.extract": lambda text: extract.extract([_turn(text), Turn("assistant", text)], "en"),
    "lifecycle.dialogue.clean": lambda text: dialogue.clean([_turn(text)]),
    "lifecycle.dialogue.written": lambda text: dialogue.written(_turns(text), 2000, results=400),
    "lifecycle.dialogue.unframed": dialogue.unframed,
    "lifecycle.dialogue.subject": lambda text: dialogue.subject(Call("1", "bash", text)),
    "lifecycle.excerpts.public": excerpts.public,
    "lifecycle.excerpts.lines_of": lambda text: excerpts.lines_of(text, 2000),
    "lifecycle.failures.teaches": lambda text: (failures.teaches(text), failures.kind(text), failures.reason("", text)),
    "lifecycle.flush.wanted": lambda text: flush.wanted(Completion(text, "model")),
    "lifecycle.flush.news": lambda text: flush.news(text.split("\n")[:12], text),
    "lifecycle.drafts.read": lambda text: drafts.read(dict.fromkeys(drafts._PARTS, text) | {"worth_keeping": True}, prose.terms("tea"), "en"),
    "lifecycle.actions.without_folder": lambda text: (actions.without_folder(text), actions.bare(text), actions.is_own(text)),
    "lifecycle.compaction.is_summary": lambda text: compaction.is_summary(_turn(text)),
    "lifecycle.enrichment.title": enrichment._title,
    "lifecycle.observations.Observer": _observed,
    "lifecycle.spool.decode": _spooled,
    "lifecycle.months.composing.compose": _of_month,
    "lifecycle.months.moves.follow": _followed,
    "lifecycle.months.moves.rebased": lambda text: moves.rebased(text, "memory/a.md", "archive/memory/a.md"),
    "lifecycle.consolidation.candidates.of_note": lambda text: candidates.of_note(PATH, _bytes(text), date(2026, 2, 12), TODAY),
    "lifecycle.consolidation.durable.kind_of": lambda text: durable.kind_of(text, TODAY),
    "lifecycle.consolidation.durable.instructs": lambda text: (durable.instructs(text), durable.ends(text), durable.plans(text), durable.is_noise(text)),
    "lifecycle.consolidation.support.supports": _supported,
    "lifecycle.consolidation.standing.read": lambda text: standing.read(_decoded(text), "MEMORY.md"),
    "lifecycle.consolidation.wholeness.check": lambda text: wholeness.check(_decoded(text), "MEMORY.md"),
    "lifecycle.consolidation.words.read": lambda text: consolidation_words.read.__wrapped__(text, TODAY),
    "lifecycle.consolidation.words.is_relative": consolidation_words.is_relative,
    "lifecycle.consolidation.pairs": _statement_pairs,
    "lifecycle.consolidation.living.check": _living,
    "lifecycle.consolidation.plan.read": lambda text: plan.read({"operations": [_operation(text)]}),
    # Transcripts.
    "transcripts.reading.note": lambda text: _transcript(text, "auto"),
    "transcripts.reading.note, archive": lambda text: _transcript(text, "auto", "a.json"),
    "transcripts.reading.turns": lambda text: list(reading.turns(io.BytesIO(_bytes(text)), "a.jsonl", "auto")),
    "transcripts.lines.elements": _elements,
    "transcripts.lines.backwards": lambda text: sum(1 for _ in lines.backwards(io.BytesIO(_bytes(text)))),
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
    "agent.injected": lambda text: injected.trimmed(_hit(text), lambda digest: False),
    "agent.answers": lambda text: agent_answers.found(SearchResult("tea", tuple(_hits(text)), "hybrid"), "tea", "full", 2000),
    "agent.answers.framed": agent_answers.framed,
    "agent.calling.parsed": calling.parsed,
    "llm.structured.parse": _json,
    "llm.schemas.problem": _problem,
    "servers.protocol.decode": _decode_json,
    "config.loading.parse": _settings,
    "config.collections.normal_prefix": config_collections.normal_prefix,
    "refusals.translate": _refused,
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
