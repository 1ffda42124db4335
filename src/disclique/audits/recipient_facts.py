"""What is known of several recipients of one release, as frozen values, and ``recipients.json`` as their written form.

The schema ``recipients.schema.json`` follows from these classes; VERSION is raised when a reader of the old form would
misread the new one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from disclique.arguments import check_path, short_repr
from disclique.audits.facts import Verdict
from disclique.errors import InputError
from disclique.messages import Message
from disclique.options.audits import SnooperFields
from disclique.records.write import encode, whole_file

KIND, VERSION = "disclique recipients", 1


@dataclass(frozen=True)
class RecipientRisk:
    """What one setting gives to one recipient, held against the limits that count for them.

    ``risk``, ``high`` and ``person`` are those of ``SettingFacts``; ``why`` says why a limit is not shown to be kept.
    """

    recipient: str
    status: str
    risk: float
    high: float
    limit: float | None = None
    person: float | None = None
    person_limit: float | None = None
    why: Message | None = None

    __repr__ = short_repr

    @property
    def excess(self) -> float:
        """By how much the end that decides lies above a limit; below it where it is negative."""
        mean = self.high - (self.limit or 0.0)
        if self.person is None or self.person_limit is None:
            return mean
        return max(mean, self.person - self.person_limit)


@dataclass(frozen=True)
class SharedSetting:
    """One setting for all recipients: ``status`` is that of the ``strictest``, for whom it stands worst.

    Both are None where it was not measured for everybody: such a setting never counts. ``usefulness`` is that of the
    release, whoever gets it.
    """

    spec: str
    brief: str
    named: Message
    usefulness: float | None
    label_information: float
    numbers_kept: float
    status: str | None
    strictest: str | None
    recipients: tuple[RecipientRisk, ...]

    __repr__ = short_repr

    def of(self, recipient: str) -> RecipientRisk | None:
        """Return what it gives to one recipient; None where that was not measured."""
        return next((one for one in self.recipients if one.recipient == recipient), None)

    @property
    def worst(self) -> RecipientRisk:
        """What it gives to the strictest recipient."""
        assert self.strictest is not None
        found = self.of(self.strictest)
        assert found is not None
        return found


@dataclass(frozen=True)
class RecipientFacts:
    """One recipient: who they are, what was ``assumed`` of them, and the ``verdict`` of their own audit.

    ``like`` is the ready recipient whom they resemble, ``source`` where that comes from. ``folder`` has their result,
    beside recipients.json; empty where nothing was written.
    """

    name: str
    verdict: Verdict
    assumed: tuple[Message, ...]
    scenario: str
    snooper: SnooperFields
    max_risk: float | None = None
    max_risk_person: float | None = None
    like: str = ""
    title: Message | None = None
    about: Message | None = None
    source: str = ""
    folder: str = ""

    __repr__ = short_repr


@dataclass(frozen=True)
class RecipientsFacts:
    """What recipients.json holds: the ``verdict`` on a release to all of them, each one, and what every setting does.

    ``file`` is the name of the audited file and ``records`` how many people it has.
    """

    made: str
    file: str
    records: int
    verdict: Verdict
    recipients: tuple[RecipientFacts, ...]
    settings: tuple[SharedSetting, ...]
    versions: dict[str, str] = field(default_factory=dict)
    kind: str = KIND
    version: int = VERSION

    __repr__ = short_repr


def write_recipients(facts: RecipientsFacts, path: Path) -> None:
    """Write recipients.json."""
    with whole_file(path) as draft:
        draft.write_bytes(msgspec.json.format(encode(facts), indent=2) + b"\n")


def read_recipients_file(path: Path | str) -> RecipientsFacts:
    """Read recipients.json, if it is one that this version can show."""
    try:
        found = msgspec.json.decode(check_path(path, "path").read_bytes())
    except OSError as error:
        raise InputError("file_not_readable", path=path, why=error.strerror) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError("result_no_json", file=str(path), why=str(error)) from None
    if not isinstance(found, dict) or found.get("kind") != KIND:
        raise InputError("no_result_of_recipients", file=str(path))
    if found.get("version") != VERSION:
        raise InputError("result_of_other_version", file=str(path), found=found.get("version"), version=VERSION)
    try:
        return msgspec.convert(found, RecipientsFacts)
    except msgspec.ValidationError as error:
        raise InputError("result_incomplete", file=str(path), why=str(error)) from None


def recipients_schema() -> dict[str, Any]:
    """Return the JSON schema of ``recipients.json``."""
    return msgspec.json.schema(RecipientsFacts)
