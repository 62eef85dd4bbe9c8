"""What mends a model that does not answer, by what was told of it."""

from __future__ import annotations

import re
from collections.abc import Sequence

# The first row whose expression is found counts; a group in it stands in the place of `{}`.
_REMEDIES = (
    (r"no key: set (.+?)$", "set {}, or name a file that holds the key"),
    (r"HTTP 40[13]\b", "put a valid key into {}"),
    (r"HTTP 402\b", "add credit at the provider"),
    (r"HTTP 404\b", "check the model's name and the address (model, base_url)"),
    (r"HTTP 4(?:00|22)\b", "check the model's name and its settings"),
    (r"HTTP 429\b", "wait, or raise the quota at the provider"),
    (r"HTTP 5\d\d\b", "wait: the provider itself is in trouble"),
    (r"cannot be reached|did not answer|no answer within", "see whether its server runs and can be reached"),
    (r"^((?:embedding|llm)\.\w+): ", "mend {}: `commonplace config` shows what is set"),
)
_ANY = "mend what it says, or choose another with `commonplace models use`"


def find(trouble: str, key_origin: str = "", variables: Sequence[str] = ()) -> str:
    """Return what mends some trouble.

    `key_origin` says where the key of the provider comes from, `variables` from where it could.
    """
    for pattern, remedy in _REMEDIES:
        if found := re.search(pattern, trouble):
            return remedy.format(found[1] if found.re.groups else key_origin or _places(variables))
    return _ANY


def _places(variables: Sequence[str]) -> str:
    return " or ".join(variables) or "a file, and name that in the settings"
