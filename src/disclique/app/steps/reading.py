"""Read: the report, two audits side by side, and who is exposed."""

from __future__ import annotations

from starlette.routing import Route

routes: list[Route] = []
