"""How notes are cut: sizes and borders, apart from the cutting so that a search need not load it."""

from __future__ import annotations

from commonplace.base.tuples import NamedTuple

# What passages with struck text are annotated with, beside what comments say (see `passages`).
STRUCK, REPLACED_BY, BESIDE = "struck", "replaced-by", "beside"
MATTER = "matter"  # of a standing instruction


class ChunkSettings(NamedTuple):
    """How notes are cut; sizes in characters, where a wide (CJK) character counts as `wide`.

    `by_heading` false lets passages run across headings, `overlap` repeats that much of the passage
    before: both exist to reproduce other systems' settings. `code` is the most that a passage of a program
    has, so that a short function is one passage; a character of code is .3 tokens. `shown` is the size up to
    which what is shown of a passage is completed; with 0 lines are lines, and nothing is joined or completed.
    """

    target: int = 240
    window: int = 0
    overlap: int = 0
    fence: int = 0
    line: int = 4000
    piece: int = 1200
    wide: int = 3
    by_heading: bool = True
    code: int = 600
    shown: int = 600

    @property
    def fingerprint(self) -> str:
        """Changes whenever the same note would be cut differently; programs have their own."""
        values = (self.target, self.window, self.overlap, self.fence, self.line, self.piece, self.wide)
        return f"passages-9:{values}:{self.by_heading}:{self.shown}"

    @property
    def code_fingerprint(self) -> str:
        """Changes whenever the same program would be cut differently: sizes, and what reads the syntax."""
        from commonplace.base import filetypes

        known = {grammar.name for grammar in filetypes.SUFFIXES.values() if filetypes.installed(grammar)}
        return f"code-1:{self.code}:{','.join(sorted(known))}"


DEFAULT = ChunkSettings()
