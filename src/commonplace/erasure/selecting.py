"""Selections of the owner's, looked up: which notes, lines and words they are, and what only these say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, get_args

from commonplace.config.settings import WORKSPACE_COLLECTION
from commonplace.erasure import composing, requests
from commonplace.erasure.composing import Composed
from commonplace.erasure.files import SESSIONS, stem_of
from commonplace.erasure.ground import Ground
from commonplace.erasure.pages import Page
from commonplace.erasure.wanted import Block, Wanted
from commonplace.erasure.words import Words, plain
from commonplace.errors import ConfigError, NoteNotFound, OutsideRoots, PreviewOutdated
from commonplace.index.lexicon import cjk_runs
from commonplace.notes import excerpt
from commonplace.notes.excerpt import Reference
from commonplace.search import places
from commonplace.search.repeats import SENTENCE
from commonplace.transcripts import ours
from commonplace.types.erasure import Selection, SelectionKind

# What is shorter may be said of anything ("Yes, go on."), and is not looked for anywhere else.
LEAST_WORDS, LEAST_LETTERS, LEAST_WIDE = 4, 20, 8
_ONE_LINE = re.compile(r".+:\d{1,9}")
_TRIM = " \t-*+_~.!?。！？…\"'“”"


class Chosen(NamedTuple):
    """What selections stand for: what is wanted, what changes in notes, what the owner should know of it."""

    wanted: Wanted
    names: list[str]
    composed: Composed
    unreadable: dict[str, str]  # notes that cannot be read now, which stay, and why
    common: list[str]  # statements that other notes say as well
    short: list[str]  # and those that are too short to be looked for elsewhere
    transcripts: list[str]  # those of other sessions that say, as well, what was said in one that goes


def choose(ground: Ground, selections: Sequence[Selection]) -> Chosen:
    """Look up selections. Raises NoteNotFound, OutsideRoots, NoteUnreadable, ConfigError for an empty one."""
    wanted = Wanted()
    names = composing.notes(ground.workspace, ground.settings)
    for selection in selections:
        wanted = _with(ground, names, wanted, selection)
    return _looked_up(ground, names, wanted)


def choose_again(ground: Ground, previewed: Wanted) -> Chosen:
    """Look up what a preview was of, wherever its lines stand now; no sentence counts that did not then."""
    names = composing.notes(ground.workspace, ground.settings)
    return _looked_up(ground, names, replace(previewed, sentences=(), vectors=()), previewed.sentences)


def _looked_up(
    ground: Ground, names: list[str], wanted: Wanted, among: Sequence[str] | None = None
) -> Chosen:
    """Say what goes where something is wanted, and which sentences (`among` these) only that says."""
    closed = composing.unreadable(names, ground.read)
    names = [name for name in names if name not in closed]
    composed = composing.compose(names, ground.read, wanted, ground.shift)
    told, short = _told(ground, wanted, composed)
    only, common, transcripts = _only(ground, names, wanted, composed, told)
    sentences = tuple(sentence for sentence in only if among is None or sentence in among)
    if sentences:
        wanted = replace(wanted, sentences=sentences)
        composed = composing.compose(names, ground.read, wanted, ground.shift)
    return Chosen(wanted, names, composed, closed, common, short, transcripts)


def _with(ground: Ground, names: Sequence[str], wanted: Wanted, selection: Selection) -> Wanted:
    if not isinstance(selection, Selection) or selection.kind not in get_args(SelectionKind):
        raise ConfigError("forget", f"no selection of {', '.join(get_args(SelectionKind))}: {selection!r}")
    kind, value = selection.kind, selection.value.strip()
    words = [value, *(also.strip() for also in selection.also)]
    if kind in ("text", "person") and not all(any(map(str.isalnum, word)) for word in words):
        raise ConfigError("forget", f"{value!r} is no word that could be looked for")
    if kind == "person":
        return replace(wanted, people=(*wanted.people, *words))
    if kind == "text":
        return replace(wanted, texts=(*wanted.texts, *words))
    if kind == "session":
        return replace(wanted, sessions=(*wanted.sessions, _session(value)))
    reference = _meant(value)
    path = _own(ground, names, reference)
    if path.startswith(f"{SESSIONS}/"):
        if (reference.first, reference.last) != (1, None):
            told = f"{value} is a line of a transcript, which goes whole ({path}) or by its words (--text)"
            raise ConfigError("forget", told)
        return replace(wanted, sessions=(*wanted.sessions, path[len(SESSIONS) + 1 : -len(".jsonl")]))
    if kind == "note":
        return replace(wanted, notes=(*wanted.notes, path))
    return replace(wanted, blocks=(*wanted.blocks, *_blocks(ground, path, reference, selection.lines)))


def _meant(value: str) -> Reference:
    """A reference as it is meant here: a single line is that line alone, where readers go on from there."""
    reference = excerpt.parse_reference(value)
    alone = reference.last is None and _ONE_LINE.fullmatch(value)
    return replace(reference, last=reference.first) if alone else reference


def _session(value: str) -> str:
    session = value.removeprefix(f"{SESSIONS}/").removesuffix(".jsonl")
    if not session or not session.isprintable() or session.startswith(".") or set(session) & set("/\\"):
        raise ConfigError("session", f"{value!r} is no id of a session")
    return session


def _own(ground: Ground, names: Sequence[str], reference: Reference) -> str:
    """The path of a note of the workspace's own. Raises NoteNotFound, OutsideRoots for any other."""
    if not reference.docid:
        transcript = ground.workspace.root / reference.path
        own = reference.path.startswith(f"{SESSIONS}/") and reference.path.endswith(".jsonl")
        if reference.path in names or (own and transcript.is_file()):
            return reference.path
        if real := composing.same_note(ground.workspace, names, reference.path):
            return real
    store = ground.open_store()
    try:
        shown, _ = places.find(store, reference)
        collection, path = places.key_of(store, shown)
    finally:
        store.close()
    if collection != WORKSPACE_COLLECTION:
        raise OutsideRoots(shown, "lies in a collection, which is not ours to change; forget it there")
    if path not in names and not path.startswith(f"{SESSIONS}/"):
        raise NoteNotFound(path, reason="no note of this workspace")
    return path


