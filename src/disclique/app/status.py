"""What a running audit tells: a file with how far it is, written again and again, for the page that shows it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from disclique.app.projects import FAILED, RUNNING, STATUS
from disclique.messages import Message

if TYPE_CHECKING:
    from disclique.audits import Plan
    from disclique.masks.settings import Setting
    from disclique.runs import Executor, Forecast
    from disclique.runs.progress import Counter, UnitNames

EVERY = 0.5  # seconds between two looks whether there is something new to write


class Words(msgspec.Struct):
    """How far it is, as messages."""

    done: Message | None = None
    left: Message | None = None
    now: Message | None = None
    share: float | None = None


class SettingRow(msgspec.Struct):
    """A setting: how often it was tried of how often it will be, and what came out so far.

    ``risk`` is what the release gives away, None where there is no oracle; ``use`` is the usefulness.
    """

    spec: str
    brief: str
    mask: str
    done: int
    wanted: int
    risk: float | None = None
    use: float | None = None


class Status(msgspec.Struct):
    """What an audit tells."""

    state: str = ""
    problem: Message | None = None
    words: Words = msgspec.field(default_factory=Words)
    lines: list[Message] = []
    settings: list[SettingRow] = []
    limit: float | None = None
    utility: dict[str, str] = {}
    masks: list[str] = []


def read_status(folder: Path) -> Status:
    """Return what the audit in a folder told last; nothing where it has not told anything that can be understood."""
    try:
        return msgspec.json.decode((folder / STATUS).read_bytes(), type=Status)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return Status()


def write_status(folder: Path, status: Status) -> None:
    """Write how far an audit is; whoever reads it sees all of it or what was there before."""
    from disclique.records.write import encode, whole_file

    with whole_file(folder / STATUS, private=True) as draft:
        draft.write_bytes(encode(status))


class Board:
    """Is told of an audit, and writes ``status.json`` in a thread of its own while the block lasts.

    ``hide`` takes paths out of messages. What was told before an audit was paused is shown until there is more.
    """

    def __init__(self, folder: Path, hide: Callable[[Message], Message] = lambda said: said) -> None:
        self.folder, self.hide = folder, hide
        before = read_status(folder)
        self.about: dict[str, Any] = {name: getattr(before, name) for name in ("limit", "utility", "masks")}
        self.rows: dict[str, SettingRow] = {row.spec: row for row in before.settings}
        self.known: dict[str, int] = {}  # releases of each setting of which the row speaks
        self.lines: list[Message] = []
        self.rounds: tuple[int, int] = (0, 1)  # the audit under way, and of how many, one for each recipient
        self.state = RUNNING
        self.step: Message | None = None
        self.problem: Message | None = None
        self.plan: Plan | None = None
        self.counter: Counter | None = None
        self.written: Status | None = None
        self.ended = threading.Event()
        self.lock, self.writing = threading.Lock(), threading.Lock()
        self.thread = threading.Thread(target=self._run, daemon=True, name="board")

    def __enter__(self) -> Board:
        self.write()
        self.thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.ended.set()
        self.thread.join()
        self.write()

    def doing(self, step: Message) -> None:
        """Note what is done before units are counted."""
        self.step = step

    def expects(self, audits: int) -> None:
        """Note that several audits follow each other, one for each recipient; each tells its plan as it begins."""
        self.rounds = (0, audits)

    def plans(self, plan: Plan) -> None:
        """Note what is going to be tried: the settings that are certain to be, the limit, and what usefulness means."""
        from disclique.measures.utility import measures

        measure = measures()[plan.utility]
        self.about = {
            "limit": plan.max_risk,
            "utility": {"title": measure.title, "format": measure.format},
            "masks": list(dict.fromkeys(one.mask.name for one in plan.settings)),
        }
        self.plan = plan
        certain = {one for mask in plan.ranges if not plan.searched(mask) for one in mask.settings}
        shown = [one for one in plan.settings if one in certain or str(one) in self.rows]
        self.rows = {str(one): self.rows.get(str(one)) or _row(one, 0, plan.repetitions) for one in shown}
        self.write()  # before the first unit: an audit that is paused at once says what it is going to try

    def say(self, lines: Iterable[str | Message]) -> None:
        """Take messages."""
        with self.lock:
            self.lines += [self.hide(line if isinstance(line, Message) else Message(line)) for line in lines]

    @contextmanager
    def units(self, about: UnitNames, forecast: Forecast, executor: Executor) -> Iterator[Counter]:
        """Count units for as long as they are carried out."""
        from disclique.audits.estimate import RiskSoFar
        from disclique.runs.progress import Counter

        if isinstance(about.describe, RiskSoFar) and about.describe.plan is not self.plan:
            self.rows, self.counter = {}, None  # what was found for another recipient is not what this one finds
            self.rounds = (min(self.rounds[0] + 1, self.rounds[1]), self.rounds[1])
            self.plans(about.describe.plan)
        self.counter, self.known = Counter(about, forecast, executor), {}
        try:
            yield self.counter
        finally:
            self._look()

    @contextmanager
    def opened(self, executor: Executor) -> Iterator[Executor]:
        """Keep an executor open."""
        from disclique.runs import keep_open

        with keep_open(executor) as running:
            yield running

    def fail(self, problem: Message) -> None:
        """Note why it did not work."""
        self.state, self.problem = FAILED, self.hide(problem)

    def write(self) -> None:
        """Write how far it is, if that has changed."""
        with self.writing:
            told = self._tell()
            if told != self.written:
                with suppress(Exception):  # a disk that is full is told of by the journal
                    write_status(self.folder, told)
                    self.written = told

    def _run(self) -> None:
        while not self.ended.wait(EVERY):
            self.write()

    def _tell(self) -> Status:
        self._look()
        with self.lock:
            lines = list(self.lines)
        words = Words(self.step)
        if self.counter is not None:
            said, now = self.counter.tell(), self.counter.tell_now()
            words = Words(said.done, said.left, now, self._share(said.share))
        return Status(self.state, self.problem, words, lines, list(self.rows.values()), **self.about)

    def _share(self, share: float) -> float:
        """Return the share of all audits that is done, if so much of the one under way is."""
        now, audits = self.rounds
        return (max(now - 1, 0) + share) / audits

    def _look(self) -> None:
        """Make the rows of settings of which there is news."""
        from disclique.audits.estimate import RiskSoFar

        counter, plan = self.counter, self.plan
        heard = None if counter is None else counter.about.describe
        if counter is None or plan is None or not isinstance(heard, RiskSoFar):
            return
        fresh = {}
        with counter.lock:  # as records come in under it
            for setting, found in heard.found.items():
                spec, many = str(setting), len(found)
                if self.known.get(spec) == many or (spec in self.rows and self.rows[spec].done > many):
                    continue
                self.known[spec] = many
                uses = [(record.utility or {}).get(plan.utility) for record in found.values()]
                fresh[spec] = msgspec.structs.replace(
                    _row(setting, many, plan.repetitions),
                    risk=heard.measure(setting),
                    use=_mean([use for use in uses if use is not None]),
                )
        if fresh:
            rows = self.rows | fresh
            self.rows = {spec: rows[spec] for spec in map(str, plan.settings) if spec in rows}


def _row(setting: Setting, done: int, wanted: int) -> SettingRow:
    """Return the row of a setting of which nothing is known yet but how often it was and will be tried."""
    return SettingRow(str(setting), setting.brief, setting.mask.name, done, wanted)


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None
