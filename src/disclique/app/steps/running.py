"""Run: start, pause, stop and go on; how far it is."""

from __future__ import annotations

from starlette.routing import Route

routes: list[Route] = []
