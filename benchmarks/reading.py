"""Reading people on no list by a learned code: ``python benchmarks/reading.py --data DIR`` (minutes, one core).

Names and birthdays of a file are encoded under a secret key. Somebody knows who a fifth of the records are, learns from
these which pieces of text make which bits, and reads all others against a dictionary: that of the file itself, which
has all names, or of another public list (fakename_20k without the people of the file). Dates are all days between the
first and the last. A reading is exact if all three columns are right. Writes ``benchmarks/results/reading.csv``.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

import numpy as np
import pandas as pd

import disclique as dq
from disclique.attacks.code.learning import Lesson, choose_form, learn_code
from disclique.attacks.code.reading import read_records
from disclique.attacks.code.tokens import cells_of, list_ways
from disclique.attacks.dictionaries import Dictionary, dictionary_of
from disclique.runs.unit import Chance
from disclique.spaces import Texts
from disclique.spaces.strings import texts_of

OUT = Path(__file__).parent / "results" / "reading.csv"
PUBLIC = "fakename_20k"
CELLS = [
    ("fakename_1k", "bloom:length=1024,bits=10,q=2", 0.2),
    ("fakename_2k", "bloom:length=1024,bits=10,q=2", 0.2),
    ("fakename_1k", "bloom:length=1024,bits=10,q=2,salt=record", 0.2),
    ("fakename_2k", "bloom:length=1024,bits=10,q=2,salt=record", 0.2),
    ("fakename_1k", "bloom:length=1024,bits=10,q=2", 0.05),
    ("fakename_1k", "bloom:length=1024,bits=30,q=2", 0.2),
    ("fakename_1k", "bloom:length=1024,bits=10,q=2,balance=yes", 0.2),
    ("fakename_1k", "bloom:length=1024,bits=10,q=2,flip=0.1", 0.2),
    ("fakename_1k", "bloom:length=1024,bits=10,q=2,flip=0.3", 0.2),
    ("fakename_1k", "bloom:length=1024,bits=10,q=2,diffuse=3", 0.2),
    ("fakename_1k", "bloom:length=1024,bits=10,q=2,diffuse=10", 0.2),
    ("fakename_1k", "minhash:length=1024,q=2", 0.2),
    ("fakename_1k", "two-step:columns=1000,bits=10,q=2", 0.2),
]


def read_people(data: Path, file: str) -> pd.DataFrame:
    """Return the names and birthdays of a file."""
    return pd.read_csv(data / f"{file}.tsv", sep="\t", dtype=str, keep_default_na=False).drop(columns="uid")


def make_dictionaries(data: Path, file: str, texts: Texts) -> dict[str, Dictionary]:
    """Return the dictionary of the file itself, and that of another list without its people."""
    people, other = read_people(data, file), read_people(data, PUBLIC)
    there = set(people.itertuples(index=False, name=None))
    rest = other[[row not in there for row in other.itertuples(index=False, name=None)]]
    public = texts_of(rest.reset_index(drop=True), list(rest.columns), name=PUBLIC)
    return {"own": dictionary_of(texts), "other list": dictionary_of(public, like=texts)}


def run(data: Path, file: str, mask: str, known: float) -> list[dict[str, object]]:
    """Encode a file, learn from a share of its pairs, and read the rest; a row for each dictionary."""
    table, rng = read_people(data, file), Chance(2026).rng("code", file, mask, str(known))
    texts = texts_of(table, list(table.columns), name=file)
    encodings = dq.parse_mask(mask).apply(texts, rng).encodings()
    assert encodings is not None
    bits, people, order = encodings.opened(), cells_of(texts), rng.permutation(texts.size)
    told, rest = np.split(order, [round(known * len(order))])
    begun = time.process_time()
    lesson = Lesson(bits[told], [people[row] for row in told], np.ones(len(told), np.float32))
    code = learn_code(lesson, choose_form(lesson, list_ways()))
    learned = time.process_time() - begun
    assert code is not None
    others = [people[row] for row in rest]
    fit = code.fit(bits[rest], others)
    named = float((fit.argmax(axis=1) == np.arange(len(rest))).mean())
    rows = []
    for name, dictionary in make_dictionaries(data, file, texts).items():
        begun = time.process_time()
        found = read_records(code, bits[rest], dictionary)
        right = found.right(others)
        rows.append(
            {
                "file": file,
                "mask": mask,
                "known_pairs": len(told),
                "unlisted": len(rest),
                "form": code.kind,
                "better_than_chance": code.clear,
                "best_of_the_rest_right": round(named, 4),
                "dictionary": name,
                "entries": "x".join(str(len(some)) for some in dictionary.entries),
                "covered": round(float(np.mean([dictionary.covers(cells) for cells in others])), 4),
                "read_exactly": round(float(right.mean()), 4),
                "dice": round(float(found.dice(others).mean()), 4),
                "guess": f"{dictionary.guess:.1e}",
                "cpu_learn": round(learned, 1),
                "cpu_read": round(time.process_time() - begun, 1),
            }
        )
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Run all cells and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with the files fakename_*.tsv")
    data = parser.parse_args().data
    rows = [row for cell in CELLS for row in run(data, *cell)]
    OUT.parent.mkdir(exist_ok=True)
    with OUT.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
