"""Release: make the release with the chosen mask, and take the files away."""

from __future__ import annotations

from starlette.routing import Route

routes: list[Route] = []
