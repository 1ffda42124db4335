"""What people read, in every language: no code without its words, nothing half translated, no number changed."""

import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from jinja2 import DictLoader, Environment

import disclique as dq
from disclique.attacks import attacks
from disclique.errors import InputError
from disclique.locale import LANGUAGES, texts_in
from disclique.masks import masks
from disclique.measures.utility import describe, measures, rankings
from disclique.messages import Message, has_sentence, map_texts, percent, read_catalogue, say, write_numbers
from disclique.show.pages import environment

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs" / "tools"))
import catalogues

GERMAN = texts_in("de")
ENGLISH = re.compile(r"\b(the|were|would|with|which|of|are|not|from|that|does|have)\b")
SLOT = re.compile(r"{(\w+)[^{}]*}|%\((\w+)\)s")
EVIL = "<script>alert('x')</script>"


def numbers(text: str, *, german: bool = False) -> Counter[str]:
    """The numbers of a text in English or German; what is written as on the command line is English in both."""
    plain = re.sub(r"(?<=\d)\u202f(?=\d{3})" if german else r"(?<=\d),(?=\d{3}(?!\d))", "", text)
    return Counter(found.replace(",", ".") for found in re.findall(r"\d+(?:[.,]\d+)*", plain))


# -- the catalogues ------------------------------------------------------------------------------------------------


def test_the_catalogues_have_what_is_said_and_nothing_else() -> None:
    """``make texts`` would add and drop nothing: every code has words in both languages, every text has its German."""
    said = catalogues.find_said()
    english, german = read_catalogue("en"), read_catalogue("de")
    assert said == set(german)
    assert set(english) <= said
    columns = {"label_k"}  # of records.csv, which pages name, too
    assert not [key for key in said - set(english) - columns if "_" in key and catalogues.CODE.fullmatch(key)]
    assert "Who is exposed" in said


@pytest.mark.parametrize("language", [one for one in LANGUAGES if one != "en"])
def test_a_translation_has_the_slots_signs_and_numbers_of_its_text(language: str) -> None:
    english = read_catalogue("en")
    for key, forms in read_catalogue(language).items():
        own = english.get(key) or forms if key in english else (key,)
        for one, other in zip(own, forms, strict=False):
            assert other.strip(), key
            named = [sorted({a or b for a, b in SLOT.findall(text)}) for text in (one, other)]
            assert named[0] == named[1], key
            assert sorted(re.findall(r"</?\w+>", one)) == sorted(re.findall(r"</?\w+>", other)), key
            plain = [re.sub(r"{[^{}]*}|%\(\w+\)s", "", text) for text in (one, other)]
            assert numbers(plain[0]) == numbers(plain[1], german=True), key


def test_no_german_sentence_has_english_words_left() -> None:
    for key, forms in read_catalogue("de").items():
        for form in forms:
            plain = re.sub(r"{[^{}]*}|%\(\w+\)s|<[^>]*>|--[\w-]+|\w+=\S*|'[^']*'|\"[^\"]*\"|\w+\([^)]*\)", "", form)
            found = ENGLISH.findall(plain)
            assert len(found) < 2, (key, form)


# -- messages ------------------------------------------------------------------------------------------------------


def test_values_are_made_plain() -> None:
    """No value of NumPy, no path and no error is held: what is held can be written to any file."""
    inner = InputError("not_a_path", what="file", value="3")
    made = Message("x", a=np.float64(0.5), b=np.int32(3), c=Path("a/b.csv"), d=[np.float32(1.0), "y"], e=inner, f=None)
    assert made.values == {"a": 0.5, "b": 3, "c": str(Path("a/b.csv")), "d": (1.0, "y"), "e": inner.message, "f": None}
    assert all(type(value) in (float, int, str, tuple, Message, type(None)) for value in made.values.values())


def test_a_message_is_said_in_every_language_and_falls_back_to_english() -> None:
    meant = Message("did_you_mean", word="register")
    assert say(meant) == str(meant) == "; did you mean 'register'?"
    assert say(meant, "de") == "; meinten Sie 'register'?"
    assert has_sentence(meant, "de")
    unknown = Message("nobody_wrote_this", inner=meant)
    assert say(unknown, "de") == "nobody_wrote_this"
    assert not has_sentence(unknown, "de")
    assert not has_sentence(Message("did_you_mean", word=Message("nobody_wrote_this")), "de")


