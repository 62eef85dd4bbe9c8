"""Which statements will matter in a month, by rules in two languages: of what kind they are, or none."""

from __future__ import annotations

import re
from datetime import date, timedelta
from functools import cache
from typing import Literal

Kind = Literal["preference", "decision", "lesson", "procedure", "person", "date", "fact", "recalled"]

LONGEST = 600  # characters; what is longer is a story, not a statement
_LEAST = 3  # words that carry something; a CJK character counts half
_WIDE = "\u3400-\u9fff"

# --- what is no statement to keep --------------------------------------------------------------------------

_QUESTION = r"[?？][\s\"'”’）)]*$|^(?:what|who|when|where|why|how|should|could|can|do|does|did|is|are|will)\b[^.:!]{0,80}\?"
_TODO = (
    r"^\[[ xX]\]|\b(?:todo|to-do|fixme|action item)\b|^(?:remind|remember to|don't forget|need to|have to|must (?:still )?"
    r"(?:buy|call|ask|write|send|reply|fix|check|look))\b|\b(?:i|we) (?:need|have|still have|ought|want|must) (?:to )?"
    r"(?:buy|call|ask|write|reply|fix|check|look|pick|send|book|finish|review|read|clean)\b|^open\b|^(?:ask|call|buy|reply to|"
    r"follow up|check with|look into|pick up|send|book|write to|clean|review|finish) "
    r"|待办|^(?:记得|别忘|要去|去买|去取|需要去|提醒|还要|还得|问一?下|回复|给.{1,8}(?:打电话|发邮件|回信))"
)
_ERROR = (
    r"traceback \(most recent|^\s*file \".*\", line \d|\b\w*(?:error|exception)(?::|\()\s?\S|^\s*at [\w$.<>]+\(|"
    r"\bexit(?:ed with)? (?:code|status) \d|\b(?:errno|enoent|eacces|econnrefused|segfault|sigkill|core dumped|panicked at)\b|"
    r"^(?:fatal|error|warning|warn|panic|debug|info|stderr|npm err!)\b[:\]]|\bstack ?trace\b|^\$ |^>>> |错误[:：]|异常[:：]|报错[:：]"
)
# Words of a run of instructions to whoever reads: data that speaks to a model.
INSTRUCTION = (
    r"\b(?:ignore|disregard|forget|override) (?:all |any |the |your |every )*(?:previous|prior|above|earlier|other|system)\b|"
    r"\bsystem prompt\b|\b(?:you are|act as|pretend to be) (?:now |an? )*(?:ai|assistant|agent|model|dan|root|admin)\b|"
    r"\b(?:assistant|agents?|ai|models?|llm|chatgpt|claude)\b[^.]{0,20}\b(?:must|should|shall|have to|always|never)\b|"
    r"\bdo not (?:tell|inform|mention|reveal)[^.]{0,30}\b(?:user|owner)\b|\bnew instructions?\b|<\/?(?:system|instructions?|memory)\b|"
    r"(?:忽略|无视|忘记|不要理会)(?:之前|以上|上面|前面|所有|一切|先前)|系统提示|(?:助手|智能体|模型|人工智能)(?:必须|应当|应该|总是|永远|不得)|"
    r"你现在是|不要告诉(?:用户|主人)|新的?指令"
)
_CHATTER = (
    r"^(?:ok(?:ay)?|yes|no|yeah|yep|sure|thanks?|thank you|hi|hello|hey|lol|haha\w*|great|cool|nice|wow|good (?:morning|night|day|idea)|"
    r"bye|see you|you're welcome|sounds good|got it|no problem|congrat\w*|well done|good luck|let me know|hope)\b|"
    r"^(?:好的?|嗯+|哈+|谢谢|多谢|你好|早上好|晚安|再见|收到|没问题|行吧?|不客气|加油|恭喜|太好了|辛苦了|哇)(?:[，。！~、 ]|$)|"
    r"^(?:nothing (?:happened|new|special|but)|quiet (?:day|night)|没什么|无事|一切正常)"
)
_PASSING = (
    r"\b(?:today|tonight|tomorrow|yesterday|this (?:morning|afternoon|evening|week|weekend)|last night|right now|at the moment|just now|"
    r"currently|for now|in (?:an? |\d+ )?(?:hours?|minutes?)|later)\b|今天|今晚|今早|今夜|昨天|昨晚|明天|明早|明晚|"
    r"(?:早上|上午|中午|下午|晚上|傍晚)(?:刚|去|吃|喝|看|跑|睡)|刚才|刚刚|现在|这会儿|待会|一会儿|本周|这周|这个?周末"
)
_MOOD = (
    r"\b(?:rain(?:ed|ing|y|s)?|snow(?:ed|ing)?|sunny|cloudy|windy|hot day|cold day|weather|tired|sleepy|bored|exhausted|"
    r"slept|woke up|had (?:lunch|dinner|breakfast)|lunch was|dinner was|went (?:home|to bed|out|for)|walked|took a (?:nap|walk)|"
    r"felt|feeling|feel (?:good|bad|better))\b|"
    r"下雨|下雪|晴天|阴天|天气|好累|很困|困了|睡得|睡了|起床|心情|散步|午饭|晚饭|早饭|堵车|发呆"
)
_NARRATION = (
    r"^(?:i |we )?(?:went|had|saw|ate|drank|talked|walked|bought|watched|called|came|sat|started|finished|fixed|wrote|read|"
    r"looked|tried|ran|played|cooked|visited|spent|got|took|sent|cleaned|made|met|deployed|merged|rebased|edited|reviewed|"
    r"opened|closed|pushed|restarted|tested|searched|updated|listed|checked|replied|asked|answered|did)\b|"
    r"^(?:去了|吃了|看了|买了|写了|修了|跑了|做了|聊了|打了|开了|回了|改了|读了|试了|发了|问了|见了|刷了|逛了)"
)

