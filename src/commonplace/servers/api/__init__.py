"""The memory of a workspace as JSON over HTTP, for a page and programs: all over `Memory` and `upkeep`."""
