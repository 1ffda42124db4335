"""Codes that need no secret: how tokens become positions where there is no key, or one that anybody would try."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from disclique.attacks.leaks.lists import KEYS, PAIRS
from disclique.masks.hashing import HASHES, NO_KEYS, Derivation, derive
from disclique.masks.tokens import FORMS, WORDS, Tokens
from disclique.messages import Message, mark

SALTED = "sha256-salted"  # of a token, a number and a salt, one behind the other
HASH_NAMES = {
    "double": mark("hash_double"),
    "blake": mark("hash_blake"),
    "last-bytes": mark("hash_last_bytes"),
    SALTED: mark("hash_sha256"),
}


@dataclass(frozen=True)
class Code:
    """One way from a text to positions in a filter: how it is written and cut, which hash, and under which keys.

    ``secret`` is the key as somebody would type it, None where there is none.
    """

    hash: str
    form: str
    tokens: Tokens
    keys: tuple[bytes, ...] = NO_KEYS
    secret: str | None = None
    salt: str = field(default="")

    def split(self, text: str) -> tuple[str, ...]:
        """Return the tokens of a text, each once."""
        return tuple(dict.fromkeys(self.tokens.split(FORMS[self.form](text))))

    def places(self, token: str, bits: int, length: int) -> list[int]:
        """Return the positions that a token sets."""
        if self.hash == SALTED:
            return counted_sha256(token.encode(), self.salt.encode(), bits, length)
        return HASHES[self.hash](token.encode(), self.keys, bits, length)

    @property
    def message(self) -> Message:
        """The code in words."""
        return Message(HASH_NAMES[self.hash])


def counted_sha256(token: bytes, salt: bytes, bits: int, length: int) -> list[int]:
    """Return SHA-256 of token, number and salt for each number, as the ONS' pprl_toolkit has it.

    >>> counted_sha256(b"a", b"", 2, 1024)
    [334, 1013]
    """
    return [
        int.from_bytes(hashlib.sha256(token + str(number).encode() + salt).digest(), "little") % length
        for number in range(bits)
    ]


_CUTS = (Tokens(pad=1), Tokens(pad=0), Tokens(WORDS, (2, 3)))
_WRITTEN = ("mainzelliste", "lower")
FIELDS = 4  # for which keys are derived from one secret
# clkhash's default, and the salt of the schema in its manual, which others have taken over
_EXAMPLE = "SCbL2zHNnmsckfzchsNkZY9XoHk96P/G5nUBrM7ybymlEFsMV6PAeDZCNp3rfNUPCtLDMOGQHG4pCQpfhiHCyA=="
_DERIVED = (Derivation(), Derivation(salt=base64.b64decode(_EXAMPLE), info=b"schema_example"))


def list_codes(length: int) -> Iterator[Code]:
    """Return the codes that are tried on filters of a length, those without a key first.

    Keys are tried as they are, by HKDF for each of some fields as clkhash has it, and as masks here derive them.
    """
    power = length & (length - 1) == 0 and length <= 1 << 16
    keyed = ("double", *(("blake",) if power else ()))
    for form in _WRITTEN:
        yield from (Code(name, form, cut) for cut in _CUTS for name in (*keyed, "last-bytes", SALTED))
    for secret, raw, derived in list_keys():
        for form in _WRITTEN:
            yield from (Code(name, form, cut, raw, secret) for cut in _CUTS[:2] for name in keyed)
            yield from (Code(name, form, _CUTS[0], pair, secret) for pair in derived for name in keyed)
            yield Code(SALTED, form, _CUTS[2], NO_KEYS, secret, secret)


@lru_cache(maxsize=1)
def list_keys() -> tuple[tuple[str, tuple[bytes, bytes], tuple[tuple[bytes, bytes], ...]], ...]:
    """Return keys that anybody would try, each as it is and as it is derived."""
    found: list[tuple[str, tuple[bytes, bytes], tuple[tuple[bytes, bytes], ...]]] = []
    for secret in ("", *KEYS):
        raw = secret.encode()
        derived = [pair for how in _DERIVED for pair in how.keys(raw, FIELDS)]
        own = [(derive(raw, "first"), derive(raw, "second"))] if raw else []
        found.append((secret, (raw, raw), (*derived, *own)))
    found += [(f"{one}, {other}", (one.encode(), other.encode()), ()) for one, other in PAIRS]
    return tuple(found)


def common_tokens(code: Code, values: Sequence[str], most: int) -> list[tuple[str, float]]:
    """Return the tokens that most of some texts have, with the share that has them."""
    counts: dict[str, int] = {}
    for value in values:
        for token in code.split(value):
            counts[token] = counts.get(token, 0) + 1
    ranked = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return [(token, count / len(values)) for token, count in ranked[:most]]
