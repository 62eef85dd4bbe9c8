"""Records by the rules of today: what they kept of secrets that earlier rules did not know.

After an upgrade with other rules, the stores that a forgetting cleans are cleaned once of what is redacted
now. Notes are their owner's, and the record of changes keeps their bytes so that `undo` stays
exact: both stay as they are. The index is made anew where it is opened.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path

from commonplace.base import atomic, paths
from commonplace.base.errors import NoteUnreadable
from commonplace.edit.forget import stores
from commonplace.edit.forget.targets import Targets
from commonplace.edit.forget.words import MARK, Words
from commonplace.index import rules
from commonplace.redaction.redact import redact
from commonplace.types.changes import Erased
from commonplace.types.store import Site

RULES = "redaction"  # a file that names the rules that the records beside it were last looked through by
_MARKED = re.compile(r"\[REDACTED:[\w-]+\]")
_ESCAPE = re.compile(r"\\+[nrt]")  # of JSON in a text: a token behind one would seem to begin inside a word


class Secrets(Words):
    """What the rules redact, as the words of a forgetting."""

    def __init__(self) -> None:
        """Prepare no words of its own."""
        super().__init__(())

    def match(self, text: str) -> bool:
        """Whether a text, or what it escapes, holds a secret."""
        return bool(redact(text)[1] or redact(_ESCAPE.sub(" ", text))[1])

    def mask(self, text: str, mark: str = MARK) -> str:
        """Return a text with marks in the place of its secrets; they are short where `mark` is empty."""
        text = redact(text)[0]
        plain, kinds = redact(_ESCAPE.sub(" ", text))
        text = plain if kinds else text
        return text if mark else _MARKED.sub("***", text)

    def clean_arguments(self, arguments: str) -> str:
        """Return the arguments of a call without the secrets in them, as JSON if they were."""
        try:
            value = json.loads(arguments)
        except (ValueError, RecursionError):
            return self.mask(arguments)
        return json.dumps(Redaction().clean(value), ensure_ascii=False)


class Redaction(Targets):
    """Whatever the rules of today redact, as something to be forgotten."""

    @cached_property
    def parts(self) -> Words:
        """The secrets, which are cut out."""
        return Secrets()


def is_due(workspace: paths.Workspace) -> bool:
    """Tell whether records were written by other rules than today's, as far as a mark says."""
    try:
        mark = _mark(workspace)
        noted = paths.root_of(mark).read(mark, limit=1024).decode("ascii", "replace")
        return noted != rules.VERSIONS[rules.REDACTION]
    except OSError:
        return True


def renew(site: Site, *, timeout_s: float = atomic.LOCK_WAIT_S) -> list[Erased]:
    """Redact anew what records hold, once for each set of rules; return what changed.

    A process that is killed leaves no mark, and the next sync does it again. Raises NoteUnreadable.
    """
    derived = site.workspace.derived
    is_foreign = derived.is_dir() and not os.access(derived, os.X_OK)  # whose user cleans it
    if is_foreign or not is_due(site.workspace):
        return []
    lock = paths.lock_file(site.workspace, "erase")
    with atomic.locked(lock, timeout_s) if derived.is_dir() else nullcontext():
        if not is_due(site.workspace):
            return []
        secrets, erased = Redaction(), []
        with stores.hold_spool(site):
            erased += stores.forget(site, "spool", secrets)
        for name, row in stores.STORES.items():
            if row.renewed and name != "spool":
                erased += stores.forget(site, name, secrets)
        mark = _mark(site.workspace)
        try:
            paths.root_of(mark).exchange(mark, str(rules.VERSIONS[rules.REDACTION]).encode())
        except OSError as error:
            raise NoteUnreadable(paths.shown(mark), paths.reason(error)) from error
    return erased


def _mark(workspace: paths.Workspace) -> Path:
    return paths.server_folder(workspace) / RULES
