"""Files of Stata, SPSS and SAS: their values as a CSV file with the words of the value labels would have them.

A column whose values all have a label is read as these labels, because the other file may have the words. A column of
which only some values have one (ages, and -9 "no answer") keeps its numbers. What the file declares as missing is
missing, and nothing else: a label that says "no answer" is a value like others.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from disclique.errors import InputError, MissingDependency
from disclique.records.formats.workbooks import as_text
from disclique.values import canonical

READERS = {
    ".dta": "read_dta",
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
SUFFIXES = tuple(READERS)
CATALOGUE = ".sas7bcat"  # where SAS keeps the labels of values


def read_statfile(path: Path, *, codes: bool = False, most: int | None = None) -> pd.DataFrame:
    """Return the records of a file as text, the first ``most`` if not all are wanted.

    With ``codes`` the values of labelled columns stay as they are coded.
    """
    try:
        import pyreadstat
    except ImportError:
        raise MissingDependency(f'{path}: reading it needs more packages: pip install "disclique[stat]"') from None
    suffix = path.suffix.lower()
    more: dict[str, Any] = {} if most is None else {"row_limit": most}
    if suffix == ".sas7bdat" and path.with_suffix(CATALOGUE).is_file():
        more["catalog_file"] = str(path.with_suffix(CATALOGUE))
    try:
        frame, about = getattr(pyreadstat, READERS[suffix])(str(path), **more)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, OSError, ValueError) as error:
        said = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise InputError(f"{path}: not a file of the kind {suffix} ({said})") from None
    labels = {} if codes else about.variable_value_labels
    return pd.DataFrame({name: _in_words(frame[name], labels.get(name, {})) for name in frame.columns})


def _in_words(column: pd.Series[Any], labels: dict[Any, str]) -> pd.Series[Any]:
    """Return the values as text: by their labels if every value has one, and no two the same."""
    words = {canonical(code): label for code, label in labels.items() if str(label).strip()}
    places, values = pd.factorize(column, use_na_sentinel=False)
    plain = [canonical(value) for value in values]
    used = {value for value in plain if value is not None}
    labelled = bool(used) and used <= set(words) and len({words[value] for value in used}) == len(used)
    texts = [words[value] if labelled and value is not None else as_text(value) for value in plain]
    return pd.Series(np.array(texts, dtype=object)[places], dtype=object, name=column.name)
