"""Forms that change something, and work that takes time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from disclique.app.guard import CSRF, CSRF_HEADER
from disclique.app.pages import site_of
from disclique.app.uploads import Refused, length_of

FORM = 1_000_000  # bytes of a form without a file
Page = Callable[[Request], Awaitable[Response]]


def changing(act: Callable[[Request, FormData], Awaitable[Response]]) -> Page:
    """Return a page that changes something: it is given the form once its token was found right."""

    @wraps(act)
    async def checked(request: Request) -> Response:
        if length_of(request) > FORM or "transfer-encoding" in request.headers:
            return PlainTextResponse("The form is too large.\n", 413)
        form = await request.form(max_files=0)
        given = form.get(CSRF) or request.headers.get(CSRF_HEADER)
        if not site_of(request).keys.check_csrf(str(given) if given is not None else None):
            raise Refused
        return await act(request, form)

    return checked


async def in_thread(work: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """Do what takes time beside the server, so that other pages are still answered."""
    return await run_in_threadpool(work, *given, **named)
