"""What every kind of space says that it can do, and a space that somebody wrote."""

import numpy as np
import pandas as pd
import pytest

import disclique as dq
from builders import every_space, mask_in_order, rng
from disclique.errors import InputError
from disclique.spaces import Distances, Sizes, full_matrix, wrap
from disclique.spaces.metrics import Measure

KINDS = {
    "sphere": "coordinates",
    "wgs84": "coordinates",
    "plane": "plane",
    "vectors": "vectors",
    "cosine": "vectors",
    "gower": "records",
    "own metric": "records",
    "texts": "texts",
    "encodings": "encodings",
    "matrix": "matrix",
    "scaled": "matrix",
    "series": "matrix",
    "hidden": "matrix",
    "listed": "matrix",
}
MAPS = {"sphere", "wgs84", "plane"}
POINTS = MAPS | {"vectors", "cosine", "gower", "own metric"}
INVENTED = POINTS - {"own metric"} | {"texts", "scaled"}
JOINED = POINTS | {"texts", "encodings", "scaled"}


@pytest.mark.parametrize("name", list(KINDS))
def test_a_kind_says_what_it_can_do(name: str) -> None:
    """None and False are answers, and no kind can do what its records do not have."""
    space = every_space()[name]
    assert space.kind == KINDS[name]
    assert (space.points() is not None) == (name in POINTS)
    assert (space.vectors() is not None) == (name in POINTS - {"gower", "own metric"})
    assert (space.places() is not None) == (name in MAPS | {"scaled"})
    assert (space.texts() is not None) == (name == "texts")
    assert (space.matrix() is not None) == (name in {"matrix", "scaled"})
    assert (space.listed() is not None) == (name == "listed")
    assert (space.cells() is not None) == (name == "encodings")
    assert (space.identities() is not None) == (name in JOINED | {"hidden"})
    assert (space.on_earth, space.scaled, space.by_ranges) == (
        name in {"sphere", "wgs84"},
        name == "scaled",
        name == "gower",
    )
    assert len(space.releases) == (2 if name == "series" else 1)


@pytest.mark.parametrize("name", list(KINDS))
def test_some_records_of_any_kind_have_their_distances(name: str) -> None:
    space, rows = every_space()[name], np.array([5, 0, 9], dtype=np.int32)
    some = space.select(rows)
    assert some.unit == space.unit
    np.testing.assert_allclose(full_matrix(some), full_matrix(space, rows=rows))
    shown = space.as_matrix(most=2) if name not in {"matrix", "scaled"} else space.as_matrix()
    assert shown.points() is shown.texts() is shown.cells() is None
    np.testing.assert_allclose(full_matrix(shown, rows=rows), full_matrix(space, rows=rows))


@pytest.mark.parametrize("name", list(KINDS))
def test_people_are_invented_and_files_joined_where_that_means_something(name: str) -> None:
    space = every_space()[name]
    assert space.can_invent == (name in INVENTED)
    assert space.can_join(space) == (name in JOINED)
    if space.can_join(space):
        both = full_matrix(space.join(space))
        np.testing.assert_allclose(both[: space.size, : space.size], full_matrix(space), atol=1e-9)
    else:
        with pytest.raises(InputError) as error:
            space.join(space)
        assert error.value.message.code == "files_cannot_be_joined"
    if not space.can_invent:
        with pytest.raises(InputError) as error:
            space.invent(3, rng())
        assert error.value.message.code == "nobody_can_be_invented"
        return
    found = space.invent(6, rng())
    assert (found.size, found.kind, found.unit) == (6, space.kind, space.unit)
    assert found.can_join(space)


def test_the_content_tells_files_apart() -> None:
    first, again = every_space(), every_space()
    told = {name: repr(space.content()) for name, space in first.items() if name not in {"hidden", "series"}}
    assert told == {name: repr(again[name].content()) for name in told}
    assert len(set(told.values())) == len(told)


class Steps:
    """Distances of one's own: nothing but what is needed."""

    size, directed = 4, False

    def block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the steps between numbers."""
        return np.abs(rows[:, None] - columns[None, :]).astype(float)


class Numbered(Steps):
    """The same with what else a space of one's own may say."""

    unit, metric = "km", "steps"

    def __init__(self, numbers: list[int]) -> None:
        self.numbers, self.size = np.array(numbers), len(numbers)

    def block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the steps between the numbers of records."""
        return super().block(self.numbers[rows], self.numbers[columns])

    def identities(self) -> list[int]:
        """Return the numbers."""
        return self.numbers.tolist()

    def select(self, rows: np.ndarray) -> "Numbered":
        """Return some."""
        return Numbered(self.numbers[rows].tolist())

    def join(self, other: "Numbered") -> "Numbered":
        """Return both."""
        return Numbered([*self.numbers.tolist(), *other.numbers.tolist()])


def test_distances_of_ones_own_are_taken_at_the_door() -> None:
    """A file of them is masked and attacked as any other; what they do not say, they cannot do."""
    table = pd.DataFrame({"sex": list("fmfm")})
    data = dq.microdata(table, ["sex"], distances=Steps())
    assert isinstance(data.distances, Distances)
    assert (data.distances.kind, data.distances.unit, data.distances.identities()) == ("matrix", None, None)
    assert dq.attack(data, data, agreement=dq.Within(0.5)).clique.size == 4
    assert np.isfinite(mask_in_order(data, "round:to=2", seed=1).distances.block(np.arange(4), np.arange(4))).all()
    assert dq.utility(Steps(), Steps(), rng=rng())["published"] == 1  # type: ignore[arg-type]
    assert wrap(np.eye(3)) is None


def test_distances_of_ones_own_can_do_what_they_say() -> None:
    space = wrap(Numbered([3, 1, 1, 8]))
    assert space is not None
    assert (space.unit, space.identities()) == ("km", [3, 1, 1, 8])
    assert space.can_join(space)
    assert not space.can_join(dq.Matrix(np.zeros((4, 4)), unit="km"))
    np.testing.assert_array_equal(full_matrix(space.join(space.select(np.array([3]))))[0], [0, 2, 2, 5, 5])


class Streets(Measure):
    """The sum of the steps along both axes, as a way to compare that the package could have."""

    name, in_coordinates = "streets", True

    def kind(self, columns: int) -> str:
        """Return what rows are."""
        return "vectors"

    def paired(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the steps, row by row."""
        return np.asarray(np.abs(a - b).sum(axis=1), dtype=float)


def test_a_new_way_to_compare_is_one_class() -> None:
    """What it does not say it cannot do; all else follows from the distances."""
    space = dq.Points([[0, 0], [3000, 4000], [0, 1000]], Streets(), unit="m")  # type: ignore[arg-type]
    assert repr(space) == "3 vectors of 2 columns, streets, km"
    np.testing.assert_allclose(full_matrix(space)[0], [0, 7, 1])
    assert (space.kind, space.can_invent, space.vectors() is space, space.places()) == ("vectors", False, True, None)


def test_sizes_go_with_the_records() -> None:
    """What is held at a time is said of a space, and of what is chosen from it or put beside it."""
    few = Sizes(formed_records=3)
    assert all(space.with_sizes(few).is_large for space in every_space().values())
    space = every_space()["sphere"]
    small = space.with_sizes(few)
    assert (space.is_large, small.is_large, small.select(np.arange(5)).is_large) == (False, True, True)
    assert small.join(small).sizes == small.sizes
    assert small.as_matrix().matrix() is None
    assert space.as_matrix().matrix() is not None
