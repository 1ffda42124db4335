"""What the columns of a file may be: guessed from names and values, to be confirmed by the person.

A guess is a guess. A column that could be something else carries a sentence that says so; what is left without a role
although a snooper may know it is said too, since a label that is left out makes a release look safer than it is.
"""

from __future__ import annotations

import re
import tempfile
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from disclique.errors import InputError
from disclique.locale import mark
from disclique.messages import Message

if TYPE_CHECKING:
    pass

ID, LABEL, EAST, NORTH, NUMBER, TEXT, ENCODING, NO_ROLE = "id", "label", "x", "y", "number", "text", "encoding", ""
SENSITIVE, UNCHANGED, WEIGHT = "sensitive", "plain", "weight"
IN_KM, IN_M, PLAIN = "known:km", "known:m", "known:none"  # numbers that both sides can know, in their unit
UNIT_OF = {IN_KM: "km", IN_M: "m", PLAIN: "none"}

# Each role with its name and what it means, as the page explains it.
ROLES = (
    (
        NO_ROLE,
        mark("not released"),
        mark("Left out of the release, and not used otherwise."),
    ),
    (ID, mark("id"), mark("Names the person; it tells the audit who is who and is never released.")),
    (
        LABEL,
        mark("label"),
        mark("Something that others know of a person: sex, age, postal code. A snooper compares it."),
    ),
    (
        SENSITIVE,
        mark("sensitive, released"),
        mark("Released, and not known to others: a diagnosis, an income. It is asked what a snooper learns of it."),
    ),
    (
        UNCHANGED,
        mark("released as it is"),
        mark("A further column that is released unchanged: what was measured or answered, and identifies nobody."),
    ),
    (
        WEIGHT,
        mark("sampling weight"),
        mark("Says for how many people of the population a record stands; it is not released."),
    ),
    (EAST, mark("longitude or east"), mark("The first coordinate of the place: longitude, easting, x, Rechtswert.")),
    (NORTH, mark("latitude or north"), mark("The second coordinate of the place: latitude, northing, y, Hochwert.")),
    (
        IN_KM,
        mark("distance in km"),
        mark("A distance to a place in kilometres, which a snooper can find out who knows where somebody lives."),
    ),
    (
        IN_M,
        mark("distance in m"),
        mark("A distance to a place in metres, which a snooper can find out who knows where somebody lives."),
    ),
    (
        PLAIN,
        mark("another number that can be known"),
        mark(
            "Minutes to a place, an income, a year: a number that others know, and that agrees up to what is released."
        ),
    ),
    (
        NUMBER,
        mark("one of several numbers"),
        mark("One number of a vector: distances are computed from all of these columns."),
    ),
    (TEXT, mark("text to compare"), mark("Names and the like, compared letter by letter; distances come from them.")),
    (ENCODING, mark("encoding"), mark("An encoding of names (Bloom filter): 0 and 1, hexadecimal or base64.")),
)

