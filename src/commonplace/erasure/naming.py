"""Longer names that begin as a name does: Chinese writes no blanks, so that 王伟 stands in 王伟明 too."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from commonplace import characters
from commonplace.index.lexicon import CJK

# A character is taken for one of the name if one of these, or the end, is behind it, and it is none of those
# that stand behind a name of their own accord.
_BEHIND = r"[住在说是的，。、；：！？,.;:!?\s]|\Z"
_NO_NAME = (
    "住在说是的了着过和与跟同也都不没去来到有会要想能可把被给对为从向叫让请问答讲写看听"
    "吃喝买用做走等们家很就才又再还已最"
)


def longer(names: Collection[str], texts: Iterable[str]) -> dict[str, int]:
    """Return what may be longer names in texts that mention people, each with how often it stands there."""
    told = list(map(characters.fold, texts))
    shorter = set(map(characters.fold, names))
    found: dict[str, None] = {}
    for name in sorted(one for one in shorter if re.search(f"[{CJK}]\\Z", one)):
        expression = re.compile(rf"{re.escape(name)}(?![{_NO_NAME}])[{CJK}](?={_BEHIND})")
        found |= dict.fromkeys(one for text in told for one in expression.findall(text))
    return {one: sum(text.count(one) for text in told) for one in found if one not in shorter}


def told(names: Collection[str], texts: Iterable[str]) -> str:
    """Say which longer names may go as well; empty for none."""
    found = longer(names, texts)
    each = ", ".join(f"{name} ({times})" for name, times in found.items())
    return f"also as the beginning of: {each}; these places go as well" if found else ""
