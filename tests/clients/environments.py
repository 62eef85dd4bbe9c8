"""Where the clients are: `./run test --clients` makes an environment for each and says where it is."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest


def interpreter(client: str) -> str:
    """The Python of a client's environment."""
    return str(_place(client, "PYTHON"))


def modules(client: str) -> Path:
    """The folder of packages that npm installed for a client."""
    return _place(client, "NPM") / "node_modules"


def _place(client: str, kind: str) -> Path:
    variable = f"CLIENT_{client.upper().replace('-', '_')}_{kind}"
    if variable not in os.environ:
        pytest.skip(f"no {client} here; ./run test --clients makes an environment for it")
    place = Path(os.environ[variable])
    if not place.exists() and kind == "NPM" and shutil.which("npm") is None:
        pytest.skip(f"no npm here, which installs {client}")
    assert place.exists(), f"{variable} names no file"
    return place
