"""Which failures of tools teach something, and which are noise that the next minute forgets.

Noise is: what the owner or the host broke off, what took too long, a network that was away for a moment, a
search without a match, an exit code without a word, and a tool that was called wrongly. The rest is kept,
once a session for each kind.
"""

from __future__ import annotations

import re

_EXIT = re.compile(
    r"\A\W{0,4}(?:error: )?(?:command )?(?:failed with |exited with |returned |process )?(?:non-zero )?"
    r"(?:exit(?:ed with)? (?:code|status)|exit_code|returncode|code)\b\W{0,4}"
    r"(?P<code>-?\d{1,5})\b[^\n]{0,60}",
    re.IGNORECASE,
)
_BROKEN_OFF = (
    r"interrupt|keyboardinterrupt|sigint|sigterm|cancell?ed|aborted by"
    r"|user (?:rejected|denied|declined|refused|doesn't)|(?:denied|rejected) by (?:the )?user"
    r"|permission to use|was not approved|operation was aborted"
)
_TOO_LONG = r"tim(?:ed|e) ?-?out|timeout(?:error|expired)?\b|deadline exceeded|etimedout|took too long"
_AWAY = (
    r"econnreset|econnrefused|connection (?:reset|refused|aborted|closed)|failure in name resolution"
    r"|network is unreachable|rate.?limit|too many requests|service unavailable|bad gateway|gateway time"
    r"|\b(?:status|http|error|code)[ :/\d.]{0,10}(?:429|502|503|504)\b|resource temporarily unavailable"
)
_NO_MATCH = r"\bno (?:matches|match|files?|results?)(?: were)? found|\b0 matches\b|nothing found"
_CALLED_WRONGLY = (
    r"has not been read yet|been modified since|string to replace (?:was )?not found"
    r"|old_str(?:ing)?\b[^\n]{0,40}not|did not appear verbatim|(?:multiple|several|\d{1,9}) occurrences"
    r"|inputvalidationerror|invalid (?:tool )?(?:input|arguments?|parameters?)\b"
    r"|missing required (?:argument|parameter)|unknown tool|no such tool"
    r"|failed to find expected lines|no changes to make"
)
_NOISE = re.compile(
    rf"(?<![A-Za-z0-9_])(?:{'|'.join((_BROKEN_OFF, _TOO_LONG, _AWAY, _NO_MATCH, _CALLED_WRONGLY))})",
    re.IGNORECASE,
)
_TELLING = re.compile(
    r"\b[A-Z]\w{0,60}(?:Error|Exception|Warning)\b|\b(?:error|fatal|failed|failure|panic|cannot|can't"
    r"|could not|undefined|not found|denied|no such)\b|错误|失败|异常",
    re.IGNORECASE,
)
_HEAD = 4000  # characters at either end in which the reason of a failure is looked for


def reason(error: str, result: str) -> str:
    """Return what a tool failed with, or an empty text where it did not fail.

    Some hosts put an exit code at the head of the result; one that is not 0 is a failure.
    """
    if error.strip():
        return error if result.strip() in error else f"{error}\n{result}"
    code = _EXIT.match(result.lstrip())
    return result if code and int(code["code"]) else ""


def teaches(told: str) -> bool:
    """Whether a failure is worth keeping."""
    lines = _lines(told)
    # Words of noise count where the reason stands: the output of a test may hold any of them.
    return any(re.search(r"\w", line) for line in lines) and not any(map(_NOISE.search, _reasons(lines)))


def words(told: str) -> str:
    """What a failure says beside its exit code."""
    return _EXIT.sub("", told.strip(), count=1).strip()


def kind(told: str) -> str:
    """Name a failure so that the same one has the same name: numbers, paths and addresses are left out."""
    line = next(iter(_reasons(_lines(told))), "")
    line = re.sub(r"0x[0-9a-f]{1,16}|[0-9a-f]{12,64}", "#", line[:400].lower())
    line = re.sub(r"(?:[\w.~-]{0,60}/){1,20}", "", line)
    return re.sub(r"\d{1,30}", "#", line)[:160]


def _lines(told: str) -> list[str]:
    return [line.strip() for line in _ends(words(told)).split("\n") if line.strip()]


def _reasons(lines: list[str]) -> list[str]:
    """The last line that tells of a failure, then the first and the last of all."""
    telling = [line for line in lines if _TELLING.search(line)]
    return [*telling[-1:], *lines[-1:], *lines[:1]]


def _ends(text: str) -> str:
    return text if len(text) <= 2 * _HEAD else f"{text[:_HEAD]}\n{text[-_HEAD:]}"
