"""Text for a system prompt: when to recall, write, correct and forget, how to cite, what is data."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Literal

from commonplace.base.errors import ConfigError
from commonplace.base.root import Root

Language = Literal["auto", "en", "zh"]
LANGUAGES = ("auto", "en", "zh")
_FOLDER = Path(__file__).with_name("prompts")
_VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")  # the first that is set says the language, as POSIX has it


def text(language: Language = "auto", like: str = "") -> str:
    """Return the instructions, some 230 tokens; `auto` takes the language of `like`, else the environment's.

    They name all tools of `agent.tools`. Raises ConfigError for another language.
    """
    if language not in LANGUAGES:
        allowed = ", ".join(LANGUAGES)
        raise ConfigError("language", f"{language!r} is not allowed; it must be one of {allowed}")
    if language != "auto":
        return _read(language)
    if like.strip():
        from commonplace.language.scripts import is_wide

        return _read("zh" if is_wide(like) else "en")
    setting = next((value for name in _VARIABLES if (value := os.environ.get(name))), "")
    return _read("zh" if setting.lower().startswith("zh") else "en")


@cache
def _read(language: str) -> str:
    return Root(_FOLDER).read(f"instructions.{language}.md").decode("utf-8").strip()
