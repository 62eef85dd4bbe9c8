"""The errors callers may see; everything raised on purpose derives from one root.

::

    CommonplaceError
    ├── ConfigError            a setting or a flag: key, what is wrong, what is allowed
    │   └── NoModel            no language model is set, and what was asked for needs one: the remedy
    ├── AccessDenied           a workspace that an agent may not read or write: the agent, what it may
    ├── WorkspaceNotFound      a folder that is missing, or none of a workspace: the one around it
    ├── NoteNotFound           no such note or line: the path and near misses
    ├── OutsideRoots           a path that leaves the workspace and its collections
    ├── UnknownCollection      a collection nobody added: the name and the known ones
    ├── NoteUnreadable         a file that cannot be read or written: path and reason
    │   └── TextLost           a write that would lose what its writer has not seen
    ├── PreviewOutdated        what was previewed is not what stands there now: the paths that differ
    ├── IndexUnavailable       the index cannot be opened, written or repaired
    ├── ProviderError          an embedding or language model failed: provider, permanent, retry_after_s
    ├── BudgetExceeded         a call would pass a cap of the owner's: key, cap, spent, asked
    └── MissingExtra           an optional dependency is not installed: feature, extra

Beside what raises them stand StatementNotFound (`edit.resolve`; a NoteNotFound), NotUndone and NothingToUndo
(`changes.undo`). All of these can be imported from `commonplace` itself.
"""

from __future__ import annotations

from collections.abc import Sequence


class CommonplaceError(Exception):
    """Root of every error raised on purpose; its text is one line with the remedy."""


class ConfigError(CommonplaceError):
    """A setting, flag or name that is not allowed."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(f"{key}: {message}")
        self.key = key


class NoModel(ConfigError):
    """No language model is set; `what` is what needs one."""

    def __init__(self, what: str) -> None:
        from commonplace.base import remedies

        remedy = remedies.say("models.llm.named")
        super().__init__("llm.provider", f"no language model is set, and {what} needs one; {remedy}")


class AccessDenied(CommonplaceError):
    """A workspace that an agent may not read, or not write to."""

    def __init__(self, agent: str, message: str) -> None:
        super().__init__(f"agent {agent!r} {message}" if agent else f"whoever asks {message}")
        self.agent = agent


class WorkspaceNotFound(CommonplaceError):
    """No workspace at or above a folder, none because it is `missing`, or a folder in the one `around`."""

    def __init__(self, start: str, around: str = "", *, missing: bool = False) -> None:
        from commonplace.base import remedies

        told = f"no workspace at or above {start}; {remedies.say('init')}"
        if missing:
            told = f"there is no folder {start}; {remedies.say('workspace.missing', start)}"
        if around:
            remedy = remedies.say("workspace.around", around, start)
            told = f"{start} is no workspace, it lies in the workspace {around}; {remedy}"
        super().__init__(told)
        self.start, self.around = start, around


NO_NOTE = "no such note"


class NoteNotFound(CommonplaceError):
    """No note, passage or line where one was asked for."""

    def __init__(self, path: str, suggestions: Sequence[str] = (), reason: str = NO_NOTE) -> None:
        hint = f"; did you mean {', '.join(suggestions)}?" if suggestions else ""
        super().__init__(f"{path}: {reason}{hint}")
        self.path = path
        self.suggestions = tuple(suggestions)
        self.reason = reason


class OutsideRoots(CommonplaceError):
    """A path that leaves the workspace and its collections."""

    def __init__(self, path: str, reason: str = "lies outside the workspace and its collections") -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path


class UnknownCollection(CommonplaceError):
    """A collection that nobody added."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(f"unknown collection {name!r}; known: {', '.join(known) or 'none'}")
        self.name = name
        self.known = tuple(known)


class NoteUnreadable(CommonplaceError):
    """A file that cannot be read or written."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class TextLost(NoteUnreadable):
    """A write would lose something that its writer has not seen; nothing was written."""


class PreviewOutdated(CommonplaceError):
    """What was previewed, and perhaps confirmed, is not what stands there now; nothing was changed."""

    def __init__(self, paths: Sequence[str]) -> None:
        shown = ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
        shown = shown or "the notes"
        super().__init__(f"{shown}: changed since the preview, so nothing was done; look again")
        self.paths = tuple(paths)


class IndexUnavailable(CommonplaceError):
    """The index cannot be opened, written or repaired; the notes themselves are untouched."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"index {path}: {reason}")
        self.path = path
        self.reason = reason


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
        self.provider = provider
        self.retry_after_s = retry_after_s
        self.permanent = permanent
        self.status = status


class BudgetExceeded(CommonplaceError):
    """A call that would pass a cap the owner set; nothing was asked and nothing spent.

    `key` is the setting of the cap, `cap` its value, `spent` what is spent or reserved under it, `asked` the
    most that this call could add; tokens or US dollars, as the key says.
    """

    def __init__(self, key: str, message: str, *, cap: float = 0, spent: float = 0, asked: float = 0) -> None:
        super().__init__(f"{key}: {message}")
        self.key = key
        self.cap = cap
        self.spent = spent
        self.asked = asked


class MissingExtra(CommonplaceError):
    """An optional dependency is not installed; `remedy` is the command that installs it here."""

    def __init__(self, feature: str, extra: str) -> None:
        from commonplace.base import installation

        self.feature = feature
        self.extra = extra
        self.remedy = installation.add_extra(extra)
        super().__init__(f"{feature} needs an extra: {self.remedy or extra}")
