"""What the tools that take something back answer: what was struck, what would be erased, what is gone."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from commonplace.agent.answers import NOTE, Answer, Said, failed, framed

if TYPE_CHECKING:
    from commonplace.types.changes import Corrected, Erased, Erasure, Selection
    from commonplace.types.notes import Cited

MOST_SHOWN = 40  # places of a preview; the rest is counted
EXCERPT = 160  # characters of each
READ = "notes"  # the store whose places a person can look at


# --- what is to be forgotten ----------------------------------------------------------------------------


def request(selection: Selection) -> str:
    """Tell what was asked for from everything else; what of the notes that is, is the preview's to know."""
    told = json.dumps([selection.kind, selection.value, selection.also])
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()


def preview(selection: Selection, found: Erasure) -> str:
    """Say what would be erased, for a person to approve of: how much, where, in which words."""
    from commonplace.edit.forget import words
    from commonplace.render import screen

    notes = _read(found)
    lines = [f"Would erase for good, by {selection.kind}: {_counted(found.places)}."]
    for one in notes[:MOST_SHOWN]:
        lines.append(f"{one.citation}: {screen.shorten(screen.one_line(one.text), EXCERPT)}")
    if len(notes) > MOST_SHOWN:
        lines.append(f"and {len(notes) - MOST_SHOWN} more places in notes")
    if selection.kind == "person":
        names = (selection.value, *selection.also)
        lines += filter(None, [words.name_longer(names, (one.text for one in notes))])
    return "\n".join([*lines, *(f"Out of reach: {one}" for one in _unreachable(found))])


def offered(selection: Selection, found: Erasure, told: str, code: str) -> Answer:
    """Show a preview with the code that confirms it; the words of notes stand in the frame of data."""
    head, *rest = told.split("\n")
    asking = (
        "Nothing is erased yet. Show this to the user and ask. Only after a yes, call memory_forget again "
        f"with the same what and kind and confirm: {code}"
    )
    data = {"preview": True, "confirm": code, "kind": selection.kind, **_data(found), "note": NOTE}
    return Answer("\n".join([head, framed("\n".join(rest)), asking]), data)


def waiting(selection: Selection, found: Erasure, told: str, code: str) -> Answer:
    """Say that the owner is to approve on the command line, and what of."""
    head, *rest = told.split("\n")
    asking = (
        "Nothing is erased. Nobody can be asked from here, so the owner has to approve on the command line: "
        f"commonplace forget --approve {code} (it waits for a week). Tell the user so; do not call again."
    )
    data = {"preview": True, "approve": code, "kind": selection.kind, **_data(found), "note": NOTE}
    return Answer("\n".join([head, framed("\n".join(rest)), asking]), data)


def refused(said: Said) -> Answer:
    """Say that a person did not agree."""
    why = "the user said no" if said == "decline" else "nobody answered"
    return failed(f"nothing was erased: {why}. Do not ask for it again unless the user does")


def nothing(selection: Selection, found: Erasure) -> Answer:
    """Say that there is nothing to erase."""
    text = f"Nothing of this {selection.kind} is found, so there is nothing to erase."
    reach = [f"Out of reach: {one}" for one in _unreachable(found)]
    return Answer("\n".join([text, *reach]), {"preview": True, **_data(found)})


def erased(done: Erasure) -> Answer:
    """Say what was erased, without its words."""
    left = [f"{one.path} still holds it {one.count} times. {one.remedy}".strip() for one in done.left]
    text = [f"Erased: {_counted(done.places)}.", *left]
    text += [f"Out of reach: {one}" for one in _unreachable(done)]
    text.append("Do not repeat or write down what was forgotten.")
    data = {"erased": len(done.places), "complete": done.complete, "unreachable": _unreachable(done)}
    return Answer("\n".join(text), {**data, "left": [one.path for one in done.left]})


def _read(found: Erasure) -> list[Erased]:
    return [one for one in found.places if one.where == READ]


def _counted(places: Iterable[Erased]) -> str:
    """How much goes from where: `notes 3, transcripts 1`."""
    counts: Counter[str] = Counter()
    for one in places:
        counts[one.where] += one.count
    return ", ".join(f"{where} {count}" for where, count in counts.items()) or "nothing"


def _unreachable(found: Erasure) -> list[str]:
    return [f"{one.what}; {one.remedy}" if one.remedy else one.what for one in found.unreachable]


def _data(found: Erasure) -> dict[str, Any]:
    """What would go, as plain data: the places in notes, and how much elsewhere."""
    notes = _read(found)
    shown = [{"citation": one.citation, "text": one.text[:EXCERPT]} for one in notes[:MOST_SHOWN]]
    elsewhere = Counter[str]()
    for one in found.places:
        if one.where != READ:
            elsewhere[one.where] += one.count
    return {
        "places": shown,
        "more": max(0, len(notes) - MOST_SHOWN),
        "elsewhere": dict(elsewhere),
        "unreachable": _unreachable(found),
    }


# --- what was corrected ---------------------------------------------------------------------------------


def corrected(done: Corrected) -> Answer:
    """Say what was struck, where the new one stands, and what similar statements still stand."""
    told = [f"Struck: {', '.join(done.struck)}."]
    if done.written:
        told.append(f"The new one stands at {done.written}.")
    if done.redacted:
        told.append(f"Redacted: {', '.join(done.redacted)}.")
    told += done.warnings
    if done.similar:
        told.append("These say nearly the same and still stand; correct them too if they are wrong:")
        told.append(framed(_cited(done.similar)))
    data = {
        "struck": list(done.struck),
        **({"citation": done.written} if done.written else {}),
        "similar": [{"citation": one.citation, "text": one.text} for one in done.similar],
        "redacted": list(done.redacted),
        "warnings": list(done.warnings),
        "note": NOTE,
    }
    return Answer("\n".join(told), data)


def uncorrected(message: str, near: Iterable[Cited]) -> Answer:
    """Say why nothing was corrected, and what comes near, to be called again with a citation."""
    near = list(near)
    if not near:
        return failed(message)
    told = f"{message}\nThese come near; call again with the citation of the one that is meant:"
    data = {"error": message, "near": [{"citation": one.citation, "text": one.text} for one in near]}
    return Answer(f"{told}\n{framed(_cited(near))}", data, is_error=True)


def _cited(statements: Iterable[Cited]) -> str:
    from commonplace.render import screen

    return "\n".join(f"{one.citation}: {screen.one_line(one.text)}" for one in statements)
