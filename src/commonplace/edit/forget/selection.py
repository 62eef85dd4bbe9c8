"""Selections of the owner, looked up: notes, lines, words, and sentences that only they say.

For a question, the matching lines are offered, best first.
"""

from __future__ import annotations

import reprlib
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import chain, filterfalse, groupby
from typing import get_args

from commonplace import render
from commonplace.base import remedies
from commonplace.base.database import memory
from commonplace.base.errors import NO_NOTE, ConfigError, NoteNotFound, OutsideRoots, PreviewOutdated
from commonplace.base.messages import message
from commonplace.base.tuples import NamedTuple
from commonplace.config.settings import WORKSPACE_COLLECTION
from commonplace.edit.forget import notes, requests
from commonplace.edit.forget.notes import Composed, Context, Read
from commonplace.edit.forget.residue import listed
from commonplace.edit.forget.targets import Block, CutNote, Targets
from commonplace.edit.forget.words import Words
from commonplace.language import lexicon
from commonplace.language.lexicon import cjk_runs
from commonplace.markdown import references, visible
from commonplace.markdown.references import Reference
from commonplace.markdown.structure import atx
from commonplace.search import query
from commonplace.search import references as places
from commonplace.search.dedupe import SENTENCE
from commonplace.transcripts import ours
from commonplace.transcripts.session import ENDING, FOLDER, stem_of
from commonplace.types import Hit, Statement, cite
from commonplace.types.changes import Selection, SelectionKind, Unreachable

# A shorter sentence ("Yes, go on.") is not searched anywhere else.
LEAST_WORDS, LEAST_LETTERS, LEAST_WIDE = 4, 20, 8
_ELSEWHERE = message("forget.elsewhere", "lies in a collection, which is not ours to change; forget it there")
MOST_PARTLY = 20  # statements with a part of a name alone that are named one by one
_TRIM = " \t-*+_~.!?。！？…\"'“”"


class Choice(NamedTuple):
    """The targets of selections, the changes of notes, and remarks for the owner."""

    targets: Targets
    composed: Composed
    notes: Mapping[str, bytes]  # the notes that can be read, as they are to be; those that go are left out
    unreadable: Mapping[str, str]  # notes that cannot be read now, which stay, and why
    common: list[str]  # statements that other notes say as well
    short: list[str]  # and those that are too short to be looked for elsewhere
    transcripts: list[str]  # other sessions with the same sentences


def of_reference(reference: str, lines: tuple[str, ...] = ()) -> Selection:
    """Select a whole note, or lines of one, which may have been seen. Raises NoteNotFound."""
    named = references.parse_reference(reference)
    plain = reference.strip().removeprefix("./").lower()
    whole = plain in (named.path.lower(), f"#{named.docid}")
    return Selection("note" if whole else "lines", reference, lines=lines)


def choose(context: Context, selections: Sequence[Selection]) -> Choice:
    """Look up selections. Raises NoteNotFound, OutsideRoots, NoteUnreadable, ConfigError for an empty one."""
    targets = Targets()
    for selection in selections:
        targets = _with(context, context.names, targets, selection)
    return _look_up(context, targets)


def choose_again(context: Context, previewed: Targets) -> Choice:
    """Look up what a preview was of, wherever its lines stand now; no sentence counts that did not then."""
    return _look_up(context, replace(previewed, sentences=()), previewed.sentences)


def _look_up(context: Context, targets: Targets, among: Sequence[str] | None = None) -> Choice:
    """Compose the changes, and find the sentences (`among` these) that stand nowhere else."""
    held, closed = notes.contents(context)
    composed = notes.compose(held, held.get, targets)
    stated, spoken, short = _sentences(context, targets, composed)
    staying = _staying(held, composed)
    # Sentences of a note go from transcripts. One of a session alone, such as a greeting, may have been said
    # in another as well, and stays there.
    common = _saying(staying, (*stated, *spoken))
    shared = _saying(_other_transcripts(context, targets), spoken) if spoken else {}
    stays = set(chain.from_iterable((*common.values(), *shared.values())))
    gone = (sentence for sentence in (*stated, *spoken) if among is None or sentence in among)
    if sentences := tuple(sentence for sentence in gone if sentence not in stays):
        targets = replace(targets, sentences=sentences)
        composed = notes.compose(held, held.get, targets)
        staying = _staying(held, composed)
    repeated = list(dict.fromkeys(chain.from_iterable(common.values())))
    return Choice(targets, composed, staying, closed, repeated, short, list(shared))


