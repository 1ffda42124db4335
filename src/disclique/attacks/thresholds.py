"""The thresholds of registration: what each is, in which unit, and where it was measured by what.

One frozen value for each step: ``Rebuilding`` the target's map (``spaces/rebuild``), ``Aligning`` it with the known
file, ``Weighing`` the pairs that then lie together, and ``Streaming`` over a register that is too large to be held.
``Thresholds`` has all of them and is passed along.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from disclique.spaces.rebuild.landmarks import REBUILDING, Rebuilding


@dataclass(frozen=True)
class Aligning:
    """When an alignment is believed, and how much is tried to find one.

    ``…_log_odds`` are log odds, ``…_log`` log likelihoods, ``…_sd`` standard deviations, ``…_share`` shares of a whole.
    """

    unknown_share: float = 0.1  # what the share of common targets is first taken for
    most_share: float = 0.99  # of common targets: what promises most, where it is not known
    clear_log_odds: float = 8.0  # above which no further alignment is tried
    # Log odds for the alignment below which only a bold snooper claims anything. Chosen on simulated data sets: 96
    # without a common record stayed at 4.0 or less, 48 with 10 common of 500 were at 4.5 or more (σ = .005 and .01
    # degrees).
    sure_log_odds: float = 4.0
    rival_log_odds: float = 8.0  # an alignment so much worse than the best is forgotten
    few_targets: int = 40  # so few may fit in several ways; all are tried
    density_motions: int = 4  # that the density of settled places suggests
    local_comparisons: int = 150_000_000  # distances compared around the densest overlap; a few seconds
    global_comparisons: int = 600_000_000  # and everywhere
    noise_guesses: tuple[float, ...] = (0.5, 0.1, 0.02)  # in cells of the density: an unknown displacement at first

    # whether a search can succeed, or has succeeded
    luck_sd: float = 2.5  # by which the true alignment may fit better than foretold
    bad_luck_sd: float = 2.0  # or worse
    chance_sd: float = 4.0  # the same of the best of the wrong alignments to which densities leave room
    ahead_log: float = 6.0  # by which it must then be ahead of the others
    turns: int = 8  # of the best alignment, to see how others fit
    turn_steps: int = 8  # in which each of these is refined
    elsewhere_cells: float = 10.0  # of the density: so far apart lie two ways to lay densities on each other
    decided_log: float = 2.0  # per square root of the targets, by which densities must then prefer one of them
    most_displaced: int = 2000  # known records that are displaced to foretell what the truth would show
    displaced_at_once: int = 200
    displaced_pairs: int = 1_000_000  # distances compared, after which no further records are displaced
    displaced_reach_sd: float = 4.0
    tilts: tuple[float, ...] = (0.0, 0.5, 1.0)  # powers of the area per record: from where people live to where land is
    sparse_log: float = 0.1  # of the distance to a neighbour, by which the target's map may be sparser than foretold

    # pairs of rare records
    scored_targets: int = 400  # on which a hypothesis is scored
    rare_targets: int = 400  # from which pairs are taken
    kept_motions: int = 10  # of a batch, worth refining
    most_common_share: float = 0.9  # leaves room for a target that is not where it should be
    nearly_variance: float = 1.25  # of a target under a motion from a true pair, of that of its displacement
    pair_luck_sd: float = 1.5  # by which some of the true pairs score more than expected
    pair_chance_sd: float = 3.5  # the same of the tenth best wrong pair in a batch
    enough_pairs: int = 40  # of common records among those tried, by expectation: the rest would show no more

    # refining a motion by Newton's steps
    blurred_steps: int = 4  # at each width but the last
    last_steps: int = 60  # at the last one
    final_steps: int = 8  # and with all targets
    refined_targets: int = 1500  # that are enough until the last steps
    futile_steps: int = 12  # after which a motion under which nothing fits better than chance is refined no further
    safe_steps: int = 6  # after which longer ones are tried, where little is known of who is who
    flattest_share: float = 0.05  # of the curvature if it were known who is who: the least with which a step is made
    rounding_share: float = (
        1e-12  # of a curvature: less is rounding, as of a turn around the one record that fits exactly
    )
    noise_halvings: int = 24  # half-octaves below the first guess of the displacement
    noise_rounds: int = 40

    # the density of settled places
    cells: int = 90  # across the known file
    angles: int = 180
    smooth_cells: float = 1.5
    floor_share: float = 0.05  # of the mean density: nobody known lives there, yet somebody may
    temper: float = 0.5  # the density is itself an estimate, so its likelihood is believed half
    most_cells: int = 3000  # on a side of the finest grid
    cell_people: float = 4.0  # known records in a cell that is settled as on average: fewer would be noise
    looks: int = 200  # at the density for one motion and one grid
    away_cells: tuple[float, ...] = (16.0, 24.0, 32.0)  # motions that are wrong for certain
    directions: int = 8  # in which they go
    firm_sd: float = 8.0  # beyond these: the best of all wrong motions nearby would be at four or so
    least_bend: float = 0.05  # log likelihood per square cell
    same_cells: float = 2.0  # motions that lie nearer to each other are one

    # polishing under the exact law of a mask
    narrower: float = 0.6  # every blur is so much narrower than the last
    polished: int = 6  # alignments
    start_sd: float = 0.5  # of the displacement: the first blur
    polish_steps: int = 4  # at each blur
    probe_blurs: float = 0.5  # over what lengths curvatures are measured
    stride_blurs: float = 1.5  # no step is longer
    close_blurs: float = 4.0  # of the finest blur: what counts as coincidence
    slight_log: float = 3.0  # that a narrower blur may cost where it is no better a fit
    most_links: int = 1_000_000  # looked at in one step
    lost_log: float = 30.0  # below the best at which narrower blurs are not tried

    # places that coincide
    coinciding_pairs: int = 1_000_000  # known pairs whose distances are compared
    tried_pairs: int = 4000  # of target places
    by_chance: float = 3.0  # other known pairs of one distance: with more of them this is no way to find a motion
    verified_pairs: int = 3000  # of one distance, of which the motions are tried
    shown_places: int = 60  # on which a motion is tried first
    coincidences: int = 6  # besides the two that a motion was made from


@dataclass(frozen=True)
class Weighing:
    """How pairs are weighed: against whom, how far apart they may lie, and what is a tie."""

    neighbours: int = 5  # a density from fewer is noisy, from more it smears cities
    same_width_log: float = 0.02  # widths of noise nearer to each other than that have one density of strangers
    counted_share: float = 0.5  # width of the cells in which neighbours are counted, of the radius
    reach_sd: float = 4.0  # within which candidates are sought
    finest_share: float = 1e-6  # of the extent of the known file: places nearer than that are one place
    same_release_share: float = 1e-3  # of the displacement: releases that differ by less are one
    most_taken: float = 0.999  # nobody is quite certainly elsewhere
    tie: float = 1e-3  # probabilities nearer than that are equal
    least_tied: float = 0.05  # a tie between pairs less probable than that is none worth naming

    # parts of a map
    shared_records: float = 10.0  # to be expected in a part of which a bold snooper is sure that it has some
    least_effort: float = 0.02  # of the work for one whole map, for each part
    crowded_share: float = 0.5  # of its people whom a part needs and another one has, from which on it is laid anew
    untouched_share: float = 1e-3  # the same share, below which nothing changes

    # strangers
    scales: int = 10  # at most, besides the home itself
    scale_step: float = 2.0  # from one scale to the next, at least
    cube_sd: float = 0.6  # width of a cube, of the bell's standard deviation: coarser ones would blur it
    bell_reach_sd: float = 3.3  # the rest is less than half a percent
    left_out: int = 1000  # records that are left out in turn: more would not change the mixture
    mixture_rounds: int = 100
    needed_records: float = 0.5  # that a part must explain to be one: fewer are chance, as there are many parts
    least_part: float = 1e-6  # of the strangers: what is kept of a part without any record
    nobody: float = 1e-5  # of the strangers: so few need not be looked for
    faint_odds: float = 0.25  # a label that speaks by less for one person is counted with all the others
    crowd: float = 300.0  # of a sample near one of them, on average: so many tell the density well enough

    # the exact law of a mask
    tails_sd: float = 5.0  # of a blur, beyond which there is nothing
    counted_places: int = 5  # neighbours by which the density of places is counted
    grid_sd: float = 3.5  # half the width of the grid of places that several releases allow
    grid_nodes: int = 64  # on a side of it
    crowding: float = 4.0  # people live where others live: so many more are near than on average
    dark_log: float = -400.0  # density: no place
    partners: int = 4  # nearest known places that may be the nearest of the release


@dataclass(frozen=True)
class Streaming:
    """How many people of a register are held at once, and how often it is gone over."""

    sample: int = 1_000_000  # people: so many tell where people live
    least_sample: int = 1_000
    sample_bytes: int = 3_000  # for one of them, with all that is learned
    pilot: int = 500_000  # people, at the most
    pilot_bytes: int = 1_000  # for one of them
    least_pilot: int = 10_000
    pilot_pairs: float = 2_000_000.0  # that lie near each other: what one look at a motion costs
    pilot_effort: float = 0.2  # of the usual work for a search by rare pairs: the pilot is larger than other files
    enough_targets: int = 300  # of a pilot, so that a few common ones are among them even where few are
    pair_bytes: int = 2_500  # for a candidate pair
    least_pairs: int = 20  # candidates of a target, however little memory there is
    rivals: int = 6  # alignments around which candidates are gathered
    doubt_sd: float = 5.0  # of the motion, by which candidates are sought farther away
    sharp_share: float = 0.1  # of the displacement: a motion that is known so well need not be known better
    rounds: int = 3  # streams for candidates, should the motion move away from those gathered
    asked_shares: tuple[float, ...] = (1.0, 0.5, 0.2, 0.1)  # of common people: what candidates are asked about
    cube_share: float = 0.25  # of the noise: places in one cube of this width have one rarity
    probed: int = 2000  # people by whom it is found out how crowded a register is


@dataclass(frozen=True)
class Thresholds:
    """Those of all steps of registration."""

    rebuild: Rebuilding = REBUILDING
    align: Aligning = field(default_factory=Aligning)
    weigh: Weighing = field(default_factory=Weighing)
    stream: Streaming = field(default_factory=Streaming)


THRESHOLDS = Thresholds()
