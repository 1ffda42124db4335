"""Pages in German: every text has a translation, nothing is half translated, and no number changes on the way."""

import ast
import itertools
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from jinja2 import DictLoader, Environment

import disclique as dq
from disclique.attacks import attacks
from disclique.errors import InputError
from disclique.locale import LANGUAGES, texts_in
from disclique.locale.catalogue import read_catalogue, read_patterns
from disclique.locale.extract import english_catalogue, find_messages, missing
from disclique.locale.patterns import KINDS, Translator
from disclique.measures.utility import describe, measures, rankings
from disclique.records.checks.land import is_land, read_rings
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


def test_the_english_catalogue_is_what_templates_and_code_say() -> None:
    """``make texts`` would change nothing."""
    there = (PACKAGE / "texts" / "en.toml").read_text(encoding="utf-8")
    assert there == english_catalogue(PACKAGE), "run make texts"
    assert all(key == value for part in read_catalogue("en").values() for key, value in part.items())
    assert "Who is exposed" in find_messages(PACKAGE)["report"]


@pytest.mark.parametrize("language", [one for one in LANGUAGES if one != "en"])
def test_a_language_has_every_text_and_no_other(language: str) -> None:
    """Nothing lacks a translation, nothing is left over, and a translation has the slots and elements of its text."""
    assert missing(language) == {}
    here, there = read_catalogue(language), read_catalogue("en")
    for name, part in here.items():
        assert [key for key in part if key not in there.get(name, {})] == []
        for key, value in part.items():
            assert value.strip(), key
            named = [sorted(set(re.findall(r"{(\w+)", text))) for text in (key, value)]
            assert named[0] == named[1], key
            assert sorted(re.findall(r"</?\w+>", key)) == sorted(re.findall(r"</?\w+>", value)), key
            assert numbers(re.sub("{.*?}", "", key)) == numbers(re.sub("{.*?}", "", value), german=True), key


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
    alone = Translator({english: said, **{key: read_patterns("de")[key] for key in _PHRASES}}, "de", GERMAN.messages)
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


def test_places_are_those_of_the_map() -> None:
    names = {ring.country for ring in read_rings()}
    assert len(names) > 150
    for name in names | {"the North Sea", "the sea"}:
        said = german(f"longitude 1 to 2, latitude 3.5 to 4: {name} 60 %, Germany 40 %")
        assert said.endswith("Deutschland 40\u00a0%")
    assert sum(is_land(name) for name in read_catalogue("en")["places"]) == len(names)


def test_attacks_and_measures_speak_german() -> None:
    for kind in attacks().values():
        german(kind.summary)
        german(f"Needs {kind.needs}.")
    for measure in measures().values():
        german(measure.head("km"))
        german(measure.title)
    for name in rankings():
        german(describe(name, 0.25) + ".")
        german(describe(name, None) + ".")


# -- what is said of a look at the input ---------------------------------------------------------------------------

FILLED = (  # what an expression in a remark looks like when it is said
    (r"^percent\(", "12.5 %"),
    (r"show_length|shown\[|median", "3.5 km"),
    (r"some\(|^shown$|^pair$", "'a', 'b'"),
    (r"name_shares", "Germany 60 %, the North Sea 40 %"),
    (r"^what$", "white space"),
    (r"^which$", "latitudes"),
    (r"^size$", "some 10 km"),
    (r"^other\[0\]\[0\]$", "Germany"),
    (r"^where\[", "longitude 1 to 2, latitude 3 to 4"),
    (r"settings\[0\]", "gaussian:sigma=500km"),
    (r"\.name$|^name$", "file.csv"),
    (
        r"^found$",
        "sex: 1 of 3 values of the release do not occur in the known file (4 records), 0 of 2 the other way "
        "round (0 records)",
    ),
    (r"", "7"),
)


HERE = {  # how remarks on a label begin
    "labels": "file.csv: label 'sex'",
    "people": "label 'sex': it coincides for 12 % of the 30 people who are in both files",
}


def said_in(call: ast.expr) -> Iterator[str]:
    """What an expression that makes a remark says, for each way in which it can end."""
    if isinstance(call, ast.Constant):
        yield str(call.value)
    elif isinstance(call, ast.BinOp):
        yield from (a + b for a in said_in(call.left) for b in said_in(call.right))
    elif isinstance(call, ast.IfExp):
        yield from itertools.chain(said_in(call.body), said_in(call.orelse))
    elif isinstance(call, ast.BoolOp):
        yield from said_in(call.values[-1])
    elif isinstance(call, ast.JoinedStr):
        yield "".join(fill(part) for part in call.values)


def fill(part: ast.expr) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    assert isinstance(part, ast.FormattedValue)
    if part.conversion == ord("r"):
        return "'sex'"
    words = ast.unparse(part.value)
    if words in ("here", "hint"):
        return "HERE" if words == "here" else ""
    return next(text for form, text in FILLED if re.search(form, words))


def remarks() -> Iterator[str]:
    for path in [*sorted((PACKAGE / "data" / "inspection").glob("*.py")), PACKAGE / "audits" / "inspection.py"]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Remark":
                yield from (said.replace("HERE", HERE.get(path.stem, "")) for said in said_in(node.args[0]))


@pytest.mark.parametrize("remark", sorted(set(remarks())))
def test_every_remark_on_the_input_has_a_pattern(remark: str) -> None:
    """Whoever adds a remark is told to add its German; what its slots hold is guessed from their names."""
    if remark.endswith("the way round: "):
        remark += "are these squares of distances?"
    german(f"{remark}.")
    german(f"The input: {remark}.")


def test_there_are_remarks() -> None:
    assert len(set(remarks())) > 35
    hint = "values such as 'A', 'a' differ only in case; write them alike in both files"
    german(f"label 'sex': 2 values of a.csv do not occur in b.csv: {hint}.")