def _saying(files: Mapping[str, bytes], sentences: Collection[str]) -> dict[str, list[str]]:
    """Return the files that say any of some sentences, and which of these each says."""
    every = Words(sentences)
    each = [(sentence, Words([sentence])) for sentence in sentences]
    saying: dict[str, list[str]] = {}
    for path, data in files.items() if every else ():
        text = data.decode("utf-8", "replace")
        if every.match(text) and (said := [sentence for sentence, words in each if words.match(text)]):
            saying[path] = said
    return saying


def _staying(held: Mapping[str, bytes], composed: Composed) -> dict[str, bytes]:
    after = {change.path: change.after for change in composed.changes}
    return {name: data for name, before in held.items() if (data := after.get(name, before)) is not None}


# --- one selection --------------------------------------------------------------------------------------


def _with(context: Context, names: Sequence[str], targets: Targets, selection: Selection) -> Targets:
    kinds = get_args(SelectionKind)
    if not isinstance(selection, Selection) or selection.kind not in kinds:
        known = f"write Selection(KIND, WHAT), KIND one of {', '.join(kinds)}"
        raise ConfigError("forget", f"{reprlib.repr(selection)} does not say what it is; {known}")
    value = selection.value.strip()
    if selection.kind in ("text", "person"):
        return _with_words(targets, selection)
    if selection.kind == "session":
        session = value.removeprefix(f"{FOLDER}/").removesuffix(ENDING)
        if not session.isprintable() or session.startswith(".") or set(session or "/") & set("/\\"):
            raise ConfigError(
                "session", message("session.id", "{value!r} is no id of a session", value=value)
            )
        return replace(targets, sessions=(*targets.sessions, session))
    return _with_reference(context, names, targets, replace(selection, value=value))


def _with_words(targets: Targets, selection: Selection) -> Targets:
    """Targets with a text or a person, and what these are called as well. Raises ConfigError for no words."""
    words = tuple(word.strip() for word in (selection.value, *selection.also))
    if not all(any(map(str.isalnum, word)) for word in words):
        wordless = "{value!r} is no word that could be looked for"
        raise ConfigError("forget", message("forget.no_word", wordless, value=words[0]))
    if selection.kind == "person":
        return replace(targets, people=(*targets.people, *words))
    return replace(targets, texts=(*targets.texts, *words))


def _with_reference(
    context: Context, names: Sequence[str], targets: Targets, selection: Selection
) -> Targets:
    """Targets with a note or some of its lines; a transcript goes as its session."""
    value = context.here(selection.value)
    reference = references.parse_reference(value)
    line = value.rpartition(":")
    if reference.last is None and line[0] and line[2].isdecimal():  # that line alone, where readers go on
        reference = replace(reference, last=reference.first)
    path = _own(context, names, reference)
    if path.startswith(f"{FOLDER}/"):
        if (reference.first, reference.last) != (1, None):
            whole = "{value} is a line of a transcript, which goes whole ({path}) or by its words (--text)"
            raise ConfigError("forget", message("forget.transcript", whole, value=value, path=path))
        return replace(targets, sessions=(*targets.sessions, path[len(FOLDER) + 1 : -len(ENDING)]))
    if selection.kind == "note":
        return replace(targets, notes=(*targets.notes, path))
    return replace(targets, blocks=(*targets.blocks, *_blocks(context, path, reference, selection.lines)))


