"""Tokens and clients: what is stored of them, and the requests that issuers answer with them (OAuth 2.1, 3 and 4)."""

import base64
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, TypeVar
from urllib.parse import quote_plus, urlencode

from mcp_runtime.auth.client.discovery import Issuer
from mcp_runtime.auth.fetching import Reach, fetch
from mcp_runtime.core import sources
from mcp_runtime.core.errors import AuthorizationError, clipped

REQUESTING: Final = "requesting a token"
REGISTERING: Final = "registering a client"
EARLY: Final = 30.0
"""Seconds before its expiry at which a token is replaced, or a tenth of its lifetime if that is less."""

_SENT: Final = re.compile(r"[\x21-\x7e]{1,16384}")
_FORM: Final = {"content-type": "application/x-www-form-urlencoded"}

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Registered:
    """A client that an issuer has registered.

    Attributes:
        id: its id.
        issuer: the identifier of the issuer; it is used with no other one.
        secret: its secret; empty for a public client.
        method: how it authenticates: ``client_secret_basic``, ``client_secret_post`` or ``none``; empty for what the
            issuer supports.
        redirect_uri: where it may be redirected to, if only one URL is registered.
    """

    id: str
    issuer: str
    secret: str = field(default="", repr=False)
    method: str = ""
    redirect_uri: str = ""


@dataclass(frozen=True, slots=True)
class Token:
    """What is stored about the authorization for one server.

    Attributes:
        issuer: the identifier of its issuer.
        resource: what it is for; empty if that is not sent.
        endpoint: where it is refreshed.
        client: the client that it was issued to.
        scopes: the scopes that have been requested.
        private: whether private addresses may be reached to refresh it.
        access: the access token; empty if it is no longer valid.
        refresh: the refresh token; may be empty.
        expires: when the access token must be replaced, as a Unix time; None if unknown.
        revocation: where it is revoked; may be empty.
    """

    issuer: str
    resource: str
    endpoint: str
    client: Registered
    scopes: tuple[str, ...] = ()
    private: bool = False
    access: str = field(default="", repr=False)
    refresh: str = field(default="", repr=False)
    expires: float | None = None
    revocation: str = ""

    @property
    def is_usable(self) -> bool:
        """Whether the access token may still be accepted."""
        return bool(self.access) and (self.expires is None or sources.wall() < self.expires)


def read_record(type_: Callable[..., T], stored: object) -> T | None:
    """Return a stored `Registered` or `Token`; None if it is missing, or damaged."""
    try:
        known = {each.name for each in fields(type_)}  # type: ignore[arg-type]
        values: dict[str, Any] = {name: value for name, value in dict[str, Any](stored).items() if name in known}  # type: ignore[call-overload]
        if type_ is Token:
            values |= {"client": Registered(**values["client"]), "scopes": tuple(values.get("scopes", ()))}
        return type_(**values)
    except (TypeError, ValueError, KeyError):
        return None


class Rejected(AuthorizationError):
    """An issuer answered with an error of OAuth.

    Attributes:
        code: the error code: ``invalid_grant``.
    """

    def __init__(self, step: str, url: str, code: str, said: str) -> None:
        super().__init__(
            step, url, f"the issuer answered {clipped(code, 100)}{f': {clipped(said, 200)}' if said else ''}"
        )
        self.code = code


async def request_token(token: Token, form: Mapping[str, str], reach: Reach) -> Token:
    """Request an access token, and return a token with the answer.

    Args:
        token: what is known of it before: its issuer, endpoint, client and resource.
        form: the grant.
        reach: which URLs may be fetched.

    Raises:
        Rejected: the issuer refuses the grant.
        AuthorizationError: there is no valid answer.
    """
    asked = {**form, **({"resource": token.resource} if token.resource else {})}
    found = await post_form(token.endpoint, REQUESTING, asked, token.client, reach)
    access, refresh, kind, lifetime = map(found.get, ("access_token", "refresh_token", "token_type", "expires_in"))
    if not isinstance(access, str) or not _SENT.fullmatch(access):
        raise AuthorizationError(REQUESTING, token.endpoint, "the answer has no access token")
    if not isinstance(kind, str) or kind.lower() != "bearer":
        raise AuthorizationError(REQUESTING, token.endpoint, "the token is not a bearer token")
    seconds = _seconds(lifetime)
    expires = None if seconds is None else sources.wall() + seconds - min(EARLY, seconds / 10)
    kept = refresh if isinstance(refresh, str) and _SENT.fullmatch(refresh) else token.refresh
    return replace(token, access=access, refresh=kept, expires=expires)


def _seconds(value: object) -> float | None:
    """Return a lifetime, which some issuers write as text."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 12:
        return float(value)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if 0 <= value < 1e12 else None


async def post_form(url: str, step: str, form: Mapping[str, str], client: Registered, reach: Reach) -> dict[str, Any]:
    """Post a form to an endpoint at which a client authenticates; return the object that it answers.

    Raises:
        Rejected: the endpoint answered with an error of OAuth.
        AuthorizationError: there is no valid answer.
    """
    headers, sent = dict(_FORM), {**form}
    match client.method or method_for(client.secret, ()):
        case "client_secret_basic":
            # Both are encoded first, or a colon would end the id (RFC 6749, 2.3.1).
            pair = f"{quote_plus(client.id)}:{quote_plus(client.secret)}"
            headers["authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        case "client_secret_post":
            sent |= {"client_id": client.id, "client_secret": client.secret}
        case _:
            sent["client_id"] = client.id
    answer = await fetch(url, step, reach, method="POST", content=urlencode(sent).encode(), headers=headers)
    found = answer.json()
    if answer.status != 200:
        code, said = found.get("error"), found.get("error_description")
        if isinstance(code, str) and not answer.is_temporary:
            raise Rejected(step, url, code, said if isinstance(said, str) else "")
        raise AuthorizationError(step, url, f"the answer is {answer.status}")
    return found


def method_for(secret: str, methods: tuple[str, ...]) -> str:
    """Return how a client authenticates to an issuer that supports some methods, or does not say which."""
    if not secret:
        return "none"
    return "client_secret_basic" if not methods or "client_secret_basic" in methods else "client_secret_post"


async def register(issuer: Issuer, redirect_uri: str, name: str, reach: Reach) -> Registered:
    """Register a client (RFC 7591). It names no scopes: an issuer would then refuse to grant others later.

    Raises:
        AuthorizationError: the issuer refuses, or there is no valid answer.
    """
    wanted = next(
        (each for each in ("none", "client_secret_basic", "client_secret_post") if each in issuer.methods), "none"
    )
    asked = {
        "client_name": name,
        "application_type": "native",
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": wanted,
    }
    url, headers = issuer.registration, {"content-type": "application/json"}
    answer = await fetch(url, REGISTERING, reach, method="POST", content=json.dumps(asked).encode(), headers=headers)
    found = answer.json()
    id_, secret, method = map(found.get, ("client_id", "client_secret", "token_endpoint_auth_method"))
    if answer.status not in (200, 201) or not isinstance(id_, str) or not id_:
        said = " ".join(each for name in ("error", "error_description") if isinstance(each := found.get(name), str))
        problem = f"the answer is {answer.status}{f': {clipped(said, 200)}' if said else ' without a client'}"
        raise AuthorizationError(REGISTERING, url, problem, "pass OAuth(client=Registered(...))")
    secret = secret if isinstance(secret, str) else ""
    known = method if method in ("none", "client_secret_basic", "client_secret_post") else ""
    return Registered(id_, issuer.name, secret, known or method_for(secret, issuer.methods), redirect_uri)
