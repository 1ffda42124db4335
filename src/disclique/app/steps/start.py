"""The first page: open a file, or go on with what was begun."""

from __future__ import annotations

import shutil

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from disclique.app.pages import changing, go, in_thread, page, site_of
from disclique.app.projects import INPUT
from disclique.app.uploads import receive_file


async def show(request: Request) -> Response:
    """Show the files that can be opened, and the audits that are there."""
    site = site_of(request)
    projects = [
        (project, site.runner.state(project), site.projects.is_kept(project)) for project in site.projects.list()
    ]
    files = await in_thread(site.places.files)
    site.warm()
    return page(request, "start", files=[path.name for path in files], projects=projects, most=site.most)


async def upload(request: Request) -> Response:
    """Take a file from the browser, and begin a project on it."""
    site = site_of(request)
    folder = site.places.scratch()
    inside = folder / INPUT
    inside.mkdir(mode=0o700)
    try:
        taken = await receive_file(request, inside, site.keys, site.most)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    project = site.projects.begin(taken.shown, taken.path, folder)
    return go(f"/work/{project.id}/open", request)


async def choose(request: Request, form: FormData) -> Response:
    """Begin a project on a file of the folder."""
    site = site_of(request)
    file = site.places.file(str(form.get("file", "")))
    project = site.projects.begin(file.name, file)
    return go(f"/work/{project.id}/open", request)


async def remove(request: Request, form: FormData) -> Response:
    """Delete a project that would be deleted in the end anyway."""
    site = site_of(request)
    site.projects.remove(site.projects.get(request.path_params["id"]))
    return go("/", request)


routes = [
    Route("/upload", upload, methods=["POST"]),
    Route("/choose", changing(choose), methods=["POST"]),
    Route("/work/{id}/remove", changing(remove), methods=["POST"]),
]
