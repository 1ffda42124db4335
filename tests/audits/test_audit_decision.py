"""The decision of an audit: the smallest sufficient setting, and ``meets`` only where it is shown."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import disclique as dq
from builders import mask_in_order
from disclique.attacks import ExtendAttack, attacks
from disclique.attacks.calibration import calibrate
from disclique.attacks.knowledge import Holder
from disclique.audits import Audit, MaskRange, parse_range, run_audit
from disclique.audits.exposure import Findings
from disclique.audits.facts import Decision
from disclique.audits.rates import Attempt, InsiderHits, ReleaseRecord, SettingRisk, measure_risk, rate
from disclique.audits.search import pareto, search_range
from disclique.audits.summarise import Context, summarise
from disclique.audits.verdict import Figures, Judgement, Limits
from disclique.errors import InputError
from disclique.masks import parse_mask
from disclique.masks.settings import Setting
from disclique.measures.risk import Hits, Truth, judge
from disclique.messages import Message
from disclique.model import Microdata
from disclique.records.reading import select_records
from disclique.runs import Serial, Unit
from disclique.spaces import Matrix, Points, full_matrix
from small_files import make_audit, make_file, make_plan


def written(mask: MaskRange) -> tuple[str, ...]:
    """The settings of a range as texts."""
    return tuple(map(str, mask.settings))


def test_a_range_is_geometric_and_runs_from_weak_to_strong() -> None:
    """Metres and kilometres mix; a dial that protects when it falls is turned round; whole numbers stay whole."""
    found = parse_range("gaussian:sigma=100m..1km", 3)
    assert written(found) == ("gaussian:sigma=100m", "gaussian:sigma=316m", "gaussian:sigma=1000m")
    assert written(parse_range("laplace:epsilon=1/km..4/km", 3))[0] == "laplace:epsilon=4/km"
    assert written(parse_range("knn:k=4..16", 3)) == ("knn:k=16", "knn:k=8", "knn:k=4")
    assert written(parse_range("gaussian:sigma=1km", 3)) == ("gaussian:sigma=1km",)
    for spec, why in {
        "donut:min=1m..2m,max=3m": "not the dial",
        "gaussian:sigma=1m..1deg": "same kind of unit",
        "affine:mirror=a..b": "choose one of",
    }.items():
        with pytest.raises(InputError, match=why):
            parse_range(spec)


def carried_out(mask: MaskRange, limit: float, risk: Callable[[int, int, int], SettingRisk]) -> tuple[Decision, int]:
    """A search with made-up risks by setting, repetitions and effort: its decision, and how many releases it took."""
    made: dict[Setting, tuple[int, int]] = {}
    cost = 0

    def judge_made_up(setting: Setting) -> Judgement | None:
        if setting not in made:
            return None
        often, effort = made[setting]
        return Judgement(Figures(risk(mask.settings.index(setting), often, effort), 20, effort), Limits(limit))

    under_way = search_range(mask, 20, judge_made_up)
    for _ in range(1000):
        try:
            wishes = next(under_way)
        except StopIteration as end:
            return end.value, cost
        for wish in wishes:
            often, effort = made.get(wish.setting, (0, 0))
            cost += max(0, wish.repetitions - often) + (wish.repetitions if wish.effort > effort else 0)
            made[wish.setting] = max(often, wish.repetitions), max(effort, wish.effort)
    raise AssertionError("the search does not end")


@settings(max_examples=150, deadline=None)
@given(st.integers(2, 17), st.floats(0.01, 0.9), st.floats(0.3, 20), st.floats(0, 17), st.floats(0, 0.1))
def test_the_search_finds_what_the_full_grid_finds(
    steps: int, limit: float, slope: float, middle: float, width: float
) -> None:
    """For every falling risk the same setting as by trying all of them, with no more releases."""
    mask = parse_range("gaussian:sigma=100m..5km", steps)

    def risk(place: int, often: int, effort: int) -> SettingRisk:
        value = float(1 / (1 + np.exp((place - middle) * slope / 3)))
        half = width * np.sqrt(20 / often)
        high = min(1, value + half)
        return SettingRisk("clique", value, (max(0, value - half), high), often, False, (), value, high)

    decision, cost = carried_out(mask, limit, risk)
    enough = [spec for place, spec in enumerate(written(mask)) if risk(place, 20, 0).interval[1] <= limit]
    assert decision.setting == (enough[0] if enough else None)
    if len(mask.settings) >= 10:
        assert cost <= 20 * len(mask.settings)


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 17), st.floats(0.05, 0.9), st.floats(0, 17), st.integers(0, 3))
def test_the_search_raises_the_effort_before_it_gives_a_setting_up(
    steps: int, limit: float, middle: float, needed: int
) -> None:
    """Work that is cut short below some effort may have found everything; the decision is that of complete work."""
    mask = parse_range("gaussian:sigma=100m..5km", steps)

    def risk(place: int, often: int, effort: int) -> SettingRisk:
        value = float(1 / (1 + np.exp(place - middle)))
        if effort >= needed:
            return SettingRisk("clique", value, (value, value), often, False, (), value, value)
        return SettingRisk("clique", value / 2, (0.0, 1.0), often, True, ("clique",), 1.0, value / 2)

    decision, _ = carried_out(mask, limit, risk)
    enough = [spec for place, spec in enumerate(written(mask)) if risk(place, 20, 3).interval[1] <= limit]
    possible = needed <= 2  # the effort is raised twice at the most
    assert decision.setting == (enough[0] if enough and possible else None)
    if not possible and enough:
        assert decision.why.code in ("strongest_not_shown", "strongest_not_shown_cut")


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=12))
def test_the_front_is_what_nothing_beats(points: list[tuple[float, float]]) -> None:
    """Against the definition, point by point."""
    named = [(str(k), risk, use) for k, (risk, use) in enumerate(points)]
    front = set(pareto(named))
    for name, risk, use in named:
        beaten = any(r <= risk and u >= use and (r, u) != (risk, use) for _, r, u in named)
        assert (name in front) == (not beaten)


def test_the_decision_is_confirmed_by_its_neighbours() -> None:
    """The setting found keeps the limit, the next weaker one tried as often does not; the verdict says both."""
    plan = make_plan("gaussian:sigma=20km..400km", max_risk=0.5, repetitions=6)
    result = run_audit(make_audit(*plan.masks, n=40, max_risk=0.5, repetitions=6))
    decision, mask = result.decisions[0], plan.ranges[0]
    assert decision.setting is not None
    place = written(mask).index(decision.setting)
    found, weaker = result.setting(decision.setting), result.setting(written(mask)[place - 1])
    assert found.meets
    assert found.repetitions == weaker.repetitions == 6
    assert weaker.risk.interval[1] > 0.5
    assert (result.verdict.status, result.verdict.setting) == ("meets", decision.setting)
    assert len(result.settings) < len(mask.settings)
    around = written(mask)[place : place + 2]  # the full grid around it says the same
    grid = run_audit(make_audit(*around, n=40, max_risk=0.5, repetitions=6))
    assert all(setting.meets for setting in grid.settings)


def test_no_setting_that_keeps_the_limit_is_said_so() -> None:
    """A range that is too weak has no decision, and the verdict is that nothing tried will do."""
    result = run_audit(make_audit("gaussian:sigma=10m..100m", max_risk=0.05))
    assert result.decisions[0].setting is None
    assert result.verdict.status == "fails"
    assert result.verdict.reasons[0].code == "verdict_fails"


@pytest.mark.parametrize("attack", ["clique", "extend"])
@pytest.mark.parametrize("limit", [None, 0.2])
def test_a_search_cut_short_is_a_lower_bound_in_an_audit(attack: str, limit: float | None) -> None:
    """A spent budget shows in the setting, in the attack, in the limits and in the verdict, whichever attack is run."""
    result = run_audit(make_audit(attacks=(attack,), budget=1e-9, repetitions=1, max_risk=limit))
    setting = result.settings[0]
    assert setting.risk.lower_bound
    assert setting.risk.cut == (attack,)
    assert setting.risk.interval[1] > 0.2
    assert setting.settled is None
    assert setting.attacks[0].cut == 1
    assert any(line.code == "lower_bound" for line in result.limits)
    assert result.verdict.status == ("measured" if limit is None else "unproven")
    assert result.verdict.reasons[0].code == ("verdict_measured" if limit is None else "verdict_unproven")
    if limit is None:
        assert result.verdict.reasons[0].values["find"] == Message("finds_record_of_known_at_least", share=0.1)


@pytest.mark.parametrize("name", ["clique", "extend"])
def test_a_search_cut_short_is_a_lower_bound_in_an_attack(name: str) -> None:
    """Named or built, with the truth or without it; an unlimited search is none."""
    file = make_file()
    target = mask_in_order(file, "gaussian:sigma=2km", 0)
    for budget in (dq.Budget(work=1e-9), dq.Budget(seconds=0)):
        search = dq.Search(budget=budget)
        built = attacks()[name].build(dq.Knowledge(agreement=dq.Within(3)), search)
        if isinstance(built, ExtendAttack):
            built = replace(built, otherwise=None)  # else it rests on profiles, which was not cut short
            found = dq.attack(target, file, by=built, truth="id")
        else:
            found = dq.attack(target, file, by=name, agreement=dq.Within(3), search=search, truth="id")
        for result in (found, dq.attack(target, file, by=built)):
            assert result.lower_bound
            assert result.to_dict()["lower_bound"] is True
            assert "LOWER BOUND" in repr(result)
    assert not dq.attack(target, file, by=name, agreement=dq.Within(3)).lower_bound


COMMON = 40
ATTEMPT = st.tuples(st.integers(0, COMMON), st.booleans(), st.none() | st.integers(0, COMMON), st.booleans())


def record_of(
    attempts: Sequence[tuple[int, bool, int | None, bool]], oracle: int | None, insider: int | None = 0
) -> ReleaseRecord:
    """A release on which each attack found the first so many people, perhaps cut short, perhaps not carried out."""
    made = [
        Attempt(
            name,
            correct=tuple(range(found)),
            hits=Hits(found, found, found),
            cut=Message("the budget") if cut else None,
            most=most if cut else None,
        )
        if applies
        else Attempt(name, why=Message("it does not apply"))
        for name, (found, cut, most, applies) in zip(("clique", "labels"), attempts, strict=True)
    ]
    asked = (
        Attempt("oracle", why=Message("not modelled"))
        if oracle is None
        else Attempt("oracle", hits=Hits(oracle, 0, oracle))
    )
    seeded = () if insider is None else (InsiderHits(10, Hits(insider, insider, insider), COMMON),)
    return ReleaseRecord(COMMON, tuple(range(COMMON)), Hits(), asked, None, tuple(made), COMMON, seeded)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(ATTEMPT, ATTEMPT), min_size=1, max_size=4),
    st.none() | st.lists(st.integers(0, COMMON), min_size=4, max_size=4),
    st.none() | st.integers(0, COMMON),
    st.floats(0, 0.99),
)
def test_meets_only_where_it_is_shown(
    drawn: list[tuple[tuple[int, bool, int | None, bool], ...]],
    oracles: list[int] | None,
    insider: int | None,
    limit: float,
) -> None:
    """Hand-made records: never unless all repetitions were made and an attack was tried.

    With the oracle its upper end keeps the limit, else what any attack could have found, and an insider finds no more.
    """
    audit = make_audit("affine", n=COMMON, max_risk=limit, repetitions=3, attacks=("clique", "labels"))
    told = oracles or [None] * 4
    records = {k: record_of(one, told[k], insider) for k, one in enumerate(drawn[:3])}
    result = summarise(audit, Findings({audit.plan.settings[0]: records}, (), 0.0), Context())
    setting = result.settings[0]
    tried = [[one[which] for one in drawn[:3] if one[which][3]] for which in (0, 1)]
    possible = [
        [
            max(found, min(bound for bound in (COMMON, most, oracle) if bound is not None)) if cut else found
            for (found, cut, most, applies), oracle in ((one[which], told[k]) for k, one in enumerate(drawn[:3]))
            if applies
        ]
        for which in (0, 1)
    ]
    ends = [rate([share / COMMON for share in shares]).high or 0.0 for shares in possible if shares]
    if not any(tried) or len(records) < 3:
        shown = False
    elif oracles is None:
        shown = max(ends) <= limit and insider is not None and insider / COMMON <= limit
    else:
        shown = setting.oracle is not None and max(setting.oracle.high, setting.risk.value) <= limit
        means = [float(np.mean([found for found, *_ in one])) / COMMON for one in tried if one]
        if setting.oracle is not None and max(means) > setting.oracle.value + 0.02:  # then it is no bound
            shown = shown and max(ends) <= limit
    assert setting.meets == shown
    assert (result.verdict.status == "meets") == shown
    if setting.meets:
        assert not setting.risk.lower_bound
        assert not any(line.code == "lower_bound" for line in result.limits)
    elif setting.risk.value <= limit and any(tried):
        assert result.verdict.status == "unproven"
        assert setting.open_why is not None
    if setting.risk.lower_bound:
        assert setting.settled is None
        assert any(line.code == "lower_bound" for line in result.limits)


def test_what_a_cut_search_could_have_found_decides() -> None:
    """By hand: 2 of 40 found in each of 20 repetitions, cut short, with room for 4, for 30, and for nobody knows."""
    for most, oracle, status in [
        (4, None, "meets"),
        (30, None, "unproven"),
        (None, None, "unproven"),
        (30, 4, "meets"),
        (4, 30, "unproven"),
    ]:
        record = record_of([(2, True, most, True), (0, False, None, False)], oracle)
        records = dict.fromkeys(range(20), record)
        audit = make_audit("affine", n=COMMON, max_risk=0.3, repetitions=20, attacks=("clique",))
        result = summarise(audit, Findings({audit.plan.settings[0]: records}, (), 0.0), Context())
        setting = result.settings[0]
        assert result.verdict.status == status, (most, oracle)
        assert setting.risk.value == pytest.approx(0.05)
        assert setting.risk.lower_bound == (status != "meets")
        assert setting.open == (status == "unproven")
        assert (setting.settled is not None) == (status == "meets")
    nothing = measure_risk(
        {0: record_of([(0, False, None, False)] * 2, 0)}, ("clique", "labels"), "prosecutor", limit=0.99
    )
    assert nothing.attack is None
    assert nothing.lower_bound
    assert nothing.interval[1] == 1.0


def test_too_few_repetitions_are_said_and_how_many_are_needed() -> None:
    """Twenty releases without a find cannot show a risk of 5 %; seventy-two can, and the verdict says so."""
    records = dict.fromkeys(range(20), record_of([(0, False, None, True), (0, False, None, True)], None))
    audit = make_audit("affine", n=COMMON, max_risk=0.05, repetitions=20, attacks=("clique", "labels"))
    result = summarise(audit, Findings({audit.plan.settings[0]: records}, (), 0.0), Context())
    assert result.verdict.status == "unproven"
    assert result.verdict.reasons[0].values["why"] == Message("too_few_repetitions", some=20, needed=72)
    assert result.verdict.reasons[1] == Message("not_yet_more_repetitions", needed=72)
    enough = dict.fromkeys(range(72), records[0])
    plan = replace(audit.plan, repetitions=72)
    assert summarise(
        replace(audit, plan=plan), Findings({audit.plan.settings[0]: enough}, (), 0.0), Context()
    ).verdict.status == ("meets")


def test_the_most_exposed_person_can_break_the_second_limit() -> None:
    """A mean risk that keeps its limit is not enough where one person is found for certain."""
    mask = "gaussian:sigma=150km"
    free = run_audit(make_audit(mask, n=40, max_risk=0.6, repetitions=4))
    assert free.verdict.status == "meets"
    bound = run_audit(make_audit(mask, n=40, max_risk=0.6, max_risk_person=0.2, repetitions=4))
    assert bound.verdict.status == "fails"
    assert bound.settings[0].person is not None
    assert bound.settings[0].person > 0.2
    assert bound.verdict.reasons[0].code == "person_above"
    loose = run_audit(make_audit(mask, n=40, max_risk=0.6, max_risk_person=0.999, repetitions=4))
    assert loose.verdict.status == "meets"


def attacked(spec: str, n: int, seed: int) -> tuple[Microdata, Holder]:
    """A release with everything that is known of it, by the data holder and by the snooper."""
    rng, mask, file = np.random.default_rng(seed), parse_mask(spec), make_file(n, seed)
    assert isinstance(file.distances, Points)
    found = calibrate(mask, points=file.distances.coordinates, metric="sphere", rng=rng)
    knowledge = replace(dq.learn(mask, found, file.distances, common=0.99, rng=rng), bold=True).at(0.5, found)
    target, known = mask_in_order(file, mask, seed), select_records(file, rng.permutation(n))
    candidates = dq.LabelRule().candidates(target, known)
    return target, Holder(file, known, candidates, Truth.of_people(target.ids, known.ids), knowledge)


def product(target: Microdata, known: Microdata, agreement: dq.Within) -> nx.Graph:
    """The product graph by its definition, pair by pair."""
    labels = [list(data.labels.itertuples(index=False, name=None)) for data in (target, known)]
    d, e = full_matrix(target.distances), full_matrix(known.distances)
    graph = nx.Graph()
    graph.add_nodes_from((t, k) for t in range(len(target)) for k in range(len(known)) if labels[0][t] == labels[1][k])
    low, high = agreement.interval(d)
    for t, k in graph:
        for u, m in graph:
            if t < u and k != m and low[t, u] < e[k, m] < high[t, u]:
                graph.add_edge((t, k), (u, m))
    return graph


@pytest.mark.parametrize("spec", ["gaussian:sigma=30km", "matrix-gaussian:sd=30km", "round:to=60km"])
@pytest.mark.parametrize("seed", range(4))
def test_no_clique_has_more_true_pairs_than_the_most_that_is_said(spec: str, seed: int) -> None:
    """Every maximal clique, and so every maximum one, by networkx; with a spent budget as well."""
    target, holder = attacked(spec, 12, seed)
    knowledge = holder.knowledge
    true = {(int(t), int(k)) for t, k in holder.truth.pairs}
    assert knowledge.agreement is not None
    cliques = nx.find_cliques(product(target, holder.known, knowledge.agreement))
    hits = max(len(true.intersection(members)) for members in cliques)
    complete, spent = (
        attacks()["clique"].build(knowledge, dq.Search(budget=dq.Budget(work=work))).find_most(target, holder)
        for work in (1.0, 1e-9)
    )
    assert complete == hits  # a clique of true pairs is a clique
    assert spent is not None
    assert spent >= hits


@pytest.mark.parametrize("spec", ["gaussian:sigma=40km", "matrix-gaussian:sd=40km", "donut:min=5km,max=30km"])
def test_what_an_attack_says_it_finds_at_the_most_is_never_exceeded(spec: str) -> None:
    """Of every attack that gives a bound: complete work never finds more. Others give none, which is honest."""
    for seed in range(8):
        target, holder = attacked(spec, 60, seed)
        for name in dq.attack_names():
            attack = attacks()[name].build(holder.knowledge, dq.Search(budget=dq.Budget(work=0.3), threads=1))
            most = attack.find_most(target, holder)
            if most is not None:
                claims = attack.run(target, holder.known, holder.candidates)
                assert judge(claims, holder.truth).risk.tp <= most, (name, seed)


class Watched:
    """An executor that notes what it was given."""

    parallel = 1

    def __init__(self) -> None:
        self.given: list[Unit] = []

    def map(self, function: Callable[[Unit], object], items: Sequence[Unit]) -> object:
        self.given += list(items)
        return Serial().map(function, items)


def test_a_search_that_could_decide_is_repeated_with_a_larger_budget() -> None:
    """Unproven with the budget alone, proven once it is raised; complete from the start with the larger budget.

    Ways that fit no map have no oracle under noise: there only the attacks themselves, and insiders, can show anything.
    """
    file = make_file(30)
    ways = np.triu(full_matrix(file.distances) * np.random.default_rng(0).uniform(0.7, 1.3, (30, 30)), 1)
    matrix = replace(file, distances=Matrix(ways + ways.T))
    asked = {"attacks": ("clique",), "repetitions": 12, "max_risk": 0.52}
    watched = Watched()
    spec = "matrix-gaussian:sd=30"
    result = run_audit(Audit(make_plan(spec, budget=1e-4, **asked), matrix), executor=watched)
    assert [unit.effort for unit in watched.given] == [0] * 12 + [1] * (len(watched.given) - 12)
    assert len(watched.given) > 12
    setting = result.settings[0]
    assert (setting.risk.lower_bound, setting.risk.cut) == (False, ())
    large = run_audit(Audit(make_plan(spec, budget=5e-4, **asked), matrix)).settings[0]
    assert not large.risk.cut
    assert setting.risk.value >= large.risk.value  # what the shorter search found counts too
    unlimited = run_audit(Audit(make_plan(spec, budget=1e-4, **{**asked, "max_risk": None}), matrix))
    assert unlimited.settings[0].risk.lower_bound  # nothing to decide: nothing is repeated
