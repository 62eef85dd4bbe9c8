"""Write the table of settings in docs/configuration.md from the code; `--check` only says whether it is current."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from commonplace.config import KEYS, Key

TARGET = Path(__file__).parents[1] / "docs" / "configuration.md"
BEGIN, END = "<!-- keys: made by tools/make_config_docs.py -->\n", "<!-- end of keys -->\n"
HEAD = """| key | default | allowed | environment | workspace | what it does |
|---|---|---|---|---|---|
"""


def row(key: Key) -> str:
    """Return a setting as a line of the table."""
    default = "unset" if key.default is None else f"`{json.dumps(key.default)}`"
    variable = f"`{key.variable}`" if key.variable else "–"
    may = "yes" if key.harmless else "no"
    return f"| `{key.name}` | {default} | {key.allowed} | {variable} | {may} | {key.doc} |\n"


def document(page: str) -> str:
    """Return the page with its table made anew."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{HEAD}{''.join(map(row, KEYS))}\n{END}{after}"


def main() -> int:
    """Write the page, or check it."""
    page = TARGET.read_text("utf-8")
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="only say whether it is current")
    if parser.parse_args().check:
        return 0 if page == document(page) else 1
    TARGET.write_text(document(page), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