def _own(context: Context, names: Sequence[str], reference: Reference) -> str:
    """The path of a note of the workspace's own. Raises NoteNotFound, OutsideRoots for any other."""
    path = reference.path
    if not reference.docid:
        if path in names or (_is_transcript(path) and (context.workspace.root / path).is_file()):
            return path
        if real := notes.same_note(context.workspace, names, path):
            return real
    store = context.open_store()
    try:
        shown, _ = places.find(store, reference)
        collection, path = places.key_of(store, shown)
    except NoteNotFound as error:
        if error.suggestions or not references.reads_as_words(path):
            raise
        raise no_note(path) from error
    finally:
        store.close()
    if collection != WORKSPACE_COLLECTION:
        raise OutsideRoots(shown, _ELSEWHERE)
    if path not in names and not path.startswith(f"{FOLDER}/"):
        none = message("forget.no_note", "no note of this workspace")
        folder = message("forget.folder", "is a folder; name its notes")
        is_folder = (context.workspace.root / path).is_dir()
        raise NoteNotFound(path, reason=folder if is_folder else none)
    return path


def are_words(named: Iterable[str]) -> bool:
    """Tell whether all that is named reads as words rather than as a path."""
    return all(map(references.reads_as_words, named))


def no_note(words: str) -> NoteNotFound:
    """Return the error for words in the place of a reference."""
    return NoteNotFound(words, reason=f"{NO_NOTE}; {remedies.say('forget.text', shlex.quote(words))}")


def _is_transcript(path: str) -> bool:
    return path.startswith(f"{FOLDER}/") and path.endswith(ENDING)


def _blocks(context: Context, path: str, reference: Reference, seen: Sequence[str]) -> Iterator[Block]:
    """The lines that are meant, whole statements, as runs.

    Raises NoteNotFound for missing lines, PreviewOutdated where seen lines cannot be identified.
    """
    page = CutNote.read(context.read(path) or b"", path)
    if seen:
        places = page.places(seen)
        if reference.first not in places and len(places) != 1:
            raise PreviewOutdated([path])
        first = reference.first if reference.first in places else places[0]
        last = first + len(seen) - 1
    else:
        first, last = references.lines(path, reference, len(page.lines))
    numbers = going(page, first, last)
    runs = groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])
    for run in ([number for _, number in pairs] for _, pairs in runs):
        lines = tuple(page.bare[number - 1] for number in run)
        places = page.places(lines)
        yield Block(path, run[0], lines, len(places), places.index(run[0]) + 1)


def going(page: CutNote, first: int, last: int) -> list[int]:
    """Return the lines that go with the selected ones: whole statements, nested ones included."""
    for statement in page.stated:
        if statement.first <= last and statement.last >= first:
            end = page.about(statement.end).stop - 1
            first, last = min(first, statement.first), max(last, end)
    return sorted(page.whole(set(range(first, last + 1))))


# --- what only these say --------------------------------------------------------------------------------


def _sentences(
    context: Context, targets: Targets, composed: Composed
) -> tuple[list[str], list[str], list[str]]:
    """Sentences of what goes by its place: those of notes, those that were only said in a session.

    At last the texts that have no sentence worth looking for.
    """
    if not any((targets.blocks, targets.notes, targets.sessions)):
        return [], [], []
    texts = (text.strip() for text in composed.stated if not targets.takes_whole(text))
    worth = {text: list(_worth(text)) for text in filter(None, texts)}
    stated = dict.fromkeys(chain.from_iterable(worth.values()))
    spoken = dict.fromkeys(chain.from_iterable(_spoken(context, session) for session in targets.sessions))
    short = [] if targets.sessions else [text for text in worth if not worth[text]]
    return list(stated), list(filterfalse(stated.__contains__, spoken)), short


def _spoken(context: Context, session: str) -> Iterator[str]:
    """The sentences of the transcript of a session."""
    data = context.read(f"{FOLDER}/{stem_of(session)}{ENDING}") or b""
    for line in data.split(b"\n"):
        if turn := ours.turn(ours.parsed(line)):
            yield from _worth(turn.text)


def _worth(text: str) -> Iterator[str]:
    """The sentences of a text that are long enough to be recognised elsewhere."""
    for match in SENTENCE.finditer(text):
        sentence = " ".join(match[0].split()).strip(_TRIM)
        wide = sum(map(len, cjk_runs(sentence)))
        if wide >= LEAST_WIDE or (len(sentence) >= LEAST_LETTERS and len(sentence.split()) >= LEAST_WORDS):
            yield sentence


