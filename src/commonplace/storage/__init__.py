"""The state of a workspace (`state.sqlite`), safe writes of files, diffs, git, and the record of changes."""
