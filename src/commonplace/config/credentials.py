"""Keys of providers: where they come from, and a type that never shows one."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final

from commonplace.base import paths, remedies
from commonplace.base.errors import CommonplaceError, ConfigError, MissingExtra
from commonplace.config.settings import KEYRING

SERVICE = "commonplace"  # under which keys lie in the system keyring
KEYRING_S = 5.0  # a question may be waiting for the key, and its answer does not depend on it
KEEPING_S = 60.0  # whoever stores one is there to unlock it
_KEY_BYTES = 16_384  # no key is longer; a file that is was named by mistake
_SHORTEST = 20  # characters of a key; a name this long that is no path may be a key put into the wrong place
_INSTEAD = "use a file or the provider's variable instead"


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


NO_KEY: Final = Secret()


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
    """Return the file of a key that is in one; None for an entry of the keyring and for ""."""
    in_file = place and not place.startswith(KEYRING)
    return Path(os.path.abspath(os.path.expanduser(place))) if in_file else None


def named(place: str, setting: str) -> Secret:
    """Return the key in a file or, behind `keyring:`, in an entry of the system keyring; NO_KEY for "".

    Raises ConfigError, MissingExtra.
    """
    if path := file_of(place):
        return _from_file(path, place, setting)
    if not place:
        return NO_KEY
    entry = place.removeprefix(KEYRING)
    if found := _with_keyring(setting, lambda keyring: keyring.get_password(SERVICE, entry), KEYRING_S):
        return Secret(str(found))
    missing = f"the keyring has no entry {entry!r}; {remedies.say('keyring.put', entry)}"
    raise _missing(setting, entry, "no entry of the keyring", missing)


def _from_file(path: Path, place: str, setting: str) -> Secret:
    if not os.path.lexists(path):
        raise _missing(setting, place, "no file", f"cannot be read ({paths.shown(path)} is not there)")
    try:
        data = paths.read_contained(path, [Path(os.path.realpath(path)).parent])  # the owner may link to it
        text = data[: _KEY_BYTES + 1].decode("utf-8-sig").strip()
    except (CommonplaceError, UnicodeDecodeError) as error:
        raise ConfigError(setting, f"cannot be read ({error})") from error
    if not text or len(text) > _KEY_BYTES or len(text.split()) != 1:
        raise ConfigError(setting, f"{paths.shown(path)} must hold one key and nothing else")
    return Secret(text)


def _missing(setting: str, name: str, place: str, message: str) -> ConfigError:
    """Return the error about a missing file or entry, without a name that may be a key itself."""
    if len(name) < _SHORTEST or any(c.isspace() or c in "/\\" for c in name):
        return ConfigError(setting, message)
    places = f"a file, {remedies.say('keyring')} or the provider's variable"
    return ConfigError(setting, f"names {place}; if that is a key itself, its place is {places}")


def keep(entry: str, key: Secret) -> None:
    """Put a key into the system keyring. Raises ConfigError, MissingExtra."""
    _with_keyring("keyring", lambda keyring: keyring.set_password(SERVICE, entry, key.reveal()), KEEPING_S)


def forget(entry: str) -> None:
    """Delete an entry of the system keyring. Raises ConfigError if it is missing, MissingExtra."""
    if not _with_keyring("keyring", lambda keyring: keyring.get_password(SERVICE, entry), KEEPING_S):
        raise ConfigError("keyring", f"there is no entry {entry!r}")
    _with_keyring("keyring", lambda keyring: keyring.delete_password(SERVICE, entry), KEEPING_S)


def _with_keyring(setting: str, ask: Callable[[Any], object], wait_s: float) -> object:
    """Call the keyring in a thread, which is abandoned after `wait_s`: a locked keyring waits for a person.

    Raises ConfigError, MissingExtra.
    """
    try:
        import keyring
        from keyring.errors import KeyringError, NoKeyringError
    except ImportError as error:
        raise MissingExtra("a key in the system keyring", "keyring") from error
    outcome: SimpleQueue[tuple[object, Exception | None]] = SimpleQueue()

    def run() -> None:
        try:
            outcome.put((ask(keyring), None))
        except Exception as error:  # noqa: BLE001 - a backend's own errors; raised by the caller's thread
            outcome.put((None, error))

    threading.Thread(target=run, name="commonplace-keyring", daemon=True).start()
    try:
        answer, failure = outcome.get(timeout=wait_s)
    except Empty:
        waited = f"the system keyring did not answer within {wait_s:g} s; is it locked?"
        raise ConfigError(setting, f"{waited} Unlock it, or {_INSTEAD}") from None
    if failure is None:
        return answer
    if isinstance(failure, NoKeyringError):
        raise ConfigError(setting, f"there is no system keyring here; {_INSTEAD}") from failure
    own = str(failure).splitlines() if isinstance(failure, KeyringError) else []  # others may quote the key
    unusable = f"the system keyring cannot be used ({own[0] if own else type(failure).__name__})"
    raise ConfigError(setting, f"{unusable}; unlock it, or {_INSTEAD}") from failure
