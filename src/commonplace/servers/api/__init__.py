"""The memory of a workspace as JSON over HTTP, for a page and for programs: everything over `Memory` and `upkeep`."""
