"""A linkage schema of clkhash as a mask: the same bits for the same secret, without clkhash being installed.

Schemas of version 1 and 2 become such of version 3, as clkhash converts them, and these a ``Scheme``.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

from disclique.errors import InputError
from disclique.masks.base import Mask, text
from disclique.masks.encoding import SchemeMask
from disclique.masks.hardening import Hardening
from disclique.masks.hashing import BLAKE_KEY, Derivation
from disclique.masks.registry import register_mask
from disclique.masks.schemes import DATE, FIELD, TOKEN, Field, Scheme, check_cells
from disclique.masks.tokens import GRAMS, NUMBER, WHOLE, Number, Tokens
from disclique.messages import Message
from disclique.model import Microdata
from disclique.records.formats import MISSING
from disclique.records.schemas import read_description
from disclique.spaces.bits import BASE64

Json = Mapping[str, Any]
SEVERAL = "+"


@register_mask
@dataclass(frozen=True)
class Clkhash(SchemeMask):
    """Cryptographic longterm keys (CLKs) as a linkage schema of clkhash describes them, versions 1 to 3, bit for bit.

    ``schema`` names the JSON file; ``a.json+b.json`` makes several CLKs for each person from one secret, as CODI does.
    The columns of the text are those of the schema, by name or, where no name fits, in their order. A CLK is written in
    base64 as clkhash does. Like clkhash it reads ``xor_folds`` and passes over ``xorFolds``, whatever its
    documentation says.
    """

    name: ClassVar[str] = "clkhash"
    leading: ClassVar[str | None] = "schema"
    writes: ClassVar[str | None] = BASE64
    tried: ClassVar[tuple[str, ...] | None] = ()
    summary: ClassVar[Message | None] = Message("mask_does_clkhash")
    reference: ClassVar[str] = (
        "clkhash 0.18.3, CSIRO's Data61; several CLKs a person: CODI, MITRE and CDC; Schnell, Bachteler and Reiher "
        "2011, working paper 2011-02 of the German Record Linkage Center"
    )

    schema: str = field(metadata=text())

    @property
    def files(self) -> tuple[str, ...]:
        """The schemas."""
        return tuple(one.strip() for one in self.schema.split(SEVERAL) if one.strip())

    @cached_property
    def _schemes(self) -> tuple[Scheme, ...]:
        return tuple(read_schema(read_description(path), path) for path in self.files)

    def schemes(self) -> tuple[Scheme, ...]:
        """Return what the files say."""
        return self._schemes

    @property
    def secret(self) -> bool:
        """Always: a schema derives its keys from one."""
        return True

    def prepare(self, data: Microdata) -> Mask:
        """Refuse a file with other columns than the schema, or with cells that clkhash would not encode."""
        texts = data.distances.texts()
        for path, scheme in zip(self.files, self.schemes(), strict=True):
            if texts is not None:
                check_cells(scheme, texts, path)
        return self


def read_schema(schema: Json, name: str) -> Scheme:
    """Return the scheme that a linkage schema describes; ``name`` is for messages."""
    try:
        latest = _convert(schema)
        config, features = latest["clkConfig"], latest["features"]
        folds, length = int(config.get("xor_folds", 0)), int(config["l"])
        fields = [_field(one, place) for place, one in enumerate(features) if _is_encoded(one)]
        derivation = _derivation(config["kdf"])
    except KeyError as error:
        raise InputError("schema_lacks", file=name, key=str(error.args[0])) from None
    except (TypeError, ValueError, AttributeError, binascii.Error) as error:
        raise InputError("schema_wrong", file=name, why=str(error)) from None
    if not fields:
        raise InputError("schema_encodes_nothing", file=name)
    if derivation.size > BLAKE_KEY and any(one.hash == "blake" for one in fields):
        raise InputError("blake_key_too_long", file=name, size=derivation.size, most=BLAKE_KEY)
    return Scheme(
        tuple(fields),
        length << folds,
        derivation=derivation,
        features=len(features),
        hardening=Hardening(xor_fold=folds),
    )


def _is_encoded(feature: Json) -> bool:
    return not feature.get("ignored", False) and "hashing" in feature


def _convert(schema: Json) -> Json:
    """Return a schema of version 3, whatever its version is."""
    version = schema["version"]
    if version not in (1, 2, 3):
        raise ValueError(f"version {version!r}")
    config = schema["clkConfig"]
    features = schema["features"]
    if version == 1:
        features = [_from_first(one, config) for one in features]
    if version in (1, 2):
        features = [_from_second(one) for one in features]
    return {"clkConfig": config, "features": features}


def _from_first(feature: Json, config: Json) -> Json:
    """Bring k and the hash of the whole filter to each feature; one without weight is passed over."""
    if feature.get("ignored", False):
        return feature
    hashing = dict(feature["hashing"])
    weight = hashing.pop("weight", 1.0)
    if weight == 0:
        return {**feature, "ignored": True}
    hashing |= {"strategy": {"k": round(weight * config["k"])}, "hash": config["hash"]}
    return {**feature, "hashing": hashing}


def _from_second(feature: Json) -> Json:
    """Name the strategy and the comparison as version 3 does."""
    if feature.get("ignored", False):
        return feature
    hashing = dict(feature["hashing"])
    names = {"k": "bitsPerToken", "numBits": "bitsPerFeature"}
    hashing["strategy"] = {names.get(key, key): value for key, value in hashing["strategy"].items()}
    n, positional = hashing.pop("ngram"), hashing.pop("positional", False)
    hashing["comparison"] = {"type": "ngram", "n": n, "positional": positional}
    return {**feature, "hashing": hashing}


def _derivation(kdf: Json) -> Derivation:
    if kdf["type"] != "HKDF":
        raise ValueError(f"kdf {kdf['type']!r}")
    names = {"SHA256": "sha256", "SHA512": "sha512"}
    salt, info = (base64.b64decode(kdf[key]) if kdf.get(key) is not None else b"" for key in ("salt", "info"))
    return Derivation(names[kdf.get("hash", "SHA256")], salt, info, int(kdf.get("keySize", 64)))


def _field(feature: Json, place: int) -> Field:
    """Return how one feature is encoded."""
    hashing, kind = feature["hashing"], feature["format"]
    form = {"integer": "integer", "date": f"{DATE}{kind.get('format', '')}"}.get(kind["type"], "written")
    strategy, hashed = hashing["strategy"], hashing.get("hash", {"type": "blakeHash"})
    found = Field(
        str(feature["identifier"]),
        _tokens(hashing["comparison"]),
        form=form,
        hash=_hash(hashed),
        encoding=kind.get("encoding", "utf-8") if kind["type"] == "string" else "utf-8",
        place=place,
    )
    if (missing := hashing.get("missingValue")) is not None:
        sentinel = missing["sentinel"]
        written = (sentinel, "") if sentinel in MISSING else (sentinel,)
        found = replace(found, missing=(missing.get("replaceWith", sentinel), *written))
    if "bitsPerToken" in strategy:
        return replace(found, bits=int(strategy["bitsPerToken"]), per=TOKEN)
    return replace(found, bits=int(strategy["bitsPerFeature"]), per=FIELD)


def _hash(hashed: Json) -> str:
    if hashed["type"] == "blakeHash":
        return "blake"
    if hashed["type"] != "doubleHash":
        raise ValueError(f"hash {hashed['type']!r}")
    return "stepping" if hashed.get("prevent_singularity") else "double"


def _tokens(comparison: Json) -> Tokens:
    kind = comparison["type"]
    if kind == "ngram":
        n = int(comparison["n"])
        return Tokens(GRAMS, (n,), max(n - 1, 0), bool(comparison.get("positional")))
    if kind == "exact":
        return Tokens(WHOLE)
    if kind != "numeric":
        raise ValueError(f"comparison {kind!r}")
    distance, resolution = float(comparison["thresholdDistance"]), int(comparison["resolution"])
    return Tokens(NUMBER, number=Number(distance, resolution, int(comparison.get("fractional_precision", 0))))
