"""Which JWTs a protected server accepts: their signature, their issuer, their audience and their time."""

import hmac
import time
from typing import Any

import pytest

from mcp_runtime.auth import Bearer, InvalidToken, Principal
from mcp_runtime.auth.server.keys import read_keys
from mcp_runtime.core import sources
from support.tokens import ISSUER, RESOURCE, bearer, claims, ec_key, jwks, okp_key, rsa_key, segment, signed

KEY = ec_key()
OTHER = ec_key()


async def verified(token: str, **options: Any) -> Principal:
    return await bearer(KEY, **options).verify(token)


@pytest.mark.parametrize(
    ("key", "algorithms"),
    [
        (rsa_key(), "RS256 RS384 RS512 PS256 PS384 PS512"),
        (KEY, "ES256"),
        (okp_key(), "EdDSA Ed25519"),
    ],
    ids=["RSA", "EC", "OKP"],
)
@pytest.mark.filterwarnings("ignore:EdDSA is deprecated")
async def test_a_token_signed_by_its_issuer_is_accepted(key: Any, algorithms: str) -> None:
    auth = bearer(key)
    for alg in algorithms.split():
        assert (await auth.verify(signed(key, alg=alg))).key == f"{ISSUER} ada"


@pytest.mark.parametrize("typ", [None, "JWT", "jwt", "at+jwt", "application/at+JWT"])
async def test_types_of_tokens(typ: str | None) -> None:
    assert (await verified(signed(KEY, typ=typ))).subject == "ada"


@pytest.mark.parametrize(
    ("changed", "scopes"),
    [
        ({"scope": "a b"}, "a b"),
        ({"scope": ["a", "b"]}, "a b"),
        ({"scp": "a b"}, "a b"),
        ({"scp": ["a"]}, "a"),
        ({"scope": ""}, ""),
        ({}, ""),
    ],
    ids=str,
)
async def test_the_scopes_of_a_token(changed: dict[str, Any], scopes: str) -> None:
    assert (await verified(signed(KEY, claims(**changed)))).scopes == {*scopes.split()}


async def test_what_handlers_learn_of_a_token() -> None:
    said = claims(tenant="tea")
    found = await verified(signed(KEY, said))
    assert (found.subject, found.issuer, found.client) == ("ada", ISSUER, "app")
    assert found.claims == said and found.expires == said["exp"] + 30
    machine = await verified(signed(KEY, claims(sub=None, client_id=None, azp="robot")))
    assert machine.key == f"client {ISSUER} robot"


NOW = int(time.time())
BAD_CLAIMS: dict[str, tuple[dict[str, Any], str]] = {
    "a foreign audience": ({"aud": "https://other.example.com/mcp"}, "audience"),
    "no audience": ({"aud": None}, "audience"),
    "an audience that begins like this one": ({"aud": f"{RESOURCE}/"}, "audience"),
    "an audience in other case": ({"aud": "https://MCP.example.com/mcp"}, "audience"),
    "audiences that are not text": ({"aud": [1, {"x": RESOURCE}]}, "audience"),
    "an audience that is an object": ({"aud": {RESOURCE: 1}}, "audience"),
    "a foreign issuer": ({"iss": "https://evil.example.com"}, "issuer"),
    "a normalised issuer": ({"iss": f"{ISSUER}/"}, "issuer"),
    "an issuer in other case": ({"iss": "https://LOGIN.example.com"}, "issuer"),
    "no issuer": ({"iss": None}, "issuer"),
    "several issuers": ({"iss": [ISSUER]}, "issuer"),
    "expired": ({"exp": NOW - 31}, "expired"),
    "without an end": ({"exp": None}, "expires"),
    "an end that is text": ({"exp": "2099"}, "exp"),
    "an end that is true": ({"exp": True}, "exp"),
    "an end beyond all": ({"exp": 10**400}, "exp"),
    "not valid yet": ({"nbf": NOW + 3600}, "yet"),
    "a beginning that is text": ({"nbf": "now"}, "nbf"),
    "bound to a key": ({"cnf": {"jkt": "x"}}, "bound"),
    "without subject and client": ({"sub": None, "client_id": None}, "subject"),
    "a subject that is a number": ({"sub": 7}, "sub"),
    "a client that is a list": ({"client_id": ["app"]}, "client_id"),
    "scopes that are a number": ({"scope": 7}, "scopes"),
    "scopes that are numbers": ({"scp": [7]}, "scopes"),
}


@pytest.mark.parametrize("name", BAD_CLAIMS)
@pytest.mark.requirement("auth.validated", "auth.audience")
async def test_claims_that_are_not_accepted(name: str) -> None:
    changed, reason = BAD_CLAIMS[name]
    with pytest.raises(InvalidToken, match=reason):
        await verified(signed(KEY, claims(**changed)))


async def test_clocks_may_differ_by_half_a_minute() -> None:
    now = int(time.time())
    await verified(signed(KEY, claims(exp=now - 20, nbf=now + 20)))
    await verified(signed(KEY, claims(exp=now + 0.5)))


