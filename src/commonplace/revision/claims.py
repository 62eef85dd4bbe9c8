"""What a sentence claims, as far as that can be told without a model: of what, which values, denied or not.

Questions, guesses, conditions and what happened once claim nothing that another sentence could contradict.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from commonplace import characters
from commonplace.chunking import strikes
from commonplace.revision import likeness, sentences, values
from commonplace.search import wording

_LONGEST = 400  # characters of a sentence that is compared
_MOST = 8  # sentences of a statement


def words(*lists: str) -> str:
    """Return the alternatives of a regular expression for lists of words, apart by blanks; `_` is a blank."""
    return "|".join(word.replace("_", " ") for text in lists for word in text.split())


# What leaves it open: questions, conditions, guesses, bounds, what was before, and what is one of several.
_OPEN = re.compile(
    r"[?？]\s*$|\b(?:"
    + words(
        r"if unless whether might (?<!\d_)may(?=_[a-z]) could would should maybe perhaps possibly",
        r"probably likely tentative consider(?:ing)? propos\w+ suggest\w* idea",
        r"plan(?:s|ned|ning)?_to want(?:s|ed)?_to wonder\w* about around roughly approximately",
        r"nearly almost at_least at_most up_to (?:more|less|fewer)_than over under between todo",
        r"example e\.g or used_to formerly previously was_once originally some sometimes often",
        r"mostly another except instead alternat\w+",
    )
    + r")\b|"
    + words(
        "如果 若 假如 要是 可能 也许 或许 大概 左右 大约 约 至少 最多 超过 以上 以下 不到 建议 考虑",
        "打算 计划 想要 以前 曾 原来 原本 之前 有时 除非 除了 或者 还是 吗 呢 例如 待定 另一 其他",
        "应该 差不多 将近 一般",
    ),
    re.IGNORECASE,
)
# What happened, or holds, on one day, and readings of what changes: the next one may be another.
_ONCE = re.compile(
    r"\b(?:"
    + words(
        r"today yesterday tomorrow tonight this_(?:morning|afternoon|evening|week|month)",
        r"last_(?:night|week|month|year) next_(?:week|month|year) ago just again then were",
        r"was_(?!born|founded|created|established|built|named)",
    )
    + r")\b|(?<!\bis )(?<!\bare )(?<!\bbe )\b(?:"
    + words(
        "met ran went came saw bought paid ate slept took made found got said told asked wrote sent",
        "gave had did spent lost won fixed merged deployed shipped visited called talked discussed",
        "finished completed started stopped tried tested measured logged walked cooked watched read",
        "played weighed scored earned sold moved changed updated added removed closed reviewed",
        "reported decided agreed noticed learned attended failed cancelled canceled crashed landed",
        "arrived left returned hired joined upgraded",
    )
    + r")\b|\b(?:"
    + words(
        "usage load temperature latency ping cpu ram price weight stock balance score rating rank queue",
        "backlog mood weather humidity traffic uptime progress remaining left",
    )
    + r")\b|"
    + words(
        "今天 昨天 明天 今早 今晚 昨晚 刚才 刚刚 上周 下周 上个?月 下个?月 去年 明年 前天 后天 这次",
        "上次 本周 这周 了 过(?!程|期|滤|敏) 温度 延迟 使用率 负载 体重 余额 血压 气温 进度 剩余 心情 天气",
        "队列 积压 排队",
    ),
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"\b(?:do|does|is|are|can|will|has|have)n't\b"
    r"|\b(?:(?:do|does) not|not|no longer|never|cannot|won't|can't|no)\b"
    r"|不再|从不|从未|不(?!同|错|过(?!敏|滤)|断|少|仅|但|管|论)|没(?!收)|未(?!来)|无需",
    re.IGNORECASE,
)
# What a sentence may have or lack, and still be about the same.
IDLE = frozenset(
    """
    go goes out happen happens happening take takes taking place held hold holds schedul scheduled set always
    usual usually every each all now current currently since new our team we us regular regularly start starts
    begin begins just still only there here will at on in by for to with from until as also already actually
    due run be been being has have had do does it its his her their my your the a an is are was were am this
    that these those day
    的 在 于 每 都 我 们 会 现 目 已 经 为 成 到 是 有 将 要 就 也 把 被 由 从 和 与 及 当 里 上 中 总 定
    """.split()
)
_VERB = re.compile(
    r"\b(?:"
    + words(
        "is are am be was has have will must can does do costs? takes? goes? runs? starts? begins?",
        "ends? opens? closes? lives? uses? needs? expires? listens? happens? falls? works? lasts?",
        "keeps? holds? allows? requires? supports? prefers? likes? meets? ships? deploys? leaves?",
        "arrives? weighs? speaks? owns? sends? returns? equals? wakes? charges? serves? stores?",
        "contains? retries times? rotates? syncs? drinks? eats? defaults? reports? receives? gets?",
        "gives? pays? earns? sleeps? trains? swims? teaches polls? reads?",
    )
    + r")\b|\b[a-z]{3,}s \d|[是在为有用需要到开关等住叫于放发听留存喝吃做睡教坐能]|部署|容纳",
    re.IGNORECASE,
)
_RECURRING = re.compile(
    r"\b(?:every|each|daily|weekly|monthly|always|(?:mon|tues|wednes|thurs|fri|satur|sun)days)\b|每|总是|都",
    re.IGNORECASE,
)
# The day is what is said of it: "the release is on Friday", not "Lin is at the dentist on Friday".
_SETTLED = re.compile(
    r"\b(?:is|are)(?: (?:now|always|due|set|scheduled|held|planned|on|for|by|the))*"
    r" (?:\d|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun))|是|定[在于为]",
    re.IGNORECASE,
)


class Claim(NamedTuple):
    """What a sentence claims: values by kind, the other words that say something, and whether it denies.

    `verb` says that it is a sentence rather than a row of a log, `lasting` that a day in it is no single one.
    """

    text: str
    values: Mapping[str, frozenset[str]]
    words: frozenset[str]
    denied: bool
    verb: bool
    lasting: bool


@lru_cache(2048)
def of(text: str) -> tuple[Claim, ...]:
    """The claims of a statement, sentence by sentence."""
    body = " ".join(strikes.STRUCK.sub(" ", text[strikes.lead(text, turn=False) :]).split())
    spans = sentences.spans(body)[:_MOST]
    return tuple(filter(None, (_claim(body[start:end]) for start, end in spans)))


def _claim(sentence: str) -> Claim | None:
    folded = characters.fold(sentence).replace("’", "'")
    if len(folded) > _LONGEST or _OPEN.search(folded) or _ONCE.search(folded):
        return None
    found = values.read(folded)
    tokens = wording.read(_DENIED.sub(" ", found.rest)).tokens
    said = {likeness.stem(token) for token in tokens if token not in IDLE and token[0].isalnum()}
    recurring = _RECURRING.search(folded) is not None
    return Claim(
        folded,
        found.values,
        frozenset(said - IDLE),
        _DENIED.search(found.rest) is not None,
        recurring or _VERB.search(folded) is not None,
        recurring or _SETTLED.search(folded) is not None,
    )