def _other_transcripts(context: Context, targets: Targets) -> dict[str, bytes]:
    """The transcripts of other sessions, by their paths."""
    every = map(context.shown, sorted((context.workspace.root / FOLDER).glob(f"*{ENDING}")))
    others = filterfalse(targets.transcripts.__contains__, every)
    return {path: data for path in others if (data := context.read(path)) is not None}


def requested(context: Context, choice: Choice) -> tuple[str, ...]:
    """Return the codes of what agents ask for that goes along: its lines, words that no note says then."""
    waiting = requests.kept(context.workspace)
    gone = choice.composed.whole if waiting else []
    lines = {(path, references.without(line)) for path, text in gone for line in text.split("\n")}
    went = "\n".join(text for _, text in gone)
    rest = "\n".join(data.decode("utf-8", "replace") for data in choice.notes.values()) if waiting else ""

    def goes(asked: Targets) -> bool:
        if not lines.isdisjoint(asked.lines):
            return True
        words = [Words((text,)) for text in (*asked.texts, *asked.sentences)]
        words += [Words((name,), names=True) for name in asked.people]
        return any(word.match(went) and not word.match(rest) for word in words)

    return tuple(request.code for request in waiting if goes(request.targets))


# --- what the owner should know -------------------------------------------------------------------------


def remarks(choice: Choice, *, done: bool) -> list[Unreachable]:
    """Say what stays and says the same, what rests on what goes, and what may mean the same person.

    Lines are cited as they stand: as before for a preview, as they are to be once it is `done`.
    """

    def row(citation: str, remark: str) -> Unreachable:
        reference = references.parse_reference(citation)
        cut = choice.composed.cuts.get(reference.path) if done else None
        moved = [cut.edit.moved(line) for line in (reference.first, reference.end)] if cut else []
        shown = cite(reference.path, moved[0], moved[-1] or moved[0]) if moved and moved[0] else citation
        return Unreachable(f"{shown} {remark}", remedies.say("forget.what", shown))

    people = {person: [part for part in person.split() if len(part) > 1] for person in choice.targets.people}
    parts = [part for every in people.values() for part in every if len(every) > 1]
    staying = list(notes.staying(choice.composed, choice.notes, Words((*choice.common, *parts))))
    same = Words(choice.common)
    rows = [row(s.citation, "says the same, and was not asked for") for s in staying if same.match(s.text)]
    resting = notes.resting(choice.composed, staying)
    rows += [row(citation, "rests on nothing but what goes") for citation in resting]
    partly = [named for every in people.values() for named in _partly(every, staying)]
    told = "says {}, which may mean the same person"
    rows += [row(one.citation, told.format(part)) for one, part in partly[:MOST_PARTLY]]
    if len(partly) > MOST_PARTLY:
        more = render.count(len(partly) - MOST_PARTLY, "further statement")
        query = remedies.say("forget.query", partly[0][1])
        rows.append(Unreachable(f"{more} with a part of a name alone", query))
    with_words = remedies.say("forget.words")
    if choice.transcripts:
        what = f"{listed(choice.transcripts)}: sentences that were said in the session as well"
        rows.append(Unreachable(what, with_words))
    if choice.short:
        count = render.count(len(choice.short), "statement")
        rows.append(Unreachable(f"{count} too short to look for in transcripts and caches", with_words))
    return rows


def _partly(parts: Sequence[str], staying: Sequence[Statement]) -> Iterator[tuple[Statement, str]]:
    """Statements that hold the rarer part of a name alone, each with that part."""
    held = {part: [s for s in staying if Words((part,)).match(s.text)] for part in parts if len(parts) > 1}
    if found := [part for part in held if held[part]]:
        rarest = min(found, key=lambda part: (len(held[part]), part))
        yield from ((statement, rarest) for statement in held[rarest])


# --- what a question may mean ---------------------------------------------------------------------------