def _blocks(ground: Ground, path: str, reference: Reference, seen: Sequence[str]) -> Iterator[Block]:
    """The lines that are meant, whole statements, as runs.

    Raises NoteNotFound where there are none, PreviewOutdated where lines that were seen are not told apart.
    """
    page = Page(path, ground.read(path) or b"")
    if seen:
        places = page.places(seen)
        if reference.first not in places and len(places) != 1:
            raise PreviewOutdated([path])
        first = reference.first if reference.first in places else places[0]
        last = first + len(seen) - 1
    else:
        first, last = excerpt.lines(path, reference, len(page.lines))
    for run in _runs(going(page, first, last)):
        lines = tuple(page.bare(number) for number in run)
        places = page.places(lines)
        yield Block(path, run[0], lines, len(places), places.index(run[0]) + 1)


def going(page: Page, first: int, last: int) -> list[int]:
    """The numbers of the lines that go where some are asked for: statements whole, with what is in them."""
    for statement in page.statements:
        if statement.first <= last and statement.last >= first:
            first, last = min(first, statement.first), max(last, statement.end)
    return sorted(page.whole(set(range(first, last + 1))))


def _runs(numbers: Sequence[int]) -> Iterator[list[int]]:
    run: list[int] = []
    for number in numbers:
        if run and number != run[-1] + 1:
            yield run
            run = []
        run.append(number)
    if run:
        yield run


# --- what only these say --------------------------------------------------------------------------------


class _Told(NamedTuple):
    """Sentences of what goes by its place: those of notes, and those that were only said in a session."""

    stated: list[str]
    spoken: list[str]


def _only(
    ground: Ground, names: Iterable[str], wanted: Wanted, composed: Composed, told: _Told
) -> tuple[list[str], list[str], list[str]]:
    """Sentences that nothing else says; those that a note does; the transcripts that do.

    What a note stated goes from transcripts. What was only said in a session, such as a greeting, may have
    been said in another as well, and stays there.
    """
    after = {change.path: change.after for change in composed.changes}
    staying = [data for name in names if (data := after.get(name, ground.read(name))) is not None]
    rest = _plain(staying) if told.stated or told.spoken else ""
    only = [sentence for sentence in (*told.stated, *told.spoken) if plain(sentence) not in rest]
    known = set(only)
    common = [sentence for sentence in (*told.stated, *told.spoken) if sentence not in known]
    others = _other_transcripts(ground, wanted) if told.spoken else {}
    said = {path: _plain([data]) for path, data in others.items()}
    shared = {one for one in told.spoken if any(plain(one) in text for text in said.values())}
    holding = [path for path, text in said.items() if any(plain(one) in text for one in shared)]
    return [sentence for sentence in only if sentence not in shared], common, holding


def _plain(files: Iterable[bytes]) -> str:
    return plain("\n".join(data.decode("utf-8", "replace") for data in files))


