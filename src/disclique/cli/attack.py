"""``disclique attack``: link two files by their labels and distances."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from disclique.cli.options import CONFIG, FORCE, OUTPUT, RELEASED, with_options
from disclique.cli.screen import Screen
from disclique.errors import InputError
from disclique.messages import Message
from disclique.options.attacks import SEARCH, AttackOptions
from disclique.options.table import list_of, numbers_in

if TYPE_CHECKING:
    from disclique.attacks import Attack, AttackResult, Knowledge, LabelRule
    from disclique.attacks.link import RegisterWork
    from disclique.geodesy import Spread
    from disclique.model import Agreement, Microdata
    from disclique.records.registers import Register
    from disclique.runs import Executor
    from disclique.spaces.base import Distances

    Files = tuple[Microdata, Microdata]


@with_options(AttackOptions)
def command(
    target: Annotated[Path, typer.Argument(help=f"The released file: {RELEASED}")],
    known: Annotated[
        Path,
        typer.Argument(help="The snooper's identification file; a register of millions as a Parquet file or folder."),
    ],
    options: AttackOptions,
    screen: Screen,
    config: CONFIG = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the matches: CSV, TSV or Parquet.", rich_help_panel=OUTPUT)
    ] = None,
    json: Annotated[Path | None, typer.Option(help="Write the result as JSON.", rich_help_panel=OUTPUT)] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the matches: PNG, SVG or PDF.", rich_help_panel=OUTPUT)
    ] = None,
    processes: Annotated[
        int | None, typer.Option(help="Processes that read a register (all cores).", rich_help_panel=SEARCH)
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="tcp://...|local",
            help="A Dask cluster that searches the clique, or reads a register.",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    force: FORCE = False,
) -> None:
    """Link a released file to a known one by labels and distances, and say what that is worth.

    All attacks that fit are carried out, unless --attack names some, and the one that finds most comes first. For the
    paper's attack (clique) distances agree by one of --within, --relative, --between and --mask; profiles and extend
    need none of them. Rows are counted from 1. Without --truth or --key the matches are listed but not judged;
    those that were given by --seeds are not judged either. Input that can only be mistaken ends it unless that is
    accepted by its name (--accept).
    """
    from dataclasses import replace

    from disclique.attacks import LabelRule, Search, build_attacks, parse_attacks
    from disclique.attacks import attacks as every_attack
    from disclique.attacks.link import SEVERAL
    from disclique.attacks.look import inspect
    from disclique.memory import parse_memory
    from disclique.model import Budget
    from disclique.records.labels import parse_comparator
    from disclique.records.registers import Register
    from disclique.records.write import check_writable
    from disclique.runs import OnDask
    from disclique.spaces import shared_unit

    options = options.filled(config)
    check_writable([out, json, plot], force=force, sources=[target, known, config, options.key])
    rule = LabelRule(str(options.missing), dict(parse_comparator(spec) for spec in list_of(options.compare)))
    specs = parse_attacks(list_of(options.attack))
    budget = SEVERAL if options.budget is None and len(specs) > 1 else options.budget
    search = Search(
        str(options.solver),
        Budget(budget),
        options.threads,
        int(options.cliques or 0),
        memory=None if options.memory is None else parse_memory(options.memory),
        executor=None if dask is None else OnDask(dask),
    )
    if options.seeds is not None and not any(spec.kind.by_seeds for spec in specs):
        names = [name for name, kind in every_attack().items() if kind.by_seeds]
        raise InputError("no_attack_from_seeds", seeds=options.seeds, attacks=names)
    with screen.steps():
        files = _read(target, known, options)
    theirs = files[1]
    with _open_executor(theirs, processes, dask) as executor:
        with screen.steps():
            if isinstance(theirs, Register):
                work = _survey_known(files[0], theirs, rule, executor=executor, memory=options.memory, screen=screen)
                shown = files[0], work.survey.look
            else:
                work, shown = None, (files[0], theirs)
            shared_unit(shown[0].distances, shown[1].distances, (shown[0].name, shown[1].name))
            knowledge = _know(options, *shown)
            theirs = shown[1]  # what follows from the snooper's coordinates is off as these are
            off = theirs.numbers.off_by(knowledge.coordinate_error, theirs.distances.points())
            shown = shown[0], replace(theirs, numbers=off)
            found = inspect(*shown, forgiven=rule.comparators)
        screen.look(found, accept=list_of(options.accept), yes=True)
        with screen.steps("attacking") as step:
            truth: Any = options.truth if options.key is None else options.id or shown[0].ids
            built = build_attacks(specs, knowledge, search)
            results = _carry_out(shown, built, truth, rule, screen, step, work)
    _show(screen, results, shown, {"out": out, "json": json, "plot": plot}, _provenance(target, theirs, known, options))


def _read(target: Path, known: Path, options: AttackOptions) -> tuple[Microdata, Microdata | Register]:
    """Read both files; an id column may stand in one of them only."""
    import disclique
    from disclique.records.registers import read_known

    released = _tell_laws(disclique.read(target, **options.columns_of("target")), options.mask)
    theirs = read_known(known, **options.columns_of("known"))
    if options.id is not None and not any(options.id in _columns_in(data) for data in (released, theirs)):
        raise InputError("neither_file_has_id", column=options.id)
    if options.key is None:
        return released, theirs
    return _tell(released, theirs, options.key, options), theirs


def _tell_laws(release: Microdata, spec: str | None) -> Microdata:
    """Return the release with the laws by which its numbers were released, as they stand behind its mask."""
    from disclique.masks.settings import Setting

    if spec is None:
        return release
    setting = Setting.parse(spec)
    if setting.labels.made:
        raise InputError("labels_behind_a_mask", spec=spec, parts=[one.spec for one in setting.labels.made])
    return setting.numbers.read(release)


def _tell(release: Microdata, known: Microdata | Register, key: Path, options: AttackOptions) -> Microdata:
    """Return the release with the ids that its key gives to its records."""
    from dataclasses import replace

    from disclique.records.registers import Register
    from disclique.releases import read_key

    if options.truth is not None:
        raise InputError("truth_and_key")
    if options.id is None and not isinstance(known, Register) and not _columns_in(known):
        return replace(release, ids=read_key(key, release.name))  # an array, whose records are named by their rows
    if options.id is None or options.id not in _columns_in(known):
        raise InputError("key_without_id", key=key, known=known.name)
    if options.id in release.table.columns:
        raise InputError("key_not_needed", key=key, release=release.name, column=options.id)
    ids = read_key(key, release.name)
    return replace(release, table=release.table.assign(**{options.id: list(map(str, ids))}), ids=ids)


def _carry_out(
    files: Files,
    attacks: dict[str, Attack | InputError],
    truth: str | tuple[object, ...] | None,
    rule: LabelRule,
    screen: Screen,
    step: Any,
    work: RegisterWork | None,
) -> dict[str, AttackResult | InputError]:
    """Return what each attack finds; one of several that does not apply says so instead of ending the rest."""
    from disclique.attacks import attack, attack_by_all
    from disclique.attacks.link import attack_register
    from disclique.engine.product import warm
    from disclique.progress import listening

    if not warm():
        screen.say([Message("compiling_kernels")])
    built = {spec: one for spec, one in attacks.items() if not isinstance(one, InputError)}
    if work is not None:
        with listening(step):
            found = attack_register(work, built, truth=truth)
    elif len(built) == len(attacks) == 1:
        return {spec: attack(*files, by=one, truth=truth, labels=rule, progress=step) for spec, one in built.items()}
    else:
        found = attack_by_all(*files, built, truth=truth, labels=rule, progress=step)
    results = {spec: one if isinstance(one, InputError) else found[spec] for spec, one in attacks.items()}
    refused = {spec: why for spec, why in results.items() if isinstance(why, InputError)}
    if len(refused) == len(results):
        spec, why = next(iter(refused.items()))
        raise why if len(results) == 1 else InputError("no_attack_applies", attack=spec, why=why)
    screen.say([f"{spec} does not apply: {why}" for spec, why in refused.items()])
    done = [one for one in results.values() if not isinstance(one, InputError)]
    screen.say([f"{one.attack}: no sign of safety: {one.claims.cut}" for one in done if one.lower_bound])
    return dict(sorted(results.items(), key=lambda one: _rank(one[1])))


def _rank(found: AttackResult | InputError) -> tuple[int, int]:
    """Return a key that puts whoever finds most people first: by the truth, else by what is claimed."""
    return (1, 0) if isinstance(found, InputError) else found.rank


def _show(
    screen: Screen,
    found: dict[str, AttackResult | InputError],
    files: Files,
    to: dict[str, Path | None],
    repeat: dict[str, Any],
) -> None:
    """Write what was asked for, then print it: one attack in full, several side by side."""
    import pandas as pd

    from disclique.records.write import write_json, write_table

    results = [one for one in found.values() if not isinstance(one, InputError)]
    several = len(results) > 1
    tables = [result.matches.assign(attack=result.attack) if several else result.matches for result in results]
    matches = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()
    out = to["out"]
    if out is not None:
        write_table(matches, out)
    if to["json"] is not None:
        write_json({"attacks": [_entry(*one) for one in found.items()], **repeat}, to["json"])
    if to["plot"] is not None and results:
        from disclique.show.plots import save_figure

        save_figure(max(results, key=lambda result: len(result.matches)).plot(), to["plot"])
    if several:
        best = results[0].lines()  # of the others the table says what they found
        screen.say(dict.fromkeys([*best, *(str(note) for result in results for note in result.notes)]))
        screen.table(pd.DataFrame([_row(result) for result in results]), title="Attacks")
    elif results:
        screen.say(results[0].lines())
        if out is None:
            screen.table(matches, title="Matches", rest="--out FILE writes them all")
    if out is not None:
        screen.say([f"matches: {out}"])


def _entry(spec: str, found: AttackResult | InputError) -> dict[str, Any]:
    """Return what is written of an attack: what it found, or why it does not apply."""
    if isinstance(found, InputError):
        return {"attack": spec, "applies": False, "why": str(found), "matches": []}
    return found.to_dict()


def _row(result: AttackResult) -> dict[str, object]:
    """Show one attack beside others; what was cut short or is in doubt stands in its note."""
    risk = result.risk

    def shown(rate: float | None) -> str:
        return "undefined" if rate is None else f"{rate:.3f}"

    worth: dict[str, object] = {}
    if risk is not None:
        found = "nobody" if risk.found_nobody else shown(risk.recall)  # no rate that looks like a proof of safety
        worth = {"true": risk.tp, "precision": shown(risk.precision), "recall": found}
    cut, doubt = result.claims.cut, result.claims.doubt
    said = [] if cut is None else [f"LOWER BOUND: {cut}"]
    if doubt is not None and not result.failed:
        said.append(str(doubt))
    return {
        "attack": result.attack,
        "matches": len(result.matches),
        **worth,
        "seconds": round(result.seconds, 2),
        "note": "; ".join(said),
    }


def _provenance(target: Path, theirs: Microdata | Register, known: Path, options: AttackOptions) -> dict[str, Any]:
    """Return what makes the run repeatable: its options, versions, and the hashes of all input files."""
    from dataclasses import asdict

    from disclique.records.write import hashes, plain, versions

    sides = [options.source(side) for side in ("target", "known")]
    beside = [side[what] for side in sides for what in ("distances", "vectors")]
    files = getattr(theirs, "files", (known,))  # of a register all that it consists of
    paths = [target, *files, *beside, *options.further_files, options.seeds]
    return {"options": plain(asdict(options)), "versions": versions(), "inputs": dict(hashes(paths))}


def _columns_in(data: Microdata | Register) -> list[str]:
    """Return the names of the columns of a file."""
    from disclique.records.registers import Register

    if isinstance(data, Register):
        return [*data.schema, *(name for name, _ in data.pieces[0].folders)]
    return [str(name) for name in data.table.columns]


@contextmanager
def _open_executor(known: Microdata | Register, processes: int | None, dask: str | None) -> Iterator[Executor | None]:
    """Give where a register is read; None for any other file, of which nothing can be said that concerns registers."""
    from disclique.records.registers import Register
    from disclique.runs import choose_executor, keep_open

    if isinstance(known, Register):
        with keep_open(choose_executor(processes, dask)) as running:
            yield running
        return
    if processes is not None:
        raise InputError("processes_without_register", processes=processes, known=known.name)
    yield None


def _survey_known(
    target: Microdata, known: Register, rule: LabelRule, *, executor: Any, memory: str | None, screen: Screen
) -> RegisterWork:
    """Say how a register is read, and go over it once."""
    from disclique.attacks.link import open_work
    from disclique.memory import default_memory, parse_memory

    allowed = default_memory() if memory is None else parse_memory(memory)
    screen.say([known.describe(allowed)])
    return open_work(target, known, rule=rule, mapper=executor, memory=allowed)


def _length(options: AttackOptions, text: str, name: str, unit: str | None) -> float:
    """Read a length in the unit of the distances; beside metres, which become km, a bare number could be either."""
    from disclique.units import DISTANCE_UNITS, length_in, parse_quantity

    found = parse_quantity(text, units=DISTANCE_UNITS)
    if options.unit == "m" and found.value and not found.unit:
        raise InputError("option_without_unit", name=name, text=text, found=str(found))
    return length_in(found, unit, f"{name} {text}")


def _agreement(options: AttackOptions, unit: str | None) -> Agreement | None:
    """Return ≈ if it was said directly."""
    from disclique.engine.agreement import Between, Relative, Within

    if [options.within, options.relative, options.between, options.mask].count(None) < 3:
        raise InputError("several_agreements")
    if options.relative is not None:
        return Relative(options.relative)
    if options.within is not None:
        return Within(_length(options, options.within, "--within", unit))
    if options.between is None:
        return None
    ends = [str(end) for end in numbers_in(options.between) or []]
    if len(ends) != 2:
        raise InputError("between_not_two_numbers", between=options.between)
    return Between(*(_length(options, end, "--between", unit) for end in ends))


def _spread(options: AttackOptions, unit: str | None, known: Distances) -> Spread | None:
    """Return the displacement of the target's points if it was said."""
    from disclique.geodesy import Spread
    from disclique.units import parse_quantity

    if options.noise is None:
        return None
    found = parse_quantity(options.noise)
    if found.unit == "deg":
        return Spread(found.value, found.value, "deg")
    size = _length(options, options.noise, "--noise", unit)
    return Spread(size, size, "km" if known.on_earth else "plane")


