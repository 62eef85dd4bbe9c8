"""The index in one SQLite file, as this program makes it."""

from __future__ import annotations

from collections.abc import Mapping

from commonplace.base.errors import IndexUnavailable
from commonplace.index import rules
from commonplace.index.sqlite import schema
from commonplace.index.sqlite.file import IndexFile
from commonplace.index.sqlite.vectors import SqliteVectors

_DISAGREEMENTS = {
    # Of rows that outlived their note another one may have the id; its ranges leave them out.
    "passages belong to no note": "SELECT count(*) FROM passages p WHERE NOT EXISTS (SELECT 1 FROM notes n"
    " WHERE n.id = p.note_id AND p.id BETWEEN n.first_passage AND n.last_passage)",
    "notes lack passages": "SELECT count(*) FROM notes n WHERE last_passage - first_passage + 1 <> (SELECT"
    " count(*) FROM passages p WHERE p.id BETWEEN n.first_passage AND n.last_passage AND p.note_id = n.id)",
    "passages are missing from the full text": "SELECT count(*) FROM passages WHERE id NOT IN"
    " (SELECT id FROM passages_fts_docsize UNION ALL SELECT id FROM struck_fts_docsize)",
    "passages have a vector that is missing": "SELECT count(*) FROM passages WHERE vector_id > 0"
    " AND vector_id NOT IN (SELECT id FROM vectors)",
}


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

    def disagreements(self) -> dict[str, int]:
        """Count the rows that contradict others, by kind; empty where all agree. Raises IndexUnavailable."""
        counts = {told: int(self.rows(sql)[0][0]) for told, sql in _DISAGREEMENTS.items()}
        return {told: count for told, count in counts.items() if count}