_NAMES = {
    ID: "id pid uid uuid key kennung schluessel nr nummer no number lfdnr laufnr personid personnr personennummer "
    "recordid caseid fallnr fallnummer identifier respondent respid probandennr patientid patid studyid index",
    EAST: "lon lng long longitude laenge laengengrad geolaenge xlon gpslon x xcoord coordx east easting eastings "
    "rechtswert rw ost ostwert xkoordinate koordx utmx xutm",
    NORTH: "lat latitude breite breitengrad geobreite ylat gpslat y ycoord coordy north northing northings "
    "hochwert hw nord nordwert ykoordinate koordy utmy yutm",
    TEXT: "name names vorname nachname familienname rufname first last firstname lastname surname givenname forename "
    "fullname fname lname strasse street address adresse anschrift",
    ENCODING: "encoding encodings clk bloom bloomfilter bf cbf",
    SENSITIVE: "diagnosis diagnoses diagnose diagnosen icd disease illness krankheit krankheiten erkrankung asthma "
    "diabetes cancer krebs hiv depression disability behinderung symptom symptoms symptome medication medikament "
    "medikamente treatment behandlung therapie income einkommen salary gehalt lohn wage wages debt debts "
    "schulden verschuldung bmi smoker smoking raucher rauchen alcohol alkohol drugs drogen pregnancy schwangerschaft "
    "conviction vorstrafe vorstrafen party partei vote wahl sexuality sexualitaet",
    WEIGHT: "gewichtung hochrechnungsfaktor hochrechnung samplingweight surveyweight designweight pweight sampleweight",
    LABEL: "sex gender geschlecht age alter agegroup ageclass altersklasse altersgruppe gebjahr geburtsjahr yob "
    "birthyear yearofbirth jahrgang cob birthdate dateofbirth dob geburtsdatum gebdatum plz postleitzahl zip zipcode "
    "postcode postalcode religion konfession nationality nationalitaet staatsangehoerigkeit citizenship "
    "maritalstatus familienstand occupation beruf profession job education bildung schulabschluss race ethnicity "
    "ethnie kreis landkreis gemeinde bundesland land country state county region district ort wohnort stadt city town "
    "householdsize haushaltsgroesse children kinder migration language sprache",
}
# How numbers to places are called, whatever their unit, and what says their unit.
_UNIT_NAMES = {
    "": "dist distance distanz entf entfernung abstand nearest weg proximity luftlinie",
    IN_KM: "km kilometer kilometre kilometers kilometres",
    IN_M: "meter metre meters metres",
    PLAIN: "minutes minuten mins fahrzeit fahrtzeit reisezeit traveltime wegezeit",
}
_TO_PLACES = {role: frozenset(words.split()) for role, words in _UNIT_NAMES.items()}
_SHORT_UNITS = {"km": IN_KM, "m": IN_M, "min": PLAIN}  # at the beginning of a name, or beside one of those words
_NAMED = {role: frozenset(words.split()) for role, words in _NAMES.items()}
_EXPLAINED = {SENSITIVE: mark("may_be_sensitive"), WEIGHT: mark("may_be_weight")}  # what is said of such columns
_LONGITUDES = {"lon", "lng", "long", "longitude", "laenge", "laengengrad", "geolaenge", "xlon", "gpslon"}
_LATITUDES = {"lat", "latitude", "breite", "breitengrad", "geobreite", "ylat", "gpslat"}
_BITS = re.compile(r"[01]{32,}")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}){8,}")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4}){6,}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
MOST_KM = 150.0  # a median distance to a place that is longer is in metres
FEW = 20  # different values up to which a column looks like classes
MANY = 0.8  # share of different values from which a column tells people apart


@dataclass(frozen=True)
class Guess:
    """The role that a column seems to have; ``why`` says why that is doubtful, None if it is not."""

    column: str
    role: str = NO_ROLE
    why: Message | None = None


def guess_roles(columns: Sequence[Column], *, geometry: bool = False) -> list[Guess]:
    """Guess what each column is; with ``geometry`` places come from the file itself."""
    found = {column.name: _guess(column) for column in columns}
    by_name = {column.name: column for column in columns}
    _choose_id(found, columns)
    _choose_places(found, by_name, geometry=geometry)
    placed = geometry or any(guess.role == NORTH for guess in found.values())
    coded = any(guess.role == ENCODING for guess in found.values())
    for name, guess in found.items():
        if guess.role == TEXT and (placed or coded):
            found[name] = Guess(name, NO_ROLE, Message("names_beside_places"))
        elif guess.role == ENCODING and placed:
            found[name] = Guess(name, NO_ROLE, Message("may_be_encoding"))
    return list(found.values())


