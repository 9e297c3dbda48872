"""An authorization server for tests, in the same process: ``async with testing.Issuer() as issuer``."""

import asyncio
import base64
import hashlib
import json
from collections.abc import Iterable
from typing import Any, Final, Self
from urllib.parse import parse_qsl, unquote_plus, urlencode, urlsplit

from mcp_runtime.core import sources

MAX_HEAD: Final = 64 << 10
_ALGORITHM: Final = "ES256"


class Issuer:
    """Issues tokens to every client and person that asks. It listens on 127.0.0.1. Needs ``mcp-bindings[http,auth]``.

    Servers trust it by its URL: ``Bearer(..., issuer=issuer.url)``. Clients sign in without a browser:
    ``OAuth(visit=issuer.visit)``. What it answers wrongly on purpose is set in its attributes.

    Args:
        subject: the person that signs in.
        scopes: the scopes to grant; by default those that are requested.
        lifetime: seconds for which a token is valid.

    Attributes:
        url: its identifier.
        metadata: what it says about itself; tests may change it.
        subject: the person that signs in.
        lifetime: seconds for which a token is valid.
        requests: what it was asked, in order: the path and the parameters.
        error: an error code that it answers authorization requests with; empty to grant them.
        token_error: an error code that it answers token requests with.
        token_answer: what it answers token requests with instead of a token.
        refresh_tokens: the refresh tokens that are valid; tests may clear them.
        rotates: whether each refresh replaces the refresh token.
    """

    def __init__(self, *, subject: str = "ada", scopes: Iterable[str] | None = None, lifetime: float = 3600) -> None:
        from joserfc.jwk import ECKey

        self.url = ""
        self.metadata: dict[str, Any] = {}
        self.subject = subject
        self.lifetime = lifetime
        self.error = self.token_error = ""
        self.token_answer: Any = None
        self.rotates = True
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.refresh_tokens: dict[str, dict[str, str]] = {}
        self._scopes = None if scopes is None else frozenset(scopes)
        self._codes: dict[str, dict[str, str]] = {}
        self._key = ECKey.generate_key("P-256", {"use": "sig", "kid": "test"})

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=MAX_HEAD)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        self.metadata = {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "registration_endpoint": f"{self.url}/register",
            "revocation_endpoint": f"{self.url}/revoke",
            "jwks_uri": f"{self.url}/keys",
            "code_challenge_methods_supported": ["S256"],
            "response_types_supported": ["code"],
            "authorization_response_iss_parameter_supported": True,
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic", "private_key_jwt"],
        }
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    def token(self, scopes: Iterable[str] = (), *, audience: str, **claims: Any) -> str:
        """Return an access token.

        Args:
            scopes: what it allows.
            audience: the server that it is for.
            claims: further claims, or others in place of the usual ones; None leaves one out.
        """
        from joserfc import jwt

        now = sources.wall()
        usual = {"iss": self.url, "sub": self.subject, "aud": audience, "client_id": "test", "scope": " ".join(scopes)}
        times = {"iat": int(now), "exp": now + self.lifetime, "jti": sources.token_hex(8)}
        found = {name: value for name, value in {**usual, **times, **claims}.items() if value is not None}
        header = {"alg": _ALGORITHM, "kid": "test", "typ": "at+jwt"}
        return jwt.encode(header, found, self._key, algorithms=[_ALGORITHM])

    async def visit(self, url: str) -> str:
        """Sign in as the person, and return where the issuer redirects to; for ``OAuth(visit=...)``.

        Args:
            url: the authorization request.
        """
        asked = dict(parse_qsl(urlsplit(url).query))
        self.requests.append(("/authorize", asked))
        answer = {"state": asked["state"], "iss": self.metadata["issuer"]}
        if self.error:
            answer["error"] = self.error
        else:
            answer["code"] = sources.token_urlsafe(16)
            self._codes[answer["code"]] = asked
        return f"{asked['redirect_uri']}?{urlencode(answer)}"

    def count(self, path: str, **parameters: str) -> int:
        """Return how many requests to a path had these parameters.

        Args:
            path: the path: ``/token``.
            parameters: some of their parameters.
        """
        return sum(where == path and parameters.items() <= asked.items() for where, asked in self.requests)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            target, *lines = head.split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            status, answer, location = await self._answer(target.split(" ")[1], headers, body)
            text = json.dumps(answer).encode()
            more = f"location: {location}\r\n" if location else ""
            writer.write(f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{more}".encode())
            writer.write(f"content-length: {len(text)}\r\nconnection: close\r\n\r\n".encode() + text)
            await writer.drain()
        finally:
            writer.close()

    async def _answer(self, target: str, headers: dict[str, str], body: bytes) -> tuple[int, Any, str]:
        path = urlsplit(target).path
        if path == "/.well-known/oauth-authorization-server":
            return 200, self.metadata, ""
        if path == "/keys":
            return 200, {"keys": [self._key.as_dict(private=False)]}, ""
        if path == "/authorize":
            return 302, {}, await self.visit(self.url + target)
        if path == "/register":
            asked = json.loads(body)
            self.requests.append((path, asked))
            return 201, {**asked, "client_id": sources.token_hex(8)}, ""
        form = dict(parse_qsl(body.decode()))
        scheme, _, pair = headers.get("authorization", "").partition(" ")
        if scheme == "Basic":
            id_, _, secret = base64.b64decode(pair).decode().partition(":")
            form |= {"client_id": unquote_plus(id_), "client_secret": unquote_plus(secret)}
        self.requests.append((path, form))
        if path == "/revoke":
            self.refresh_tokens.pop(form.get("token", ""), None)
            return 200, {}, ""
        if path != "/token":
            return 404, {}, ""
        if self.token_error or self.token_answer is not None:
            return (400, {"error": self.token_error}, "") if self.token_error else (200, self.token_answer, "")
        granted = self._granted(form)
        return (200, self._issued(granted), "") if granted is not None else (400, {"error": "invalid_grant"}, "")

    def _granted(self, form: dict[str, str]) -> dict[str, str] | None:
        """Return what a grant allows; None if it is not valid."""
        match form.get("grant_type"):
            case "authorization_code":
                asked = self._codes.pop(form.get("code", ""), {})
                digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
                challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
                same = all(form.get(name) == asked.get(name) for name in ("redirect_uri", "client_id", "resource"))
                return asked if asked and same and asked.get("code_challenge") == challenge else None
            case "refresh_token":
                used = form.get("refresh_token", "")
                asked = self.refresh_tokens.pop(used, {}) if self.rotates else self.refresh_tokens.get(used, {})
                return asked if asked and form.get("client_id") == asked["client_id"] else None
            case "client_credentials" | "urn:ietf:params:oauth:grant-type:jwt-bearer":
                return {**form, "is_machine": "true"}
            case _:
                return None

    def _issued(self, granted: dict[str, str]) -> dict[str, Any]:
        asked = granted.get("scope", "").split()
        scopes = [each for each in asked if self._scopes is None or each in self._scopes]
        audience, client = granted.get("resource", ""), granted.get("client_id", "test")
        access = self.token(scopes, audience=audience, client_id=client)
        issued = {
            "access_token": access,
            "token_type": "Bearer",
            "expires_in": self.lifetime,
            "scope": " ".join(scopes),
        }
        if "is_machine" not in granted and (self.rotates or not self.refresh_tokens):
            issued["refresh_token"] = refresh = sources.token_urlsafe(16)
            self.refresh_tokens[refresh] = granted
        return issued
