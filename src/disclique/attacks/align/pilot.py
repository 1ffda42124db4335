"""Where a map lies on a register, first: fitted to the settled land, or by pairs of rare records among a pilot.

The pilot is all people of the rarest labels, or a sample.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from disclique.attacks.align.gather import choose_pilot, draw_pilot
from disclique.attacks.align.land import Landing, fit_land
from disclique.attacks.align.likelihood import REACH, measure_rarity
from disclique.attacks.align.noise import estimate_noise
from disclique.attacks.align.refine import Aligner
from disclique.attacks.align.search import CLEAR, SMALL, UNKNOWN, Alignments, assume_overlap, build_prior
from disclique.attacks.align.setting import Setting, StreamedInputs
from disclique.attacks.population import PartModel
from disclique.attacks.weigh.pairs import (
    GUESSES,
    choose_alignments,
    explain_doubt,
)
from disclique.spaces.positions import Motion

PER_PILOT = 1_000  # bytes for one of the pilot
PILOT_PAIRS = 2_000_000.0  # pairs of the pilot that lie near each other: what one look at a motion costs
PILOT = 500_000  # people of a pilot, at the most
EFFORT = 0.2  # of the usual work for a search by pairs of rare records: the pilot is larger than other files


class Piloted(NamedTuple):
    """The pilot and the alignments of the map with it."""

    model: PartModel
    found: Alignments
    motions: list[Motion]  # that the density of settled places suggests
    inputs: StreamedInputs  # as they are for the pilot
    share: float  # of the people of its labels
    landing: Landing | None = None  # that is beyond doubt by the density of settled places alone


def align_pilot(setting: Setting) -> Piloted:
    """Return the alignments of the map with the pilot; motions are suggested by all targets and the whole sample."""
    inputs, target_map, population = setting.inputs, setting.target_map, setting.population
    everybody = setting.model(inputs.survey.sample, setting.classes)
    rough, motions = build_prior(everybody, target_map)
    variance = everybody.variances.max() + target_map.variance.max()
    pilot = choose_pilot(
        setting.candidates,
        inputs.survey.counts,
        most=max(min(inputs.memory // PER_PILOT // 4, PILOT), 10_000),
        near=population.count_near(REACH * float(np.sqrt(variance))),
        pairs=PILOT_PAIRS,
    )
    told = inputs.announce("reading the people of the rarest labels")
    people = draw_pilot(inputs.survey, pilot, mapper=inputs.mapper, told=told)
    model = setting.model(people, pilot.classes)
    if pilot.share == 1 and len(people) > len(inputs.survey.sample):  # a closer look than the sample's
        least, share = np.sqrt(model.variances.max(axis=1)), len(people) / len(inputs.survey)
        model = replace(model, rarity=measure_rarity(model.known_map, least) * share)
    else:
        model = model.remeasured()
    prior = build_prior(model, target_map)[0]
    knowledge = inputs.knowledge
    if knowledge.common is not None:
        knowledge = replace(knowledge, common=knowledge.common * pilot.share)
    few = replace(inputs, knowledge=knowledge, effort=EFFORT * inputs.effort)
    aligner = Aligner(model, target_map, prior)
    found = Alignments(aligner, CLEAR if len(aligner.who) > SMALL else np.inf, density_motions=motions)
    if rough.density is not None:
        inputs.tell("laying the map on the settled land")
        positions = target_map.positions[everybody.matchable]
        landed = fit_land(rough.density, motions, positions, finest=0.5 * aligner.sigma)
        found = _try_landings(found, landed, few, setting.floor)
        return Piloted(model, found, motions, few, pilot.share, landed[0] if landed and landed[0].clear else None)
    return Piloted(model, found, motions, few, pilot.share)


def _try_landings(found: Alignments, landed: list[Landing], inputs: StreamedInputs, floor: float) -> Alignments:
    """Return the alignments from motions that fit the land, under the known or the most likely displacement."""
    aligner, common = found.aligner, inputs.knowledge.common
    share = UNKNOWN if common is None else common
    if inputs.knowledge.noise is not None:
        for one in landed:
            if found.refine_until_clear([one.motion], max(one.width, aligner.sigma), share):
                break
        return found
    tried = [found]
    for guess in GUESSES:
        for one in landed[:1]:
            width = max(4 * guess * one.width, floor)
            variances = np.full_like(aligner.model.variances, width**2)
            own = replace(found, aligner=aligner.with_model(aligner.model.with_variances(variances)), ranked=[])
            own.refine_until_clear([one.motion], max(one.width, width), share)
            fitted, best = estimate_noise(own.aligner, own.ranked[0], floor)
            tried.append(replace(own, aligner=fitted, ranked=[best]))
    return max(tried, key=lambda one: one.ranked[0].evidence if one.ranked else -np.inf)


def search_further(piloted: Piloted, setting: Setting) -> Alignments:
    """Return the alignments with the pilot that a search by pairs of rare records finds."""
    aligner, inputs = piloted.found.aligner, piloted.inputs
    found = choose_alignments(
        piloted.model, setting.target_map, aligner.prior, piloted.motions, inputs=inputs, floor=setting.floor
    )
    common = inputs.knowledge.common
    if inputs.knowledge.bold and common is not None and explain_doubt(found):
        found = replace(assume_overlap(found, common), compared=found.compared)
    return found
