"""What remarks of a look at the input are called where somebody accepts one: ``--accept doubled-records``."""

from __future__ import annotations

_SHORT = {  # what is asked for most often; the others are called by their codes
    "records_copied": "doubled-records",
    "records_have_twins": "near-doubles",
    "records_are_doubles": "doubled-strangers",
    "label_values_never_meet": "labels-never-meet",
    "label_values_never_meet_but": "labels-never-meet",
    "label_values_differ_in_writing": "label-writing",
    "ids_differ_in_writing": "id-writing",
}
# What a file probably is not, although it was taken for it: until somebody says that it is, nothing about it is shown.
# What is only worth a look (few records, coarse places) is none of these.
LIKELY_WRONG = frozenset(
    {
        "distances_are_roots",
        "distances_differ",
        "distances_of_other_length",
        "distances_short",
        "distances_squared",
        "ids_differ_in_writing",
        "label_has_errors",
        "medians_differ",
        "near_far_away",
        "near_in_another_country",
        "near_places_are_people",
        "number_looks_like_id",
        "number_medians_differ",
        "number_negative_length",
        "number_stands_for_missing",
        "numbers_longer_than_extent",
        "people_blurred",
        "people_elsewhere",
        "people_have_other_labels",
        "people_have_other_numbers",
        "places_in_radians",
        "places_in_the_sea",
        "places_perhaps_swapped",
        "records_are_doubles",
        "records_copied",
        "records_have_twins",
        "released_column_follows_id",
        "released_column_of_coordinates",
        "released_column_of_emails",
        "released_column_of_names",
        "released_column_of_phones",
    }
)


def name_remark(code: str) -> str:
    """Return the name by which a remark of this code is accepted; it stays the same from version to version.

    >>> name_remark("records_copied"), name_remark("places_in_the_sea")
    ('doubled-records', 'places-in-the-sea')
    """
    return _SHORT.get(code, code.replace("_", "-"))
