"""Which script a text is in, and which scripts a model serves.

A model names `latin`, `han` (Chinese alone) or `cjk` (Chinese, Japanese and Korean). A text that mixes Han
with more than a little kana or Hangul is Japanese or Korean; one without any is taken for Chinese.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from commonplace.language import lexicon

LATIN, HAN, CJK, OTHER = "latin", "han", "cjk", "other"
MOST = 0.5  # a text is in the script of more than this share of it
# Kana and Hangul among the wide characters of Japanese or Korean; a Chinese text quotes less.
SYLLABLES = 0.2
HAN_RUN = "[\u3400-\u9fff\U00020000-\U000323af]+"
_SYLLABLE = "[\u1100-\u11ff\u3041-\u3096\u30a1-\u30fa\u3130-\u318f\u31f0-\u31ff\uac00-\ud7af\uff66-\uff9f]"
_LETTER = r"[^\W\d_]"
_LATIN_LETTER = "[A-Za-z\u00aa\u00ba\u00c0-\u024f\u1e00-\u1eff]"


def script_of(text: str) -> str:
    """Return the script that most of a text is in; an empty text for one without letters."""
    if text.isascii():
        return LATIN if re.search("[A-Za-z]", text) else ""
    if is_wide(text):
        return wide_script(text)
    letters = len(re.findall(_LETTER, text))
    if not letters:
        return ""
    further = letters - len(re.findall(_LATIN_LETTER, text)) - sum(map(len, lexicon.cjk_runs(text)))
    return OTHER if further > letters / 2 else LATIN


def is_wide(text: str) -> bool:
    """Tell whether most of a text is CJK."""
    return lexicon.cjk_share(text) > MOST


def wide_script(text: str) -> str:
    """Return `han` where the wide characters of a text are Chinese, `cjk` where Japanese or Korean."""
    syllables = len(re.findall(_SYLLABLE, text))
    return CJK if syllables and syllables > SYLLABLES * sum(map(len, lexicon.cjk_runs(text))) else HAN


def has_han(text: str) -> bool:
    """Tell whether some of a text is Chinese, much or little."""
    wide = "".join(lexicon.cjk_runs(text))
    return any("\u3400" <= c <= "\u9fff" or c >= "\U00020000" for c in wide) and wide_script(text) == HAN


def serves(served: Collection[str], script: str) -> bool:
    """Tell whether a model serves a script; one that knows Latin and CJK knows the others as well."""
    if script == HAN:
        return HAN in served or CJK in served
    return not script or script in served or (script == OTHER and {LATIN, CJK} <= set(served))


def legible(text: str, served: Collection[str]) -> float:
    """Return the share of a text that a model for some scripts reads, 0..1; wide text counts as a whole."""
    share = lexicon.cjk_share(text)
    return 1.0 if not share or serves(served, wide_script(text)) else 1.0 - share