# --- what is ------------------------------------------------------------------------------------------------

_KIN = (
    r"wife|husband|partner|spouse|fianc[eé]e?|girlfriend|boyfriend|daughter|son|child|kid|sister|brother|mother|father|mom|mum|dad|"
    r"parents?|aunt|uncle|cousin|niece|nephew|grand(?:mother|father|ma|pa)|boss|manager|lead|colleague|coworker|teammate|friend|"
    r"neighbou?r|doctor|dentist|teacher|landlord|lawyer|accountant|coach|roommate|dog|cat|client|customer"
)
_KIN_ZH = (
    r"妻子|老婆|丈夫|老公|爱人|女儿|儿子|孩子|姐姐|妹妹|哥哥|弟弟|妈妈|母亲|爸爸|父亲|爷爷|奶奶|外公|外婆|叔叔|阿姨|舅舅|姑姑|表[哥弟姐妹]|堂[哥弟姐妹]|"
    r"侄[子女]|外甥女?|上司|老板|经理|领导|同事|下属|朋友|邻居|医生|牙医|老师|房东|律师|教练|室友|同学|客户"
)
_NAME = r"(?:[A-Z][a-zé]+|[A-Z]{2,})"
_LIVES = (
    r"(?:is|was|works?|worked|lives?|lived|joined|left|leads?|maintains?|owns?|moved|became|becomes|speaks?|married|studies|"
    r"teaches|runs|manages|reports|handles|takes over|took over|likes|comes from|grew up|retires?|plays)"
)
_MONTHS = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)"
)
_DAY = rf"\d{{4}}-\d\d-\d\d|\b\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTHS}\b|\b{_MONTHS} \d{{1,2}}\b|\d{{1,2}}\s?月\s?\d{{1,2}}\s?[日号]?"
_WHEN = (
    r"\b(?:due|deadline|appointment|starts?|begins?|ends?|until|birthday|anniversary|flight|flies|meeting|release[ds]?|exam|"
    r"scheduled|booked|expires?|renew(?:s|al)?|opens?|closes?|launch(?:es|ed)?|extraction|surgery|wedding|trip|conference|moves?|"
    r"holiday|vacation|leaves?|arrives?|takes place|planned|born|on|by|from|since|is)\b"
    r"|截止|到期|生日|纪念日|预约|开始|结束|出发|航班|会议|考试|手术|报到|开学|婚礼|交|搬|生效|上线|发布|安装|清洗|年检|约了|约在|放假|旅行|参加|日期|时间"
)
_RULES: tuple[tuple[Kind, str], ...] = (
    ("lesson",
     r"\b(?:lessons?|learn(?:ed|t) (?:that|–|-|:|to|the)|turns? out|turned out|root cause|the mistake|never again|next time|gotcha|the trick is|"
     r"caused by|the cause|was fixed by|the fix (?:is|was)|the reason (?:is|was)|it helps to|in hindsight|rule of thumb|outlives)\b|^learned\b"
     r"|教训|学到|了解 –|原来是|根因|根本原因|原因是|下次(?:要|不)|经验是|踩坑|的坑|事实证明|吃一堑"),
    ("preference",
     r"\b(?:prefer(?:s|red|ence)?|likes?|loves?|hates?|dislikes?|favou?rites?|can(?:'t|not) stand|allerg(?:ic|y|ies)|vegetarian|vegan|"
     r"rather than|enjoys?|don't (?:like|want|eat|drink)|doesn't (?:like|want|eat|drink)|do not (?:like|eat|drink)|fond of|"
     r"no (?:meetings|coffee|calls|slides|emails?|sugar|meat|alcohol|milk) )\b|\b(?:always|never) (?!mind|run|deploy|merge|push|restart|use)\w+|no .{2,20} (?:after|before) \d"
     r"|喜欢|偏好|偏爱|最爱|讨厌|过敏|不吃|不喝|爱吃|爱喝|爱看|爱听|习惯(?:了|于|是|用|在)?|宁愿|从不|从来不|口味|忌口|喜好|吃素"),
    ("decision",
     r"\b(?:decided|decision|agreed (?:to|on|that)|settled on|chose|chosen|switch(?:ed|ing|es)? (?:to|from)|moved? (?:back )?(?:from|to)|moves to|"
     r"from now on|policy|approved|adopted|going with|go with|postponed|cancel+ed|replaced (?:by|with)|renamed to|instead of|"
     r"is now|are now|no longer|will be (?:owned|run|handled|called)|becomes? the|stays? (?:on|at|with|the)|picked|dropped support)\b|^decided\b"
     r"|决定|定了|定下|定为|商定|约定|改为|改成|改用|改到|改在|选用|选定|采用|从此|以后都|统一用|统一为|批准|同意|确定为|推迟到|延到|取消了|不再|换成"),
    ("procedure",
     r"\bfirst\b.+\bthen\b|\bstep \d|\brun `|\bhow to\b|\bbefore (?:merging|deploying|releasing|pushing|each|every|a release)\b|"
     r"\b(?:must|has to|have to) (?:be|pass|run|go|come|stay|match|sign|approve)\b|\bmake sure\b|\balways (?:run|use|deploy|merge|push|restart|test)\b|\bnever (?:deploy|merge|push|restart|run|use)\b|"
     r"\bto (?:deploy|release|restore|roll back|rebuild|reset|restart|install|reproduce|back up|renew|log in|connect)\b.*[,:]|"
     r"\b(?:two|three|four|\d) steps\b|`[^`]+` (?:to|for|before|after)\b"
     r"|步骤|流程|先.{1,30}(?:再|然后|后)|要先|必须|每次.{1,20}(?:要|都)|操作方法|方法是|命令是|(?:部署|发布|回滚|重启|备份|恢复|合并)(?:之?前|时|要|的时候).{2,}"),
    ("person",
     rf"\b(?:my|our|his|her|their|{_NAME}'s) (?:\w+ )?(?:{_KIN})\b|^(?:\*\*)?{_NAME}(?: {_NAME})?(?:\*\*)?,? (?:\([^)]*\),? )?{_LIVES}\b|"
     rf"\b(?:birthday|was born|is married|works (?:at|for|as|in)|lives in|maintained by|owned by|owner of)\b|\b{_LIVES} (?:the|our|my) \w+.*\bteam\b"
     rf"|(?:我|我们|他|她|[{_WIDE}]{{1,4}})的?(?:{_KIN_ZH})(?:是|叫|在|的|姓|住|，)|生日是?|身高|(?:住在|毕业于|就职于|任职|出生于|负责)|是我的?(?:{_KIN_ZH})|的(?:职业|学历|爱好|性格|电话|邮箱|单位|家乡|年龄)"),
    ("date", rf"(?:{_DAY}).*(?:{_WHEN})|(?:{_WHEN}).*(?:{_DAY})|^(?:(?:mon|tue|wed|thu|fri|sat|sun)\w*,? )?(?:{_DAY})[,:]? .{{4,}}"),
    ("fact",
     r"^(?!it\b|this\b|that\b|there\b|he\b|she\b|they\b|i\b|we\b)[\w`*\"'“#/.-]+(?: [\w`*\"'“”#/.,()-]+){0,9}? (?:is|are|has|have|uses?|runs? (?:on|in|at|under|with)|costs?|takes?|contains?|"
     r"supports?|requires?|needs?|stands? (?:in|on|for|under)|belongs?|lies|lives? (?:in|on|at)|means|holds?|keeps?|expires?|listens?|goes? out|go out|comes? from|weighs?|"
     r"stores?|serves?|sits|accepts?|returns?|defaults?|depends?|starts? with|ends? with|maintains?|owns?|includes?|works? (?:at|with|on|in))\b .{3,}"
     r"|^(?:my|our) [\w -]{2,40}? (?:is|are|has)\b .{2,}|^(?:i|we) (?:live|work|own|have an?|use|am an?|speak|study|drive|play) .{3,}"
     r"|^[A-Z][\w /()-]{2,30}: .*(?:\d|`|[A-Z])"
     rf"|[{_WIDE}A-Za-z0-9]{{2,}}(?:是|为|用的是|在用|用|使用|叫|位于|放在|存在|住|等于|支持|需要|要求|属于|包括|包含|一共|共有|有)[{_WIDE}A-Za-z0-9《「“ .￥]{{2,}}"
     r"|(?:地址|电话|型号|版本|价格|密度|门牌|车牌|账号|编号|端口|月租|租约|上限|默认)[：:为是]?.{2,}"),
)  # fmt: skip


