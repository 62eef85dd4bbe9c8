"""Everything that a workspace remembers beside its notes, and the writes that it records."""
