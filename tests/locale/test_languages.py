"""Pages in German: every text has a translation, nothing is half translated, and no number changes on the way."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from babel.messages.extract import extract_from_dir
from jinja2 import DictLoader, Environment

import disclique as dq
from disclique.attacks import attacks
from disclique.errors import InputError
from disclique.locale import texts_in
from disclique.locale.catalogue import read_messages, read_patterns
from disclique.locale.patterns import KINDS, Translator
from disclique.measures.utility import describe, measures, rankings
from disclique.messages import Message, has_sentence, read_catalogue, say
from disclique.show.pages import environment

PACKAGE = Path(dq.__file__).parent
GERMAN = texts_in("de")
ENGLISH = re.compile(r"\b(the|were|would|with|which|of|and|are|not|from|that|does|have)\b")
EVIL = "<script>alert('x')</script>"
SAMPLES = {
    "": "file.csv",
    "item": "age",
    "values": "'a', 'b', …",
    "n": "1,234",
    "p": "12.5 %",
    "length": "3.5 km",
    "amount": "4.0 GB",
    "name": "quasi:gamma=0.7",
    "names": "clique, register",
    "and": "clique and register",
    "spec": "gaussian:sigma=1.5km | drop:sex",
    "specs": "affine, gaussian:sigma=1.5km",
    "setting": "donut (min 1km, max 5km) and age in classes of 20, without sex",
    "say": "labels as they are",
    "says": "no labels, without sex; labels as they are",
    "title": "Sheet",
}


def numbers(text: str, *, german: bool = False) -> Counter[str]:
    """The numbers of a text in English or German; what is written as on the command line is English in both."""
    plain = re.sub(r"(?<=\d)\u202f(?=\d{3})" if german else r"(?<=\d),(?=\d{3}(?!\d))", "", text)
    return Counter(found.replace(",", ".") for found in re.findall(r"\d+(?:[.,]\d+)*", plain))


def german(sentence: str) -> str:
    """The sentence in German: known as a whole, nothing English left, the same numbers."""
    said = GERMAN.translate(sentence)
    assert said is not None, f"no pattern of de.toml fits: {sentence[:300]}"
    assert not ENGLISH.search(said), f"{sentence} -> {said}"
    assert numbers(said, german=True) == numbers(sentence), f"{sentence} -> {said}"
    return said


# -- the catalogues ------------------------------------------------------------------------------------------------


KEYWORDS: Any = dict.fromkeys(("_", "gettext", "mark", "say", "Message", "DiscliqueError", "InputError", "TooLarge"))
KEYWORDS |= {"ngettext": (1, 2), "MissingDependency": None, "WorkersLost": None}
KEYWORDS |= {"check_kind": (4,), "check_number": (3,), "check_share": (3,)}
JINJA = {"**.jinja": {"trimmed": "true", "trim_blocks": "true", "lstrip_blocks": "true", "newstyle_gettext": "true"}}
CODE = re.compile(r"[a-z][a-z0-9_]*")


def extracted() -> set[str]:
    """What templates and code give to a function that says it: codes of messages, and English texts of pages."""
    methods = [("**.py", "python"), ("**.jinja", "jinja2")]
    found = extract_from_dir(str(PACKAGE), methods, JINJA, keywords=KEYWORDS)
    return {message if isinstance(message, str) else message[0] for _, _, message, _, _ in found}


def test_every_code_has_its_sentence_in_every_language() -> None:
    """No message is without words, no words are left over, and all languages have the same slots, signs and numbers."""
    said = {one for one in extracted() if " " in one or one in read_catalogue("en") or CODE.fullmatch(one) is None}
    english, german = read_catalogue("en"), read_catalogue("de")
    assert set(english) <= set(german)
    for key, forms in german.items():
        for one, other in zip(english.get(key, (key,)), forms, strict=False):
            named = [sorted(set(re.findall(r"{(\w+)|%\((\w+)\)s", text))) for text in (one, other)]
            assert named[0] == named[1], key
            assert sorted(re.findall(r"</?\w+>", one)) == sorted(re.findall(r"</?\w+>", other)), key
            slots = re.compile(r"{.*?}|%\(\w+\)s")
            assert numbers(slots.sub("", one)) == numbers(slots.sub("", other), german=True), key
    assert "Who is exposed" in said


def test_a_message_is_said_once_and_with_slots_filled() -> None:
    assert texts_in("de").say("{found} of {all} people", found=3, all=4) == "3 von 4 Personen"
    assert texts_in("de").say("never heard of") == "never heard of"
    assert texts_in("en").say("{count} people", count=1) == "1 people"
    assert texts_in("en").sentence("anything") == "anything"
    assert texts_in("de") is texts_in("de")
    for wrong in ("fr", "", "DE", None, ["de"]):
        with pytest.raises(InputError, match="there are en, de"):
            texts_in(wrong)  # type: ignore[arg-type]


# -- templates -----------------------------------------------------------------------------------------------------


def test_templates_escape_whatever_fills_a_slot() -> None:
    """Neither a value nor a sentence nor a message given to ``_`` becomes markup; text of the template does."""
    page = environment("de").from_string(
        "{{ _('Mask {mask}:', mask=evil) }}|{{ _(evil) }}|{{ evil | sentence }}|"
        "{% trans spec=evil, k=3 %}Rectangles of at least {{ k }} people, shaded by their mean risk under "
        "<code>{{ spec }}</code>. Edges lie on lines of a fixed grid, at nobody's place.{% endtrans %}"
    )
    shown = page.render(evil=EVIL)
    assert "<script" not in shown
    assert shown.count("&lt;script&gt;") == 4
    assert "<code>&lt;script" in shown
    assert "Rechtecke mit mindestens 3 Personen" in shown
    assert '<span lang="en">&lt;script' in shown


def test_blocks_count_and_keep_signs_of_per_cent() -> None:
    """A block without a translation is said in English; a sign of per cent and braces in values stay as they are."""
    made = Environment(
        autoescape=True,
        loader=DictLoader(
            {"a": "{% trans n=n %}{{ n }} dog, 5 %{% pluralize %}{{ n }} dogs, 5 %{% endtrans %} {{ _('{x}', x=y) }}"}
        ),
    )
    GERMAN.install(made)
    assert made.get_template("a").render(n=1, y="{n} %(n)s") == "1 dog, 5 % {n} %(n)s"
    assert made.get_template("a").render(n=2, y="%") == "2 dogs, 5 % %"


def test_numbers_are_written_as_the_language_does() -> None:
    page = "{{ 0.1234 | percent }};{{ 1234567.0 | figure }};{{ (0.1, 0.25) | interval }};{{ '1,234.5' | number }}"
    assert environment("de").from_string(page).render().replace("\u00a0", " ").replace("\u202f", " ") == (
        "12,3 %;1 230 000;10,0–25,0 %;1 234,5"
    )
    assert "12.3" in environment("en").from_string(page).render()


# -- patterns of sentences -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("english", "said"), read_patterns("de").items())
def test_every_pattern_finds_what_it_describes(english: str, said: str) -> None:
    """A sentence made from a pattern is said as its translation: no other pattern takes its place."""
    kinds = dict(re.findall(r"{(\w+)(?::(\w+))?}", english))
    assert set(kinds.values()) <= set(KINDS)
    values = {name: SAMPLES[kind] for name, kind in kinds.items()}
    values |= {name: f"x{k}.csv" for k, (name, kind) in enumerate(kinds.items()) if kind == ""}
    sentence = re.sub(r"{(\w+)(?::\w+)?}", lambda slot: values[slot[1]], english)
    found = GERMAN.translate(sentence)
    assert found is not None, sentence
    alone = Translator(
        {english: said, **{key: read_patterns("de")[key] for key in _PHRASES}}, "de", read_messages("de")
    )
    assert found == alone.translate(sentence)
    assert numbers(found, german=True) == numbers(sentence)


_PHRASES = ("labels as they are", "no labels", "without {column:item}", "{column:item} in classes of {width:n}")


def test_nothing_is_half_translated() -> None:
    """A sentence that fits in part only is not touched: a phrase without a pattern, a number in letters, a name."""
    known = "What the masked data give away at the most is not known: the oracle could not be asked."
    assert german(known).startswith("Was die maskierten Daten")
    for unknown in (
        known.replace("asked", "asked twice"),
        known + " And more.",
        "clique was cut short in two of 3 repetitions, which cannot matter here.",
        "register does not apply: file.csv: some new reason",
        "labels: some new reason, clique: another",
        "5 % instead of 3 % with affine; 5 % rather than 3 % with gaussian:sigma=1km",
        "Released with the mask affine and some new rule, a snooper would name the right person for 5 % of all "
        "released records, by the worst of the attacks tried.",
        "Bosnia 5 %",
        "",
    ):
        assert GERMAN.translate(unknown) is None, unknown
        assert GERMAN.sentence(unknown) == unknown


def test_long_lists_and_long_nonsense_are_no_trouble() -> None:
    """Two hundred settings are translated; a text with thousands of commas, points or brackets ends soon, untouched."""
    cases = "; ".join(f"{k} % instead of 3 % with gaussian:sigma={k}km" for k in range(10, 210))
    begun = "An insider who knows of some released people beforehand which records they are could re-identify more"
    assert german(f"{begun} of the others: {cases}.").count("statt") == 200
    assert german(", ".join(["without sex"] * 500)).count("ohne") == 500
    for nonsense in ("a, " * 1500, "labels as they are, " * 400 + "x", "A. " * 300, "and " * 400, "labels; " * 300):
        assert GERMAN.translate(f"{begun} of the others: {nonsense}.") is None
        assert GERMAN.translate(nonsense) is None


def test_names_are_kept_as_they_stand() -> None:
    """A column or file that is called as a word of the catalogue is not translated, and needs no plain name."""
    said = german("records: label 'records' is empty in every record.")
    assert said == "records: das Merkmal 'records' ist in jedem Datensatz leer."
    odd = "a {b} \\1 %s.csv"
    assert german(f"{odd}: all distances are 0") == f"{odd}: alle Abstände sind 0"
    assert german("without matrix, age in classes of 2.5") == "ohne matrix, age in Klassen von 2,5"


def test_attacks_and_measures_speak_german() -> None:
    for kind in attacks().values():
        assert isinstance(kind.summary, Message)
        for message in (kind.summary, kind.say_needs()):
            assert say(message, "de") != say(message)
            assert not ENGLISH.search(say(message, "de"))
    for measure in measures().values():
        assert has_sentence(measure.head("km"), "de"), measure.name
    for name in rankings():
        assert has_sentence(describe(name, 0.25), "de")
        assert has_sentence(describe(name, None), "de")
