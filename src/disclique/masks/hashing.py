"""From a token to positions in a Bloom filter: the hash functions of published encodings, with a key or without one.

Each takes a token, its keys (none: everybody can compute it), how many positions it sets and the length of the filter.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

KEY_BYTES = 32
BLAKE_LENGTH = 1 << 16  # a position is read from 16 bits
BLAKE_KEY = 64  # bytes that BLAKE2b takes at the most
NO_KEYS: tuple[bytes, ...] = ()
Hash = Callable[[bytes, Sequence[bytes], int, int], list[int]]


def derive(key: bytes, purpose: str) -> bytes:
    """Return the part of a secret key, however long it is, that serves one purpose."""
    secret = key if len(key) <= BLAKE_KEY else hashlib.blake2b(key).digest()
    return hashlib.blake2b(purpose.encode(), key=secret, digest_size=KEY_BYTES).digest()


def chance_of(key: bytes, purpose: str) -> np.random.Generator:
    """Return chance that follows from a secret key: what both owners of the key draw alike."""
    return np.random.default_rng(int.from_bytes(derive(key, purpose), "big"))


def _digest(token: bytes, keys: Sequence[bytes], place: int, kind: str) -> bytes:
    return hmac.digest(keys[place], token, kind) if keys else hashlib.new(kind, token, usedforsecurity=False).digest()


def double_hash(token: bytes, keys: Sequence[bytes], bits: int, length: int) -> list[int]:
    """Return the positions of one gram by two hashes: h1 + i·h2 of SHA-1 and MD5, as in clkhash's ``doubleHash``."""
    first = int.from_bytes(_digest(token, keys, 0, "sha1"), "big") % length
    step = int.from_bytes(_digest(token, keys, 1, "md5"), "big") % length
    return [(first + i * step) % length for i in range(bits)]


def stepping_hash(token: bytes, keys: Sequence[bytes], bits: int, length: int) -> list[int]:
    """Return the same where no step is zero: MD5 is asked again then, as with clkhash's ``prevent_singularity``."""
    first = int.from_bytes(_digest(token, keys, 0, "sha1"), "big") % length
    step, again = int.from_bytes(_digest(token, keys, 1, "md5"), "big") % length, 0
    while step == 0 and length > 1:
        step = int.from_bytes(_digest(token + chr(again).encode(), keys, 1, "md5"), "big") % length
        again += 1
    return [(first + i * step) % length for i in range(bits)]


def blake_hash(token: bytes, keys: Sequence[bytes], bits: int, length: int) -> list[int]:
    """Return the positions of one gram by independent pieces of keyed BLAKE2b, as in clkhash's ``blakeHash``."""
    key = keys[0] if keys else b""
    digests = (hashlib.blake2b(token, key=key, salt=str(i).encode()).digest() for i in range((bits + 31) // 32))
    return [int(piece) % length for piece in np.frombuffer(b"".join(digests), dtype="<u2")[:bits]]


def last_bytes_hash(token: bytes, keys: Sequence[bytes], bits: int, length: int) -> list[int]:
    """Return h1 + i·h2 of the last bytes of MD5 and SHA-1, as many as the length needs: Mainzelliste's.

    There each byte is signed and 128 is added, which turns its highest bit round.
    """
    count = max((length - 1).bit_length() + 7, 8) // 8
    turned = [bytes(byte ^ 0x80 for byte in _digest(token, keys, k, kind)[-count:]) for k, kind in enumerate(_TWO)]
    first, step = (int.from_bytes(one, "big") for one in turned)
    return [(first + i * step) % length for i in range(bits)]


_TWO = ("md5", "sha1")


def counted_hash(token: bytes, keys: Sequence[bytes], bits: int, length: int) -> list[int]:
    """Return SHA-256 of the token, a number and a salt, for each number: that of the ONS' pprl_toolkit."""
    salt = keys[0].hex().encode() if keys else b""
    digests = (hashlib.sha256(token + str(i).encode() + salt).digest() for i in range(bits))
    return [int.from_bytes(one, "little") % length for one in digests]


HASHES: dict[str, Hash] = {
    "double": double_hash,
    "blake": blake_hash,
    "stepping": stepping_hash,
    "last-bytes": last_bytes_hash,
    "sha256": counted_hash,
}
BLOOM_HASHES = ("double", "blake")


@dataclass(frozen=True)
class Derivation:
    """HKDF (RFC 5869): from one secret to two keys for each of several fields, as clkhash derives them."""

    hash: str = "sha256"
    salt: bytes = b""
    info: bytes = b""
    size: int = 64

    def keys(self, secret: bytes, fields: int) -> list[tuple[bytes, bytes]]:
        """Return the pair of keys of every field.

        >>> [len(key) for key in Derivation(size=20).keys(b"secret", 2)[1]]
        [20, 20]
        """
        width = hashlib.new(self.hash).digest_size
        first = hmac.digest(self.salt or bytes(width), secret, self.hash)
        found, block, needed = b"", b"", 2 * fields * self.size
        for number in range(1, -(-needed // width) + 1):
            block = hmac.digest(first, block + self.info + bytes([number]), self.hash)
            found += block
        parts = [found[k * self.size : (k + 1) * self.size] for k in range(2 * fields)]
        return list(zip(parts[::2], parts[1::2], strict=True))
