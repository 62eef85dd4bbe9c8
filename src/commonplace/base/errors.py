"""The errors callers may see; everything raised on purpose derives from one root.

::

    CommonplaceError
    ├── ConfigError            a setting or a flag: key, what is wrong, what is allowed
    │   └── NoModel            a task needs a language model, and none is set: the remedy
    ├── AccessDenied           a workspace that an agent may not read or write: the agent, what it may
    ├── WorkspaceNotFound      a folder that is missing, or not a workspace: the one around it
    ├── NoteNotFound           no such note or line: the path and near misses
    ├── OutsideRoots           a path that leaves the workspace and its collections
    ├── UnknownCollection      an unknown name of a collection: the name and the known ones
    ├── NoteUnreadable         a file that cannot be read or written: path and reason
    │   └── TextLost           a write that would lose what its writer has not seen
    ├── PreviewOutdated        the notes changed since the preview: the paths that differ
    ├── IndexUnavailable       the index cannot be opened, written or repaired
    ├── ProviderError          an embedding or language model failed: provider, permanent, retry_after_s
    ├── BudgetExceeded         a call would pass a cap of the owner's: key, cap, spent, asked
    └── MissingExtra           an optional dependency is not installed: feature, extra

Defined in other packages: StatementNotFound (`edit.resolve`; a NoteNotFound), NotUndone and NothingToUndo
(`storage.undo`). All of these can be imported from `commonplace` itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.base.messages import Message
from commonplace.base.messages import message as said


class CommonplaceError(Exception):
    """Root of every error raised on purpose; its text is one line with the remedy."""

    def __reduce__(self) -> tuple[object, ...]:
        """Return what copies it, in another process too, without composing its text again."""
        return _copied, (type(self), self.args), self.__dict__


def _copied(kind: type[CommonplaceError], args: tuple[object, ...]) -> CommonplaceError:
    return kind.__new__(kind, *args)


class ConfigError(CommonplaceError):
    """A setting, flag or name that is not allowed."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(said("setting", "{key}: {message}", key=key, message=message))
        self.key = key


class NoModel(ConfigError):
    """No language model is set; `what` is what needs one."""

    def __init__(self, what: str) -> None:
        from commonplace.base import remedies

        remedy = remedies.say("models.llm.named")
        missing = "no language model is set, and {what} needs one; {remedy}"
        super().__init__("llm.provider", said("setting.no_model", missing, what=what, remedy=remedy))


class AccessDenied(CommonplaceError):
    """A workspace that an agent may not read, or not write to."""

    def __init__(self, agent: str, message: str) -> None:
        super().__init__(f"agent {agent!r} {message}" if agent else f"whoever asks {message}")
        self.agent = agent


class WorkspaceNotFound(CommonplaceError):
    """A folder that is `missing`, is no workspace, or lies in the workspace `around`."""

    def __init__(self, start: str, around: str = "", *, missing: bool = False) -> None:
        from commonplace.base import remedies

        told = said("workspace.none", "no workspace at or above {folder}; {remedy}",
                    folder=start, remedy=remedies.say("init"))  # fmt: skip
        if missing:
            told = said("workspace.missing", "there is no folder {folder}; {remedy}",
                        folder=start, remedy=remedies.say("workspace.missing", start))  # fmt: skip
        if around:
            lies = "{folder} is no workspace, it lies in the workspace {around}; {remedy}"
            remedy = remedies.say("workspace.around", around, start)
            told = said("workspace.around", lies, folder=start, around=around, remedy=remedy)
        super().__init__(told)
        self.start, self.around = start, around


class _OfPath(CommonplaceError):
    def __init__(self, path: str, reason: str) -> None:
        super().__init__(said("place", "{place}: {reason}", place=path, reason=reason))
        self.path, self.reason = path, reason


NO_NOTE = said("note.missing", "no such note")
OUTSIDE = said("path.outside", "leaves the workspace and its collections")


