"""Where the fit starts, and how far the map may bend."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from disclique.attacks.bend.clouds import Basis
from disclique.attacks.bend.fit import FINEST, Fit, Problem, anneal, find_responsibilities, judge, regress
from disclique.model import FloatArray

TURNS = 48  # angles tried, each also mirrored
KEPT = 6  # starts that are refined
WIDE = 0.2  # width of the residuals when turns are compared
Plan = list[tuple[Basis, list[float]]]
PLANS: list[Plan] = [  # functions and widths in turn: straight maps, narrow widths for few common records; bent ones
    [(Basis(1), [0.14, 0.1, 0.07, 0.05, 0.035])],
    [(Basis(1), [0.3, 0.2, 0.14, 0.1, 0.07, 0.05])],
    [(Basis(1), [0.2]), (Basis(2), [0.17, 0.14, 0.1]), (Basis(3), [0.1, 0.07, 0.05])],
]
BASES = [Basis(1), Basis(2), Basis(3), Basis(4), Basis(5), Basis(3, 24), Basis(3, 48), Basis(3, 80)]
GAIN = 3.0  # evidence by which a map that bends more must be better
UNKNOWN = 0.3  # share of common records that is taken at first where nobody knows it


def find_fits(problem: Problem) -> list[Fit]:
    """Return maps from several starts, straight ones and bent ones, by falling evidence."""
    starts = sorted(list_starts(problem), key=lambda fit: -fit.evidence)[:KEPT]
    found = [_follow_plan(problem, start, plan) for start in starts for plan in PLANS]
    return sorted(found, key=lambda fit: -fit.evidence)


def _follow_plan(problem: Problem, fit: Fit, plan: Plan) -> Fit:
    for basis, widths in plan:
        if basis != fit.basis:
            fit = _rebase(problem, judge(problem, fit), basis)
        fit = anneal(problem, fit, widths)
    return fit


def _rebase(problem: Problem, fit: Fit, basis: Basis) -> Fit:
    """Return the map made of other functions, fitted to the same pairs; the same one where they are too few."""
    functions = basis.of(problem.known.places[:1], problem.known).shape[1]
    blank = replace(fit, basis=basis, coefficients=np.zeros((functions, fit.axes)))
    tried = regress(problem, blank, find_responsibilities(problem, fit), narrowest=FINEST)
    return fit if tried is blank else tried


def list_starts(problem: Problem) -> list[Fit]:
    """List first maps: turns and mirror images of the widest axes, and the one that seeds or labels' centres give."""
    target, known = problem.target.places, problem.known.places
    axes = min(2, target.shape[1])
    basis, common = Basis(), problem.common or UNKNOWN
    starts: list[Fit] = []
    if problem.seeds is not None and len(problem.seeds) > known.shape[1]:
        weight = np.zeros(len(problem.i))
        weight[problem.seeds] = 1.0
        whole = np.zeros((known.shape[1] + 1, target.shape[1]))
        blank = Fit(basis, whole, np.ones(target.shape[1]), common)
        starts.append(regress(problem, blank, weight, narrowest=WIDE))
    judged = [judge(problem, start) for start in starts]
    crowd = None  # the same for all turns of two axes
    for coefficients in _list_turns(axes, known.shape[1]):
        judged.append(judge(problem, Fit(basis, coefficients, np.full(axes, WIDE), common), crowd=crowd))
        crowd = judged[-1].crowd if axes > 1 else None
    return judged


def _list_turns(axes: int, across: int) -> list[FloatArray]:
    """List coefficients that turn, and mirror, the widest axes of the known cloud onto those of the target."""
    found = []
    for turn in np.arange(TURNS) * 2 * np.pi / TURNS:
        first, second = np.array([np.cos(turn), np.sin(turn)]), np.array([-np.sin(turn), np.cos(turn)])
        for mirror in (1, -1) if axes == 2 and across > 1 else (1,):
            coefficients = np.zeros((across + 1, axes))
            wanted = np.stack((first, mirror * second), axis=1)[: min(across, 2), :axes]
            coefficients[1 : 1 + len(wanted)] = wanted
            found.append(coefficients)
    return found


def use_all_axes(problem: Problem, fit: Fit) -> Fit:
    """Return the fit extended to all axes of the target."""
    axes = problem.target.places.shape[1]
    judged = judge(problem, fit)
    if fit.axes == axes:
        return judged
    wide = np.zeros((len(fit.coefficients), axes))
    wide[:, : fit.axes] = fit.coefficients
    blank = replace(judged, coefficients=wide, sd=np.r_[fit.sd, np.ones(axes - fit.axes)])
    return regress(problem, blank, find_responsibilities(problem, judged), narrowest=FINEST)


def bend(problem: Problem, fit: Fit) -> Fit:
    """Return the best map of those that bend more and more, each started from the last.

    First only the widest axes of the target are mapped, then all: the narrow axes of a bent cloud are curved where the
    wide ones are straight, so that they say nothing at first.
    """
    best = _raise(problem, settle(problem, fit), 0)
    if best.axes == problem.target.places.shape[1]:
        return best
    return _raise(problem, settle(problem, use_all_axes(problem, best)), BASES.index(best.basis))


def _raise(problem: Problem, best: Fit, begin: int) -> Fit:
    for basis in BASES[begin + 1 :]:
        functions = basis.of(problem.known.places[:1], problem.known).shape[1]
        if functions > 0.5 * (best.common * problem.target.size):
            break
        tried = _rebase(problem, best, basis)
        if tried is best:
            break
        tried = settle(problem, tried)
        if tried.evidence > best.evidence + GAIN:
            best = tried
    return best


def settle(problem: Problem, fit: Fit) -> Fit:
    """Repeat until the evidence does not grow, and judge every pair by the map without it."""
    best = judge(problem, fit, fair=True)
    for _ in range(12):
        fit = anneal(problem, fit, [FINEST], rounds=3)
        fair = judge(problem, fit, fair=True)
        if not fair.evidence > best.evidence + 0.5:
            break
        best = fair
    return best
