"""The index in one SQLite file, as this program makes it."""

from __future__ import annotations

from collections.abc import Mapping

from commonplace.base.errors import IndexUnavailable
from commonplace.index import rules
from commonplace.index.sqlite import schema
from commonplace.index.sqlite.file import IndexFile
from commonplace.index.sqlite.vectors import SqliteVectors


class SqliteIndex(IndexFile):
    """The index in one file, see `index.base.Index`."""

    def __init__(self, path: str, identity: Mapping[str, str], *, readonly: bool = False) -> None:
        """Open or create the index at `path` (`:memory:` for one that lives as long as this object).

        An index of another identity (tokenizer, chunking, rules) still answers: `rebuild_reason` says why it
        is to be rebuilt. `unfit` says why it must not answer: it has other tables, or was redacted by other
        rules. Raises IndexUnavailable.
        """
        super().__init__(path, identity, readonly=readonly)
        self.unfit = ""
        self.vectors: SqliteVectors = SqliteVectors(self)
        try:
            with self.translated():
                self._check_identity()
        except BaseException:
            self.connection.close()
            raise

    def _check_identity(self) -> None:
        if not schema.exists(self.connection):
            if not schema.is_empty(self.connection):  # with other tables
                raise IndexUnavailable(self.path, schema.FOREIGN)
            if self.readonly:
                raise IndexUnavailable(self.path, schema.UNWRITABLE)
            with schema.transaction(self.connection):
                if not schema.exists(self.connection):  # another process was faster
                    schema.create(self.connection, self.identity)
            return
        changed = rules.differences(schema.read_meta(self.connection), self.identity)
        if changed:
            self.rebuild_reason = f"{', '.join(changed)} changed"
        if not {"schema", rules.REDACTION}.isdisjoint(changed):
            self.unfit = self.rebuild_reason or ""
        elif not schema.is_whole(self.connection):
            raise IndexUnavailable(self.path, schema.BROKEN)
