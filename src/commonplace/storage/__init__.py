"""Where the state of a workspace is, and how it came there."""