@pytest.mark.requirement("auth.audience")
async def test_another_audience_can_be_configured_but_never_none() -> None:
    token = signed(KEY, claims(aud=["x", "api://files"]))
    assert (await verified(token, audience="api://files")).subject == "ada"
    for audience in ("api://other", "", None):
        with pytest.raises(InvalidToken, match="audience"):
            await verified(token, audience=audience)


def hand_made(header: dict[str, Any], said: dict[str, Any] | None = None, signature: bytes = b"x") -> str:
    return f"{segment(header)}.{segment(claims() if said is None else said)}.{segment(signature)}"


def confused(alg: str) -> str:
    """Sign with the public key, as text, as if it were a shared secret."""
    signed_part = f"{segment({'alg': alg, 'kid': 'one'})}.{segment(claims())}"
    digest = hmac.digest(KEY.as_pem(private=False), signed_part.encode(), f"sha{alg[2:]}")
    return f"{signed_part}.{segment(digest)}"


def tampered() -> str:
    header, _, signature = signed(KEY).split(".")
    return f"{header}.{segment(claims(sub='eve'))}.{signature}"


TWICE = b'{"iss": 1, "iss": 2}'
BAD_TOKENS: dict[str, str] = {
    "no JWT": "opaque",
    "alg none": hand_made({"alg": "none"})[:-2],
    "alg none with a signature": hand_made({"alg": "none"}),
    "alg None": hand_made({"alg": "None"}),
    "no alg": hand_made({"typ": "JWT"}),
    "alg is a list": hand_made({"alg": ["ES256"]}),
    "HS256 with the public key": confused("HS256"),
    "HS512 with the public key": confused("HS512"),
    "a key of its own": signed(OTHER, jwk=OTHER.as_dict(private=False)),
    "a key of its own elsewhere": signed(OTHER, jku="https://evil.example.com/jwks"),
    "another key of the same name": signed(OTHER),
    "an unknown key": signed(ec_key("two")),
    "an altered claim": tampered(),
    "a type of its own": signed(KEY, typ="secevent+jwt"),
    "a type that is a number": hand_made({"alg": "ES256", "typ": 7}),
    "critical headers": hand_made({"alg": "ES256", "crit": ["b64"], "b64": False}),
    "a signature that is empty": ".".join(signed(KEY).split(".")[:2]) + ".",
    "claims that are a list": hand_made({"alg": "ES256"}, [1]),  # type: ignore[arg-type]
    "a header that is text": f"{segment('ES256')}.{segment(claims())}.AA",
    "deep claims": f"{segment({'alg': 'ES256'})}.{segment(b'[' * 5000)}.AA",
    "claims twice": f"{segment({'alg': 'ES256'})}.{segment(TWICE)}.AA",
    "no UTF-8": f"{segment({'alg': 'ES256'})}.{segment(bytes([255, 254]))}.AA",
    "encrypted": "a.b.c.d.e",
    "a key id that is an object": hand_made({"alg": "ES256", "kid": {"x": 1}}),
    "an EC algorithm for an RSA key": signed(rsa_key(), alg="RS256"),
}


@pytest.mark.parametrize("name", BAD_TOKENS)
@pytest.mark.requirement("auth.validated")
async def test_tokens_that_are_not_accepted(name: str) -> None:
    with pytest.raises(InvalidToken) as raised:
        await verified(BAD_TOKENS[name])
    assert BAD_TOKENS[name] not in str(raised.value)


async def test_keys_that_sign_nothing_are_not_used() -> None:
    public = KEY.as_dict(private=False)
    for spoilt in (
        {**public, "use": "enc"},
        {**public, "alg": "ES384"},
        {**public, "kty": "oct", "k": "AAAA"},
        {**public, "x": 7},
        "text",
    ):
        auth = Bearer(RESOURCE, issuer=ISSUER, keys={"keys": [spoilt]})
        with pytest.raises(InvalidToken, match="no key"):
            await auth.verify(signed(KEY))
    auth = Bearer(RESOURCE, issuer=ISSUER, keys={"keys": ["text", {**public, "x": 7}, *jwks(OTHER, KEY)["keys"]]})
    assert (await auth.verify(signed(KEY))).subject == "ada"


async def test_a_known_token_expires_too(monkeypatch: pytest.MonkeyPatch) -> None:
    auth, now = bearer(KEY), time.time()
    token = signed(KEY, claims(exp=int(now) + 60))
    assert await auth.verify(token) is await auth.verify(token)
    monkeypatch.setattr(sources, "in_use", sources.Sources(wall=lambda: now + 91))
    with pytest.raises(InvalidToken, match="expired"):
        await auth.verify(token)


async def test_few_tokens_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_runtime.auth.server.bearer.MAX_KNOWN", 2)
    auth = bearer(KEY)
    tokens = [signed(KEY, claims(sub=str(number))) for number in range(3)]
    first = [await auth.verify(token) for token in tokens]
    assert await auth.verify(tokens[2]) is first[2]
    assert await auth.verify(tokens[0]) is not first[0]


@pytest.mark.parametrize("number", [100, 101, 150])
def test_at_most_100_keys_of_an_issuer_are_read(number: int) -> None:
    keys = [ec_key(str(each)) for each in range(number)]
    assert [key.kid for key in read_keys(jwks(*keys))] == [str(each) for each in range(100)]
