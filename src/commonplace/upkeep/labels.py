"""The labels of a summary's parts by language, and the sentences that one without a model is made of."""

from __future__ import annotations

import re
from collections.abc import Mapping

from commonplace.base.expressions import lazy

# A colon would read as somebody speaking (`markdown.structure`), so a dash stands between label and text.
DASH = " – "
LABELS: Mapping[str, tuple[str, ...]] = {
    "en": ("Asked", "Done", "Decided", "Learned", "Open"),
    "zh": ("请求", "完成", "决定", "了解", "待办"),
}
OPEN_LABELS = tuple(labels[4] for labels in LABELS.values())

# A sentence that says what was decided or done is quoted; what these miss stays in the transcript.
_NO = (  # questions and conditions
    r"(?s)^(?!.*[?？]\W*$)(?!(?:.*[,;] )?(?:if|when|once|unless|until|before|should|whether)\b)"
    r"(?!.*(?:如果|要是|假如|是否|吗|之前))"
)
_PAST = (
    r"(?:added|booked|built|cancel+ed|changed|configured|created|deleted|deployed|edited|fixed|implemented|installed"
    r"|merged|migrated|moved|ordered|paid|published|pushed|refactored|released|removed|renamed|repaired|replaced"
    r"|rewritten|rewrote|sent|set up|switched|updated|upgraded|written|wrote)\b"
)
_DECIDED = (
    r"\b(?:we|I|you|they|team)(?:['’]ve| have)?(?: all| both| finally)? (?:decided|agreed|settled|chose)\b"
    r"|\bdecisions?(?: (?:is|was))?(?: to| that|:)|\b(?:it was|it is|it['’]s|is now|has been) decided\b"
    r"|\blet['’]?s (?:go|stick|stay|use|keep|take|settle|move|switch|drop)\b"
    r"|\bwe(?:['’]ll| will) (?:go with|use|keep|stick|stay|move|switch|drop)\b"
    r"|\bwe(?:['’]re| are) (?:going with|using|keeping|moving|switching|dropping)\b"
    r"|(?<![没未能法再何么会])决定(?!性|权|于|因素|不了|怎么|吧|。|$)|商定|敲定|说定|选定|定了|定在|定为|就(?:用|选|定)|改用"
)
_DONE = (
    rf"\bI(?:['’]ve| have)?(?: now| just| also| already)* {_PAST}"
    rf"|(?:\b(?:has|have) been|\b(?:is|are) now) {_PAST}|^(?:Done[.,:!] )?{_PAST}"
    r"|已经?(?:把[^，。]{1,30})?(?:被)?(?:修|改|加|添加|新增|删|移|换|创建|更新|完成|部署|发布|合并|配置|安装|装|迁移"
    r"|实现|重构|写|提交|推送|订|预订|预约|取消|买|发|寄)|(?<![没未])(?:改|修|写|做|加|装|部署|更新|弄|处理|订|配置)(?:好|完)了"
)
SAYS: Mapping[str, re.Pattern[str]] = {
    "decisions": lazy(f"{_NO}(?=.*(?:{_DECIDED}))", re.IGNORECASE),
    "done": lazy(f"{_NO}(?=.*(?:{_DONE}))", re.IGNORECASE),
}
