"""Files of encodings as tools of record linkage write them: JSON of several shapes, and zips of several such files.

clkhash and anonlink write ``{"clks": ["base64", …]}``; CODI zips several of these, and one of households with a table
that says who lives in which. Services of the universities of Leipzig write records with attributes of the type
``BITSET_BASE64``, the toolkit of the ONS the positions of bits under ``bf_indices``. Each becomes a table with a column
for every encoding of a person, in the order in which the file has the people.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path, PurePosixPath
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np
import pandas as pd

from disclique.errors import InputError
from disclique.records.formats import MISSING, Format, Part, first_line
from disclique.records.formats.households import is_mapping, people_of, spread

CLKS, CLK = "clks", "clk"
INDICES = "bf_indices"
BITS, BITSET = (
    "BITSET",
    "BITSET_BASE64",
)  # of java.util.BitSet: the first bit is the lowest of the first byte, zeros behind are cut off
ENCODED = "encodings"  # under which a frame names its columns of encodings
_RECORDS = ("records", "entities", "vectors", "data")  # under which services send lists of records
_IDS = {"local": "id", "source": "source", "global": "global_id"}


def _read_json(path: Path, part: Part, rows: int | None) -> pd.DataFrame:
    return _frame_of(_parse(path.read_bytes(), str(path)), str(path))


def _parse(raw: bytes, name: str) -> Any:
    try:
        return json.loads(raw.decode("utf-8-sig"))
    except (ValueError, UnicodeDecodeError, RecursionError) as error:
        raise InputError("not_a_json_file", path=name, why=first_line(error)) from None


def _frame_of(content: Any, name: str) -> pd.DataFrame:
    """Return the records of a file, a column for each encoding and for what stands beside it."""
    found = _columns_of(content, name)
    if not found:
        there = [repr(key) for key in content][:8] if isinstance(content, dict) else []
        raise InputError("json_without_encodings", path=name, keys=there or [type(content).__name__])
    sizes = {len(values) for values in found.values()}
    if len(sizes) > 1:
        counts = [f"{column}: {len(values)}" for column, values in found.items()]
        raise InputError("json_columns_differ", path=name, columns=counts)
    frame = pd.DataFrame({column: pd.Series(values, dtype=object) for column, values in found.items()})
    frame.attrs[ENCODED] = [column for column in found if column in (CLK, INDICES) or column in _bitsets_in(content)]
    return frame


def _bitsets_in(content: Any) -> set[str]:
    """Return the attributes that are bit strings of a service's records."""
    records = next((content[key] for key in _RECORDS if key in content), []) if isinstance(content, dict) else content
    attributes = [one["attributes"] for one in records if isinstance(one, dict) and _is_map(one.get("attributes"))]
    return {str(name) for one in attributes for name, held in one.items() if _kind_of(held).startswith(BITS)}


def _kind_of(held: Any) -> str:
    return str(held.get("type", "")).upper() if isinstance(held, Mapping) else ""


def _is_map(value: Any) -> bool:
    return isinstance(value, Mapping)


def _columns_of(content: Any, name: str) -> dict[str, list[Any]]:
    """Return the columns of a file by their names; none where it has no encodings."""
    if isinstance(content, dict):
        return _columns_of_object(content, name)
    if not isinstance(content, list) or not content:
        return {}
    if all(isinstance(one, dict) for one in content):
        return _columns_of_records(content, name)
    if all(one is None or isinstance(one, str) for one in content):
        return {CLK: content}
    return {INDICES: content} if all(isinstance(one, list) for one in content) else {}


def _columns_of_object(content: dict[str, Any], name: str) -> dict[str, list[Any]]:
    if isinstance(content.get(CLKS), list):
        length = len(content[CLKS])
        beside = {k: v for k, v in content.items() if k != CLKS and isinstance(v, list) and len(v) == length}
        return {CLK: _check_clks(content[CLKS], name), **beside}
    if _is_many(content.get(INDICES)):
        return {k: list(v.values()) if isinstance(v, dict) else v for k, v in content.items() if _is_many(v)}
    for key in _RECORDS:
        if isinstance(content.get(key), list):
            return _columns_of(content[key], name)
    if content and all(isinstance(one, dict) and INDICES in one for one in content.values()):
        return _columns_of([{"id": key, **one} for key, one in content.items()], name)
    return {}


def _is_many(value: Any) -> bool:
    return isinstance(value, (dict, list))


def _check_clks(values: Sequence[Any], name: str) -> list[Any]:
    for row, value in enumerate(values):
        if value is not None and not isinstance(value, str):
            raise InputError("clk_is_no_text", path=name, row=row + 1, value=str(value)[:40])
    return list(values)


