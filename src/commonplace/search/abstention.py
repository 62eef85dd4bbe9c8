"""Whether anything found answers a question in Latin script, told by what is asked and what is found.

One threshold cannot do it. What somebody likes answers "which hotel should I take?" while sharing hardly a
word with it, and so does any small talk; a conversation among friends is near to all that friends talk about.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from commonplace.language import stopwords
from commonplace.search import ranking
from commonplace.search.query import DIALOGUE_CHARACTERS
from commonplace.search.ranking import OWNER, Evidence, Ranked

HEAD = 20  # candidates that are looked at
# A question about somebody or something by a name that the memory does not hold is answered by nothing less
# relevant than this.
STRANGER = 0.5
# The score that the best hit of a conversation among named people must have, read again or not: what answers
# there has neighbours and a section about the matter, and most of its words are found in them.
TALK, TALK_UNREAD = 0.60, 0.51
# The score that other text must have, where no statement of the owner allows for less relevance.
PROSE = 0.36

_AUXILIARY = (
    "do|does|did|has|have|had|is|was|are|were|will|would|could|can|might|may|should"
    "|Do|Does|Did|Has|Have|Had|Is|Was|Are|Were|Will|Would|Could|Can|Might|May|Should"
)
# Names where a question has its subject: `does Kate`, `are Kate and Elise`, `Maria's`.
_SUBJECT = re.compile(
    rf"\b(?:{_AUXILIARY}) ([A-Z][a-z]+(?:(?:,| and|, and) [A-Z][a-z]+)*)\b|\b([A-Z][a-z]+)['’]s?\b"
)
_NO_NAMES = frozenset(
    """
    january february march april may june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday today tomorrow yesterday
    """.split()
)
# What asks for advice, to be answered by what the owner once said of themselves.
_ADVICE = re.compile(
    r"\b(?:recommend\w*|suggest\w*|advi[cs]e|should i|what are some|ideas?|options?|tips"
    r"|how (?:can|do|should) i|help me|which .{1,80} (?:should|would)|looking for|where can i"
    r"|what (?:kind|type|style)s? of|best way|plan(?:ning)?|any good|must-(?:try|see|do)|how would you"
    r"|what would)\b",
    re.IGNORECASE,
)
_PREFERENCE = re.compile(
    r"\b(?:prefer\w*|lik(?:e|es|ed|ing)|lov(?:e|es|ed|ing)|hat(?:e|es|ed)|avoid\w*|never|always|allerg\w*"
    r"|dislik\w*|favou?rite\w*|enjoy\w*|can['’]?t stand|cannot|don['’]?t|not a fan|fan of|only|refus\w*"
    r"|vegetarian|vegan|interested in|passion\w*|afraid|fear|struggl\w*|would rather|committed|believe|value"
    r"|important to me|need|want\w*|drawn|fascinat\w*|avers\w*|uncomfortable|despise|detest|obsess\w*"
    r"|adore)\b",
    re.IGNORECASE,
)


def refuses(ranked: Sequence[Ranked], evidence: Evidence) -> bool:
    """Tell whether the best candidates, as they stand at last, are no answer."""
    best = max((item.relevance for item in ranked), default=0.0)
    if best < STRANGER and _is_about_strangers(evidence):
        return True
    head, size = ranked[:HEAD], ranking.gate_size(evidence.terms)
    loose = _may_be_loose(head, evidence, size)
    if best < ranking.gate(evidence, loose=loose):
        return True
    if any("reranking" in item.parts for item in head):  # another scale
        return False
    score = max((item.score for item in head), default=0.0)
    if _is_talk(head):
        read = any("late interaction" in item.parts for item in head)
        return score < (TALK if read else TALK_UNREAD) * size
    return not loose and not ranking.is_dialogue(evidence) and score < PROSE * size


def _is_about_strangers(evidence: Evidence) -> bool:
    """Whether the question is about names of which the memory holds none."""
    text = evidence.query.text
    if len(text) > DIALOGUE_CHARACTERS:
        return False
    found = [name for pair in _SUBJECT.findall(text) for name in re.findall("[A-Z][a-z]+", " ".join(pair))]
    names = {name.lower() for name in found} - stopwords.ENGLISH - _NO_NAMES
    return bool(names) and names <= evidence.terms.missing


def _may_be_loose(head: Sequence[Ranked], evidence: Evidence, size: float) -> bool:
    """Whether it is for the owner to say, and something found says what they like or need."""
    query = evidence.query
    if not query.first_person and not _ADVICE.search(query.text):
        return False
    speakers = {item.candidate.id: ranking.speakers(item.candidate) for item in head}
    owned = any(not OWNER.isdisjoint(said) for said in speakers.values())
    return any(
        item.relevance >= ranking.GATE_LOOSE * size and _PREFERENCE.search(item.candidate.text)
        for item in head
        if (not OWNER.isdisjoint(speakers[item.candidate.id]) if owned else not speakers[item.candidate.id])
    )


def _is_talk(head: Sequence[Ranked]) -> bool:
    """Whether what is found is a conversation among named people, none of whom is the owner."""
    turns = [item for item in head if item.candidate.turns > 0]
    if len(turns) * 2 <= len(head):
        return False
    return all(OWNER.isdisjoint(ranking.speakers(item.candidate)) for item in head)
