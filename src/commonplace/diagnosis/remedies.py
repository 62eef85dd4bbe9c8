"""What mends a provider that does not answer, by how it failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from commonplace.errors import BudgetExceeded, CommonplaceError, ConfigError, MissingExtra, ProviderError

_BY_STATUS: Mapping[int, str] = {
    400: "check the model's name and its settings",
    402: "add credit at the provider",
    404: "check the model's name and the address (model, base_url)",
    429: "wait, or raise the quota at the provider",
}
_KEY_REFUSED = (401, 403)


def of(error: CommonplaceError, key_origin: str = "", variables: Sequence[str] = ()) -> str:
    """Return what mends an error of a provider.

    `key_origin` says where its key came from, `variables` where it could have come from.
    """
    if isinstance(error, MissingExtra):
        return f"pip install 'commonplace[{error.extra}]'"
    if isinstance(error, BudgetExceeded):
        return f"raise {error.key}, or wait until it counts anew"
    if isinstance(error, ConfigError):
        return f"mend {error.key}: `commonplace config` shows what is set"
    if not isinstance(error, ProviderError):
        return "see to the file that it names"
    if error.status in _KEY_REFUSED and key_origin:
        return f"put a valid key into {key_origin}"
    if error.status in _KEY_REFUSED or "no key" in str(error):
        return f"set {' or '.join(variables) or 'a key'}, or name a file that holds the key"
    if error.status is not None and (error.status in _BY_STATUS or error.status >= 500):
        return _BY_STATUS.get(error.status, "wait: the provider itself is in trouble")
    if error.permanent:
        return "mend what it says, or choose another with `commonplace models use`"
    return "see whether its server runs and can be reached; full text answers meanwhile"
