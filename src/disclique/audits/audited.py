"""What an audit says of a release that is made: whether that setting of that file was measured, and what came out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from disclique.errors import InputError
from disclique.masks.settings import Setting
from disclique.messages import Message
from disclique.model import Microdata
from disclique.releases.note import NOT_AUDITED

if TYPE_CHECKING:
    from disclique.audits.facts import SettingFacts
    from disclique.audits.result import AuditResult


def tell_of(result: AuditResult, setting: str, data: Microdata) -> Message:
    """Say what an audit found of a setting of a file; whatever differs from what was audited was not audited."""
    if not _is_of(result, data):
        return Message("audit_of_another_file", file=data.name)
    facts = _find(result, setting)
    if facts is None:
        return NOT_AUDITED
    said = {"value": facts.risk.value, "high": facts.risk.high}
    if facts.meets is None or result.plan.max_risk is None:
        return Message("setting_audited_measured", said)
    if facts.meets:
        return Message("setting_audited_meets", limit=result.plan.max_risk)
    return Message("setting_audited_above", said, limit=result.plan.max_risk)


def _is_of(result: AuditResult, data: Microdata) -> bool:
    """Say whether an audit is of a file of as many records, with the same labels, numbers and kind of distances."""
    names = tuple(map(str, data.labels.columns)), tuple(data.numbers.names)
    asked = result.file.labels, tuple(one.name for one in result.file.numbers)
    return (len(data), *names) == (result.file.records, *asked) and data.distances.kind == result.file.distances


def _find(result: AuditResult, setting: str) -> SettingFacts | None:
    wanted = Setting.parse(setting)
    return next((one for one in result.settings if Setting.parse(one.spec) == wanted), None)


def find_audit(
    named: Path | None, folders: Iterable[Path], digests: Iterable[str], setting: str
) -> tuple[Path, AuditResult] | None:
    """Return the audit of a setting of the files with these hashes: the one that is named, else one in the folders.

    Of several that measured the setting the one with the highest risk speaks: assumptions may have differed.
    """
    from disclique.audits.result import RESULT, read_result

    wanted = set(digests)
    if named is not None:
        path = named / RESULT if named.is_dir() else named
        result = read_result(path)
        if not wanted <= set(result.plan.inputs.values()):
            raise InputError("audit_of_other_files", path=path)
        return path, result
    found: list[tuple[float, Path, AuditResult]] = []
    for path in dict.fromkeys(one.resolve() for folder in folders for one in _list_results(folder)):
        try:
            result = read_result(path)
        except InputError:
            continue  # of another version, or no audit
        facts = _find(result, setting)
        if facts is not None and wanted <= set(result.plan.inputs.values()):
            found.append((1.0 if facts.risk.high is None else facts.risk.high, path, result))
    return max(found, key=lambda one: one[0])[1:] if found else None


def _list_results(folder: Path) -> Iterator[Path]:
    """Yield the results of audits, and of those of an advice, in the folders of a folder."""
    from disclique.audits.result import RESULT

    for pattern in (RESULT, f"*/{RESULT}", f"*/audits/*/{RESULT}"):
        yield from sorted(folder.glob(pattern))
