"""Ask: the snooper, the masks, the limit, and what it will take."""

from __future__ import annotations

from starlette.routing import Route

routes: list[Route] = []
