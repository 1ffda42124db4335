"""Files of Stata, SPSS and SAS: their values as a CSV file with the words of the value labels would have them.

A column whose values all have a label is read as these labels, because the other file may have the words. A column of
which only some values have one (ages, and -9 "no answer") keeps its numbers. What the file declares as missing is
missing, and nothing else: a label that says "no answer" is a value like others.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from disclique.errors import InputError
from disclique.records.formats import Format, Part, Reader, as_text, first_line, need, read_table
from disclique.values import canonical

CATALOGUE = ".sas7bcat"  # where SAS keeps the labels of values


def _reader(name: str) -> Reader:
    """Return what reads a file by a function of pyreadstat; with ``codes`` labelled values stay as they are coded."""

    def read(path: Path, part: Part, rows: int | None) -> pd.DataFrame:
        library = need("pyreadstat", path)
        more: dict[str, Any] = {} if rows is None else {"row_limit": rows}
        suffix = path.suffix.lower()
        if suffix == ".sas7bdat" and path.with_suffix(CATALOGUE).is_file():
            more["catalog_file"] = str(path.with_suffix(CATALOGUE))
        try:
            frame, about = getattr(library, name)(str(path), **more)
        except (library.ReadstatError, library.PyreadstatError, OSError, ValueError) as error:
            raise InputError("not_a_file_of_kind", path=path, suffix=suffix, why=first_line(error)) from None
        labels = {} if part.codes else about.variable_value_labels
        return pd.DataFrame({name: _in_words(frame[name], labels.get(name, {})) for name in frame.columns})

    return read


def _in_words(column: pd.Series[Any], labels: dict[Any, str]) -> pd.Series[Any]:
    """Return the values as text: by their labels if every value has one, and no two the same."""
    words = {canonical(code): label for code, label in labels.items() if str(label).strip()}
    places, values = pd.factorize(column, use_na_sentinel=False)
    plain = [canonical(value) for value in values]
    used = {value for value in plain if value is not None}
    labelled = bool(used) and used <= set(words) and len({words[value] for value in used}) == len(used)
    texts = [words[value] if labelled and value is not None else as_text(value) for value in plain]
    return pd.Series(np.array(texts, dtype=object)[places], dtype=object, name=column.name)


_STATA_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}")


def _write_stata(frame: pd.DataFrame, path: Path) -> None:
    """Write a table for Stata; a name that Stata does not take is written otherwise, and stands in the label."""
    names: dict[str, str] = {}
    for column in map(str, frame.columns):
        name = column if _STATA_NAME.fullmatch(column) else re.sub(r"^(?=\d)|\W", "_", column)[:28]
        taken = set(names.values())
        free = (name, *(f"{name}_{number}" for number in range(2, len(frame.columns) + 2)))
        names[column] = next(one for one in free if one not in taken)
    labels = {name: column[:80] for column, name in names.items() if name != column}
    renamed = frame.set_axis(list(names.values()), axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of words such as int, before which it puts a line
        try:
            renamed.to_stata(path, write_index=False, version=118, variable_labels=labels)
        except (ValueError, TypeError, NotImplementedError) as error:
            raise InputError("not_written_as", path=path, why=first_line(error)) from None


def _format(name: str, function: str, *suffixes: str, **more: Any) -> Format:
    return Format(
        suffixes,
        name,
        table=_reader(function),
        grid=lambda path, part: read_table(path, Part(codes=True)),  # numbers, whatever they are labelled
        headed=True,
        extra="stat",
        **more,
    )


STATA = _format("Stata", "read_dta", ".dta", write=_write_stata, written=(".dta",))
SPSS = _format("SPSS", "read_sav", ".sav", ".zsav")
SPSS_PORTABLE = _format("SPSS", "read_por", ".por")
SAS = _format("SAS", "read_sas7bdat", ".sas7bdat")
SAS_TRANSPORT = _format("SAS", "read_xport", ".xpt")
