"""Files that a browser sends: streamed to the private folder, limited, and named by us."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import BinaryIO

from starlette.requests import ClientDisconnect, Request

from disclique.app.guard import CSRF, Keys
from disclique.errors import InputError

UPLOAD_BYTES = 2_000_000_000  # bytes of one file, unless the server was started with another limit
SPARE = 500_000_000  # bytes that stay free on the disk
FIELD = 10_000  # bytes of a field beside the file
BESIDE = 100_000  # bytes of all that comes with the file


class Refused(Exception):
    """The form's token is missing or wrong."""


@dataclass
class Upload:
    """A file that came in: where it lies, under which name the person knows it, and the fields before it."""

    path: Path
    shown: str
    fields: dict[str, str]


def plain_name(name: str) -> str:
    """Return the last part of a file name that a browser sent, whatever system it came from: to be shown only.

    >>> plain_name("C:\\\\data\\\\survey.csv"), plain_name("../../etc/passwd"), plain_name("  ")
    ('survey.csv', 'passwd', 'file')
    """
    last = PureWindowsPath(PurePosixPath(name).name).name
    shown = "".join(letter for letter in last if letter.isprintable()).strip()
    return shown[-120:] or "file"


def length_of(request: Request) -> int:
    """Return how long a request says that it is; 0 where it does not say so."""
    said = request.headers.get("content-length", "0")
    return int(said) if said.isascii() and said.isdigit() else 0


async def receive_file(request: Request, folder: Path, keys: Keys, most: int = UPLOAD_BYTES) -> Upload:
    """Write the one file of a form to a folder as it comes in, and return it; its token must come before it."""
    taken = _Taken(folder, keys, most)
    stream = request.stream()
    try:
        await _take(request, stream, taken)
    except ClientDisconnect:
        raise InputError("upload_not_whole") from None
    except (InputError, Refused):
        await _hear_out(stream, most)
        raise
    finally:
        taken.close()
    if taken.path is None or not taken.whole:
        raise InputError("upload_missing")
    return Upload(taken.path, taken.shown, taken.fields)


async def _take(request: Request, stream: AsyncIterator[bytes], taken: _Taken) -> None:
    from python_multipart import MultipartParser
    from python_multipart.exceptions import FormParserError
    from python_multipart.multipart import parse_options_header

    kind, options = parse_options_header(request.headers.get("content-type", ""))
    boundary = options.get(b"boundary")
    if kind != b"multipart/form-data" or not boundary:
        raise InputError("form_without_file")
    if length_of(request) > taken.most + BESIDE:
        raise InputError("upload_too_large_for_form", most=taken.most / 1000000.0)
    try:
        parser = MultipartParser(boundary, taken.callbacks)  # type: ignore[arg-type]
        async for chunk in stream:
            taken.heard += len(chunk)
            if taken.heard - taken.size > BESIDE + len(chunk):
                raise InputError("form_with_more_than_a_file")
            parser.write(chunk)
        parser.finalize()
    except FormParserError:
        raise InputError("upload_not_whole") from None


async def _hear_out(stream: AsyncIterator[bytes], most: int) -> None:
    """Let the browser finish what it sends, within bounds: it shows no answer before it was heard."""
    left = 2 * most + BESIDE
    with suppress(ClientDisconnect):
        async for chunk in stream:
            left -= len(chunk)
            if left < 0:
                return


class _Taken:
    """What a form has sent so far."""

    def __init__(self, folder: Path, keys: Keys, most: int) -> None:
        self.folder, self.keys, self.most = folder, keys, most
        self.fields: dict[str, str] = {}
        self.path: Path | None = None
        self.shown, self.whole = "", False
        self.size = self.heard = 0  # bytes of the file, and of all that came in
        self.file: BinaryIO | None = None
        self.name, self.value, self.header, self.said = "", b"", b"", b""
        self.disposition = b""
        names = ("part_begin", "part_data", "part_end", "header_begin", "header_field", "header_value", "header_end")
        self.callbacks = {f"on_{name}": getattr(self, f"_{name}") for name in (*names, "headers_finished")}

    def close(self) -> None:
        """Close the file, if one is open."""
        if self.file is not None:
            self.file.close()
            self.file = None

    def _part_begin(self) -> None:
        self.disposition = b""

    def _header_begin(self) -> None:
        self.header, self.said = b"", b""

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self.header += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self.said += data[start:end]
        if len(self.said) > FIELD:
            raise InputError("form_header_too_long")

    def _header_end(self) -> None:
        if self.header.lower() == b"content-disposition":
            self.disposition = self.said

    def _headers_finished(self) -> None:
        from python_multipart.multipart import parse_options_header

        from disclique.records.formats import list_suffixes

        _, options = parse_options_header(self.disposition)
        self.name, self.value = options.get(b"name", b"").decode("utf-8", "replace"), b""
        if b"filename" not in options:
            return
        if not self.keys.check_csrf(self.fields.get(CSRF)):
            raise Refused
        self.shown = plain_name(options[b"filename"].decode("utf-8", "replace"))
        if not options[b"filename"] or self.path is not None:
            raise InputError("choose_one_file")
        suffix, known = Path(self.shown).suffix.lower(), list_suffixes()
        if suffix not in known:
            raise InputError("upload_of_unknown_format", shown=self.shown, known=known)
        self.path = self.folder / f"upload{suffix}"
        self.file = self.path.open("xb")

    def _part_data(self, data: bytes, start: int, end: int) -> None:
        if self.file is None:
            self.value += data[start:end]
            if len(self.value) > FIELD:
                raise InputError("form_field_too_long", name=self.name[:40])
            return
        self.size += end - start
        if self.size > self.most:
            raise InputError("upload_too_large", shown=self.shown, most=self.most / 1000000.0)
        if shutil.disk_usage(self.folder).free < SPARE:
            raise InputError("disk_nearly_full", shown=self.shown)
        self.file.write(data[start:end])

    def _part_end(self) -> None:
        if self.file is not None:
            self.close()
            self.whole = True
        else:
            self.fields[self.name] = self.value.decode("utf-8", "replace")
