"""The facts of an advice as frozen values, and ``advice.json`` as their one written form."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from disclique.arguments import check_path, short_repr
from disclique.audits.rates import SettingRisk
from disclique.errors import InputError
from disclique.messages import Message, percent
from disclique.records.checks import Inspection
from disclique.records.write import encode, whole_file

KIND, VERSION = "disclique advice", 1
ADVICE, PAGE = "advice.json", "advice.html"
FOUND, NONE = "found", "none"


@dataclass(frozen=True)
class UseFacts:
    """What is left for one purpose, beside what a release would leave that has nothing to do with the file."""

    purpose: str
    value: float
    chance: float
    said: Message


@dataclass(frozen=True)
class StepFacts:
    """One step from the file as it is to a release: what is done, and the risk and usefulness with it."""

    said: Message
    risk: float
    usefulness: float


@dataclass(frozen=True)
class AdvisedRelease:
    """A release: its ``setting`` as ``disclique mask`` takes it, who is ``left_out`` (rows of the file, from 1), and
    what an audit on fresh releases says of it.

    ``status`` and ``risk`` are those of ``result.json``, which lies in the folder ``audit``. ``usefulness`` is the mean
    over the purposes (``uses``), of which people left out have nothing. ``steps`` say what each step buys, ``command``
    makes the release, and ``list_of_left_out`` is the file with the ids of those left out, which stays with the holder.
    """

    setting: str
    brief: str
    mask: str
    left_out: tuple[int, ...]
    usefulness: float
    uses: tuple[UseFacts, ...]
    status: str
    risk: SettingRisk
    done: tuple[Message, ...] = ()
    steps: tuple[StepFacts, ...] = ()
    buys: Message | None = None
    audit: str = ""
    list_of_left_out: str = ""
    command: str = ""

    __repr__ = short_repr

    @property
    def bought(self) -> Message:
        """What each step buys, one after the other."""
        steps = [Message("step_buys", said=one.said, risk=one.risk) for one in self.steps]
        return Message("steps_buy", steps=steps)


@dataclass(frozen=True)
class NeededFacts:
    """What another limit would need, by the search alone: no audit was made of it. None: nothing useful keeps it."""

    limit: float
    setting: str | None
    brief: str
    usefulness: float | None
    risk: float | None


@dataclass(frozen=True)
class AdviceFacts:
    """What advice.json holds: ``releases`` that keep the limit, the best first.

    ``status`` is ``found`` if one of them was shown to keep it in an audit, else ``none``: then ``nearest`` comes
    nearest, ``why`` says who is exposed, and ``ways_out`` what can be done that is no release of microdata.
    ``screened`` counts the settings that were looked at, ``families`` how many masks fit the file.
    """

    made: str
    status: str
    limit: float
    scenario: str
    file: str
    records: int
    purposes: tuple[str, ...]
    releases: tuple[AdvisedRelease, ...]
    nearest: AdvisedRelease | None
    why: tuple[Message, ...]
    ways_out: tuple[Message, ...]
    needed: tuple[NeededFacts, ...]
    screened: int
    families: int
    notes: tuple[Message, ...]
    snooper: tuple[Message, ...]
    versions: dict[str, str]
    seconds: float
    command: str = ""
    inspection: Inspection = field(default_factory=Inspection)
    kind: str = KIND
    version: int = VERSION

    __repr__ = short_repr


@dataclass(frozen=True, repr=False)
class Advice(AdviceFacts):
    """What can be released under a limit, best first; see ``AdviceFacts`` for what it holds.

    >>> import disclique as dq
    >>> people = dq.microdata(dq.survey().iloc[:40], ["sex"], coordinates=["lon", "lat"], id="id")
    >>> advice = dq.advise(people, 0.5, masks=["gaussian:sigma=1km..500km"], attacks="labels", repetitions=2)
    >>> advice.status, advice.best.mask, advice.best.status
    ('found', 'gaussian', 'meets')
    """

    @property
    def best(self) -> AdvisedRelease | None:
        """The most useful release that keeps the limit."""
        return next((one for one in self.releases if one.status == "meets"), None)

    @property
    def message(self) -> Message:
        """The answer in one sentence."""
        best = self.best
        if best is None:
            return Message("nothing_advised", limit=self.limit, screened=self.screened)
        left = len(best.left_out)
        values = {"setting": best.brief, "risk": best.risk.value, "high": best.risk.high, "limit": self.limit}
        if left:
            return Message("advised_without_people", values, count=left)
        return Message("advised", values)

    @property
    def table(self) -> pd.DataFrame:
        """The releases with risk and usefulness."""
        rows = [
            {
                "setting": one.brief,
                "left_out": len(one.left_out),
                "useful": round(one.usefulness, 4),
                "risk": round(one.risk.value, 4),
                "high": round(one.risk.high, 4),
                "status": one.status,
            }
            for one in self.releases
        ]
        return pd.DataFrame(rows, columns=["setting", "left_out", "useful", "risk", "high", "status"])

    @property
    def summary(self) -> pd.DataFrame:
        """The table in words and few digits."""
        found = self.table
        return found.assign(**{name: [percent(value) for value in found[name]] for name in ("useful", "risk", "high")})

    def page(self, path: Path | str | None = None, *, language: str = "en") -> str:
        """Render the advice as one HTML page that needs no network, and write it if a path is given."""
        import disclique

        page = disclique.advice_page(self, language=language)
        if path is not None:
            with whole_file(check_path(path, "path")) as draft:
                draft.write_text(page, encoding="utf-8")
        return page

    def __repr__(self) -> str:
        return f"Advice({self.status}: {self.message})"

    def _repr_html_(self) -> str:
        return str(self.summary.to_html(index=False))


def write_advice(advice: Advice, folder: Path) -> None:
    """Write advice.json to a folder."""
    written = {one.name: getattr(advice, one.name) for one in fields(AdviceFacts)}
    with whole_file(folder / ADVICE) as draft:
        draft.write_bytes(msgspec.json.format(encode(written), indent=2) + b"\n")


def read_advice(path: Path | str) -> Advice:
    """Read an advice from its file, if it is one that this version can show.

    >>> import tempfile
    >>> import disclique as dq
    >>> people = dq.microdata(dq.survey().iloc[:30], ["sex"], coordinates=["lon", "lat"], id="id")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = dq.advise(people, 0.6, masks="voronoi", attacks="labels", repetitions=2, folder=folder)
    ...     read_advice(f"{folder}/advice.json") == made
    True
    """
    try:
        found: Any = msgspec.json.decode(check_path(path, "path").read_bytes())
    except OSError as error:
        raise InputError("file_not_readable", path=path, why=error.strerror) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError("result_no_json", file=path, why=str(error)) from None
    if not isinstance(found, dict) or found.get("kind") != KIND or found.get("version") != VERSION:
        raise InputError("no_advice", file=path)
    try:
        facts = msgspec.convert(found, AdviceFacts)
    except msgspec.ValidationError as error:
        raise InputError("result_incomplete", file=path, why=str(error)) from None
    return Advice(**{one.name: getattr(facts, one.name) for one in fields(AdviceFacts)})
