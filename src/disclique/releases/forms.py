"""What is released of that which a mask makes: distances, places, vectors, encodings or none of them, and its digits.

A mask that moves points makes places, and distances follow from these. Places say more than distances: where the map
lies. The oracle of an audit knows that, so that what it says of a mask of points holds for places, too; but a map that
is only turned, shifted or left as it is, is the true map, and is never released as places.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from disclique.errors import InputError, guess_meant
from disclique.geodesy import KM_PER_DEGREE
from disclique.masks import Mask
from disclique.masks.laws import ExchangeLaw
from disclique.messages import Message, mark
from disclique.model import Microdata, Source
from disclique.records.checks.lengths import sample_lengths
from disclique.records.formats import PlaceColumns
from disclique.records.formats.projections import read_crs
from disclique.spaces import Points
from disclique.spaces.base import Distances
from disclique.units import KM, KM_IN
from disclique.values import FloatArray

PLACES, DISTANCES, VECTORS, ENCODINGS, NONE = "places", "distances", "vectors", "encodings", "none"
FORMS = (PLACES, DISTANCES, VECTORS, ENCODINGS, NONE)
DEGREES = "EPSG:4326"  # what coordinates on the Earth are in where no other system was said


@dataclass(frozen=True)
class Rounding:
    """To how many digits coordinates, distances and vectors are written.

    They are rounded to a power of ten that is at most ``of_size`` of the size of the mask, the standard deviation of a
    move or of the noise on a distance. That adds an error of less than a thousandth of the one that the mask made, and
    as nothing is read from the true data, what is released says no more than before: no risk changes by it. Where a
    mask has no size, lengths are written to ``exact_km``, a millimetre, and other numbers to ``significant`` digits of
    the largest one.
    """

    of_size: float = 1e-3
    exact_km: float = 1e-6
    significant: int = 9

    def count(self, size: float | None, largest: float, *, lengths: bool, scale: float = 1.0) -> int:
        """Return the decimals of numbers of which ``scale`` make one of the unit of sizes, km where they are lengths.

        >>> Rounding().count(20.0, 800.0, lengths=True), Rounding().count(20.0, 800.0, lengths=True, scale=1000.0)
        (2, -1)
        """
        if size is not None and size > 0:
            return self._decimals(size * self.of_size * scale)
        if lengths:
            return self._decimals(self.exact_km * scale)
        return self.significant - (int(np.floor(np.log10(largest))) + 1 if largest > 0 else 1)

    @staticmethod
    def _decimals(step: float) -> int:
        return int(-np.floor(np.log10(step) + 1e-9))


ROUNDING = Rounding()


def choose_form(asked: str | None, data: Microdata, mask: Mask, masked: Distances) -> str:
    """Return what of a mask's result is released; refuse what there is none of, and places that are as they were.

    By default it is encodings where the mask encodes text, else distances, or nothing where there are none.
    """
    if asked is None:
        return ENCODINGS if masked.cells() is not None else DISTANCES if masked.are_published else NONE
    if asked not in FORMS:
        raise InputError("unknown_form", form=asked, known=FORMS, meant=guess_meant(str(asked), FORMS))
    if asked == DISTANCES and not masked.are_published:
        raise InputError("no_distances_released", mask=str(mask))
    if asked == ENCODINGS and masked.cells() is None and not (mask.rigid and data.distances.cells() is not None):
        raise InputError("mask_makes_no_encodings", mask=str(mask))
    if asked in (PLACES, VECTORS):
        _check_points(asked, mask, masked.points(), of_points=data.distances.points() is not None)
    return asked


def _check_points(asked: str, mask: Mask, points: Points | None, *, of_points: bool) -> None:
    """Refuse places and vectors that a mask does not make, or that are the true ones."""
    places = asked == PLACES
    if mask.rigid and of_points and (places or points is None):
        code = mark("places_moved_all_alike") if points is not None else mark("places_as_they_are")
        raise InputError(code, mask=str(mask))
    if points is None or points.coordinates.dtype.kind not in "fiu":
        raise InputError(mark("mask_makes_no_places") if places else mark("mask_makes_no_vectors"), mask=str(mask))
    if places and not points.is_map:
        raise InputError("places_are_vectors")
    if not places and points.on_earth:
        raise InputError("vectors_are_places")


def warn_of_form(form: str, mask: Mask, data: Microdata, masked: Distances) -> tuple[Message, ...]:
    """Say what a form gives away that somebody may not expect, or that an audit does not weigh."""
    spec = str(mask)
    if mask.rigid:
        codes = {
            DISTANCES: mark("distances_released_as_they_are"),
            VECTORS: mark("vectors_turned_all_alike"),
            ENCODINGS: mark("encodings_released_as_they_are"),
        }
        return (Message(codes[form], mask=spec),) if form in codes and masked.are_published else ()
    if form not in (PLACES, VECTORS) or (own := data.distances.points()) is None:
        return ()
    law = mask.place_law(own)
    if isinstance(law, ExchangeLaw):
        return (Message("places_are_those_of_others", mask=spec),)
    if form == VECTORS and not mask.gaussian and law is None and _draws(mask, own):
        return (Message("vectors_not_weighed", mask=spec),)
    return ()


def _draws(mask: Mask, own: Points) -> bool:
    """Say whether a mask puts points elsewhere each time; one that follows a rule can be replayed, and is weighed."""
    one, other = (mask.apply(own, np.random.default_rng(seed)).points() for seed in (0, 1))
    return one is None or other is None or not np.array_equal(one.coordinates, other.coordinates)


def find_size(mask: Mask) -> float | None:
    """Return how much a mask alters, in km or in the unit of the numbers; None where it has no size."""
    spread = mask.displacement_spread()
    if spread is not None:
        size = min(spread.east, spread.north)
        return size * KM_PER_DEGREE if spread.unit == "deg" else size
    return mask.matrix_sd


def count_decimals(mask: Mask, masked: Distances, rounding: Rounding = ROUNDING) -> int:
    """Return the decimals with which the distances of a release are written."""
    size, lengths = find_size(mask), masked.unit == KM
    largest = float(np.max(sample_lengths(masked), initial=0.0)) if size is None and not lengths else 0.0
    return rounding.count(size, largest, lengths=lengths)


def write_places(
    points: Points, mask: Mask, source: Source, rounding: Rounding = ROUNDING
) -> tuple[dict[str, FloatArray], PlaceColumns | None]:
    """Return the columns of places or vectors as the file had them: its names, reference system and unit.

    The second value says how a file of geometries holds them; None where they are not two columns of a map.
    """
    values, crs = points.coordinates, DEGREES if source.crs is None and points.on_earth else source.crs
    size, lengths, scale = find_size(mask), points.unit == KM, 1.0
    if crs is not None:
        from pyproj import Transformer

        system = read_crs(crs)
        if crs != DEGREES:
            east, north = Transformer.from_crs(4326, system, always_xy=True).transform(*values.T)
            values = np.column_stack([east, north])
            if not np.isfinite(values).all():
                outside = int((~np.isfinite(values)).any(axis=1).sum())
                raise InputError("places_outside_the_system", mask=str(mask), crs=crs, count=outside)
        scale = 1 / KM_PER_DEGREE if system.is_geographic else 1000 / system.axis_info[0].unit_conversion_factor
        usual: tuple[str, ...] = ("lon", "lat") if system.is_geographic else ("x", "y")
    else:
        scale = 1 / KM_IN["m"] if source.unit == "m" and lengths else 1.0
        values = values * scale
        many = values.shape[1]
        usual = ("x", "y")[:many] if points.is_map else tuple(f"v{number + 1}" for number in range(many))
    names = source.columns if len(source.columns) == values.shape[1] else usual
    decimals = rounding.count(size, float(np.abs(values).max(initial=0.0)), lengths=lengths, scale=scale)
    columns = {name: np.round(values[:, k], decimals) + 0.0 for k, name in enumerate(names)}  # no -0.0
    if not points.is_map or len(names) != 2:
        return columns, None
    given = source.geometry is not None
    held = PlaceColumns((names[0], names[1]), crs, source.geometry or "geometry", source.layer, given)
    return columns, held