def _columns_of_records(records: Sequence[dict[str, Any]], name: str) -> dict[str, list[Any]]:
    """Return the columns of a list of records; what only some of them have is missing in the others."""
    rows: list[dict[str, Any]] = []
    bitsets: set[str] = set()
    for record in records:
        row: dict[str, Any] = {}
        given = record.get("id")
        ids = given if isinstance(given, Mapping) else {"local": given}
        row |= {_IDS.get(str(key), str(key)): value for key, value in ids.items() if _is_plain(value)}
        attributes = record.get("attributes")
        if isinstance(attributes, Mapping):
            for column, one in attributes.items():
                row[str(column)] = one.get("value") if isinstance(one, Mapping) else one
                bitsets |= {str(column)} if _kind_of(one) == BITSET else set()
        more = {str(k): v for k, v in record.items() if k not in ("id", "attributes", "value")}
        row |= {key: value for key, value in more.items() if _is_plain(value) or isinstance(value, list)}
        row |= {CLK: record["value"]} if "value" in record else {}
        rows.append(row)
    names = dict.fromkeys(key for row in rows for key in row)
    columns = {key: [row.get(key) for row in rows] for key in names}
    kept = {key: values for key, values in columns.items() if any(value is not None for value in values)}
    return {key: _from_bitset(values) if key in bitsets else values for key, values in kept.items()}


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (str, int, float))


def _from_bitset(values: Sequence[Any]) -> list[Any]:
    """Return base64 in which the first bit is the highest of its byte, all of one length.

    What cannot be read stays as it is: reading the column names its row.
    """
    try:
        raw = [None if value is None else base64.b64decode(str(value), validate=True) for value in values]
    except (binascii.Error, ValueError):
        return list(values)
    length = max((len(one) for one in raw if one is not None), default=0)
    turned = [
        None if one is None else np.packbits(np.unpackbits(np.frombuffer(one, np.uint8), bitorder="little")).tobytes()
        for one in raw
    ]
    return [None if one is None else base64.b64encode(one.ljust(length, b"\0")).decode("ascii") for one in turned]


def _read_zip(path: Path, part: Part, rows: int | None) -> pd.DataFrame:
    """Return the encodings of all files in an archive, a column for each; what says nothing of people is skipped.

    Encodings of households are spread over the people who live there, where a table in the archive says who they are.
    """
    frames, homes = _open(path)
    if not frames:
        raise InputError("archive_without_encodings", path=path)
    if homes is not None:
        people = people_of(homes, str(path))
        frames = {name: spread(frame, people, f"{path}: {name}") for name, frame in frames.items()}
    counts = {name: len(frame) for name, frame in frames.items()}
    if len(set(counts.values())) > 1:
        raise InputError(
            "archive_files_differ", path=path, files=[f"{name}: {count}" for name, count in counts.items()]
        )
    found: dict[str, Any] = {}
    encoded: list[str] = []
    for name, frame in frames.items():
        stem = PurePosixPath(name).stem
        for column in frame.columns:
            own = column in frame.attrs[ENCODED]
            label = stem if own and len(frame.attrs[ENCODED]) == 1 and len(frames) > 1 else str(column)
            label = label if label not in found else f"{stem} {column}"
            found[label] = frame[column].to_numpy(dtype=object)
            encoded += [label] if own else []
    whole = pd.DataFrame(found)
    whole.attrs[ENCODED] = encoded
    return whole


def _open(path: Path) -> tuple[dict[str, pd.DataFrame], pd.DataFrame | None]:
    """Return the tables of an archive by name, and the one that says who lives in which household, if there is one."""
    frames: dict[str, pd.DataFrame] = {}
    homes = None
    try:
        with ZipFile(path) as archive:
            for name in sorted(archive.namelist()):
                place = PurePosixPath(name)
                if place.name.startswith(".") or "__MACOSX" in place.parts:
                    continue
                if place.suffix.lower() == ".json":
                    content = _parse(archive.read(name), f"{path}: {name}")
                    if not isinstance(content, dict) or _columns_of(content, name):  # else it describes the others
                        frames[name] = _frame_of(content, f"{path}: {name}")
                elif place.suffix.lower() == ".csv":
                    text = archive.read(name).decode("utf-8-sig", errors="replace")
                    table = pd.read_csv(StringIO(text), dtype=str, keep_default_na=False, na_values=list(MISSING))
                    if is_mapping(table):
                        homes = table
                    elif INDICES in table.columns or CLK in table.columns:
                        table.attrs[ENCODED] = [one for one in table.columns if one in (CLK, INDICES)]
                        frames[name] = table
    except (BadZipFile, OSError, RuntimeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("not_a_zip_file", path=path, why=first_line(error)) from None
    return frames, homes


def _write_json(frame: pd.DataFrame, path: Path) -> None:
    """Write a table as clkhash has it: the encodings under ``clks``, and what stands beside them by its name."""
    names = [str(column) for column in frame.columns]
    own = CLK if CLK in names else "encoding" if "encoding" in names else None
    first = {} if own is None else {CLKS: frame[own].tolist()}
    plain = frame.astype(object).where(frame.notna(), None)
    beside = {name: plain[name].tolist() for name in frame.columns if name != own}
    path.write_text(json.dumps(first | beside, ensure_ascii=False) + "\n", encoding="utf-8")


JSON = Format((".json",), "JSON", table=_read_json, write=_write_json, written=(".json",))
ARCHIVE = Format((".zip",), "zip", table=_read_zip)