class NoteNotFound(CommonplaceError):
    """A note, passage or line that does not exist."""

    def __init__(self, path: str, suggestions: Sequence[str] = (), reason: str = NO_NOTE) -> None:
        hint = "; did you mean {near}?" if suggestions else ""
        code = "place.near" if suggestions else "place"
        told = said(code, f"{{place}}: {{reason}}{hint}", place=path, reason=reason, near=suggestions)
        super().__init__(told)
        self.path, self.suggestions, self.reason = path, tuple(suggestions), reason


class OutsideRoots(_OfPath):
    """A path that leaves the workspace and its collections."""

    def __init__(self, path: str, reason: str = OUTSIDE) -> None:
        super().__init__(path, reason)


class UnknownCollection(CommonplaceError):
    """A name that is not a collection's."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        code = "collection.unknown" if known else "collection.none"
        unknown = f"unknown collection {{name!r}}; known: {'{known}' if known else 'none'}"
        super().__init__(said(code, unknown, name=name, known=tuple(known)))
        self.name, self.known = name, tuple(known)


class NoteUnreadable(_OfPath):
    """A file that cannot be read or written."""


class TextLost(NoteUnreadable):
    """A write that would lose text its writer has not seen; the file stays as it is."""


class PreviewOutdated(CommonplaceError):
    """The notes changed since the preview; the change was not made."""

    def __init__(self, paths: Sequence[str]) -> None:
        more = " and {more} more" if len(paths) > 3 else ""
        changed = f"{{places}}{more}: changed since the preview, so nothing was done; look again"
        shown = tuple(paths[:3]) or "the notes"
        super().__init__(said("preview.outdated", changed, places=shown, more=max(0, len(paths) - 3)))
        self.paths = tuple(paths)


# Why an index cannot be used, where a sync would fail as well, and what helps then.
_OF_DISK = {
    "disk.is_full": "disk.room", "disk.quota": "disk.room",
    "index.unwritable": "files.readonly", "index.as_it_stands": "files.readonly",
}  # fmt: skip


class IndexUnavailable(CommonplaceError):
    """The index cannot be opened, written or repaired; the notes themselves are untouched."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(said("index.unavailable", "index {path}: {reason}", path=path, reason=reason))
        self.path, self.reason = path, reason

    @property
    def remedy(self) -> Message:
        """Return the remedy: a sync, unless the disk refuses."""
        from commonplace.base import remedies

        return remedies.say(_OF_DISK.get(getattr(self.reason, "code", ""), "sync"))

    def remedied(self) -> IndexUnavailable:
        """Return this error with its remedy in its text."""
        told = said("remedied", "{reason}; {remedy}", reason=self.reason, remedy=self.remedy)
        error = IndexUnavailable(self.path, told)
        error.reason = self.reason
        return error


class ProviderError(CommonplaceError):
    """An embedding or language model failed.

    `permanent` says that asking again will not help until somebody changes something (a wrong key, an unknown
    model, a quota used up); `retry_after_s` is what the provider asked to wait, `status` its HTTP status.
    """

    def __init__(
        self,
        provider: str,
        message: str,
        retry_after_s: float | None = None,
        *,
        permanent: bool = False,
        status: int | None = None,
    ) -> None:
        super().__init__(f"{provider}: {message}")
        self.provider, self.retry_after_s = provider, retry_after_s
        self.permanent, self.status = permanent, status


class BudgetExceeded(CommonplaceError):
    """A call that would exceed a cap of the owner; it was not made.

    `key` is the setting of the cap, `cap` its value, `spent` what is spent or reserved under it, `asked` the
    most that this call could add; tokens or US dollars, as the key says.
    """

    def __init__(self, key: str, message: str, *, cap: float = 0, spent: float = 0, asked: float = 0) -> None:
        super().__init__(f"{key}: {message}")
        self.key, self.cap, self.spent, self.asked = key, cap, spent, asked


class MissingExtra(CommonplaceError):
    """An optional dependency is not installed; `remedy` is the command that installs it here."""

    def __init__(self, feature: str, extra: str) -> None:
        from commonplace.base import installation

        self.feature, self.extra, self.remedy = feature, extra, installation.add_extra(extra)
        needs = "{feature} needs an extra: {remedy}"
        super().__init__(said("extra", needs, feature=feature, remedy=self.remedy or extra))
