"""How notes are cut: sizes and borders, apart from the cutting so that a search need not load it."""

from __future__ import annotations

from commonplace.base.tuples import NamedTuple

# Annotations of struck passages that no comment holds (see `passages`).
STRUCK, REPLACED_BY, BESIDE = "struck", "replaced-by", "beside"
MATTER = "matter"  # of a standing instruction
ROLE = "role"  # `FRONT` of front matter, `BARE` of a note that has no text
FRONT, BARE = "front", "bare"


class ChunkSettings(NamedTuple):
    """How notes are cut; sizes in characters, where a wide (CJK) character counts as three.

    `line` is the longest line that stays whole, `piece` the size of the parts of longer ones. `code` is the
    most that a passage of a program has, so that a short function is one passage; a character of code is .3
    tokens.
    """

    target: int = 240
    line: int = 4000
    piece: int = 1200
    code: int = 600

    @property
    def fingerprint(self) -> str:
        """Changes whenever the same file would be cut differently."""
        return f"passages-16:{self.target}:{self.line}:{self.piece}:{self.code}"


DEFAULT = ChunkSettings()
