"""Keys of providers: where they come from, and a type that never shows one."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from commonplace.base import paths
from commonplace.base.errors import CommonplaceError, ConfigError

_KEY_BYTES = 16_384  # no key is longer; a file that is was named by mistake
_SHORTEST = 20  # characters of a key; a name this long that is no path may be a key put into the wrong place


class Secret:
    """A key or token; neither `str`, `repr`, formatting nor pickling shows it."""

    __slots__ = ("_value",)

    def __init__(self, value: str = "") -> None:
        self._value = value.strip()

    def reveal(self) -> str:
        """Return the key itself, for the one line that puts it into a request."""
        return self._value

    def remove_from(self, text: str) -> str:
        """Return a text without this key, for errors that quote a request."""
        return text.replace(self._value, "[REDACTED:key]") if self._value else text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __repr__(self) -> str:
        return "Secret(set)" if self._value else "Secret(unset)"

    def __reduce__(self) -> tuple[type[Secret], tuple[()]]:
        return Secret, ()


NO_KEY = Secret()


def from_environment(names: Sequence[str], environ: Mapping[str, str] | None = None) -> Secret:
    """Return the first of these variables that is set and not blank."""
    environ = os.environ if environ is None else environ
    found = (environ.get(name, "").strip() for name in names)
    return Secret(next(filter(None, found), ""))


def at_address(
    key: Secret, names: Sequence[str], address: str, own: str, environ: Mapping[str, str] | None = None
) -> Secret:
    """Return a key as configured, or that of the environment, which goes to the provider's own address only.

    `address` is that of the request, empty for the provider's `own`.
    """
    return key or (from_environment(names, environ) if is_own(address, own) else NO_KEY)


def is_own(address: str, own: str) -> bool:
    """Tell if an address is the provider's own, also when empty."""
    return address.rstrip("/") in ("", own)


def file_of(place: str) -> Path | None:
    """Return the full path of the file of a key; None for ""."""
    return Path(os.path.abspath(os.path.expanduser(place))) if place else None


def named(place: str, setting: str) -> Secret:
    """Return the key in a file; NO_KEY for "". Raises ConfigError; it names no key."""
    path = file_of(place)
    if path is None:
        return NO_KEY
    if not os.path.lexists(path):
        if len(place) < _SHORTEST or any(c.isspace() or c in "/\\" for c in place):
            raise ConfigError(setting, f"cannot be read ({paths.shown(path)} is not there)")
        own = "a file or the provider's variable"
        raise ConfigError(setting, f"names no file; if that is a key itself, its place is {own}")
    try:
        data = paths.read_contained(path, [Path(os.path.realpath(path)).parent])  # the owner may link to it
        text = data[: _KEY_BYTES + 1].decode("utf-8-sig").strip()
    except (CommonplaceError, UnicodeDecodeError) as error:
        raise ConfigError(setting, f"cannot be read ({error})") from error
    if not text or len(text) > _KEY_BYTES or len(text.split()) != 1:
        raise ConfigError(setting, f"{paths.shown(path)} must hold one key and nothing else")
    return Secret(text)
