"""Words that carry a question rather than its subject; questions drop them, the index keeps them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

ENGLISH = frozenset(
    """
    a about above after again against all also am an and any are aren as at be because been before
    being below between both but by can could couldn d did didn do does doesn doing don down during
    each either else ever few for from further get give given go got had hadn has hasn have haven
    having he hello help her here hers herself hey hi him himself his how however i if in into is
    isn it its itself just let like ll m many may me might mine more most much must my myself need
    no nor not now of off ok okay on once one only or other our ours ourselves out over own please
    re s same say shall she should shouldn so some such suggest t tell than thank thanks that the
    their theirs them themselves then there these they thing things this those through to too under
    until up upon us ve very want was wasn we were weren what whatever when where whether which
    while who whom whose why will with won would wouldn yes yet you your yours yourself yourselves
    """.split()
)

# A question with one of these is about the person who asks: the token `i` then finds what they said.
FIRST_PERSON = frozenset({"i", "me", "my", "mine", "myself"})

# Chinese function words as the bigrams a question is made of, folded as questions are (`characters`).
CHINESE = frozenset(
    """
    一下 一个 一些 不是 为何 什么 他们 他的 以及 但是 你们 你的 其实 刚才 另外 可以 告诉 哪一 哪个 哪些
    哪位 哪儿 哪里 因为 多少 她们 她的 如何 如果 它们 就是 帮我 并且 怎么 怎样 我们 我的 或者 所以 时候
    是否 有没 来着 没有 然后 现在 甚么 的话 真的 知道 而且 觉得 记得 请问 还是 还有 这个 这么 这些 这里
    那个 那么 那些 那里 非常
    """.split()
)

# A bigram of two of these characters says nothing of its own (我的, 是在, 了吗).
CHINESE_CHARACTERS = frozenset(
    "与个为么也了于些什从他们会你妳您几到又及可向吗吧呀呢和哦哪啊嘛在多她它对少"
    "就很怎想我把是有的给能被要让说请谁还这那都"
)


def without(text: str) -> str:
    """Blank the Chinese function words of a folded text."""
    return re.sub(f"{'|'.join(sorted(CHINESE))}|[{''.join(sorted(CHINESE_CHARACTERS))}]", " ", text)


def meaningful(bigrams: Iterable[str]) -> Iterator[str]:
    """Yield the bigrams that may say what a Chinese question is about."""
    for bigram in bigrams:
        if bigram not in CHINESE and not all(character in CHINESE_CHARACTERS for character in bigram):
            yield bigram
