"""The look at the opened file as a page shows it: what was understood, where it lies, and what looks wrong."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from disclique.app.beside import hide_paths
from disclique.app.fields import LAYOUT
from disclique.app.places import Places
from disclique.app.projects import FILES, Project
from disclique.app.roles import first_rows
from disclique.errors import DiscliqueError
from disclique.locale import LANGUAGES, texts_in
from disclique.messages import Message, map_texts
from disclique.options.audits import AuditOptions

if TYPE_CHECKING:
    from disclique.model import Microdata
    from disclique.records.checks import FileLook, Inspection

LARGE_BYTES = 4_000_000
TRIED = 60  # records on which a mask is tried to see whether it applies
MEASURED = 200  # records from which the lengths of a file are measured: a look is to take no time


@dataclass(frozen=True)
class Finding:
    """What a look at the input found: what it says, whether it can only be a mistake, or is likely wrong.

    ``name`` is that by which it is accepted.
    """

    message: Message
    mistake: bool = False
    likely_wrong: bool = False
    name: str = ""


@dataclass(frozen=True)
class Seen:
    """What is seen of files: facts about each, a map of where they lie, remarks; or the problem with reading them.

    Of the opened file besides: of which kind it is (``Distances.kind``), its median distance and their unit, and for
    every mask why it cannot be applied, None if it can, and ``begins``, the parameters to begin with. The map has
    words, so that there is one for each language.
    """

    files: tuple[FileLook, ...] = ()
    pictures: Mapping[str, str] = field(default_factory=lambda: dict.fromkeys(LANGUAGES, ""))
    remarks: tuple[Finding, ...] = ()
    problem: Message | None = None
    kind: str = ""
    unit: str | None = None
    fits: tuple[tuple[str, Message | None], ...] = ()
    begins: tuple[tuple[str, str], ...] = ()

    @property
    def mistakes(self) -> tuple[Finding, ...]:
        """What can only be a mistake."""
        return tuple(remark for remark in self.remarks if remark.mistake)

    @property
    def doubts(self) -> tuple[Finding, ...]:
        """What is likely wrong, and lets nothing be shown until somebody says that it is right."""
        return tuple(remark for remark in self.remarks if remark.likely_wrong)

    @property
    def records(self) -> int:
        """How many people are in the opened file."""
        return self.files[0].records if self.files else 0

    @property
    def median(self) -> float | None:
        """The median distance."""
        lengths = self.files[0].lengths if self.files else None
        return None if lengths is None else lengths.median


class Looks:
    """The looks at files of one server: each once, as long as neither file nor roles change."""

    def __init__(self) -> None:
        self._large = threading.Lock()  # large files are looked at one after the other: each takes memory
        self._look = lru_cache(maxsize=16)(_look)
        self._latest: dict[str, object] = {}

    def ask(self, project: str) -> Callable[[], bool]:
        """Return what says whether a look is still wanted: of several for one project the last one counts."""
        token = self._latest[project] = object()
        return lambda: self._latest.get(project) is token

    def look(self, project: Project, places: Places, wanted: Callable[[], bool] = lambda: True) -> Seen:
        """Look at the opened file as its columns are said to be.

        Large files are looked at one after the other; what is not ``wanted`` any more when its turn comes is left
        out.
        """
        layout, stamps = _layout(project)
        with self._large if sum(size for _, size in stamps) > LARGE_BYTES else nullcontext():
            if not wanted():
                return Seen()
            return self._look(project.file, json.dumps(layout, sort_keys=True), stamps, _Hidden(project, places))


def look_at_first(project: Project, places: Places) -> Seen | None:
    """Look at the first rows of a large file, which takes no time; None where that says nothing about all of it."""
    from disclique.records.checks import inspect

    layout, _ = _layout(project)
    if any(name in layout for name in ("distances", "vectors")) or not Path(project.file).is_file():
        return None
    hidden = _Hidden(project, places)
    with first_rows(Path(project.file)) as head:
        if str(head) == project.file:
            return None
        try:
            found = inspect(read_opened(str(head), layout))
        except DiscliqueError as problem:
            return Seen(problem=hidden(map_texts(problem.message, partial(_rename, str(head), project.file))))
        return show_inspection(
            found, [project.shown], lambda said: hidden(map_texts(said, partial(_rename, str(head), project.file)))
        )


def _rename(path: str, other: str, text: str) -> str:
    return text.replace(path, other)


def _layout(project: Project) -> tuple[dict[str, Any], tuple[tuple[int, int], ...]]:
    """Return what is said of the file, and when the files of that were changed."""
    layout = {name: value for name, value in project.said.items() if name in LAYOUT}
    paths = [project.file, *(str(value) for name, value in layout.items() if name in FILES)]
    return layout, tuple(_stamp(path) for path in paths)


class _Hidden:
    """Who puts names in the place of paths; no part of what is looked at."""

    def __init__(self, project: Project, places: Places) -> None:
        self.project, self.places = project, places

    def __call__(self, said: Message) -> Message:
        return hide_paths(said, self.project, self.places.private, self.places.start)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Hidden) and self.project.shown == other.project.shown

    def __hash__(self) -> int:
        return hash(self.project.shown)


def _stamp(path: str) -> tuple[int, int]:
    try:
        about = Path(path).stat()
    except OSError:
        return (0, 0)
    return about.st_mtime_ns, about.st_size


def _look(file: str, layout: str, stamps: tuple[tuple[int, int], ...], hidden: _Hidden) -> Seen:
    from disclique.attacks.look import inspect

    try:
        data = read_opened(file, json.loads(layout))
        found = inspect(data)
    except DiscliqueError as problem:
        return Seen(problem=hidden(problem.message))
    seen = show_inspection(found, [hidden.project.shown], hidden)
    seen = replace(seen, kind=data.distances.kind, unit=data.distances.unit)
    return replace(seen, fits=tuple(_try_masks(data)), begins=tuple(_propose(data)))


def read_opened(file: str, said: Mapping[str, Any]) -> Microdata:
    """Read the opened file as an audit does."""
    import disclique

    options = AuditOptions(**said).filled()
    beside = {name: None if said.get(name) is None else Path(str(said[name])) for name in ("distances", "vectors")}
    return disclique.read(Path(file), **beside, **options.own_columns)  # type: ignore[arg-type]


def show_inspection(found: Inspection, names: list[str], hidden: Callable[[Message], Message]) -> Seen:
    """Return what a look found, as a page shows it."""
    from disclique.show.report.maps import draw_boxes

    files = tuple(
        replace(file, name=names[place] if place < len(names) else file.name) for place, file in enumerate(found.files)
    )
    extents = [file.extent for file in files if file.extent is not None]
    pictures = {language: draw_boxes(extents, texts_in(language)) for language in LANGUAGES}
    return Seen(files, pictures, tuple(replace(one, message=hidden(one.message)) for one in list_findings(found)))


def list_findings(found: Inspection) -> list[Finding]:
    """Return what a look found that looks wrong."""
    return [Finding(one.message, one.mistake, one.likely_wrong, one.name) for one in found.remarks]


def _propose(data: Microdata) -> list[tuple[str, str]]:
    """Return for every mask the parameters with which an advice would begin, by the lengths of the file."""
    from disclique.advice.families import Measuring, list_parameters, measure_reach, words_of
    from disclique.masks import masks

    reach = measure_reach(data, Measuring(records=MEASURED))
    if reach is None:
        return []
    labels = [str(one) for one in data.labels.columns if not set(str(one)) & set(",=|")]
    words = words_of(data, reach)
    if labels:
        words.setdefault("group", labels[0])  # a card begins with some group
    found = {name: list_parameters(kind, reach, words) for name, kind in masks().items()}
    return [(name, parts[0]) for name, parts in found.items() if parts and parts[0]]


def _try_masks(data: Microdata) -> list[tuple[str, Message | None]]:
    """Try every mask on some records, to say which apply; what a mask says of its own values is no reason."""

    from disclique.app.cards import try_mask
    from disclique.masks import masks
    from disclique.spaces import spaced

    if not data.distances.are_published:
        why = Message("file_without_distances")
        return [(name, None if kind.rigid and kind.on == "distances" else why) for name, kind in masks().items()]
    rows = spaced(len(data), TRIED)
    some = data.distances.select(rows)
    found = {name: try_mask(kind, some) for name, kind in masks().items()}
    for name, kind in masks().items():
        if not len(data.labels.columns) and kind.tried and all("{group}" in text for text in kind.tried):
            found[name] = Message("groups_without_column", mask=name)
    return list(found.items())
