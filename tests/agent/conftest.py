"""A workspace, a scripted model and a loop between them, for whichever test asks for them."""

from __future__ import annotations

from .talking import begin, model, root  # noqa: F401