def plain_words(name: str) -> list[str]:
    """Return the words of a column's name without accents and signs, and all of it as one word.

    >>> plain_words("Länge_WGS84"), plain_words("gebJahr")
    (['laenge', 'wgs', '84', 'laengewgs84'], ['geb', 'jahr', 'gebjahr'])
    """
    text = re.sub(r"(?<=[a-zäöüß])(?=[A-Z])", " ", name)
    for letter, plain in (("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("ß", "ss"), ("Ä", "ae"), ("Ö", "oe"), ("Ü", "ue")):
        text = text.replace(letter, plain)
    text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    words = re.findall(r"[a-z]+|\d+", text)
    return list(dict.fromkeys([*words, "".join(words)]))


def _called(column: Column) -> str:
    """Return the role that a column's name says: all of it first, then its words."""
    words = plain_words(column.name)
    for word in reversed(words):
        for role, names in _NAMED.items():
            if word in names:
                return role
    return ID if words and words[-1].endswith("id") and len(words[-1]) <= 10 else NO_ROLE


def _guess(column: Column) -> Guess:
    called, count = _called(column), len(column.values)
    if not count:
        return Guess(column.name)
    if called == ID:
        sure = column.distinct == count and not column.missing
        return Guess(column.name, ID, None if sure else Message("id_not_unique"))
    return _guess_content(column, called)


def _guess_content(column: Column, called: str) -> Guess:
    """Guess what a column is that names nobody."""
    name, numbers, count = column.name, column.numbers, len(column.values)
    if called in (EAST, NORTH):
        return Guess(name, called) if numbers else Guess(name, NO_ROLE, Message("coordinate_not_numbers"))
    if (unit := _name_unit(column)) is not None:
        return _guess_number(column, unit)
    if (coded := _looks_encoded(column)) or called == ENCODING:
        return Guess(name, ENCODING, None if called == ENCODING or coded == "bits" else Message("may_be_encoding"))
    if called == TEXT and not numbers:
        return Guess(name, TEXT)
    if called in _EXPLAINED and (numbers or called != WEIGHT):
        return Guess(name, called, Message(_EXPLAINED[called]))
    share = column.distinct / count
    if called == LABEL:
        return Guess(name, LABEL, Message("label_tells_all_apart") if count > FEW and share > MANY else None)
    few = column.distinct <= FEW
    many = mark("measured_may_be_number") if numbers else mark("measured_may_be_label")
    return Guess(name, NO_ROLE, Message(mark("few_values_may_be_label") if few else many))


def _name_unit(column: Column) -> str | None:
    """Return the role that the name of a number to places says, empty where its unit is not said; None of others.

    >>> [_name_unit(Column(name, ("2", "3"), 2, 0)) for name in ("km_hospital", "m_to_school", "Entfernung", "size_m")]
    ['known:km', 'known:m', '', None]
    """
    words = plain_words(column.name)
    called = [role for role, names in _TO_PLACES.items() if names.intersection(words)]
    beginning = words if called else words[:1] * (len(words) > 1)
    short = [role for word, role in _SHORT_UNITS.items() if word in beginning]
    if column.numbers is None or not (called or short):
        return None
    return next((role for role in (*called, *short) if role), "")


def _guess_number(column: Column, unit: str) -> Guess:
    """Return a distance to a place: by its values in kilometres or metres, where its name does not say it."""
    numbers = column.numbers or []
    if min(numbers) < 0:
        return Guess(column.name, NO_ROLE, Message("distance_below_zero"))
    if unit:
        return Guess(column.name, unit)
    middle = sorted(numbers)[len(numbers) // 2]
    return Guess(column.name, IN_M if middle > MOST_KM else IN_KM, Message("unit_by_values"))


def _looks_encoded(column: Column) -> str:
    """Return which kind of encoding the values look like; empty if none."""
    some = column.values[:200]
    if len({len(value) for value in some}) != 1 or len(some[0]) < 16 or column.distinct < 2:
        return ""
    for kind, form in (("bits", _BITS), ("hex", _HEX), ("base64", _BASE64)):
        if all(form.fullmatch(value) for value in some):
            return kind if kind != "base64" or any(not value.isalpha() for value in some) else ""
    return ""


def _choose_id(found: dict[str, Guess], columns: Sequence[Column]) -> None:
    """Leave one id: the first that tells people apart, else the first that is called so."""
    called = [guess for guess in found.values() if guess.role == ID]
    best = next((guess for guess in called if guess.why is None), called[0] if called else None)
    for guess in called:
        if guess is not best:
            found[guess.column] = Guess(guess.column, NO_ROLE, Message("second_id"))
    if best is None and columns:
        first = columns[0]
        apart = len(first.values) > 1 and first.distinct == len(first.values) and not first.missing
        numbers = first.numbers
        whole = numbers is None or all(value.is_integer() for value in numbers)
        if apart and whole and found[first.name].role == NO_ROLE:
            found[first.name] = Guess(first.name, ID, Message("may_name_persons"))


def _choose_places(found: dict[str, Guess], columns: dict[str, Column], *, geometry: bool) -> None:
    """Leave one pair of coordinates, and say what is doubtful about it."""
    easts = [guess for guess in found.values() if guess.role == EAST]
    norths = [guess for guess in found.values() if guess.role == NORTH]
    if geometry or not (easts and norths):
        taken = "other_coordinates_taken" if geometry else mark("other_coordinate_missing")
        for guess in (*easts, *norths):
            found[guess.column] = Guess(guess.column, NO_ROLE, Message(taken))
        return
    east, north = _pair(easts, norths)
    for guess in (*easts, *norths):
        if guess not in (east, north):
            found[guess.column] = Guess(guess.column, NO_ROLE, Message("other_coordinates_taken"))
    x, y = columns[east.column].numbers or [], columns[north.column].numbers or []
    degrees = [_in_degrees(guess) for guess in (east, north)]
    why = _doubt(x, y, degrees=all(degrees))
    found[east.column] = replace(east, why=why[0])
    found[north.column] = replace(north, why=why[1])


def _in_degrees(guess: Guess) -> bool:
    return not (_LONGITUDES | _LATITUDES).isdisjoint(plain_words(guess.column))


def _pair(easts: list[Guess], norths: list[Guess]) -> tuple[Guess, Guess]:
    """Return the first two that are called in the same way: both in degrees, or both of a plane."""
    for east in easts:
        for north in norths:
            if len({_in_degrees(guess) for guess in (east, north)}) == 1:
                return east, north
    return easts[0], norths[0]


def _doubt(x: list[float], y: list[float], *, degrees: bool) -> tuple[Message | None, Message | None]:
    """Say what is doubtful about two columns of coordinates."""
    wide, high = max(map(abs, x), default=0.0), max(map(abs, y), default=0.0)
    if wide > 180 or high > 180:
        why = Message("no_degrees_though_called") if degrees else Message("no_degrees_say_system")
        return (why if wide > 180 else None), (why if high > 180 else None)
    if high > 90:
        return Message("longitude_like_latitudes"), Message("latitude_like_longitudes")
    middle = [sorted(values)[len(values) // 2] for values in (x, y)]
    if _in_europe(middle[1], middle[0]) and not _in_europe(middle[0], middle[1]):
        return Message("longitude_like_latitudes"), Message("latitude_like_longitudes")
    return (None, None) if degrees else (Message("degrees_or_plane"), Message("degrees_or_plane"))


def _in_europe(lon: float, lat: float) -> bool:
    """Say whether a place lies where most files of the people of this tool do."""
    return -11 <= lon <= 32 and 35 <= lat <= 71


ROWS = 1000  # read to see what columns hold
SHOWN_ROWS = 10  # rows of the preview
LONG = 60  # characters of a cell that are shown
EXAMPLES = 3


@dataclass(frozen=True)
class Column:
    """A column: some of its values as texts, how many different ones there are, how many cells are empty."""

    name: str
    values: tuple[str, ...]  # of the rows read, without the empty ones
    distinct: int
    missing: int

    @property
    def examples(self) -> list[str]:
        """The first different values, shortened."""
        return [shorten(value) for value in list(dict.fromkeys(self.values))[:EXAMPLES]]

    @property
    def numbers(self) -> list[float] | None:
        """The values as numbers; None if one of them is none."""
        try:
            found = [float(value) for value in self.values]
        except ValueError:
            return None
        return found if found and all(abs(value) < float("inf") for value in found) else None


@dataclass(frozen=True)
class Preview:
    """What is seen of a file at first: ``rows`` to be shown, ``read`` rows on which the columns were judged.

    ``whole`` says that these are all. ``parts`` are the sheets or layers among which one can be chosen, ``geometry``
    that places come from the file itself.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    read: int
    whole: bool
    parts: tuple[str, ...] = ()
    geometry: bool = False


def shorten(text: str) -> str:
    """Return a cell as it is shown."""
    return text if len(text) <= LONG else f"{text[: LONG - 1]}…"


def preview(path: Path, sheet: str | None = None, layer: str | None = None, *, codes: bool = False) -> Preview:
    """Return what is seen of a file at first, of a large one without reading all of it."""
    from disclique.records.formats import Part, has_places, list_parts, read_table

    if not path.exists():
        raise InputError("file_gone", path=path)
    frame = read_table(path, Part(sheet, layer, codes), rows=ROWS + 1)
    some = frame.iloc[:ROWS]
    columns = []
    for name in some.columns:
        values = tuple(_text(value) for value in some[name].dropna())
        columns.append(Column(str(name), values, len(set(values)), len(some) - len(values)))
    rows = tuple(tuple(shorten(_text(cell)) for cell in row) for row in some.iloc[:SHOWN_ROWS].itertuples(index=False))
    return Preview(tuple(columns), rows, len(some), len(frame) <= ROWS, list_parts(path), has_places(path))


class Previews:
    """What was seen of the last files: each is read once as long as it does not change."""

    def __init__(self, most: int = 8) -> None:
        self.most, self.seen = most, dict[tuple[Any, ...], Preview]()

    def get(self, path: Path, sheet: str | None = None, layer: str | None = None, *, codes: bool = False) -> Preview:
        """Return the preview of a file, by ``preview`` if it has changed."""
        about = path.stat() if path.exists() else None
        key = (path, sheet, layer, codes, about and (about.st_mtime_ns, about.st_size))
        found = self.seen.pop(key, None) or preview(path, sheet, layer, codes=codes)
        self.seen[key] = found
        for old in list(self.seen)[: -self.most]:
            self.seen.pop(old, None)
        return found


def _text(value: object) -> str:
    from disclique.records.formats import as_text

    shown = as_text(value)
    return shown if isinstance(shown, str) else ""  # NaN is no value


@contextmanager
def first_rows(path: Path) -> Iterator[Path]:
    """Give the beginning of a large text file as a file of its own, cut where a row ends; else the file itself."""
    from disclique.records.formats import format_of

    found = format_of(path)
    raw = None if found is None or found.begins is None else found.begins(path, ROWS)
    if raw is None:
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        head = Path(folder) / f"head{path.suffix}"
        head.write_bytes(raw)
        yield head