class Offer(NamedTuple):
    """Something that can go by itself: what cites it, what it says, the lines of its note as they stand.

    `text` has no private parts, and its secrets are redacted.
    """

    citation: str
    text: str
    lines: tuple[str, ...] = ()


def offers(question: str, hits: Sequence[Hit], read: Read) -> list[Offer]:
    """Return what of the notes of hits holds words of a question: most of them first, then the best hit.

    A search finds passages, for a word in one line of them or in the heading above. What is offered are
    single statements, rows, lines of code and headings in which a word of the question stands.
    """
    parts = [part for path in dict.fromkeys(hit.path for hit in hits) for part in _parts(path, hits, read)]
    counts = _count(question, [part.text for part in parts])
    ranked = sorted(
        (-count, part.rank, part.is_heading, place)
        for place, (count, part) in enumerate(zip(counts, parts, strict=True))
        if count
    )
    best: dict[str, Offer] = {}
    for *_, place in ranked:
        best.setdefault(parts[place].offer.citation, parts[place].offer)
    return list(best.values())


class _Part(NamedTuple):
    """A part of a note: its text, how good its hit was (0: the best), and what is offered for it."""

    text: str
    rank: int
    is_heading: bool
    offer: Offer


def _parts(path: str, hits: Sequence[Hit], read: Read) -> Iterator[_Part]:
    """Yield the parts of a note; of a transcript the hits, since it goes whole."""
    ranked = [(rank, hit) for rank, hit in enumerate(hits) if hit.path == path]
    if _is_transcript(path):
        for rank, hit in ranked:
            yield _Part(hit.text, rank, False, Offer(path, f"(the whole session) {hit.text}"))
        return
    page = CutNote.read(read(path) or b"", path)
    for first, last, text in sorted(_units(page)):
        over = (rank for rank, hit in ranked if first <= hit.end_line and last >= hit.start_line)
        offer = _offer(page, first, last, text)
        yield _Part(text, next(over, len(hits)), first in page.titles, offer)


def _offer(page: CutNote, first: int, last: int, text: str) -> Offer:
    # All lines that go with these, if they are contiguous.
    start, end, numbers = first, last, going(page, first, last)
    if len(numbers) == numbers[-1] - numbers[0] + 1:
        start, end = numbers[0], numbers[-1]
    public = page.shown(first, last)
    shown = text if public == page.written(first, last) else " ".join(public.split()) or "(private)"
    return Offer(cite(page.path, start, end), shown, tuple(page.bare[start - 1 : end]))


def _units(page: CutNote) -> Iterator[tuple[int, int, str]]:
    """Yield first line, last line and text of statements and of all other lines."""
    stated: set[int] = set()
    for statement in page.stated:
        own = range(statement.first, statement.last + 1)
        stated |= {number for number in own if page.fence(number) is None}
        yield statement.first, statement.last, statement.text
    for number, line in enumerate(page.bare, 1):
        if number not in stated and line.strip() and not page.is_mark(number):
            underlined = number in page.titles and atx(line) is None
            yield number, number + underlined, line.strip()


def _count(question: str, texts: Sequence[str]) -> list[int]:
    """How many words of a question each text holds, cut and stemmed as the index does it."""
    asked = query.parse(question)  # of what must be found, all of it together once more
    words = [
        *map(lexicon.sought, query.terms(asked.words)),
        *map(lexicon.beginning, asked.prefixes),
        *([lexicon.any_of(asked.spellings)] if asked.spellings else []),
    ]
    counts = [0] * len(texts)
    with closing(memory()) as connection:
        connection.execute(f'CREATE VIRTUAL TABLE texts USING fts5(body, tokenize="{lexicon.TOKENIZER}")')
        shown = (visible.text(text.encode("utf-8", "replace").decode()) for text in texts)
        connection.executemany(
            "INSERT INTO texts(rowid, body) VALUES(?, ?)", enumerate(map(lexicon.index_text, shown))
        )
        for expression in [*dict.fromkeys(words), *([asked.required] if asked.required else [])]:
            for place in connection.execute("SELECT rowid FROM texts WHERE texts MATCH ?", (expression,)):
                counts[place[0]] += 1
    return counts
