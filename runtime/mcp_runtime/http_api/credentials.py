"""Credentials of an HTTP API: from the environment, or from a header of the caller, into a request."""

import os
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from urllib.parse import quote

from mcp_runtime.app.errors import ToolFailure

Schemes = tuple[tuple[str, ...], ...]
"""Alternatives, each a set of security schemes that are needed together; an empty one needs none."""

_MASK: Final = "***"
_MIN_MASKED: Final = 4
"""The length from which a secret is masked: a shorter one would mask parts of words."""


@dataclass(frozen=True, slots=True)
class Credential:
    """Where the secret of a security scheme comes from, and where it goes.

    Attributes:
        kind: ``bearer``, ``basic``, or the place of a key: ``header``, ``query``, ``cookie``.
        env: the environment variable with the secret; for ``basic`` it is ``user:password``.
        name: the name of the header, the parameter or the cookie of a key.
    """

    kind: Literal["bearer", "basic", "header", "query", "cookie"]
    env: str
    name: str = ""


@dataclass(slots=True)
class Secrets:
    """The secrets of one request, by the place where they go.

    Attributes:
        headers: headers with secrets.
        query: pairs of the query, percent-encoded.
        cookies: pairs of the Cookie header.
        texts: all of them, as they must not be shown.
    """

    headers: dict[str, str] = field(default_factory=dict[str, str])
    query: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    cookies: list[str] = field(default_factory=list[str])
    texts: list[str] = field(default_factory=list[str])

    def add(self, credential: Credential, secret: str) -> None:
        """Add a secret to the request.

        Raises:
            ToolFailure: it cannot be sent.
        """
        if not secret.isprintable():
            raise ToolFailure(f"the secret in {credential.env or 'the header'} has a line break or a control character")
        self.texts += [secret, quote(secret, safe="")]
        match credential.kind:
            case "bearer":
                self.headers["Authorization"] = f"Bearer {secret}"
            case "basic":
                encoded = b64encode(secret.encode()).decode()
                self.headers["Authorization"] = f"Basic {encoded}"
                self.texts += [encoded, secret.partition(":")[2]]
            case "header":
                self.headers[credential.name] = secret
            case "query":
                self.query.append((quote(credential.name, safe=""), quote(secret, safe="")))
            case "cookie":
                self.cookies.append(f"{credential.name}={quote(secret, safe='')}")

    def masked(self, text: str) -> str:
        """Return a text without the secrets."""
        for secret in sorted((each for each in self.texts if len(each) >= _MIN_MASKED), key=len, reverse=True):
            text = text.replace(secret, _MASK)
        return text


def secrets_for(wanted: Schemes, known: Mapping[str, Credential]) -> Secrets:
    """Return the secrets of the first alternative that the environment has all secrets of.

    Raises:
        ToolFailure: it has all secrets of none of them; the text names the variables to set, for the operator.
    """
    found, missing = Secrets(), list[str]()
    for names in wanted:
        credentials = [known[name] for name in names if name in known]
        absent = [each.env for each in credentials if not os.environ.get(each.env)]
        if not absent and len(credentials) == len(names):
            for each in credentials:
                found.add(each, os.environ[each.env])
            return found
        missing.append(" and ".join(absent))
    if not wanted or () in wanted:
        return found
    needed = " or ".join(dict.fromkeys(filter(None, missing))) or "a security scheme that is supported"
    raise ToolFailure(f"the server has no credentials for this API; its operator has to set {needed}")


def forwarded(headers: Mapping[str, str], name: str, wanted: Schemes, known: Mapping[str, Credential]) -> Secrets:
    """Return the secret that the caller sent in a header: for the scheme of the operation, or as that header.

    Raises:
        ToolFailure: the caller sent no such header.
    """
    found = Secrets()
    value = next((text for key, text in headers.items() if key.lower() == name.lower()), "")
    if value:
        schemes: Iterable[Any] = (known[each] for names in wanted for each in names if each in known)
        found.add(next(iter(schemes), Credential("header", "", name)), value)
    elif wanted and () not in wanted:
        raise ToolFailure(f"this tool needs the header {name}, with the caller's own credentials for the API")
    return found