def _know(options: AttackOptions, target: Microdata, known: Microdata) -> Knowledge:
    """Return what the snooper knows: as it was said, or by simulating the mask at the known places."""
    from dataclasses import replace

    from disclique.records.companions import read_seeds
    from disclique.spaces import shared_unit

    names = target.name, known.name
    unit = shared_unit(target.distances, known.distances, names)
    told = _say_knowledge(options, target.distances, known.distances, unit).fit(
        target.distances, known.distances, names
    )
    return told if options.seeds is None else replace(told, seeds=read_seeds(options.seeds, target, known))


def _say_knowledge(options: AttackOptions, target: Distances, known: Distances, unit: str | None) -> Knowledge:
    from disclique.attacks import Knowledge

    error = _length(options, str(options.coordinate_error), "--coordinate-error", unit)
    agreement = _agreement(options, unit)
    if options.mask is not None:
        return _learn(options, target, known, error)
    size = _length(options, str(options.matrix_noise), "--matrix-noise", unit)
    return Knowledge(_spread(options, unit, known), size, options.common, error, agreement=agreement)


def _learn(options: AttackOptions, target: Distances, known: Distances, error: float) -> Knowledge:
    import numpy as np

    from disclique.attacks import learn
    from disclique.attacks.calibration import Calibration, calibrate, calibrate_matrix
    from disclique.masks.registry import refuse_bare
    from disclique.masks.settings import Setting

    refuse_bare(options.unit, [options.mask or ""])
    mask = Setting.parse(options.mask or "").mask
    places = known.points() or target.points()
    draws = np.random.default_rng(options.seed).spawn(2)
    if mask.withholds or not target.are_published:
        found = Calibration(mask, np.zeros(2), np.zeros(2))  # there are no distances to be moved
    elif (
        mask.on == "text" or places is None or callable(places.metric)
    ):  # what the mask takes, the known file has, or the mask says so
        found = calibrate_matrix(mask, known, rng=draws[0])
    else:
        found = calibrate(mask, points=places.coordinates, metric=places.metric, unit=places.unit, rng=draws[0])
    told = learn(mask, found, places, common=options.common, coordinate_error=error, rng=draws[1])
    return told.at(float(options.alpha or 0.0), found)
