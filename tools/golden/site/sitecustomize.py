"""Sets the clock of a Python process that the golden harness starts; see clock.py."""

import os
import sys

if "GOLDEN_NOW" in os.environ:
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    import clock

    del sys.path[0]
    clock.install(float(os.environ["GOLDEN_NOW"]))
