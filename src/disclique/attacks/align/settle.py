"""From a rough alignment with a register to one that is settled on the candidates of all pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from disclique.attacks.align.gather import Candidacy, Gathered, gather_candidates
from disclique.attacks.align.likelihood import REACH, find_pairs
from disclique.attacks.align.noise import estimate_noise
from disclique.attacks.align.polish import Polisher
from disclique.attacks.align.refine import Aligner, Alignment
from disclique.attacks.align.search import CLEAR, SURE, Alignments, build_prior
from disclique.attacks.align.setting import Setting, StreamedInputs
from disclique.attacks.knowledge import Knowledge
from disclique.attacks.population import PartModel
from disclique.attacks.weigh.law import LawModel
from disclique.geodesy import Spread
from disclique.masks.laws import RadialLaw, ReplayLaw
from disclique.model import FloatArray, Json

PER_PAIR = 2_500  # bytes for a candidate pair
LEAST_PAIRS = 20  # candidates of a target, however little memory there is
RIVALS = 6  # alignments around which candidates are gathered
DOUBT = 5.0  # standard deviations of the motion by which candidates are sought farther away
SHARP = 0.1  # of the displacement: a motion that is known so well need not be known better
ROUNDS = 3  # streams for candidates, should the motion move away from those gathered


class Laid(NamedTuple):
    """The map laid on the register: alignments settled on the candidates, and what was not tried."""

    found: Alignments
    laws: LawModel | None
    gathered: Gathered
    pilot: Alignments
    cut: str = ""

    def describe(self, setting: Setting) -> Json:
        """Describe the streams in numbers."""
        model = self.pilot.aligner.model
        assert isinstance(model, PartModel)
        survey = setting.inputs.survey
        return {
            "records": len(survey),
            "pieces": len(survey.register.pieces),
            "sample": len(survey.sample),
            "pilot": len(model.people),
            "pilot_log_odds": self.pilot.ranked[0].evidence,
            "candidates": len(self.gathered.people),
            "pairs": self.gathered.pairs,
            "left_out": self.gathered.left_out is not None,
        }


def settle(setting: Setting, piloted: Alignments) -> Laid:
    """Gather the candidates around the alignments of the pilot and settle these on them, all targets counted.

    Gathered again where an alignment moves away from the candidates it was settled on.
    """
    inputs, target_map = setting.inputs, setting.target_map
    setting = _take_noise(setting, piloted)
    ranked, prior = piloted.ranked[:RIVALS], None
    aligner = piloted.aligner
    for _ in range(ROUNDS):
        doubt = DOUBT * max(float(np.sqrt(aligner.find_motion_variance(one).max(initial=0.0))) for one in ranked)
        who = _name_candidates(setting, ranked, aligner, doubt)
        told = inputs.announce("gathering the candidates around the targets")
        gathered = gather_candidates(inputs.survey.register, who, mapper=inputs.mapper, told=told)
        model = setting.model(gathered.people, setting.classes).remeasured()
        model = replace(model, left_out=_weigh_left_out(gathered, ranked[0].common, inputs, len(target_map.positions)))
        if piloted.overlapping and piloted.ranked[0].evidence >= SURE:  # the land tells it, and better than people
            again = _sharpen(replace(piloted, aligner=Aligner(model, target_map, aligner.prior)), doubt)
            break
        if prior is None:
            prior = build_prior(setting.model(inputs.survey.sample, setting.classes), target_map)[0]
        aligner = Aligner(model, target_map, prior)
        again = _refine(aligner, piloted, ranked, inputs.knowledge)
        moved = max(measure_gap(aligner, one, ranked) for one in again.ranked)
        ranked = again.ranked
        if moved <= max(doubt, 0.1 * aligner.sigma):
            break
    found = _fit_noise(again, setting.floor) if inputs.knowledge.noise is None else again
    aligner = found.aligner
    laws = None if inputs.knowledge.law is None else _build_laws(setting, model)
    if laws is not None:
        inputs.tell("polishing the alignment under the law of the mask")
        finest = max(setting.floor, laws.grain)
        found = Polisher(laws, aligner, finest=finest, common=inputs.knowledge.common).polish_all(found)
    return Laid(found, laws, gathered, piloted)


def _sharpen(landed: Alignments, doubt: float) -> Alignments:
    """Return the alignment that the land shows, moved to where people fit best if they tell it more sharply.

    The land tells a motion to some ten metres; under a smaller displacement that would part people from their records.
    """
    aligner, one = landed.aligner, landed.ranked[0]
    width = max(doubt / DOUBT, aligner.sigma)
    if doubt <= SHARP * DOUBT * aligner.sigma:
        return landed
    moved = aligner.refine(one.motion, width, one.common, fixed=True)
    before = float(aligner.evaluate(one.motion, 0.0, aligner.who, one.common)[0][0])
    if moved.ratio < before + CLEAR or measure_gap(aligner, moved, [one]) > doubt:
        return landed
    return replace(landed, ranked=[replace(moved, evidence=one.evidence)])


def _take_noise(setting: Setting, piloted: Alignments) -> Setting:
    """Return the setting with the displacement that the pilot suggests where it is not known."""
    if setting.inputs.knowledge.noise is not None:
        return setting
    east, north = np.sqrt(np.median(piloted.aligner.model.variances, axis=0)).tolist()
    return replace(setting, noise=Spread(east, north, setting.noise.unit))


def _name_candidates(setting: Setting, ranked: list[Alignment], aligner: Aligner, doubt: float) -> Candidacy:
    """Say who is a candidate under the alignments."""
    inputs, target_map, model = setting.inputs, setting.target_map, aligner.model
    survey, knowledge = inputs.survey, inputs.knowledge
    extra = target_map.variance + (doubt / DOUBT) ** 2
    widest = float(setting.variances(inputs.known_map).max()) * 1.05  # the farthest known record is not in the sample
    own = _find_reach(setting, widest, float(extra.max()))
    none = np.zeros((0, 3))
    return Candidacy(
        {survey.labels[k]: int(k) for k in setting.classes},
        replace(inputs.known_map, positions=none, east=none, north=none),
        tuple(one.motion(target_map.positions) for one in ranked),
        model.target_class,
        model.related,
        model.axes,
        own + doubt,
        extra,
        setting.noise,
        knowledge.coordinate_error,
        setting.floor,
        max(inputs.memory // PER_PAIR // max(len(target_map.positions), 1), LEAST_PAIRS),
    )


def _find_reach(setting: Setting, variance: float, extra: float) -> float:
    """Return how far from its known record a target may lie, by Gaussian noise or by the law of the mask."""
    gaussian, law, inputs = REACH * float(np.sqrt(variance + extra)), setting.inputs.knowledge.law, setting.inputs
    if isinstance(law, RadialLaw):
        return max(gaussian, law.reach + REACH * float(np.sqrt(extra + inputs.knowledge.coordinate_error**2)))
    if isinstance(law, ReplayLaw):
        few = inputs.survey.points.select(np.arange(min(len(inputs.survey.sample), 5_000)))
        owner, images, _ = law.images(few, inputs.knowledge.coordinate_error)
        off = inputs.known_map.place(images) - inputs.known_map.place(few)[owner]
        return max(gaussian, 1.5 * float(np.linalg.norm(off, axis=1).max(initial=0.0)) + gaussian / 4)
    return gaussian


def _weigh_left_out(gathered: Gathered, common: float, inputs: StreamedInputs, targets: int) -> FloatArray | None:
    """Return the log density of those who were left out as the odds that they are meant, beside strangers."""
    if gathered.left_out is None:
        return None
    share = inputs.knowledge.common if inputs.knowledge.common is not None else common
    share = min(max(share, 1e-9), 1 - 0.5 / max(targets, 1))
    strangers = max(1 - share * targets / max(len(inputs.survey), 1), 0.5 / max(len(inputs.survey), 1))
    return np.asarray(gathered.left_out + np.log(share) - np.log1p(-share) - np.log(strangers))


def _refine(aligner: Aligner, piloted: Alignments, ranked: list[Alignment], knowledge: Knowledge) -> Alignments:
    """Refine alignments on the candidates; a bold snooper in doubt takes the share of common people as given."""
    found = Alignments(aligner, piloted.clear, density_motions=piloted.density_motions)
    for one in ranked:
        share = one.common if knowledge.common is None else knowledge.common
        found.add(aligner.refine(one.motion, aligner.sigma, share))
    if found.ranked[0].evidence >= SURE or not knowledge.bold or knowledge.common is None:
        return found
    again = replace(found, ranked=[], overlapping=True)
    for one in ranked:
        again.add(aligner.refine(one.motion, aligner.sigma, knowledge.common, fixed=True))
    return again


def measure_gap(aligner: Aligner, one: Alignment, ranked: list[Alignment]) -> float:
    """Return how far an alignment lays any target from where the nearest of those before laid it."""
    positions = aligner.target_map.positions[aligner.who]
    here = one.motion(positions)
    return min(float(np.linalg.norm(other.motion(positions) - here, axis=1).max(initial=0.0)) for other in ranked)


def _fit_noise(found: Alignments, floor: float) -> Alignments:
    """Return the best alignment under the displacement that the candidates suggest."""
    fitted, best = estimate_noise(found.aligner, found.ranked[0], floor)
    return replace(found, aligner=fitted, ranked=[best])


def _build_laws(setting: Setting, model: PartModel) -> LawModel | None:
    """Build the model of the exact law around the candidates; None where it is Gaussian."""
    survey = setting.inputs.survey
    points = survey.register.place(model.people.coordinates)
    return replace(setting.inputs, points=points).build_laws(model)


def compare_strangers(laid: Laid, shares: Sequence[float]) -> list[float]:
    """Return the log odds for sharing people rather than none under the best alignment, for shares of common targets.

    Strangers are counted over the whole register, and counterparts that were left out are counted as such.
    """
    aligner, best = laid.found.aligner, laid.found.ranked[0]
    model, who, target_map = aligner.model, aligner.who, aligner.target_map
    extra = target_map.variance[who] + aligner.find_motion_variance(best)
    positions = best.motion(target_map.positions[who])
    pairs = find_pairs(model, positions, extra, who)
    here, row = np.unique(pairs.target, return_inverse=True)
    places = positions[np.searchsorted(who, here)]
    background = model.background(float(np.median(extra)) if len(extra) else 0.0)
    strangers = background.log_density(places, model.target_class[here], model.related)
    crowd = model.crowd(here)
    top = np.zeros(len(here)) if crowd is None else np.logaddexp(strangers, crowd) - strangers
    gain = np.bincount(row, np.exp(np.minimum(pairs.ratio + top[row], 700.0)), len(here))
    if laid.gathered.left_out is not None:
        gain += np.exp(laid.gathered.left_out[here] - strangers)
    alone = len(who) - len(here)
    return [float(np.log1p(share * (gain - 1)).sum() + alone * np.log1p(-share)) for share in shares]