def kind_of(text: str, day: date | None = None) -> Kind | None:
    """Return the kind of a durable statement, None for one that is not; `day` is the one it was written on."""
    text = " ".join(text.replace("**", "").split())
    if not text or len(text) > LONGEST or is_noise(text):
        return None
    kind = next((kind for kind, pattern in _RULES if _found(pattern, text)), None)
    if kind is None or is_over(text, day):
        return None
    # What happens now is no fact, whatever verb it is told with; a decision or a date of today is.
    if kind in ("fact", "person", "procedure", "preference") and _found(_MOOD, text):
        return None
    if kind == "fact" and (_found(_PASSING, text) or _found(_NARRATION, text)):
        return None
    return kind


def is_noise(text: str) -> bool:
    """Whether a text states nothing: a question, a todo, an error, chatter, words to a model."""
    from commonplace.search import wording

    if wording.weight(wording.read(text).tokens) < _LEAST:
        return True
    return any(_found(pattern, text) for pattern in (_QUESTION, _TODO, _ERROR, INSTRUCTION, _CHATTER))


def instructs(text: str) -> bool:
    """Whether a text speaks to a model rather than of something."""
    return _found(INSTRUCTION, text)


def is_over(text: str, day: date | None) -> bool:
    """Whether all dates of a plan lie on its own day or the next: what comes and is gone."""
    if not _found(_PLAN, text):
        return False
    if day is None:
        return _found(_TOMORROW, text)
    from commonplace.search import dates

    found = dates.spans(text, day)
    return bool(found) and all(day <= span.first and span.last <= day + timedelta(1) for span in found)


_TOMORROW = r"\b(?:today|tonight|tomorrow)\b|今天|今晚|明天|明早|明晚"
_PLAN = (
    r"\b(?:meeting|call|lunch|dinner|appointment|visit|arrives?|comes?|delivery|standup|sync|interview|class|dentist|will|"
    r"pick|train|flight|party|due|starts?|opens?|closes?|demo)\b|开会|会议|见面|吃饭|聚餐|来访|快递|上课|面试|看牙|电影|出发|要|去|来|到"
)


def _found(pattern: str, text: str) -> bool:
    return _compiled(pattern).search(text) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # Names are told by their capitals alone.
    return re.compile(pattern if "[A-Z]" in pattern else f"(?i:{pattern})")
