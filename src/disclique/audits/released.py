"""What would be released under the setting that a verdict names: files, columns, and what is done to them."""

from __future__ import annotations

from disclique.audits.definition import Audit
from disclique.audits.facts import ReleasedFacts, SettingFacts
from disclique.masks import Mask
from disclique.masks.settings import Setting
from disclique.model import Microdata
from disclique.records.checks.lengths import name_unit
from disclique.releases.described import Change, describe_columns, describe_files, describe_mask, list_dropped
from disclique.releases.forms import DISTANCES, ENCODINGS, NONE


def describe_release(audit: Audit, setting: Setting, facts: SettingFacts) -> ReleasedFacts:
    """Say what would be released, in the form that a release has by default, with what was measured of the mask."""
    data, form = audit.target, _usual_form(audit.target, setting.mask)
    columns = describe_columns(data, setting)
    change = Change.of_utility(facts.utility, name_unit(data.distances))
    return ReleasedFacts(
        spec=facts.spec,
        files=describe_files(form, len(columns)),
        columns=columns,
        done=describe_mask(setting.mask, form, change),
        dropped=list_dropped(data, setting),
        left_out=data.left_out,
    )


def _usual_form(data: Microdata, mask: Mask) -> str:
    """Return what is released of that which a mask makes, where nobody asks for something else."""
    if mask.withholds or not data.distances.are_published:
        return NONE
    return ENCODINGS if mask.on == "text" else DISTANCES
