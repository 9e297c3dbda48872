"""Masks secrets in displayed messages: values with telltale names, and credentials within text."""

import re
from base64 import b64decode
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Any, Final

from mcp_runtime.core.json.values import is_array, is_object

__all__ = ["Masker"]

MASK: Final = "***"
SECRETS: Final = frozenset(
    (
        "access key",
        "api key",
        "auth",
        "authorization",
        "bearer",
        "client secret",
        "connection string",
        "cookie",
        "credential",
        "db pass",
        "dsn",
        "jwt",
        "otp",
        "pass",
        "passcode",
        "passphrase",
        "passwd",
        "password",
        "pat",
        "pin",
        "private key",
        "pwd",
        "secret",
        "sess id",
        "session id",
        "signing key",
        "sid",
        "sig",
        "signature",
        "ssh key",
        "token",
        "user pass",
    )
)
"""Names whose values are masked, as words: ``api key`` matches ``X-Api-Key``, ``openaiApiKeys`` and ``myapikey``."""
HARMLESS: Final = frozenset(
    (
        "auth method",
        "auth scheme",
        "auth type",
        "completion token",
        "input token",
        "max token",
        "output token",
        "progress token",
        "prompt token",
        "token count",
        "token limit",
        "total token",
    )
)
"""Names that are shown although they contain one of those: progress tokens, numbers of tokens, kinds of login."""

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_MIN_JOINED: Final = 5
"""The minimum length of a secret name for it to be matched at the end of a word."""
_MAX_NAME: Final = 100

_ASSIGNED: Final = re.compile(r"(?<![\w.-])([\w.-]{2,100})\\?[\"']?\s{0,9}[:=]\s{0,9}\\?[\"']?")
"""A name, and what separates it from its value."""
_OPTION: Final = re.compile(r"(?<!\S)(--?[\w-]{2,100})\s{1,9}[\"']?(?!-)")
"""The same for a command-line option."""
_VALUE: Final = re.compile(
    r"(?!(?i:basic|bearer|digest|token)\s)(?:(?<=\")[^\"\\\r\n]{1,4096}|(?<=')[^'\\\r\n]{1,4096}|[^\s\"',;&\\]{1,4096})"
)
"""A value: in quotes to the end of the quotes, otherwise one word."""
_HEADER: Final = re.compile(
    r"(?i)\b((?:proxy-)?authorization|(?:set-)?cookie)(\\?[\"']?\s{0,9}[:=]\s{0,9}\\?[\"']?)"
    r"((?:basic|bearer|digest|token)\s{1,9})?[^\"'\\\r\n]{1,8192}"
)
"""A header whose value extends to the end of its line."""
_BEARER: Final = re.compile(r"(?i)\b(bearer\s{1,9})(?=\S{0,64}[\d=+/_.-]|\S{20})[\w.~+/=-]{8,8192}")
_BASIC: Final = re.compile(r"(?i)\b(basic\s{1,9})([A-Za-z0-9+/]{4,1024}={0,2})(?![\w+/=])")
_USER_INFO: Final = re.compile(r"(://[^/\s:@\[]{0,256}:)(?!\d{1,5}[/?#])[^\s@\"'<>]{1,256}@")
"""A user and a password, which may contain slashes; a port before a path is none."""
_PRIVATE_KEY: Final = re.compile(
    r"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,6}-----)(?:(?!-----END)[\s\S]){1,16384}"
)
WELL_KNOWN: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"eyJ[\w-]{6,2048}\.[\w-]{2,4096}\.[\w-]{0,2048}"  # JSON Web Token
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}"  # Amazon
    r"|AIza[\w-]{35}|ya29\.[\w-]{20,512}|GOCSPX-[\w-]{20,64}"  # Google
    r"|gh[opsur]_[A-Za-z0-9]{20,255}|github_pat_\w{20,255}|glpat-[\w-]{20,255}"  # GitHub, GitLab
    r"|xox[abeoprs]-[\w-]{10,255}"  # Slack
    r"|sk-[\w-]{16,255}|[rs]k_(?:live|test)_[A-Za-z0-9]{10,255}"  # OpenAI, Anthropic, Stripe
    r"|SG\.[\w-]{16,64}\.[\w-]{16,64}|hf_[A-Za-z0-9]{20,64}|npm_[A-Za-z0-9]{30,64}|pypi-[\w-]{50,512}"
    r"|do[opr]_v1_[a-f0-9]{64}|AGE-SECRET-KEY-1[A-Z0-9]{50,80}"
    r")(?![A-Za-z0-9])"
)
"""Credentials with a recognizable format, as documented by their issuers."""


