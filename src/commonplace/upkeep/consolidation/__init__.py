"""Daily notes refined into MEMORY.md: every promoted line rests on a living one, and code writes it."""

from commonplace.upkeep.consolidation.run import Consolidation, consolidate

__all__ = ["Consolidation", "consolidate"]
