"""Words that exclude each other, and relations that have one object: what two sentences cannot both say."""

from __future__ import annotations

import re
from functools import cache

from commonplace.revision import likeness
from commonplace.revision.claims import IDLE, words
from commonplace.search import wording

_OPPOSITES = """
enabled disabled; enable disable; on off; open closed; opens closes; allowed forbidden; allowed prohibited;
likes hates; likes dislikes; loves hates; before after; public private; vegetarian carnivore; single married;
required optional; true false; accept reject; accepted rejected; approved rejected; present absent;
inside outside; indoors outdoors; left right; morning evening; morning afternoon; early late;
internal external; mandatory optional; online offline; remote onsite; ascending descending; maximum minimum;
active inactive; supported unsupported; safe unsafe; synchronous asynchronous; manual automatic;
manually automatically; weekly daily; weekly monthly; daily monthly; hourly daily; yearly monthly; paid free;
tabs spaces; light dark; encrypted unencrypted; sorted unsorted
开启 关闭; 启用 禁用; 允许 禁止; 喜欢 讨厌; 公开 私有; 单身 已婚; 必须 可选; 同步 异步; 手动 自动; 上午 下午;
早上 晚上; 每天 每周; 每周 每月; 每天 每月; 免费 收费; 内部 外部; 远程 现场; 升序 降序; 线上 线下; 接受 拒绝;
通过 驳回; 浅色 深色
"""
# What has one of its kind: the one may be any word, or a name ("the database is slow" names none).
_HAS_ONE_WORD = words(
    "name colou?r branch default codename nickname surname theme font shell format currency"
)
_HAS_ONE_NAME = words(
    "owner lead leader manager boss maintainer capital deadline birthday address database language host",
    "editor timezone time_zone location ceo cto teacher doctor wife husband partner dog cat major",
    "framework license contact reviewer approver region provider model venue city office home",
    "headquarters password_manager browser airline bank",
)
_ONE = re.compile(
    r"^(?P<of>.+?\b(?:"
    + words(
        "lives_(?:in|on|at) is_based_in is_located_in works_(?:at|for) is_married_to is_called is_named",
        "reports_to was_born_in was_founded_in is_hosted_(?:on|at|by|in) is_written_in",
        "is_maintained_by is_owned_by is_led_by is_managed_by defaults_to points_to",
    )
    + rf"|(?:{_HAS_ONE_WORD}|(?P<name>{_HAS_ONE_NAME}))(?: (?:of|for|in|on|at) [^,;:]+?)? (?:is|are)))"
    r"\s+(?P<what>[^,;]+?)[.!]*$",
    re.IGNORECASE,
)
_ONE_WIDE = re.compile(
    r"^(?P<of>.*?(?:"
    + words("住在 居住在 常驻 位于 就职于 任职于 供职于 出生于 生于 毕业于 名叫 叫做 部署在 托管在 存放在")
    + "|默认(?:使用|为|是)|(?:"
    + words(
        "负责人 名字 颜色 截止日期 生日 地址 默认分支 数据库 语言 老板 经理 老师 医生 妻子 丈夫",
        "首都 编辑器 时区 主题 总部 办公室 域名 区域 供应商 模型 货币 昵称 代号 主管 组长 维护者",
        "联系人 审批人 牌子 专业 格式 框架",
    )
    + ")是))(?P<what>[^，,；;]+?)[。.!！]*$"
)
_AT_WIDE = re.compile(
    r"^(?P<of>[^在由，,；;]+)(?:由(?P<who>[^，,；;]+?)(?:负责|维护|管理|主持|审批|领导)"
    r"|在(?P<what>[^，,；;]+?)(?:工作|上班|上学|读书|任职))[。.!！]*$"
)
_LIST = re.compile(r"\b(?:and|both|not)\b|[和与及、不没]", re.IGNORECASE)
_LONGEST_OBJECT = 4  # words
# "works at night" names no employer, "the name is long" no name.
_NO_NAME = frozenset(
    """
    night home weekends weekend 家 晚上 周末 long short good bad new old nice fine ready wrong right unknown
    missing unclear slow fast big small great late early full empty done set fixed free busy closed open
    """.split()
)
_DESCRIBED = re.compile(r"^[很太非最较挺更]|的$")


@cache
def _pairs() -> frozenset[tuple[frozenset[str], frozenset[str]]]:
    rows = [tuple(map(_parts, row.split())) for row in re.split(r";|\n", _OPPOSITES) if row.strip()]
    return frozenset(pair for first, second in rows for pair in ((first, second), (second, first)))


def _parts(word: str) -> frozenset[str]:
    return frozenset([likeness.stem(word)] if word.isascii() else word)


def opposed(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two sets of words differ in one pair of opposites alone, and share what they are said of."""
    mine, theirs = one - other, other - one
    if not mine or not theirs or wording.weight(one & other) < 1:
        return False
    return any(mine == left - right - IDLE and theirs == right - left - IDLE for left, right in _pairs())


def exclusive(one: str, other: str) -> bool:
    """Whether two sentences name different objects of a relation that has but one."""
    first, second = _relation(one), _relation(other)
    if first is None or second is None or first[0] != second[0]:
        return False
    mine, theirs = first[1], second[1]
    if mine <= theirs or theirs <= mine:
        return False
    return wording.weight(mine & theirs) <= min(wording.weight(mine), wording.weight(theirs)) / 2


def _relation(sentence: str) -> tuple[frozenset[str], frozenset[str]] | None:
    """What a sentence gives the one object of, and the words of that object."""
    text = re.sub(r"\b(?:now|currently|still)\b ?|现在|目前|如今", "", sentence).strip()
    if found := _ONE.match(text) or _ONE_WIDE.match(text):
        of, what = found["of"], found["what"]
        if "name" in found.groupdict() and found["name"] and not what[0].isupper():
            return None
    elif found := _AT_WIDE.match(text):
        what = found["who"] or found["what"]
        of = text.replace(what, " ", 1)
    else:
        return None
    return (frozenset(wording.read(of).tokens) - {"at", "for"}, said) if (said := _object(what)) else None


def _object(what: str) -> frozenset[str]:
    """The words of an object; none for a list of several, a description, or a clause."""
    said = likeness.stems(what) or frozenset(wording.read(what).tokens)
    described = _LIST.search(what) or _DESCRIBED.search(what) or what.lower().split()[0] in _NO_NAME
    return frozenset() if described or wording.weight(said) > _LONGEST_OBJECT else said
