"""Authenticated encryption of what a client carries: AES-256-GCM, with key rotation."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

from mcp_runtime.core import sources

_FORMAT: Final = b"\x01"
_ID: Final = 8
_NONCE: Final = 12
_HEAD: Final = len(_FORMAT) + _ID
_TAG: Final = 16


class Unsealable(Exception):
    """A text was not sealed with these keys; the reason is only for this side's log."""


class Seal:
    """Seals texts, and opens those that were sealed with one of its keys.

    The result is URL-safe: a format, the id of a key, a random nonce, and the encrypted text. Nonces of 96 bits are
    random, so one key must not seal more than 2**32 texts (NIST SP 800-38D, section 8.3).

    Args:
        keys: 32 bytes each; the first one seals.
    """

    def __init__(self, keys: Sequence[bytes]) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # It needs an extra.

        self._ciphers = {_id_of(key): AESGCM(key) for key in keys}
        self._current = _id_of(keys[0])

    def close(self, text: bytes, bound: bytes) -> str:
        """Return a text sealed so that only holders of the key can read or create it.

        Args:
            text: what is encrypted.
            bound: what the text belongs to; needed to open it.
        """
        head, nonce = _FORMAT + self._current, sources.token_bytes(_NONCE)
        sealed = self._ciphers[self._current].encrypt(nonce, text, head + bound)
        return urlsafe_b64encode(head + nonce + sealed).rstrip(b"=").decode()

    def open(self, sealed: str, bound: bytes) -> bytes:
        """Return the text that was sealed.

        Raises:
            Unsealable: it was not sealed with one of the keys, belongs to something else, or was altered.
        """
        from cryptography.exceptions import InvalidTag

        data = _decoded(sealed)
        head, nonce, text = data[:_HEAD], data[_HEAD : _HEAD + _NONCE], data[_HEAD + _NONCE :]
        if len(text) < _TAG or not head.startswith(_FORMAT):
            raise Unsealable("not a sealed state")
        cipher = self._ciphers.get(head[len(_FORMAT) :])
        if cipher is None:
            raise Unsealable("sealed with an unknown key; all processes need the same InputState(keys=...)")
        try:
            return cipher.decrypt(nonce, text, head + bound)
        except InvalidTag:
            raise Unsealable("altered, or belongs to another request") from None


def _id_of(key: bytes) -> bytes:
    return blake2b(key, digest_size=_ID, person=b"mcp sealed state").digest()


def _decoded(sealed: str) -> bytes:
    try:
        data = urlsafe_b64decode(sealed + "=" * (-len(sealed) % 4))
    except ValueError:
        raise Unsealable("not a sealed state") from None
    # Several encodings decode to the same bytes; only one of them is ours.
    if urlsafe_b64encode(data).rstrip(b"=") != sealed.encode("utf-8", "replace"):
        raise Unsealable("not a sealed state")
    return data
