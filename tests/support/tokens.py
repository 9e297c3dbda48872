"""An issuer of access tokens: real keys, and an authorization server on loopback that publishes them."""

import asyncio
import json
import time
from base64 import urlsafe_b64encode
from typing import Any
from urllib.parse import parse_qs

from joserfc import jwt
from joserfc.jwk import ECKey, Key, OKPKey, RSAKey

from mcp_runtime.auth import Bearer

RESOURCE = "https://mcp.example.com/mcp"
ISSUER = "https://login.example.com"


def ec_key(kid: str = "one") -> ECKey:
    """Make a key for ES256."""
    return ECKey.generate_key("P-256", {"kid": kid})


def okp_key(kid: str = "one") -> OKPKey:
    """Make a key for EdDSA."""
    return OKPKey.generate_key("Ed25519", {"kid": kid})


def rsa_key(kid: str = "one") -> RSAKey:
    """Make a key for RS256."""
    return RSAKey.generate_key(2048, {"kid": kid})


def jwks(*keys: Key) -> dict[str, Any]:
    """Return the public halves of keys as a JWK set."""
    return {"keys": [key.as_dict(private=False) for key in keys]}


def claims(**changed: Any) -> dict[str, Any]:
    """Return the claims of a valid token; None removes one."""
    now = int(time.time())
    said = {"iss": ISSUER, "aud": RESOURCE, "sub": "ada", "client_id": "app", "iat": now, "exp": now + 300} | changed
    return {name: value for name, value in said.items() if value is not None}


def signed(key: Key, said: dict[str, Any] | None = None, alg: str = "ES256", **header: Any) -> str:
    """Sign a token; None removes a header."""
    full = {"alg": alg, "kid": key.kid, "typ": "at+jwt", **header}
    kept = {name: value for name, value in full.items() if value is not None}
    found = jwt.encode(kept, claims() if said is None else said, key, algorithms=[alg], default_type=None)
    return str(found)


def segment(value: Any) -> str:
    """Encode a part of a hand-made token."""
    return urlsafe_b64encode(value if isinstance(value, bytes) else json.dumps(value).encode()).decode().rstrip("=")


class Login:
    """An authorization server: its metadata, its keys, and what it says of opaque tokens.

    Attributes:
        url: its issuer.
        keys: the keys that it publishes.
        said: what introspection says of a token.
        paths: the paths that were requested, in order.
        metadata: changes of the metadata.
        is_down: whether it answers 503.
        is_quick: set while introspection answers.
        waiting: the tokens about which it is being asked.
    """

    def __init__(self) -> None:
        self.url = ""
        self.keys: list[Key] = []
        self.said: dict[str, dict[str, Any]] = {}
        self.paths: list[str] = []
        self.metadata: dict[str, Any] = {}
        self.credentials: list[str] = []
        self.is_down = False
        self.is_quick = asyncio.Event()
        self.is_quick.set()
        self.waiting: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            raise RuntimeError
        self.paths.append(scope["path"])
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        await asyncio.sleep(0)
        answer: Any = None
        match scope["path"]:
            case "/.well-known/oauth-authorization-server":
                answer = {"issuer": self.url, "jwks_uri": f"{self.url}/jwks", "token_endpoint": f"{self.url}/token"}
                answer |= {"introspection_endpoint": f"{self.url}/introspect", **self.metadata}
            case "/jwks":
                answer = jwks(*self.keys)
            case "/introspect":
                self.credentials += [v.decode() for name, v in scope["headers"] if name == b"authorization"]
                (token,) = parse_qs(body.decode())["token"]
                self.waiting.append(token)
                await self.is_quick.wait()
                self.waiting.remove(token)
                answer = self.said.get(token, {"active": False})
            case _:
                pass
        status = 503 if self.is_down else 404 if answer is None else 200
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", b"text/html")]})
        await send({"type": "http.response.body", "body": json.dumps(answer).encode()})


def bearer(key: Key, **options: Any) -> Bearer:
    """Protect the usual resource with a key."""
    return Bearer(RESOURCE, issuer=ISSUER, keys=jwks(key), **options)
