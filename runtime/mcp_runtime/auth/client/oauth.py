"""Signs a person in: authorization code with PKCE (OAuth 2.1, 4.1; 2026-07-28, basic/authorization)."""

import hashlib
import hmac
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from mcp_runtime.auth.client.authorizer import OFFLINE, Authorizer
from mcp_runtime.auth.client.discovery import Issuer
from mcp_runtime.auth.client.receiver import SIGNING_IN, Visit, receiving
from mcp_runtime.auth.client.store import Store, put
from mcp_runtime.auth.client.tokens import Registered, Rejected, Token, method_for, register, request_token
from mcp_runtime.auth.fetching import Reach, check_url
from mcp_runtime.core import sources
from mcp_runtime.core.errors import AuthorizationError

NO_RECEIVER: Final = "http://127.0.0.1/callback"
"""The redirect URI where another program takes the response."""


class OAuth(Authorizer):
    """Signs a person in, in a browser, when a server asks for it.

    Pass it to `connect_http` or `connect_sse` as ``auth``. Without a client it uses the document, or registers itself.

    Args:
        store: keeps tokens and registrations between programs, such as a `FileStore`; in memory by default.
        client: a client that the issuer has registered.
        document: the https URL of a document that describes the client, which is then its id.
        name: the name under which it registers itself.
        redirect_uri: where the response is received, if that is fixed: ``http://localhost:3000/callback``; by default
            127.0.0.1 and any free port.
        visit: shows a URL to a person and returns the URL that the issuer redirected to, instead of a browser.
        parameters: further parameters of the authorization request, as some issuers need: ``{"audience": ...}``.
        assume_pkce: whether PKCE is used even if the metadata of the issuer does not mention it.
        send_resource: whether requests name the server as the resource (RFC 8707), which Entra refuses.
        issuer_slash: whether the metadata of an issuer may spell it with or without the slash after the origin, unlike
            the server that names it, as at Google. The specification wants them to be the same.
        scopes: asked for beside those that the server names, also if there are tokens for which they were not asked.
        insecure: whether http is allowed beyond loopback, for tests.

    Raises:
        ValueError: the URL of the document is not https or has no path, or a parameter is one that the client sets.
    """

    asks_person = True

    def __init__(
        self,
        *,
        store: Store | None = None,
        client: Registered | None = None,
        document: str = "",
        name: str = "mcp-bindgen",
        redirect_uri: str = "",
        visit: Visit | None = None,
        parameters: Mapping[str, str] | None = None,
        assume_pkce: bool = False,
        send_resource: bool = True,
        issuer_slash: bool = False,
        scopes: Sequence[str] = (),
        insecure: bool = False,
    ) -> None:
        super().__init__(
            client, store, send_resource=send_resource, insecure=insecure, issuer_slash=issuer_slash, scopes=scopes
        )
        if document and not (document.startswith("https://") and urlsplit(document).path.strip("/")):
            raise ValueError(f"the URL of a client's document begins with https:// and has a path, unlike {document!r}")
        if taken := _OWN & {*(parameters or ())}:
            raise ValueError(f"parameters cannot replace {', '.join(sorted(taken))}")
        if redirect_uri:
            check_url(redirect_uri, SIGNING_IN)
        self._document = document
        self._name = name
        self._redirect_uri = redirect_uri
        self._visit = visit
        self._parameters = dict(parameters or {})
        self._assume_pkce = assume_pkce

    async def _grant(self, issuer: Issuer, blank: Token, reach: Reach) -> Token:
        if not issuer.has_pkce and not self._assume_pkce:
            problem = "its metadata does not say that it supports PKCE with S256"
            raise AuthorizationError(SIGNING_IN, issuer.name, problem, "if it does, pass OAuth(assume_pkce=True)")
        if not issuer.authorization:
            raise AuthorizationError(SIGNING_IN, issuer.name, "it has no authorization_endpoint")
        state, verifier = sources.token_urlsafe(32), sources.token_urlsafe(64)
        kept = self._kept(issuer.name)
        preferred = kept.redirect_uri if kept else ""
        listening = receiving(self._redirect_uri, preferred, state) if self._visit is None else nullcontext()
        async with listening as receiver:
            redirect_uri = receiver.redirect_uri if receiver else self._redirect_uri or preferred or NO_RECEIVER
            client = await self._client(issuer, redirect_uri, reach)
            client = replace(client, method=client.method or method_for(client.secret, issuer.methods))
            challenge = urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
            asked = {
                "response_type": "code",
                "client_id": client.id,
                "redirect_uri": redirect_uri,
                "state": state,
                "code_challenge": challenge,
                "code_challenge_method": "S256",
                **({"scope": " ".join(blank.scopes)} if blank.scopes else {}),
                **({"resource": blank.resource} if blank.resource else {}),
                # OpenID issuers give no refresh token without it (OpenID Connect Core, 11).
                **({"prompt": "consent"} if OFFLINE in blank.scopes else {}),
                **self._parameters,
            }
            joint = "&" if "?" in issuer.authorization else "?"
            visit = self._visit or (receiver.visit if receiver else None)
            assert visit is not None
            code = read_response(await visit(f"{issuer.authorization}{joint}{urlencode(asked)}"), state, issuer)
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": verifier,
        }
        try:
            return await request_token(replace(blank, client=client), form, reach)
        except Rejected as rejected:
            if rejected.code == "invalid_client":
                async with self._store.locked():
                    put(self._store, "clients", client.issuer, None)
            raise

    async def _client(self, issuer: Issuer, redirect_uri: str, reach: Reach) -> Registered:
        """Return the client to use at an issuer (2026-07-28, basic/authorization/client-registration).

        Raises:
            AuthorizationError: there is none, and the issuer registers none.
        """
        if self._given is not None:
            return self._given
        if self._document and issuer.reads_documents:
            return Registered(self._document, issuer.name)
        kept = self._kept(issuer.name)
        if kept is not None and kept.redirect_uri == redirect_uri:
            return kept
        if not issuer.registration:
            remedy = "register a client there, and pass OAuth(client=Registered(id, issuer=...))"
            raise AuthorizationError(SIGNING_IN, issuer.name, "it does not register clients by itself", remedy)
        client = await register(issuer, redirect_uri, self._name, reach)
        async with self._store.locked():
            put(self._store, "clients", client.issuer, asdict(client))
        return client


