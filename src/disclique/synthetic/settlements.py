"""Where people live in Germany: a settlement pattern made of published facts.

* Cities with more than 80,000 inhabitants stand where they are, with their inhabitants and their area (one third of all
  people).
* Everybody else lives in one of about 11,000 municipalities whose sizes follow the published size classes. Their
  places are drawn once, with a fixed seed, inside the country's outline: as densely as the NUTS 2 region around them is
  settled outside its cities.
* Around the centre of a settlement people are spread like a Gaussian with the second moment of a disc: of the city's
  own area, or of 600 m² an inhabitant, Germany's settlement and traffic area (47,971 km² at the end of 2011, Destatis).

The tables are in ``tables/germany_*.csv``; each names its source and its precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.geodesy import shift_nearby
from disclique.values import FloatArray

SETTLED_KM2_PER_INHABITANT = 600e-6
_PATTERN_SEED = 2011  # the pattern of municipalities is part of the country, not of a sample


@dataclass(frozen=True, eq=False)
class Settlements:
    """Places of a country: ``centres`` (lon, lat) in degrees, ``inhabitants``, ``radius`` in km, and ``outline``."""

    centres: FloatArray
    inhabitants: FloatArray
    radius: FloatArray
    outline: FloatArray

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw the homes of ``n`` people, (lon, lat) in degrees, shape (n, 2), all inside the outline."""
        place = rng.choice(len(self.centres), size=n, p=self.inhabitants / self.inhabitants.sum())
        homes = np.empty((n, 2))
        todo = np.arange(n)
        while len(todo):
            at = place[todo]
            homes[todo] = shift_nearby(self.centres[at], rng.normal(size=(len(todo), 2)) * self.radius[at, None] / 2)
            todo = todo[~inside(homes[todo], self.outline)]
        return homes


def home_points(n: int, rng: np.random.Generator) -> FloatArray:
    """Draw homes of ``n`` people in Germany from the settlement pattern, (lon, lat) in degrees."""
    return germany_settlements().draw(n, rng)


def area_points(n: int, rng: np.random.Generator) -> FloatArray:
    """Draw ``n`` points uniform over the area of Germany, (lon, lat) in degrees, as the paper does to calibrate ≈."""
    return uniform_points(n, read_table("germany_outline").to_numpy(), rng)


@cache
def germany_settlements() -> Settlements:
    """Return the settlement pattern of Germany; always the same."""
    cities = read_table("germany_cities")
    outline = read_table("germany_outline").to_numpy()
    rng = np.random.default_rng(_PATTERN_SEED)
    sizes = _municipality_sizes(rng)
    towns = _town_centres(len(sizes), outline, rng)
    areas = np.concatenate([cities["area_km2"].to_numpy(), sizes * SETTLED_KM2_PER_INHABITANT])
    return Settlements(
        centres=np.vstack([cities[["lon", "lat"]].to_numpy(), towns]),
        inhabitants=np.concatenate([cities["inhabitants"].to_numpy(dtype=float), sizes]),
        radius=np.sqrt(areas / np.pi),
        outline=outline,
    )


def _municipality_sizes(rng: np.random.Generator) -> FloatArray:
    """Draw the inhabitants of every municipality: log-uniform within its size class, scaled to those of the class."""
    sizes = []
    for smallest, largest, municipalities, inhabitants in read_table("germany_municipalities").to_numpy(dtype=float):
        drawn = np.exp(rng.uniform(np.log(smallest), np.log(largest), int(municipalities)))
        sizes.append(drawn * inhabitants / drawn.sum())
    return np.concatenate(sizes)


def _town_centres(n: int, outline: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw places inside the outline, as dense as the region of the nearest centre is settled outside its cities."""
    regions = read_table("germany_regions").set_index("region")
    cities = read_table("germany_cities").groupby("region")[["inhabitants", "area_km2"]].sum()
    rest = regions[["inhabitants", "area_km2"]].sub(cities.reindex(regions.index, fill_value=0))
    density = (rest["inhabitants"] / rest["area_km2"]).to_numpy()
    centres = regions[["lon", "lat"]].to_numpy()
    places = np.empty((0, 2))
    while len(places) < n:
        tried = uniform_points(4 * n, outline, rng)
        east = (tried[:, None, 0] - centres[None, :, 0]) * np.cos(np.radians(tried[:, None, 1]))
        nearest = np.argmin(east**2 + (tried[:, None, 1] - centres[None, :, 1]) ** 2, axis=1)
        places = np.vstack([places, tried[rng.random(len(tried)) * density.max() < density[nearest]]])
    return places[:n]


def uniform_points(n: int, outline: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw ``n`` points uniform by area on the sphere inside a polygon of (lon, lat) corners."""
    (west, south), (east, north) = outline.min(axis=0), outline.max(axis=0)
    low, high = np.sin(np.radians([south, north]))
    points = np.empty((0, 2))
    while len(points) < n:
        lat = np.degrees(np.arcsin(rng.uniform(low, high, 2 * n)))
        tried = np.column_stack([rng.uniform(west, east, 2 * n), lat])
        points = np.vstack([points, tried[inside(tried, outline)]])
    return points[:n]


def inside(points: FloatArray, outline: FloatArray) -> NDArray[np.bool_]:
    """Return which points lie in the polygon of (lon, lat) corners."""
    from matplotlib.path import Path

    return np.asarray(Path(outline).contains_points(points))


@cache
def read_table(name: str) -> pd.DataFrame:
    """Return a table that comes with the package, by the name of its file without ``.csv``."""
    with (resources.files("disclique.synthetic") / "tables" / f"{name}.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file, comment="#")
