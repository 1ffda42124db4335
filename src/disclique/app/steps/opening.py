"""Open: look at the file, and say what its columns are."""

from __future__ import annotations

from starlette.routing import Route

routes: list[Route] = []