def _told(ground: Ground, wanted: Wanted, composed: Composed) -> tuple[_Told, list[str]]:
    """Sentences of what goes by its place, and texts that have none worth looking for."""
    if not (wanted.blocks or wanted.notes or wanted.sessions):
        return _Told([], []), []
    texts = list(_going(ground, wanted, composed))
    stated = {sentence: None for text in texts for sentence in _worth(text)}
    said = (text for session in wanted.sessions for text in _turns(ground, session))
    spoken = {sentence: None for text in said for sentence in _worth(text) if sentence not in stated}
    silent = (text.strip() for text in texts if text.strip() and not any(_worth(text)))
    return _Told(list(stated), list(spoken)), [] if wanted.sessions else list(dict.fromkeys(silent))


def _going(ground: Ground, wanted: Wanted, composed: Composed) -> Iterator[str]:
    """What the statements say that go by their place, and not by their words."""
    for path, cut in composed.cuts.items():
        for statement in Page(path, ground.read(path) or b"").statements:
            if statement.first in cut.lines and not wanted.whole.found(statement.text):
                yield statement.text


def _turns(ground: Ground, session: str) -> Iterator[str]:
    """What was said in a session."""
    data = ground.read(f"{SESSIONS}/{stem_of(session)}.jsonl") or b""
    turns = (ours.turn(ours.parsed(line)) for line in data.split(b"\n"))
    return (turn.text for turn in turns if turn is not None)


def _worth(text: str) -> Iterator[str]:
    """The sentences of a text that are long enough to be told from others."""
    for match in SENTENCE.finditer(text):
        sentence = " ".join(match[0].split()).strip(_TRIM)
        wide = sum(map(len, cjk_runs(sentence)))
        if wide >= LEAST_WIDE or (len(sentence) >= LEAST_LETTERS and len(sentence.split()) >= LEAST_WORDS):
            yield sentence


def _other_transcripts(ground: Ground, wanted: Wanted) -> dict[str, bytes]:
    """The transcripts of other sessions, by their paths."""
    stems = set(map(stem_of, wanted.sessions))
    folder = ground.workspace.root / SESSIONS
    names = (ground.shown(path) for path in sorted(folder.glob("*.jsonl")) if path.stem not in stems)
    return {name: data for name in names if (data := ground.read(name)) is not None}


def requested(ground: Ground, chosen: Chosen) -> tuple[str, ...]:
    """Return the codes of what agents ask for that goes along: its lines, words that no note says then."""
    waiting = [(one.code, one.wanted) for one in requests.kept(ground.workspace)]
    if not waiting:
        return ()
    gone = {
        path: "\n".join(one.text for one in cut.gone if one.whole)
        for path, cut in chosen.composed.cuts.items()
    }
    lines = {(path, line) for path, text in gone.items() for line in text.split("\n")}
    after = {change.path: change.after for change in chosen.composed.changes}
    staying = [data for name in chosen.names if (data := after.get(name, ground.read(name))) is not None]
    rest = "\n".join(data.decode("utf-8", "replace") for data in staying)
    went = "\n".join(gone.values())

    def goes(asked: Wanted) -> bool:
        held = ((one.path, line) for one in asked.blocks for line in one.lines if any(map(str.isalnum, line)))
        words = [Words((one,)) for one in (*asked.texts, *asked.sentences)]
        words += [Words((one,), names=True) for one in asked.people]
        return not lines.isdisjoint(held) or any(one.found(went) and not one.found(rest) for one in words)

    return tuple(code for code, asked in waiting if goes(asked))


def partly_named(ground: Ground, chosen: Chosen) -> Iterator[tuple[str, str]]:
    """Yield statements that stay and hold the rarer part of a person's name alone, each with that part."""
    after = {change.path: change.after for change in chosen.composed.changes}
    for person in chosen.wanted.people:
        parts = [part for part in person.split() if len(part) > 1]
        holding: dict[str, list[str]] = {}
        for part in parts if len(parts) > 1 else ():
            words = Words((part,))
            for name in chosen.names:
                data = after.get(name, ground.read(name))
                if data is not None and words.found(data.decode("utf-8", "replace")):
                    stated = (s.citation for s in Page(name, data).statements if words.found(s.text))
                    holding.setdefault(part, []).extend(stated)
        if holding:
            rarest = min(holding, key=lambda part: (len(holding[part]), part))
            yield from ((citation, rarest) for citation in holding[rarest])


def elsewhere(ground: Ground, chosen: Chosen) -> Iterator[str]:
    """Yield statements that stay and say the same as what goes, as hits cite them."""
    words = Words(chosen.common)
    after = {change.path: change.after for change in chosen.composed.changes}
    for name in chosen.names if words else ():
        data = after.get(name, ground.read(name))
        if data is not None and words.found(data.decode("utf-8", "replace")):
            yield from (s.citation for s in Page(name, data).statements if words.found(s.text))