_OWN: Final = frozenset(
    "response_type client_id redirect_uri state code_challenge code_challenge_method scope resource".split()
)


def read_response(url: str, state: str, issuer: Issuer) -> str:
    """Return the code in an authorization response (RFC 6749, 4.1.2; RFC 9207, 2.4).

    Args:
        url: the URL that the issuer redirected to.
        state: what the request had.
        issuer: where the request was sent.

    Raises:
        AuthorizationError: the response belongs to another request or issuer, or is an error.
    """
    found: dict[str, list[str]] = {}
    for name, value in parse_qsl(urlsplit(url).query, keep_blank_values=True, max_num_fields=50):
        found.setdefault(name, []).append(value)

    def one(name: str) -> str | None:
        values = found.get(name, [])
        if len(values) > 1:
            raise AuthorizationError(SIGNING_IN, issuer.name, f"the response has more than one {name}")
        return values[0] if values else None

    if not hmac.compare_digest((one("state") or "").encode(), state.encode()):
        raise AuthorizationError(SIGNING_IN, issuer.name, "the response belongs to another request (state)")
    named = one("iss")
    if named is None and issuer.sends_issuer:
        raise AuthorizationError(SIGNING_IN, issuer.name, "the response does not name its issuer (iss)")
    if named is not None and named != issuer.name:
        raise AuthorizationError(SIGNING_IN, issuer.name, "the response is from another issuer (iss)")
    if (error := one("error")) is not None:
        raise Rejected(SIGNING_IN, issuer.name, error, one("error_description") or "")
    code = one("code")
    if not code:
        raise AuthorizationError(SIGNING_IN, issuer.name, "the response has no code")
    return code