class Masker:
    """Masks secrets in JSON values and in text.

    Args:
        secrets: names whose values are masked: lower-case words separated by spaces, in the singular.
        harmless: names that are shown although they contain one of those, in the same form.
    """

    def __init__(self, secrets: Collection[str] = SECRETS, harmless: Collection[str] = HARMLESS) -> None:
        self._secrets = tuple(f" {name} " for name in secrets)
        self._joined = tuple(name for name in (n.replace(" ", "") for n in secrets) if len(name) >= _MIN_JOINED)
        self._harmless = tuple(f" {name} " for name in harmless)
        self._harmless_joined = tuple(name.replace(" ", "") for name in harmless)
        self._is_secret = lru_cache(maxsize=4096)(self._decide)

    def mask(self, value: Any) -> Any:
        """Return a copy of a JSON value with its secrets masked.

        Args:
            value: a JSON value.
        """
        if isinstance(value, str):
            return self.mask_text(value)
        if is_object(value):
            named = _name_of(value)
            hidden = "value" if named is not None and self.is_secret(named) else None
            return {
                name: MASK if name == hidden or self.is_secret(name) else self.mask(member)
                for name, member in value.items()
            }
        if is_array(value):
            return list(self._items(value))
        return value

    def mask_text(self, text: str) -> str:
        """Return a text with its credentials masked, as far as their format or the name before them identifies them.

        Args:
            text: the text.
        """
        text = _PRIVATE_KEY.sub(rf"\1{MASK}", text)
        text = _HEADER.sub(rf"\1\2\3{MASK}", text)
        text = _BEARER.sub(rf"\1{MASK}", text)
        text = _BASIC.sub(_without_password, text)
        if "://" in text:
            text = _USER_INFO.sub(rf"\1{MASK}@", text)
        text = WELL_KNOWN.sub(MASK, text)
        return self._without_values(_ASSIGNED, self._without_values(_OPTION, text))

    def is_secret(self, name: str) -> bool:
        """Whether the value under a name is a secret.

        Args:
            name: the name of a property, variable, header or option.
        """
        # The peer chooses the names: long ones are not worth caching.
        return self._is_secret(name) if len(name) <= _MAX_NAME else self._decide(name[:1000])

    def _items(self, items: list[Any]) -> Iterator[Any]:
        """Mask the items of an array; one may be the value of the option or header before it."""
        before: Any = None
        for item in items:
            is_value = isinstance(before, str) and isinstance(item, str) and len(before) <= _MAX_NAME
            is_option = is_value and before.startswith("-") and "=" not in before and not item.startswith("-")
            is_header = is_value and len(items) == 2 and not item.isidentifier()
            yield MASK if (is_option or is_header) and self.is_secret(before) else self.mask(item)
            before = item

    def _without_values(self, names: re.Pattern[str], text: str) -> str:
        """Mask what follows the names of secrets in a text."""
        shown: list[str] = []
        end = 0
        for match in names.finditer(text):
            value = _VALUE.match(text, match.end()) if match.start() >= end and self.is_secret(match[1]) else None
            if value is not None:
                shown += (text[end : value.start()], MASK)
                end = value.end()
        return "".join((*shown, text[end:]))

    def _decide(self, name: str) -> bool:
        words = [_singular(word.lower()) for word in _WORD.findall(name)]
        spelled = f" {' '.join(words)} "
        if any(harmless in spelled for harmless in self._harmless) or spelled.strip().endswith(self._harmless_joined):
            return False
        return any(secret in spelled for secret in self._secrets) or any(w.endswith(self._joined) for w in words)


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _name_of(pair: dict[str, Any]) -> str | None:
    """Return the name of a name/value pair, as lists of headers and variables contain them."""
    names = [pair.get(name) for name in ("name", "key", "header")] if "value" in pair else []
    return next((name for name in names if isinstance(name, str)), None)


def _without_password(match: re.Match[str]) -> str:
    """Mask Basic credentials: only those decode to a name and a password."""
    try:
        decoded = b64decode(match[2] + "=" * (-len(match[2]) % 4))
    except ValueError:
        return match[0]
    return f"{match[1]}{MASK}" if b":" in decoded else match[0]
