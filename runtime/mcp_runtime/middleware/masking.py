"""Mask secrets in what is shown: values under telling names, and what looks like a credential within a text."""

import re
from collections.abc import Collection
from functools import lru_cache
from typing import Any, Final

from mcp_runtime.protocol.jsonrpc import is_array, is_object

MASK: Final = "***"
SECRETS: Final = frozenset(
    (
        "access key",
        "api key",
        "apikey",
        "authorization",
        "bearer",
        "client secret",
        "cookie",
        "credential",
        "credentials",
        "jwt",
        "passphrase",
        "passwd",
        "password",
        "private key",
        "pwd",
        "secret",
        "secrets",
        "session id",
        "token",
    )
)
"""Names whose values are masked, in words: ``api key`` is in ``X-Api-Key``, ``apiKey`` and ``OPENAI_API_KEY``."""
HARMLESS: Final = frozenset(("progress token", "progresstoken"))
"""Names that are shown although they hold one of those."""

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SCHEME: Final = re.compile(r"(?i)\b(bearer|basic)\s+(?=\S{0,64}[\d=+/_.-])[\w.~+/=-]{8,}")
_USER_INFO: Final = re.compile(r"(://[^/\s:@]{1,256}:)[^/\s@]{1,256}@")
_ASSIGNED: Final = re.compile(
    r"(?i)((?:password|passwd|passphrase|secret|token|api[_-]?key|authorization)[\"']?\s{0,9}[:=]\s{0,9}[\"']?)"
    r"(?!bearer |basic )[^\s\"',;&]{1,4096}"
)


class Masker:
    """Masks secrets in JSON values and in texts.

    Args:
        secrets: names whose values are masked, in lower-case words with a space between them.
        harmless: names that are shown although they hold one of those.
    """

    def __init__(self, secrets: Collection[str] = SECRETS, harmless: Collection[str] = HARMLESS) -> None:
        self._secrets = tuple(f" {name} " for name in secrets)
        self._harmless = frozenset(harmless)
        self._is_secret = lru_cache(maxsize=4096)(self._decide)

    def mask(self, value: Any) -> Any:
        """Return a copy of a JSON value without its secrets."""
        if isinstance(value, str):
            return self.mask_text(value)
        if is_object(value):
            return {name: MASK if self.is_secret(name) else self.mask(member) for name, member in value.items()}
        if is_array(value):
            return [self.mask(item) for item in value]
        return value

    def mask_text(self, text: str) -> str:
        """Return a text without the credentials that can be told by their form."""
        text = _SCHEME.sub(rf"\1 {MASK}", text)
        if "://" in text:
            text = _USER_INFO.sub(rf"\1{MASK}@", text)
        return _ASSIGNED.sub(rf"\1{MASK}", text)

    def is_secret(self, name: str) -> bool:
        """Whether the value under a name is a secret."""
        # A peer chooses the names: long ones are not worth remembering.
        return self._is_secret(name) if len(name) <= 100 else self._decide(name[:1000])

    def _decide(self, name: str) -> bool:
        words = " ".join(word.lower() for word in _WORD.findall(name))
        return words not in self._harmless and any(secret in f" {words} " for secret in self._secrets)