def test_names_are_kept_as_they_stand() -> None:
    """A column or file that is called as a word of the catalogue, or has braces in it, is not touched."""
    for odd in ("records", "a {b} %s.csv", "{0}", "12.5,3"):
        assert odd in say(Message("did_you_mean", word=odd), "de")
    changed = map_texts(Message("x", path="folder/a.csv", inner=Message("y", also="folder/b")), lambda text: text[7:])
    assert changed == Message("x", path="a.csv", inner=Message("y", also="b"))


@pytest.mark.parametrize("share", [0.0, 1e-6, 0.0009, 0.012, 0.0994, 0.1, 0.5, 0.994, 0.9951, 0.9999, 1.0])
def test_a_share_is_never_shown_as_nothing_or_everything_unless_it_is(share: float) -> None:
    for language in LANGUAGES:
        shown = percent(share, language).replace("\u00a0", " ")
        assert (shown == "0 %") == (share == 0)
        assert (shown == "100 %") == (share == 1)
    assert write_numbers("1,234.5", "de") == "1\u202f234,5"


# -- templates -----------------------------------------------------------------------------------------------------


def test_a_text_of_a_page_is_said_with_its_slots_filled() -> None:
    assert texts_in("de").say("{found} of {all} people", found=3, all=4) == "3 von 4 Personen"
    assert texts_in("de").say("never heard of") == "never heard of"
    assert texts_in("en").say("{count} people", count=1) == "1 people"
    for wrong in ("fr", "", "DE", None, ["de"]):
        with pytest.raises(InputError) as refused:
            texts_in(wrong)  # type: ignore[arg-type]
        assert refused.value.message.code == "unknown_language"


def test_templates_escape_whatever_fills_a_slot() -> None:
    """Neither a value nor a message nor a text given to ``_`` becomes markup; text of the template does."""
    page = environment("de").from_string(
        "{{ _('Mask {mask}:', mask=evil) }}|{{ _(evil) }}|{{ evil | say }}|{{ odd | say }}|{{ known | say }}|"
        "{% trans spec=evil %}Every record of the file at its true place, released as <code>{{ spec }}</code>. Rings "
        "and lines are those of one typical repetition. <strong>This page holds personal data and stays with the data "
        "holder.</strong>{% endtrans %}"
    )
    shown = page.render(evil=EVIL, odd=Message(EVIL), known=Message("did_you_mean", word=EVIL))
    assert "<script" not in shown
    assert shown.count("&lt;script&gt;") == 6
    assert "<code>&lt;script" in shown
    assert "Jeder Datensatz der Datei an seinem wahren Ort" in shown
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
    page = "{{ 0.0123 | percent }};{{ 1234567.0 | figure }};{{ (0.1, 0.25) | interval }};{{ '1,234.5' | number }}"
    assert environment("de").from_string(page).render().replace("\u00a0", " ").replace("\u202f", " ") == (
        "1,2 %;1 230 000;10–25 %;1 234,5"
    )
    assert "1.2" in environment("en").from_string(page).render()


def test_attacks_masks_and_measures_speak_german() -> None:
    for kind in attacks().values():
        assert isinstance(kind.summary, Message)
        for message in (kind.summary, kind.say_needs()):
            assert say(message, "de") != say(message)
            assert not ENGLISH.search(say(message, "de"))
    assert len(masks()) > 15
    for measure in measures().values():
        assert has_sentence(measure.head("km"), "de"), measure.name
    for name in rankings():
        assert has_sentence(describe(name, 0.25), "de")
        assert has_sentence(describe(name, None), "de")


def test_errors_read_in_english_and_carry_their_code() -> None:
    with pytest.raises(InputError, match="it must be a positive number") as refused:
        dq.Within(-1)
    assert " " not in refused.value.message.code
    assert say(refused.value.message, "de") != str(refused.value)
