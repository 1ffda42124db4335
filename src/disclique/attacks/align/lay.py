"""Where the target's map lies on the known file: the alignments worth considering, and how sure they are.

Of people who are all at hand everybody is looked at; a register that is read in pieces is searched by a pilot first.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from disclique.attacks.align.inputs import AttackInputs
from disclique.attacks.align.likelihood import Aligner, LikelihoodModel
from disclique.attacks.align.pilot import LaidMap, lay_in_pieces
from disclique.attacks.align.polish import Polisher
from disclique.attacks.align.search import Alignments, assume_overlap, build_prior, choose_alignments
from disclique.attacks.align.settle import RegisterCase
from disclique.attacks.weigh.law import LawModel
from disclique.messages import Message
from disclique.spaces.positions import Motion
from disclique.spaces.rebuild.landmarks import TargetMap


def lay_map(target_map: TargetMap, inputs: AttackInputs) -> LaidMap:
    """Look for the alignments of the target's map with the known file."""
    floor = inputs.find_floor(target_map)
    if inputs.population.whole:
        model = inputs.build_model(inputs.noise, floor)
        matchable = model.matchable
    else:
        matchable = np.isin(inputs.candidates.target_class, inputs.candidates.relation[:, 0])
    if not matchable.any():
        return LaidMap(None, doubt=Message("no_counterpart_by_label"))
    if np.ptp(target_map.positions[matchable], axis=0).max() <= 10 * inputs.finest:
        return LaidMap(None, doubt=Message("targets_at_one_place"))
    if not inputs.population.whole:
        return lay_in_pieces(RegisterCase(target_map, inputs, floor, inputs.noise))
    inputs.tell("step_aligning")
    laws = inputs.build_laws(model)
    found, doubt, cut = align_map(model, target_map, laws, inputs=inputs, floor=floor)
    return LaidMap(found if found.ranked else None, laws, doubt, cut)


def drop_unplaced(target_map: TargetMap, inputs: AttackInputs) -> tuple[TargetMap, AttackInputs]:
    """Leave out the target records that the release does not place."""
    lost = ~np.isfinite(target_map.variance)
    if not lost.any():
        return target_map, inputs
    classes = np.where(lost, -1, inputs.candidates.target_class).astype(np.int32)
    candidates = replace(inputs.candidates, target_class=classes)
    kept = replace(target_map, variance=np.where(lost, 0.0, target_map.variance))
    return kept, replace(inputs, candidates=candidates)


def align_map(
    model: LikelihoodModel, target_map: TargetMap, laws: LawModel | None, *, inputs: AttackInputs, floor: float
) -> tuple[Alignments, Message | None, Message | None]:
    """Return the alignments worth considering, why they are in doubt, and what was not tried.

    They are searched as if the displacement were Gaussian. Where its ``laws`` are others, the best are polished and
    compared under these.
    """
    if laws is not None and target_map.copies:
        return align_series(model, target_map, laws, inputs=inputs, floor=floor)
    prior, motions = build_prior(model, target_map, few=inputs.effort < 1)
    common, bold = inputs.knowledge.common, inputs.bold
    if laws is None:
        found = choose_alignments(model, target_map, prior, motions, inputs=inputs, floor=floor)
        doubt, cut = found.doubt, found.cut
        if doubt is not None and bold and common is not None:
            found = assume_overlap(found, common)
        return found, doubt, cut
    aligner = Aligner(model, target_map, prior)
    polisher = Polisher(laws, aligner, finest=max(floor, laws.grain), common=common)
    if not laws.labelled:
        inputs.tell("step_coinciding")
        error = float(np.sqrt(target_map.variance.mean() + laws.components[0].variance))
        found = polisher.start_from_coincidence(max(floor, 3 * error))
        if found.ranked and found.ranked[0].evidence > aligner.how.clear_log_odds:
            return found, None, None
    exact = replace(inputs, exact=True)
    rough = choose_alignments(model, target_map, prior, motions, inputs=exact, floor=floor)
    inputs.tell("step_polishing")
    found = polisher.polish_all(rough)
    doubt, cut = found.doubt, found.cut
    if doubt is not None and bold and common is not None:
        found = polisher.polish_all(assume_overlap(rough, common))
    return found, doubt, cut


def align_series(
    model: LikelihoodModel, target_map: TargetMap, laws: LawModel, *, inputs: AttackInputs, floor: float
) -> tuple[Alignments, Message | None, Message | None]:
    """Return the alignment of several releases with the known file, found from their mean, each settled by itself."""
    prior, motions = build_prior(model, target_map)
    common = inputs.knowledge.common
    exact = replace(inputs, exact=True)
    rough = choose_alignments(model, target_map, prior, motions, inputs=exact, floor=floor)
    doubt, cut = rough.doubt, rough.cut
    if doubt is not None and inputs.bold and common is not None:
        rough = assume_overlap(rough, common)
    if not rough.ranked:
        return rough, doubt, cut
    inputs.tell("step_polishing_releases")
    finest = max(floor, laws.grain)
    first = Polisher(laws, Aligner(model, target_map, prior), finest=finest, common=common)
    aligner = Aligner(model, first.settle_releases(rough.ranked[0].motion), prior)
    polisher = Polisher(laws.of_series(aligner.target_map.releases), aligner, finest=finest, common=common)
    best = polisher.polish(Motion(np.eye(3), np.zeros(3)), aligner.how.start_sd * aligner.sigma, rough.ranked[0].common)
    found = replace(rough, aligner=aligner, ranked=[best])
    return found, found.doubt, cut
