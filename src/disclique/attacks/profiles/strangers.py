"""What an assignment of strangers is worth: parts of the snooper's own file, assigned to other parts of it.

They are assigned from as many starts as a release is, features included: an assignment that was sought with less care
is worth less, and strangers would pass for more than chance.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from disclique.attacks.profiles.anchors import NOBODY_PAIRED, Files
from disclique.attacks.profiles.clouds import Turning
from disclique.attacks.profiles.evidence import Ints
from disclique.attacks.profiles.joint import Joint
from disclique.attacks.profiles.solve import Attempt, solve, trial_labels, worth_of
from disclique.values import FloatArray


def worth_by_chance(
    joint: Joint, files: Files, turning: Turning, starts: list[int], chance: int
) -> tuple[float, float]:
    """Return what an assignment of strangers is worth for each pair of distances, and how much that varies.

    Halves and quarters of a draw of the known file are assigned to others of the file itself. What they share by
    their kind does not change with their number, what is fitted by chance falls like its root.
    """
    rng, size = np.random.default_rng(chance), files.known.size

    def assigned(pieces: int) -> FloatArray:
        parts = [np.sort(part) for part in np.array_split(rng.permutation(size), pieces)]
        both = zip(parts, [*parts[1:], parts[0]], strict=True)
        return np.array([_assign(joint, files, turning, starts, pair, int(rng.integers(1 << 31))) for pair in both])

    half, quarter = (np.concatenate([assigned(pieces) for _ in range(joint.by.splits)]) for pieces in (2, 4))
    root = np.sqrt(np.array([2, 4]) / size)  # one over the root of the records
    here = 1 / np.sqrt(min(files.target.size, size))
    reach = (here - root[0]) / (root[1] - root[0])
    falls = max(float(quarter.mean() - half.mean()), 0.0)
    varies = np.sqrt((half.var() / root[0] ** 2 + quarter.var() / root[1] ** 2) / 2)
    errors = ((1 - reach) * root[0]) ** 2 / len(half) + (reach * root[1]) ** 2 / len(quarter) + here**2
    return float(half.mean() + reach * falls), float(varies * np.sqrt(errors))


def _assign(
    joint: Joint, files: Files, turning: Turning, starts: list[int], parts: tuple[Ints, Ints], chance: int
) -> float:
    """Return what the assignment of one part of the known file, as a release, to another one is worth."""
    rows, others = parts
    shown, group, allowed = joint.draws[0][np.ix_(rows, rows)], joint.groups[0][rows], files.allowed
    side = replace(files.known, draws=(shown,), landmarks=np.arange(len(rows)), expected=None, true=None)
    own = Files(side, files.known.part(others), allowed, NOBODY_PAIRED, files.scoring, files.anchoring)
    attempt = Attempt(shown, group, trial_labels(allowed, rows, others), side)
    problem, best, _ = solve(joint.part(others), attempt, own, turning, starts, chance)
    return worth_of(problem, group, best)
