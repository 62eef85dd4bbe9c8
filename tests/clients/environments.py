"""Where the clients are: `./run test --clients` makes an environment for each and says where it is."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def interpreter(client: str) -> str:
    """The Python of a client's environment."""
    return str(_place(client, "PYTHON", ROOT / f".venv-client-{client}" / "bin" / "python"))


def modules(client: str) -> Path:
    """The folder of packages that npm installed for a client."""
    return _place(client, "NPM", ROOT / f".venv-client-{client}") / "node_modules"


def _place(client: str, kind: str, usual: Path) -> Path:
    variable = f"CLIENT_{client.upper().replace('-', '_')}_{kind}"
    place = Path(os.environ.get(variable) or usual)
    if place.exists():
        return place
    if kind == "NPM" and shutil.which("npm") is None:
        pytest.skip(f"no npm here, which installs {client}")
    assert variable not in os.environ, f"{variable} names no file"
    pytest.skip(f"no {client} here; ./run test --clients makes an environment for it")
