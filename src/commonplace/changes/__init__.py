"""Generated changes of notes: atomic, recorded, committed to git, undone."""
